/**
 * Whether the statements about deliveries and events use indexes on PostgreSQL, in the store as it
 * is: with the plans that prepared statements keep, made for any values.
 *
 * Runs each operation once, on the engine of the service, and notes what its connections are sent.
 * Then asks the server for the plan of each text.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import type { Client } from 'pg';
import { GroupCommit } from '../src/host/database/group-commit.ts';
import { connectionSettings, SEEK } from '../src/host/database/postgres/postgres-clients.ts';
import { PostgresEngine } from '../src/host/database/postgres/postgres-engine.ts';
import { Sequence } from '../src/host/database/sequence.ts';
import type { Database } from '../src/host/database/tables.ts';
import type { Backlog } from '../src/host/store/deliveries/backlog.ts';
import type { Attempt, ClaimedDelivery, PostedEvent } from '../src/host/store/deliveries/delivery.ts';
import { DeliveryClaims } from '../src/host/store/deliveries/delivery-claims.ts';
import { DeliveryQueue } from '../src/host/store/deliveries/delivery-queue.ts';
import { EventOutbox } from '../src/host/store/events/event-outbox.ts';
import type { Addressee } from '../src/host/store/events/event-rows.ts';
import { SubscriberRows } from '../src/host/store/events/subscriber-rows.ts';
import type { Posted } from '../test/support/deliveries/webhook-senders.ts';
import { timedEventId } from '../test/support/receivers/ledger-receiver.ts';

/** The library of the engine: that of the peers may be another copy. */
const pg = createRequire(new URL('../src/host/database/postgres/postgres-engine.ts', import.meta.url))(
  'pg',
) as typeof import('pg');

/** Tables with a row for each event, delivery or installation. */
const LONG = new Set(['events', 'deliveries', 'delivery_payloads', 'delivery_attempts', 'targets']);
/** Has no rows but those that are leased: read in its order. */
const SHORT_INDEX = 'deliveries_leased';
/** Deliveries of an operation: at least two, so that bulk statements are those for many rows. */
const MANY = 4;
const LEASE_MS = 30_000;
/** Kinds of statements that the operations send. */
const STATEMENTS_LEAST = 12;

const COUNT_PARAMETERS =
  'select cardinality(parameter_types) as count from pg_prepared_statements where name = $1';

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'TID Cond'?: string;
  readonly Plans?: readonly Plan[];
}

export interface CheckedPlans {
  readonly statements: number;
  /** Statements that read a long table otherwise than by an index, with what they do. */
  readonly slow: readonly string[];
}

/**
 * No service may use the database meanwhile.
 *
 * @param place to which events are posted, which are then claimed and settled
 */
export async function checkPlans(url: string, folder: string, place: Posted): Promise<CheckedPlans> {
  const options = { url, connections: 2, folder, node: randomUUID() };
  const engine = new PostgresEngine({
    ...{ ...options, monotonicNow: () => performance.now(), wall: () => Date.now(), note: () => undefined },
  });
  const database = await engine.open();
  const texts = new Set<string>();
  const end = noteTexts(texts);
  try {
    await life(database, engine.wallNow, place);
  } finally {
    end();
  }
  const about = [...texts].filter(
    (text) =>
      /^(select|insert|update|delete|with)/.test(text) && [...LONG].some((name) => text.includes(name)),
  );
  await database.destroy();
  await engine.close();
  if (about.length < STATEMENTS_LEAST) throw new Error(`Only ${about.length} statements were noted.`);
  return { statements: about.length, slow: await slowOf(url, about) };
}

