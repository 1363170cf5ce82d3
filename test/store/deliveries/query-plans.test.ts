/**
 * Query plans of SQLite: no statement about deliveries scans or sorts a whole table, so a backlog
 * slows down no other query. Those of PostgreSQL are in `postgres/query-plans.test.ts`.
 */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { InstallationQuery } from '../../../src/host/store/installations/target-rows.ts';
import { openStore } from '../../../src/host/store/store.ts';
import { lifeOfDeliveries } from '../../support/deliveries/life-of-deliveries.ts';
import { storeOptions, temporaryFolder } from '../../support/store/temporary-store.ts';

/** Tables with as many rows as there were events. */
const LONG = /\b(deliveries|delivery_payloads|delivery_attempts|events)\b/;
/** Runs once, when the store is opened. */
const COUNTS_THE_BACKLOG = /^select count\(\*\) as "count" from "deliveries" where "state" = 'pending'$/;

test('no statement about deliveries scans a whole table, or sorts what it has read', async () => {
  const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare');
  const folder = await temporaryFolder({ inMemory: true });
  const store = await openStore(storeOptions(folder));
  await lifeOfDeliveries(store);
  await store.close();
  const asked = new Set(prepare.mock.calls.map(([text]) => text.trim()));
  prepare.mockRestore();
  const about = [...asked].filter(
    (text) => /^(select|insert|update|delete|with)/.test(text) && LONG.test(text),
  );
  expect(about.length).toBeGreaterThan(25);
  const file = new DatabaseSync(join(folder, 'annex.db'));
  const slow: string[] = [];
  for (const text of about) {
    const isBounded = /\blimit\b/.test(text);
    const plan = file.prepare(`explain query plan ${text}`).all();
    for (const { detail } of plan as { detail: string }[]) {
      const [, table = '', how = ''] = /^SCAN (\w+)(.*)/.exec(detail) ?? [];
      const isScan = LONG.test(table) && !(isBounded && how.includes('INDEX'));
      if (isScan || detail.includes('TEMP B-TREE')) slow.push(`${text}: ${detail}`);
    }
  }
  file.close();
  expect(slow.filter((line) => !COUNTS_THE_BACKLOG.test(line.split(': ')[0] ?? ''))).toEqual([]);
});

test('attack: installations of one organization are not searched for among those of all organizations', async () => {
  const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare');
  const folder = await temporaryFolder({ inMemory: true });
  const store = await openStore(storeOptions(folder));
  onTestFinished(() => store.close());
  await store.installations.list({ integration: 'shared', organization: 'acme', limit: 10 });
  const [text = ''] = prepare.mock.calls.findLast(([asked]) => /^select .* from "targets"/.test(asked)) ?? [];
  prepare.mockRestore();
  const database = new DatabaseSync(join(folder, 'annex.db'));
  const plan = database.prepare(`explain query plan ${text}`).all() as { detail: string }[];
  database.close();
  expect(plan.map(({ detail }) => detail)).toEqual([expect.stringMatching(/organization=\?/)]);
});

test('attack: no list of installations reads past those that it does not show', async () => {
  const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare');
  const folder = await temporaryFolder({ inMemory: true });
  const store = await openStore(storeOptions(folder));
  onTestFinished(() => store.close());
  const database = new DatabaseSync(join(folder, 'annex.db'));
  const plan = async (where: Partial<InstallationQuery>): Promise<string[]> => {
    await store.installations.list({ ...where, cursor: 'ins_a', limit: 10 });
    const [text = ''] = prepare.mock.calls.findLast(([asked]) => /^select "targets"/.test(asked)) ?? [];
    const steps = database.prepare(`explain query plan ${text}`).all() as { detail: string }[];
    return steps.map(({ detail }) => detail.replace(/USING (COVERING )?INDEX (sqlite_autoindex_)?/, ''));
  };
  const after = 'installation_id>?';
  expect(await plan({})).toEqual([`SEARCH targets targets_whole (${after})`]);
  expect(await plan({ organization: 'acme', status: 'active' })).toEqual([
    `SEARCH targets targets_whole_organization (organization=? AND ${after})`,
  ]);
  expect(await plan({ status: 'pending' })).toEqual([
    `SEARCH targets targets_whole_status (status=? AND ${after})`,
  ]);
  expect(await plan({ integration: 'hello' })).toEqual([
    `SEARCH targets targets_page (integration=? AND level=? AND ${after})`,
  ]);
  expect(await plan({ integration: 'hello', status: 'pending' })).toEqual([
    `SEARCH targets targets_whole_integration_status (integration=? AND status=? AND ${after})`,
  ]);
  expect(await plan({ externalId: 'shared', status: 'active' })).toEqual([
    `SEARCH external_ids external_ids_whole (external_id=? AND ${after})`,
    'SEARCH targets targets_2 (installation_id=? AND level=?)',
  ]);
  expect(await plan({ externalId: 'shared', organization: 'acme', status: 'active' })).toEqual([
    `SEARCH targets targets_whole_organization (organization=? AND ${after})`,
    'SEARCH external_ids external_ids_whole (external_id=? AND installation_id=?)',
  ]);
  database.close();
  prepare.mockRestore();
});
