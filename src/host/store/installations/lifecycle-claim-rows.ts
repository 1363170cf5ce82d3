/**
 * Rows of lifecycle events that can be claimed (docs/contract/configuration.md#lifecycle-events):
 * SQL only, no decisions.
 *
 * Leases count by installation, whatever the state of the event that has one: a call whose event
 * was canceled still runs, and the next event of the installation waits for it.
 */
import { type ExpressionBuilder, sql } from 'kysely';
import { LEVELS } from '../../../model/level.ts';
import { type Page, type PageRequest, page } from '../../database/page.ts';
import type { Database, Tables } from '../../database/tables.ts';
import { lifecycleEventType } from './lifecycle-event-rows.ts';

/** Event types of deletions: a pause does not hold them back. */
const DELETED = LEVELS.map((level) => lifecycleEventType('deleted', level));

/** Which leases are live. Milliseconds since 1970. */
export interface LeaseBounds {
  /** A lease that ends by then has expired. */
  readonly now: number;
  /** No lease of the present clock ends later: it was taken before the clock was set back. */
  readonly latest: number;
}

/** The first event of an installation that no pause holds back; not its record. */
export const firstDeliverable = (database: Database, installationId: string, bounds: LeaseBounds) =>
  database
    .selectFrom('life_events')
    .leftJoin('integrations', 'integrations.name', 'life_events.integration')
    .select(['event_id', 'life_events.integration', 'due_at', 'fence', 'integrations.organization as owner'])
    .select(leasedUntil('life_events.installation_id', bounds).as('leased_until'))
    .where('state', '=', 'pending')
    .where('life_events.installation_id', '=', installationId)
    .where(isDeliverable)
    .orderBy('position')
    .limit(1)
    .executeTakeFirst();

/** The end of the lease of another event of the same installation; undefined if none is live. */
export const otherLease = (
  database: Database,
  event: { readonly installationId: string; readonly eventId: string },
  { now, latest }: LeaseBounds,
) =>
  database
    .selectFrom('life_events')
    .select('lease_until')
    .where('installation_id', '=', event.installationId)
    .where('lease_until', 'is not', null)
    .where('lease_until', '>', now)
    .where('lease_until', '<=', latest)
    .where('event_id', '!=', event.eventId)
    .limit(1)
    .executeTakeFirst();

/** Installations with pending events, sorted by id. */
export async function waitingPage(database: Database, { cursor, limit }: PageRequest): Promise<Page<string>> {
  const rows = await waiting(database, cursor, limit + 1).execute();
  const id = (row: { installation_id: string }) => row.installation_id;
  return page(rows, limit, id, id);
}

/**
 * Of a page of `waitingPage`, the installations whose first deliverable event is due and not
 * leased: a page costs the same, however many of its installations are paused.
 */
export async function duePage(
  database: Database,
  { cursor, limit }: PageRequest,
  bounds: LeaseBounds,
): Promise<Page<string>> {
  const rows = await database
    .selectFrom(waiting(database, cursor, limit + 1).as('waiting'))
    .select('installation_id')
    .select(({ selectFrom }) =>
      selectFrom('life_events')
        .select('due_at')
        .where('state', '=', 'pending')
        .whereRef('life_events.installation_id', '=', 'waiting.installation_id')
        .where(isDeliverable)
        .orderBy('position')
        .limit(1)
        .as('due_at'),
    )
    .select(leasedUntil('waiting.installation_id', bounds).as('leased_until'))
    .orderBy('installation_id')
    .execute();
  const { items, next } = page(
    rows,
    limit,
    ({ installation_id }) => installation_id,
    (row) => row,
  );
  const due = items.filter(
    ({ due_at, leased_until }) => due_at !== null && due_at <= bounds.now && leased_until === null,
  );
  return { items: due.map(({ installation_id }) => installation_id), ...(next !== undefined && { next }) };
}

function waiting(database: Database, cursor: string | undefined, limit: number) {
  const select = database
    .selectFrom('life_events')
    .select('installation_id')
    .distinct()
    .where('state', '=', 'pending')
    .orderBy('installation_id')
    .limit(limit);
  return cursor === undefined ? select : select.where('installation_id', '>', cursor);
}

/** End of the live lease in an installation, as a column; null if there is none. */
const leasedUntil = (installationId: string, { now, latest }: LeaseBounds) =>
  sql<number | null>`(
    select max(leased.lease_until) from life_events as leased
    where leased.installation_id = ${sql.ref(installationId)} and leased.lease_until is not null
      and leased.lease_until > ${now} and leased.lease_until <= ${latest})`;

/** The target of the event is not paused, by itself or through its installation. */
const isDeliverable = ({ eb, or, not, exists, selectFrom }: ExpressionBuilder<Tables, 'life_events'>) =>
  or([
    eb('life_events.type', 'in', DELETED),
    not(
      exists(
        selectFrom('targets')
          .select('targets.place')
          .whereRef('targets.installation_id', '=', 'life_events.installation_id')
          .where('targets.status', '=', 'paused')
          .where((target) =>
            target.or([
              target('targets.level', '=', 'organization'),
              target.and([
                target('targets.level', '=', target.ref('life_events.level')),
                target('targets.place', '=', target.ref('life_events.place')),
              ]),
            ]),
          ),
      ),
    ),
  ]);
