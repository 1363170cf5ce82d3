/**
 * Fills a store with pending deliveries, directly in its tables: events of sites with one delivery
 * each, in turn for every target in a site. For measurements without ingest, or with a backlog.
 *
 * The service must not run meanwhile: on SQLite, only one process may use the folder.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Insertable } from 'kysely';
import { Pool } from 'pg';
import {
  BulkStatement,
  type ColumnValue,
  runForEach,
  TEXT,
  type ValueType,
  WHOLE,
} from '../src/host/database/bulk.ts';
import { openDatabase } from '../src/host/database/database.ts';
import { connectionSettings } from '../src/host/database/postgres/postgres-clients.ts';
import { PostgresDialect } from '../src/host/database/postgres/postgres-dialect.ts';
import { Sequence } from '../src/host/database/sequence.ts';
import { sqliteDialect } from '../src/host/database/sqlite/sqlite-dialect.ts';
import type { Database, Tables } from '../src/host/database/tables.ts';
import { timedEventId } from '../test/support/receivers/ledger-receiver.ts';
import { bodyOf } from './peers/peer.ts';

/** Rows in one transaction. */
const ROWS = 20_000;

/** Where a store is. */
export interface StorePlace {
  readonly folder: string;
  /** URL of its PostgreSQL database; absent: the SQLite file in the folder. */
  readonly url?: string;
}

export interface Prefill {
  readonly deliveries: number;
  /** Time from now until each is due. */
  readonly dueInMs: number;
  /** Whether payloads exist; otherwise an isolate has to make each. */
  readonly withPayload: boolean;
  /** Sites whose targets get deliveries; default: all. */
  readonly isFor?: (site: string) => boolean;
}

interface SiteTarget {
  readonly endpoint: string;
  readonly organization: string;
  readonly integration: string;
  readonly installationId: string;
  readonly site: string;
  readonly url: string;
  readonly revision: string;
}

/** Opens the database of a store that no service uses. */
function openStorePlace({ folder, url }: StorePlace): Promise<Database> {
  if (url === undefined) return openDatabase(sqliteDialect(join(folder, 'annex.db')));
  const slow = { statement_timeout: 0, query_timeout: 0 };
  const pool = new Pool({ ...connectionSettings(url), ...slow, max: 2 });
  return openDatabase(new PostgresDialect(pool, 'bench'));
}

export async function prefill(store: StorePlace, wanted: Prefill): Promise<void> {
  const database = await openStorePlace(store);
  try {
    const targets = (await siteTargets(database)).filter(({ site }) => wanted.isFor?.(site) ?? true);
    const sequence = new Sequence(randomBytes);
    for (let from = 0; from < wanted.deliveries; from += ROWS) {
      const count = Math.min(ROWS, wanted.deliveries - from);
      const rows = Array.from({ length: count }, (_, index) =>
        rowsOf(targets[(from + index) % targets.length], sequence, from + index, wanted),
      );
      await database.transaction().execute(async (transaction) => {
        await insert(
          transaction,
          'events',
          rows.map(({ event }) => event),
        );
        await insert(
          transaction,
          'deliveries',
          rows.map(({ delivery }) => delivery),
        );
        if (wanted.withPayload)
          await insert(
            transaction,
            'delivery_payloads',
            rows.map(({ payload }) => payload),
          );
      });
    }
  } finally {
    await database.destroy();
  }
}

async function siteTargets(database: Database): Promise<SiteTarget[]> {
  const rows = await database
    .selectFrom('targets')
    .innerJoin('integrations', 'integrations.name', 'targets.integration')
    .where('level', '=', 'site')
    .select(['targets.endpoint_key', 'targets.organization', 'integration', 'installation_id', 'place'])
    .select(['configuration', 'revision', 'active_version'])
    .execute();
  return rows.map((row) => ({
    endpoint: row.endpoint_key,
    organization: row.organization,
    integration: row.integration,
    installationId: row.installation_id,
    site: row.place,
    url: (JSON.parse(row.configuration) as { url: string }).url,
    revision: `${row.revision}@${row.active_version}`,
  }));
}

function rowsOf(target: SiteTarget | undefined, sequence: Sequence, count: number, wanted: Prefill) {
  if (target === undefined) throw new Error('Nothing is installed in a site.');
  const now = Date.now();
  const id = sequence.next(now);
  const eventId = timedEventId('f', count);
  const { organization, site, installationId, integration, endpoint } = target;
  const body = bodyOf(eventId);
  const event: Insertable<Tables['events']> = {
    ...{ id, event_id: eventId, organization, type: 'site_view', level: 'site', place: site },
    ...{ installation_id: null, body, body_hash: id, deliveries: 1, created_at: now },
  };
  const delivery: Insertable<Tables['deliveries']> = {
    ...{ id: `${id}.0`, event: id, event_id: eventId, type: 'site_view', kind: 'webhook' },
    ...{ endpoint, organization, integration, installation_id: installationId, level: 'site', place: site },
    ...{ state: 'pending', due_at: now + wanted.dueInMs, armed_at: now, fence: 0 },
    ...{ attempts: 0, retries: 0, unknowns: 0, faults: 0, created_at: now },
  };
  const payload: Insertable<Tables['delivery_payloads']> = {
    ...{ delivery_id: delivery.id, destination: target.url, payload: body, revision: target.revision },
  };
  return { event, delivery, payload };
}

async function insert(
  transaction: Database,
  table: 'events' | 'deliveries' | 'delivery_payloads',
  rows: readonly object[],
): Promise<void> {
  const [first = {}] = rows;
  const values = Object.values(first).flatMap((value, index): (string | ValueType)[] => [
    index > 0 ? ', ' : '',
    typeof value === 'number' ? WHOLE : TEXT,
  ]);
  const columns = Object.keys(first).join(', ');
  const statement = new BulkStatement([`insert into ${table} (${columns}) values (`, ...values, ')']);
  await runForEach(
    transaction,
    statement,
    rows.map((row) => Object.values(row) as ColumnValue[]),
  );
}
