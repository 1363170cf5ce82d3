/**
 * Query plans of PostgreSQL: no statement about deliveries, events or targets reads or sorts a
 * whole table, so a backlog slows down no other query. The tables are long, and the server knows
 * it: it would scan short ones.
 */
import { sql } from 'kysely';
import { Client } from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openStore, type Store } from '../../../src/host/store/store.ts';
import { wholeInstallation } from '../../../src/model/installation.ts';
import { lifeOfDeliveries } from '../../support/deliveries/life-of-deliveries.ts';
import { type Sent, slowSteps } from '../../support/postgres/query-plans.ts';
import { claimEvent, publication } from '../../support/store/installed.ts';
import { CLOCK, OPERATOR, storeOptions, temporaryFolder } from '../../support/store/temporary-store.ts';
import { openTestDatabase, postgresUrl } from '../../support/store/test-engine.ts';

/** Tables that grow with the number of events, or of installations. */
const LONG = /\b(deliveries|delivery_payloads|delivery_attempts|events|targets|life_events|external_ids)\b/;
const DELIVERIES = 100_000;
const INSTALLATIONS = 20_000;
/** Longer than what is finished is kept: the operations of the test remove none of these rows. */
const AGE_MS = -100 * 24 * 60 * 60 * 1_000;

/**
 * Long tables: a backlog of one endpoint and of a thousand others, what is finished, failed and
 * leased, and the targets of as many installations.
 */
async function fill(folder: string): Promise<void> {
  const database = await openTestDatabase(folder);
  const now = CLOCK.now - AGE_MS;
  const inserts = [
    sql`insert into integrations (name, organization, visibility, title, description, active_version,
        latest_version, sealed_signing_secret, endpoint_key, created_at, updated_at)
      select 'app_' || n, 'acme', 'public', '', '', 1, 1, '', 'key_' || n, 0, 0 from generate_series(0, 99) n`,
    sql`insert into targets (installation_id, level, place, integration, organization, endpoint_key, status,
        configuration, external_ids, space_selection, site_selection, sealed_signing_secret, revision, created_at, updated_at)
      select 'ins_' || n, level, case level when 'site' then 'site_' || n else '' end, 'app_' || n % 100,
        'org_' || n / 100, level || n, 'active', '{}', '[]', 'all', 'all', '', 1, 0, 0
      from generate_series(1, ${sql.lit(INSTALLATIONS)}) n, unnest(array['organization', 'site']) level`,
    sql`insert into external_ids (integration, external_id, installation_id, level, place)
      select integration, 'ext_' || installation_id, installation_id, level, place from targets`,
    sql`insert into life_events (installation_id, position, event_id, level, place, integration, organization, type,
        sealed_record, depth, state, attempts, due_at, created_at, finished_at)
      select 'ins_' || n, 1, 'evt_' || n, 'organization', '', 'app_' || n % 100, 'org_' || n / 100, 'installation_setup',
        '', 0, case when n % 10 = 0 then 'pending' else 'delivered' end, 0, 0,
        ${sql.lit(now)}, case when n % 10 = 0 then null else ${sql.lit(now)}::bigint end
      from generate_series(1, ${sql.lit(INSTALLATIONS)}) n`,
    sql`insert into events (id, event_id, organization, type, level, place, body, body_hash, deliveries, created_at)
      select ${sql.lit(now.toString(16).padStart(12, '0'))} || '-' || lpad(n::text, 12, '0') || '-writer00',
        'evt_long_' || n, 'org_' || n % 200, 'site_view', 'site', 'site_' || n % 1000, '{}', '', 1, ${sql.lit(now)}
      from generate_series(1, ${sql.lit(DELIVERIES)}) n`,
    sql`insert into deliveries (id, event, event_id, type, kind, endpoint, organization, integration, installation_id,
        level, place, state, due_at, armed_at, lease_until, fence, attempts, retries, unknowns, faults, created_at, finished_at)
      select id || '.00000', id, event_id, type, 'webhook', case when n % 2 = 0 then 'busy' else 'site' || n % 2000 end,
        organization, 'app_' || n % 100, 'ins_' || n % 20000, level, place,
        case when n % 5 < 3 then 'pending' when n % 100 = 99 then 'failed' else 'delivered' end,
        ${sql.lit(now)} + n, ${sql.lit(now)}, case when n % 500 = 0 then ${sql.lit(now)} end, 1, 0, 0, 0, 0,
        ${sql.lit(now)}, case when n % 5 < 3 then null else ${sql.lit(now)} end
      from (select *, row_number() over (order by id) as n from events) e`,
    sql`insert into delivery_payloads (delivery_id, destination, payload, revision)
      select id, 'https://receiver.example/', '{}', '1' from deliveries`,
    sql`insert into delivery_attempts (delivery_id, number, at, duration_ms, result, outcome, truncated)
      select id, 1, 0, 1, 'failed', 'answered 500', 0 from deliveries`,
    sql`analyze`,
  ];
  for (const insert of inserts) await insert.execute(database);
  await database.destroy();
}