/** Every operation on deliveries and events whose cost may grow with them. */
async function life(database: Database, wallNow: () => number, place: Posted): Promise<void> {
  const { organization, site } = place;
  await new SubscriberRows(database).inReach({ organization, level: 'site', place: site });
  const commits = new GroupCommit(database);
  const deliveryFeed = { isFollowed: false, committed: () => undefined };
  const backlog = { change: () => undefined } as unknown as Backlog;
  const parts = { commits, wallNow, backlog, deliveryFeed };
  const auditIds = new Sequence(randomBytes);
  const outbox = new EventOutbox({ ...parts, auditIds, randomBytes });
  const claims = new DeliveryClaims({
    ...parts,
    limits: { deliveryLeaseMs: LEASE_MS },
    webhookRules: { onGone: false },
    webhooksChanged: () => undefined,
    productNotices: { write: async () => [], written: () => undefined },
  });
  const queue = new DeliveryQueue(database);
  const events = Array.from({ length: MANY }, (_, index) => eventAt(place, index));
  const addressee = await addresseeAt(database, place);
  const recipients = events.map(() => ({ addressees: [addressee], absentees: [] }));
  const answer = await outbox.insert({ events, recipients, arrivedAt: wallNow() - 1_000 });
  if (answer.kind === 'conflict') throw new Error('An event was there before.');
  await queue.due(addressee.endpoint, wallNow(), MANY);
  await queue.dueEndpoints({ limit: MANY }, wallNow());
  const claimed = await claims.claim(
    answer.waiting.map(({ id }) => id),
    wallNow() + 1_000,
  );
  if (claimed.length !== MANY) throw new Error('Other deliveries than those inserted were claimed.');
  const payload = { destination: 'https://example.com/', payload: '{}', revision: '1@1' };
  await Promise.all(claimed.map((claim) => claims.keepPayload(claim, payload)));
  await claims.renew(claimed);
  await Promise.all(
    claimed
      .slice(2)
      .map((claim) => claims.settle({ ...ended(claim), state: 'delivered', attempt: ANSWERED })),
  );
  await claims.release(claimed.slice(0, 1));
  await claims.recover({ all: false });
  const [first, second] = claimed;
  for (const claim of [first, second]) if (claim) await claims.settle({ ...ended(claim), state: 'failed' });
  await commits.close();
}

const ANSWERED: Attempt = { at: 0, durationMs: 1, result: 'succeeded', outcome: 'answered 200' };

const ended = (claim: ClaimedDelivery) => ({
  ...{ claim, dueAt: claim.dueAt, retries: 0, unknowns: 0, faults: 0, outcome: 'answered 200' },
});

const eventAt = ({ organization, site }: Posted, index: number): PostedEvent => ({
  ...{ eventId: timedEventId('plan', index), organization, type: 'site_view', level: 'site', place: site },
  ...{ body: '{}', bodyHash: String(index) },
});

async function addresseeAt(database: Database, { installationId, site }: Posted): Promise<Addressee> {
  const row = await database
    .selectFrom('targets')
    .select(['endpoint_key', 'integration'])
    .where('installation_id', '=', installationId)
    .where('place', '=', site)
    .executeTakeFirstOrThrow();
  const { endpoint_key: endpoint, integration } = row;
  return { endpoint, integration, installationId, kind: 'webhook', level: 'site', place: site };
}

/** Adds the text of every statement sent to a server. @returns ends that */
function noteTexts(texts: Set<string>): () => void {
  const { prototype } = pg.Client;
  const { query } = prototype;
  prototype.query = function noted(this: Client, ...values: unknown[]) {
    const [asked] = values as [string | { readonly text: string }];
    texts.add((typeof asked === 'string' ? asked : asked.text).trim());
    return Reflect.apply(query, this, values);
  } as typeof query;
  return () => {
    prototype.query = query;
  };
}

async function slowOf(url: string, texts: readonly string[]): Promise<string[]> {
  const client = new pg.Client(connectionSettings(url));
  await client.connect();
  const slow: string[] = [];
  try {
    await client.query(SEEK);
    // A generic plan does not depend on the values.
    await client.query('set plan_cache_mode = force_generic_plan');
    for (const [index, text] of texts.entries()) {
      await client.query(`prepare plan_${index} as ${text}`);
      const { rows } = await client.query<{ count: number }>(COUNT_PARAMETERS, [`plan_${index}`]);
      const nulls = Array.from({ length: rows[0]?.count ?? 0 }, () => 'null').join(', ');
      const asked = `explain (format json) execute plan_${index}${nulls && `(${nulls})`}`;
      const plans = await client.query<{ 'QUERY PLAN': readonly [{ readonly Plan: Plan }] }>(asked);
      for (const row of plans.rows)
        for (const fault of faults(row['QUERY PLAN'][0].Plan)) slow.push(`${fault}: ${text}`);
    }
  } finally {
    await client.end();
  }
  return slow;
}

/** Scans of long tables that no index bounds. */
function faults(plan: Plan): string[] {
  const { 'Node Type': type, 'Relation Name': table = '', 'Index Name': index } = plan;
  const isBounded = plan['Index Cond'] !== undefined || plan['TID Cond'] !== undefined;
  // A bitmap scan of a table reads what the scan of an index below it has found.
  const isScan = type === 'Bitmap Index Scan' || (LONG.has(table) && /(?<!Bitmap Heap) Scan$/.test(type));
  const own = isScan && !isBounded && index !== SHORT_INDEX ? [`${type} of ${index ?? table}`] : [];
  return [...own, ...(plan.Plans ?? []).flatMap(faults)];
}
