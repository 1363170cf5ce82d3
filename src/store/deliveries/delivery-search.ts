/**
 * Which deliveries are meant, in two steps: a range that an index finds, and what has to be looked for in that range.
 *
 * Ids begin with the time of the event, so every range is one of ids: of all deliveries, those of an installation, those of
 * an event, or those that have failed. What is looked for may be rare, so a bounded number of rows is looked at for each
 * page: it may hold fewer than were asked for, or none, and still say where to go on.
 */
import { type Expression, expressionBuilder, type SqlBool, sql } from 'kysely';
import { type Page, type PageRequest, page } from '../../database/page.ts';
import { Sequence } from '../../database/sequence.ts';
import type { Database, DeliveryState, Tables } from '../../database/tables.ts';
import type { Level } from '../../model/installation.ts';
import { type DeliveryRow, deliveriesOf, type IdRange } from './delivery-rows.ts';

/** Rows that are looked at for one page: a statement holds up the event loop for as long as it runs. */
export const ROWS_LOOKED_AT = 5_000;

/** Each member leaves out others. */
export interface DeliveryFilter {
  readonly installationId?: string | undefined;
  /** The organization that installed. */
  readonly organization?: string | undefined;
  /** One space or site. */
  readonly place?: { readonly level: Level; readonly place: string } | undefined;
  readonly eventId?: string | undefined;
  readonly type?: string | undefined;
  readonly state?: DeliveryState | undefined;
  /** Of events that were accepted then or later. */
  readonly from?: number | undefined;
  /** Of events that were accepted before. */
  readonly to?: number | undefined;
}

export interface DeliverySearch extends DeliveryFilter, PageRequest {
  readonly newestFirst: boolean;
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
  const { range, meant } = conditions(search);
  const inOrder = database
    .selectFrom('deliveries')
    .where(eb.and([...range, ...bounds(search, event)]))
    .orderBy('id', newestFirst ? 'desc' : 'asc');
  // Where all of the range is meant, a page ends by itself.
  const last =
    meant.length === 0
      ? undefined
      : await inOrder
          .select('id')
          .offset(ROWS_LOOKED_AT - 1)
          .limit(1)
          .executeTakeFirst();
  const lookedAt = last === undefined ? inOrder : inOrder.where('id', newestFirst ? '>=' : '<=', last.id);
  const rows = await lookedAt
    .selectAll()
    .where(eb.and(meant))
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

/** The narrowest range: an engine seeks by one bound at each end, and would run through what only the others leave out. */
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

/** What an index finds, and what of that is meant. */
function conditions({ installationId, organization, place, eventId, type, state }: DeliverySearch) {
  const range: Condition[] = [];
  const meant: Condition[] = [];
  if (installationId !== undefined) range.push(eb('installation_id', '=', installationId));
  // Literally, as the index of those that have failed says it: everywhere else that index is not to be used.
  if (state === 'failed' && installationId === undefined && eventId === undefined)
    range.push(eb('state', '=', sql.lit(state)));
  else if (state !== undefined) meant.push(eb('state', '=', state));
  if (organization !== undefined) meant.push(eb('organization', '=', organization));
  if (place !== undefined) meant.push(eb('level', '=', place.level), eb('place', '=', place.place));
  if (type !== undefined) meant.push(eb('type', '=', type));
  return { range, meant };
}

/** @returns undefined where there is no such event */
export async function idsOfEventNamed(database: Database, eventId: string): Promise<IdRange | undefined> {
  const row = await database
    .selectFrom('events')
    .select('id')
    .where('event_id', '=', eventId)
    .executeTakeFirst();
  return row && deliveriesOf(row.id);
}
