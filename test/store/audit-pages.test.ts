/**
 * Pages of the audit and of installations read a bounded number of rows, however many rows they
 * skip.
 */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { ROWS_PER_SEARCH } from '../../src/store/audit.ts';
import { openStore } from '../../src/store/store.ts';
import { storeOptions, temporaryFolder } from '../support/store/temporary-store.ts';

async function storeOf() {
  const folder = await temporaryFolder({ inMemory: true });
  const store = await openStore(storeOptions(folder));
  onTestFinished(() => store.close());
  return { store, file: join(folder, 'annex.db') };
}

const idOf = (at: number) => String(at).padStart(26, '0');

/**
 * Inserts so many edits of one integration for each of two organizations; the oldest entry is a
 * deletion by the first.
 */
function fill(file: string, entries: number): void {
  const database = new DatabaseSync(file);
  const insert = database.prepare(
    `insert into audit (id, at, action, actor, request_id, organization, integration, details) values (?, 0, ?, 'organization', '', ?, 'shared', '{}')`,
  );
  database.exec('begin');
  for (let at = 0; at < entries; at += 1) {
    const action = at === 0 ? 'installation.delete' : 'installation.edit';
    insert.run(idOf(at), action, at % 2 === 0 ? 'acme' : 'other');
  }
  database.exec('commit');
  database.close();
}

describe('a page of the audit', () => {
  const ENTRIES = 2 * ROWS_PER_SEARCH + 2_000;
  /** The last entry of `acme` that a first page reads. */
  const end = idOf(ENTRIES - 2 * ROWS_PER_SEARCH);

  test.each([
    ['action', { organization: 'acme', action: 'installation.delete' }],
    ['integration', { organization: 'acme', integration: 'none' }],
  ] as const)(
    'attack: reads a bounded number of rows for a rare %s, and returns a cursor',
    async (_, query) => {
      const { store, file } = await storeOf();
      fill(file, ENTRIES);
      expect(await store.audit.list({ ...query, limit: 10 })).toEqual({ items: [], next: end });
    },
  );

  test('finds every entry over several pages', async () => {
    const { store, file } = await storeOf();
    fill(file, ENTRIES);
    const query = { organization: 'acme', action: 'installation.delete', limit: 10 } as const;
    const { items, next } = await store.audit.list({ ...query, cursor: end });
    expect([items.map(({ id }) => id), next]).toEqual([[idOf(0)], undefined]);
    const ofAll = await store.audit.list({
      ...query,
      organization: undefined,
      cursor: idOf(ROWS_PER_SEARCH),
    });
    expect(ofAll).toMatchObject({ items: [{ id: idOf(0) }], next: idOf(0) });
  });

  test('contains all matching entries, in pages of the requested size', async () => {
    const { store, file } = await storeOf();
    fill(file, 20);
    const query = {
      organization: 'acme',
      integration: 'shared',
      action: 'installation.edit',
      limit: 5,
    } as const;
    const first = await store.audit.list(query);
    const second = await store.audit.list({ ...query, cursor: first.next });
    const ids = [...first.items, ...second.items].map(({ id }) => Number(id));
    expect([ids, second.next]).toEqual([[18, 16, 14, 12, 10, 8, 6, 4, 2], undefined]);
  });
});

test('attack: installations of one organization are not searched for among those of all organizations', async () => {
  const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare');
  const { store, file } = await storeOf();
  await store.installations.list({ integration: 'shared', organization: 'acme', limit: 10 });
  const [text = ''] = prepare.mock.calls.findLast(([asked]) => /^select .* from "targets"/.test(asked)) ?? [];
  prepare.mockRestore();
  const database = new DatabaseSync(file);
  const plan = database.prepare(`explain query plan ${text}`).all() as { detail: string }[];
  database.close();
  expect(plan.map(({ detail }) => detail)).toEqual([expect.stringMatching(/organization=\?/)]);
});
