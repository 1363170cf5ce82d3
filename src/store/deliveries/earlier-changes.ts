/**
 * Finds the changes of deliveries after one that a client has, from the rows: for clients that come
 * back to another node, after a restart, or later than a node remembers.
 *
 * Deliveries that were accepted since are a range of ids. Older ones that changed since have no
 * index: the search goes back a bounded time through a bounded number of rows, newest first, and
 * reports when it met the bound. Clocks and commits are not in step, so it begins a little before
 * the change that the client has: a change may be found that the client has, and none is missed.
 */
import { bulk, runForEach, TEXT } from '../../database/bulk.ts';
import type { Database, Tables } from '../../database/tables.ts';
import type { Delivery, RecordedAttempt } from './delivery.ts';
import { changesOf, type DeliveryChange, isChangeIn, timeOfChange } from './delivery-change.ts';
import { attemptOf, deliveryOf } from './delivery-rows.ts';
import { type DeliveryFilter, searchDeliveries } from './delivery-search.ts';

/** How much earlier than the client's change the search begins. */
const OVERLAP_MS = 10_000;
/** How long before that a delivery can have been accepted. */
const OLDER_MS = 3_600_000;
/** Searches for older deliveries, each of at most `ROWS_PER_SEARCH` rows. */
const OLDER_SEARCHES_MAX = 10;
/** Older deliveries that are found: they are held until they are sent. */
const OLDER_MAX = 1_000;
/** How far back a client can continue. */
const BACK_MS_MAX = 86_400_000;
/** Deliveries of one read. */
const DELIVERIES_PER_READ = 100;

/** Without the answers of receivers, which are long. */
const ATTEMPTS = bulk`
  select delivery_id, number, at, duration_ms, result, outcome, destination, status, null as response, truncated
  from delivery_attempts where delivery_id = ${TEXT} order by number`;

/** Changes in the order of their time. */
export interface FoundChanges {
  readonly items: readonly DeliveryChange[];
  /** False if changes before these may be missing. */
  readonly isWhole: boolean;
}

/**
 * @param after id of the last change that the client has
 * @param now milliseconds since 1970
 */
export async function* changesAfter(
  database: Database,
  filter: DeliveryFilter,
  { after, now }: { readonly after: string; readonly now: number },
): AsyncGenerator<FoundChanges> {
  const wanted = timeOfChange(after) - OVERLAP_MS;
  const since = Math.max(wanted, now - BACK_MS_MAX);
  const isNew = (change: DeliveryChange) => change.at >= since && change.id !== after;
  const read = async (deliveries: readonly Delivery[]) =>
    (await readChanges(database, filter, deliveries)).filter(isNew);
  const older = await olderThan(database, filter, since);
  let isWhole = older.isWhole && since === wanted;
  for (let at = 0; at < older.deliveries.length; at += DELIVERIES_PER_READ) {
    yield { items: await read(older.deliveries.slice(at, at + DELIVERIES_PER_READ)), isWhole };
    isWhole = true;
  }
  let cursor: string | undefined;
  do {
    const found = await searchDeliveries(database, {
      ...{ ...filter, state: undefined, from: since, to: undefined },
      ...{ newestFirst: false, limit: DELIVERIES_PER_READ, cursor },
    });
    cursor = found.next;
    yield { items: await read(found.items.map(deliveryOf)), isWhole };
    isWhole = true;
  } while (cursor !== undefined);
}

/** The changes of the newest deliveries. */
export async function newestChanges(
  database: Database,
  filter: DeliveryFilter,
  limit: number,
): Promise<readonly DeliveryChange[]> {
  const { items } = await searchDeliveries(database, { ...filter, newestFirst: true, limit });
  return readChanges(database, filter, items.map(deliveryOf));
}

/** Deliveries accepted before `since` that are pending, or ended after it; oldest first. */
async function olderThan(database: Database, filter: DeliveryFilter, since: number) {
  const deliveries: Delivery[] = [];
  let cursor: string | undefined;
  for (let searches = 0; searches < OLDER_SEARCHES_MAX; searches += 1) {
    const found = await searchDeliveries(database, {
      ...{ ...filter, state: undefined, from: since - OLDER_MS, to: since, changedSince: since },
      ...{ newestFirst: true, limit: OLDER_MAX - deliveries.length, cursor },
    });
    deliveries.push(...found.items.map(deliveryOf));
    cursor = found.next;
    if (cursor === undefined || deliveries.length >= OLDER_MAX) break;
  }
  return { deliveries: deliveries.reverse(), isWhole: cursor === undefined };
}

/** The changes of these deliveries that a filter lets pass, in the order of their time. */
async function readChanges(
  database: Database,
  filter: DeliveryFilter,
  deliveries: readonly Delivery[],
): Promise<DeliveryChange[]> {
  const rows = await runForEach<Tables['delivery_attempts']>(
    database,
    ATTEMPTS,
    deliveries.map(({ id }) => [id]),
  );
  const attempts = Map.groupBy(rows, (row) => row.delivery_id);
  const inOrder = (one: RecordedAttempt, other: RecordedAttempt) => one.number - other.number;
  return deliveries
    .flatMap((delivery) =>
      changesOf(delivery, (attempts.get(delivery.id) ?? []).map(attemptOf).sort(inOrder)),
    )
    .filter((change) => isChangeIn(filter, change))
    .sort((one, other) => one.at - other.at);
}