/** Operations on installations and their lifecycle events. */
async function lifeOfInstallations(store: Store): Promise<void> {
  const { installations, lifecycleEvents } = store;
  await store.registry.publish(publication(''), OPERATOR);
  const request = { integration: 'hello', organization: 'mine', externalIds: ['ext'] };
  const { installationId } = await installations.install(request, OPERATOR);
  const whole = wholeInstallation(installationId);
  await installations.installBelow(
    { installationId, level: 'space', place: 'sp', externalIds: ['in'] },
    OPERATOR,
  );
  await installations.edit(whole, { externalIds: ['other'] }, {}, OPERATOR);
  await installations.pause(whole, OPERATOR);
  await installations.resume(whole, OPERATOR);
  for (const more of [{}, { organization: 'mine' }, { externalId: 'other' }, { status: 'paused' as const }])
    for (const where of [{ integration: 'hello' }, {}])
      for (const page of [{}, { cursor: 'ins_5' }])
        await installations.list({ ...where, ...more, ...page, limit: 10 });
  await lifecycleEvents.waitingInstallations({ cursor: undefined, limit: 10 });
  await lifecycleEvents.dueInstallations({ cursor: undefined, limit: 10 });
  const event = await claimEvent(store, installationId);
  if (event) await lifecycleEvents.finish(event, { state: 'delivered', outcome: 'ok', called: true });
  await installations.uninstall(whole, OPERATOR);
}

test('no statement reads or sorts a whole table, planned for its values or for any', async () => {
  const folder = await temporaryFolder();
  await fill(folder);
  // What is counted once, when a store is opened, may take its time.
  const store = await openStore(storeOptions(folder));
  const query = vi.spyOn(Client.prototype, 'query');
  await lifeOfDeliveries(store);
  await lifeOfInstallations(store);
  await store.close();
  const sent = new Map<string, Sent>();
  for (const [asked] of query.mock.calls as unknown as [Partial<Sent> | string][]) {
    if (typeof asked === 'string' || asked.text === undefined) continue;
    const { name, text, values = [] } = asked;
    sent.set(text, { ...(name !== undefined && { name }), text: text.trim(), values });
  }
  query.mockRestore();
  const about = [...sent.values()].filter(
    ({ text }) => /^(select|insert|update|delete|with)/.test(text) && LONG.test(text),
  );
  expect(about.length).toBeGreaterThan(60);
  expect(about.filter(({ name }) => name !== undefined).length).toBeGreaterThan(15);

  const client = new Client({ connectionString: postgresUrl(folder) });
  await client.connect();
  onTestFinished(() => client.end());
  const slow: string[] = [];
  for (const asked of about) {
    // The server plans a statement without a name each time anew.
    const plans = asked.name === undefined ? (['custom'] as const) : (['custom', 'generic'] as const);
    for (const plan of plans)
      for (const step of await slowSteps(client, asked, LONG, plan))
        slow.push(`${plan}: ${step}: ${asked.text.replaceAll(/\s+/g, ' ')}`);
  }
  expect(slow).toEqual([]);
});
