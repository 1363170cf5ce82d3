/**
 * `npm run bench:lists`: how fast pages of a list over a million deliveries are read, by the
 * filters that the console has. Aim: 100 ms at 99 %, on either engine.
 *
 *   --deliveries N   1000000 by default
 *   --postgres       on PostgreSQL
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { sql } from 'kysely';
import { PostgresEngine } from '../src/host/database/postgres/postgres-engine.ts';
import { DeliveryList } from '../src/host/store/deliveries/delivery-list.ts';
import type { DeliveryFilter } from '../src/host/store/deliveries/delivery-search.ts';
import { openStore } from '../src/host/store/store.ts';
import { DEFAULT_LIMITS } from '../src/limits.ts';
import { databaseUrl, startPostgres } from './peers/queue-servers.ts';
import { openStorePlace, type StorePlace } from './prefilled.ts';

const TIMES = 100;
const PAGE = 100;
const AIM_MS = 100;

const { values } = parseArgs({
  options: {
    deliveries: { type: 'string', default: '1000000' },
    postgres: { type: 'boolean', default: false },
  },
});
const count = Number(values.deliveries);
const now = Date.now();

/** Filters of the console: that each finds many, some, or none. */
const FILTERS: Readonly<Record<string, DeliveryFilter>> = {
  'no filter': {},
  'state failed': { state: 'failed' },
  'state pending': { state: 'pending' },
  'state held: none': { state: 'held' },
  organization: { organization: 'o2' },
  'organization: none': { organization: 'nobody' },
  'organization and failed': { organization: 'o2', state: 'failed' },
  type: { type: 'type_3' },
  installation: { installationId: 'ins_2' },
  'installation and failed': { installationId: 'ins_2', state: 'failed' },
  'an hour of the past': { from: now - count / 2 - 3_600_000, to: now - count / 2 },
};

const postgres = values.postgres ? await startPostgres() : undefined;
if (values.postgres && postgres === undefined) throw new Error('PostgreSQL is not on this machine.');
const folder = await mkdtemp(join(tmpdir(), 'annex-lists-'));
const place: StorePlace = postgres ? { folder, url: databaseUrl(postgres) } : { folder };
try {
  await makeTables(place);
  const database = await openStorePlace(place);
  await sql.raw(postgres ? onPostgres() : onSqlite()).execute(database);
  await sql.raw(postgres ? 'vacuum (analyze)' : 'analyze').execute(database);
  const list = new DeliveryList(database);
  const rows: Record<string, object> = {};
  for (const [name, filter] of Object.entries(FILTERS)) rows[name] = await measured(list, filter);
  console.table(rows);
  await database.destroy();
} finally {
  await postgres?.stop();
  await rm(folder, { recursive: true, force: true });
}

/** The first page, and pages that begin anywhere in the list. */
async function measured(list: DeliveryList, filter: DeliveryFilter): Promise<object> {
  const times: number[] = [];
  let items = 0;
  for (let time = 0; time < TIMES; time += 1) {
    const at = Math.floor((count * (TIMES - time)) / TIMES);
    const cursor = time === 0 ? undefined : idOf(now - count + at, at);
    const began = performance.now();
    const page = await list.list({ ...filter, limit: PAGE, cursor });
    times.push(performance.now() - began);
    items += page.items.length;
  }
  times.sort((one, other) => one - other);
  const share = (of: number) => Number((times[Math.ceil(TIMES * of) - 1] ?? 0).toFixed(1));
  if (share(0.99) > AIM_MS) process.exitCode = 1;
  return { 'items of a page': items / TIMES, 'ms at 50 %': share(0.5), 'ms at 99 %': share(0.99) };
}

/** As a `Sequence` makes them, with the number of the recipient. */
function idOf(at: number, number: number): string {
  const hex = (value: number) => value.toString(16).padStart(12, '0');
  return `${hex(at)}-${hex(number)}-benchids.00001`;
}

async function makeTables({ url }: StorePlace): Promise<void> {
  const shared = {
    wallNow: Date.now,
    monotonicNow: () => performance.now(),
    randomBytes,
    onError: (error: unknown) => console.error(error),
  };
  const engine =
    url === undefined
      ? undefined
      : new PostgresEngine({
          ...{ url, connections: 2, folder, monotonicNow: () => performance.now(), wall: Date.now },
          ...{ node: randomUUID(), version: '0', note: () => undefined },
        });
  const store = await openStore({
    ...shared,
    folder,
    limits: DEFAULT_LIMITS,
    ...(engine && { makeEngine: () => engine }),
  });
  await store.close();
}

/** A delivery a millisecond: three in a hundred have failed, one in two hundred is pending. */
function insertOf(i: string, id: string, generated: string): string {
  const columns =
    'id, event, event_id, type, kind, endpoint, organization, integration, installation_id, level, place, state, due_at, armed_at, fence, attempts, retries, unknowns, faults, outcome, created_at';
  return `insert into deliveries (${columns})
    select ${id}, 'event', 'evt_' || ${i}, 'type_' || (${i} % 5), 'webhook', 'endpoint_' || (${i} % 500),
      'o' || (${i} % 200), 'orders', 'ins_' || (${i} % 500), 'organization', '',
      case when ${i} % 100 < 3 then 'failed' when ${i} % 200 = 50 then 'pending' else 'delivered' end,
      ${now}, ${now}, 1, 1, 0, 0, 0, 'answered 200', ${now} - ${count} + ${i}
    from ${generated}`;
}

function onSqlite(): string {
  return insertOf(
    'i',
    `printf('%012x-%012x-benchids.00001', ${now} - ${count} + i, i)`,
    `(with recursive numbers(i) as (select 1 union all select i + 1 from numbers where i < ${count}) select i from numbers)`,
  );
}

function onPostgres(): string {
  return insertOf(
    'i',
    `lpad(to_hex(${now} - ${count} + i), 12, '0') || '-' || lpad(to_hex(i), 12, '0') || '-benchids.00001'`,
    `generate_series(1, ${count}) as numbers(i)`,
  );
}
