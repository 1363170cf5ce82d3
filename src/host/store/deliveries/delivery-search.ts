/**
 * Searches deliveries in two steps: a range that an index finds, then a filter within that range.
 *
 * Ids begin with the time of the event, so every range is a range of ids: of all deliveries, of an
 * installation's, of an event's, or of failed ones. Matches may be rare, so each page reads a
 * bounded number of rows: it may be short or empty and still have a cursor.
 */
import { type Expression, expressionBuilder, type SqlBool, sql } from 'kysely';
import type { Level } from '../../../model/level.ts';
import { type Page, type PageRequest, page } from '../../database/page.ts';
import { Sequence } from '../../database/sequence.ts';
import type { Database, DeliveryState, Tables } from '../../database/tables.ts';
import { type DeliveryRow, deliveriesOf, type IdRange } from './delivery-rows.ts';

/** Rows read for one page at most: a statement blocks the event loop while it runs. */
export const ROWS_PER_SEARCH = 5_000;

/** Each member narrows the search. */
export interface DeliveryFilter {
  readonly installationId?: string | undefined;
  /** The tasks at the own level of this integration. */
  readonly integration?: string | undefined;
  /** The organization that installed, or that owns the integration of tasks at its own level. */
  readonly organization?: string | undefined;
  /** One space or site. */
  readonly place?: { readonly level: Level; readonly place: string } | undefined;
  readonly eventId?: string | undefined;
  readonly type?: string | undefined;
  readonly state?: DeliveryState | undefined;
  /** Events accepted at this time or later, in milliseconds since 1970. */
  readonly from?: number | undefined;
  /** Events accepted before this time. */
  readonly to?: number | undefined;
}

export interface DeliverySearch extends DeliveryFilter, PageRequest {
  readonly newestFirst: boolean;
  /** Only pending ones, and those that ended at this time or later. */
  readonly changedSince?: number | undefined;
}

type Condition = Expression<SqlBool>;

const eb = expressionBuilder<Tables, 'deliveries'>();

export async function searchDeliveries(
  database: Database,
  search: DeliverySearch,
): Promise<Page<DeliveryRow>> {
  const { newestFirst, limit, eventId } = search;
  const event = eventId === undefined ? undefined : await idsOfEventNamed(database, eventId);
  if (eventId !== undefined && event === undefined) return { items: [] };
  const { range, filter } = conditions(search);
  const inOrder = database
    .selectFrom('deliveries')
    .where(eb.and([...range, ...bounds(search, event)]))
    .orderBy('id', newestFirst ? 'desc' : 'asc');
  // Without a filter every row of the range matches, and `limit` bounds the read.
  const last =
    filter.length === 0
      ? undefined
      : await inOrder
          .select('id')
          .offset(ROWS_PER_SEARCH - 1)
          .limit(1)
          .executeTakeFirst();
  const searched = last === undefined ? inOrder : inOrder.where('id', newestFirst ? '>=' : '<=', last.id);
  const rows = await searched
    .selectAll()
    .where(eb.and(filter))
    .limit(limit + 1)
    .execute();
  const found = page(
    rows,
    limit,
    (row) => row.id,
    (row) => row,
  );
  return found.next === undefined && last !== undefined ? { ...found, next: last.id } : found;
}

/**
 * The tightest bound at each end: an engine seeks by one bound, and would scan the rows that only
 * the others exclude.
 */
function bounds({ from, to, cursor, newestFirst }: DeliverySearch, event: IdRange | undefined): Condition[] {
  const since = from === undefined ? undefined : Sequence.first(from);
  const until = to === undefined ? undefined : Sequence.first(to);
  const lower = [since, event?.after, newestFirst ? undefined : cursor];
  const upper = [until, event?.before, newestFirst ? cursor : undefined];
  const after = lower
    .filter((bound) => bound !== undefined)
    .sort()
    .at(-1);
  const before = upper
    .filter((bound) => bound !== undefined)
    .sort()
    .at(0);
  const found: Condition[] = [];
  if (after !== undefined) found.push(eb('id', '>', after));
  if (before !== undefined) found.push(eb('id', '<', before));
  return found;
}

/** `range`: conditions that an index serves. `filter`: conditions checked row by row. */
function conditions(search: DeliverySearch) {
  const { installationId, integration, organization, place, eventId, type, state, changedSince } = search;
  const range: Condition[] = [];
  const filter: Condition[] = [];
  if (installationId !== undefined) range.push(eb('installation_id', '=', installationId));
  if (integration !== undefined) {
    range.push(eb('installation_id', '=', ''));
    filter.push(eb('integration', '=', integration));
  }
  // A literal, as in the partial index of failed deliveries. A parameter keeps other queries off
  // that index.
  if (state === 'failed' && installationId === undefined && eventId === undefined)
    range.push(eb('state', '=', sql.lit(state)));
  else if (state !== undefined) filter.push(eb('state', '=', state));
  if (organization !== undefined) filter.push(eb('organization', '=', organization));
  if (place !== undefined) filter.push(eb('level', '=', place.level), eb('place', '=', place.place));
  if (type !== undefined) filter.push(eb('type', '=', type));
  // A parameter, not a literal: it keeps the search off the index of pending deliveries.
  if (changedSince !== undefined)
    filter.push(eb.or([eb('state', '=', 'pending'), eb('finished_at', '>=', changedSince)]));
  return { range, filter };
}

/** @returns undefined if there is no such event */
export async function idsOfEventNamed(database: Database, eventId: string): Promise<IdRange | undefined> {
  const row = await database
    .selectFrom('events')
    .select('id')
    .where('event_id', '=', eventId)
    .executeTakeFirst();
  return row && deliveriesOf(row.id);
}
