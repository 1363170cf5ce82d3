/**
 * Inserts rows of events and of their deliveries: SQL only, no decisions.
 *
 * Each function runs in its caller's transaction. Rows come by the thousand, so each statement is
 * prepared once (`bulk.ts`), and the event loop turns after some hundreds of rows.
 */

import type { InstallationStatus } from '../../../model/installation.ts';
import type { EndpointName } from '../../../model/target.ts';
import { type BulkStatement, bulk, type ColumnValue, runForEach, TEXT, WHOLE } from '../../database/bulk.ts';
import type { Database, DeliveryKind } from '../../database/tables.ts';
import type { EventRecord } from '../deliveries/delivery.ts';

/** Rows of one turn of the event loop: a few milliseconds. */
const ROWS_AT_ONCE = 500;

const FIND = bulk`select event_id, body_hash, deliveries from events where event_id = ${TEXT}`;

const INSERT_EVENT = bulk`
  insert into events (id, event_id, organization, type, level, place, installation_id, body, body_hash, deliveries, created_at)
  values (${TEXT}, ${TEXT}, ${TEXT}, ${TEXT}, ${TEXT}, ${TEXT}, ${TEXT}, ${TEXT}, ${TEXT}, ${WHOLE}, ${WHOLE})`;

/** A delivery's own columns, and those that say what it is of and for. */
const OF_DELIVERY =
  'id, event, event_id, type, kind, endpoint, organization, integration, installation_id, level, place';
const DELIVERED = bulk`${TEXT}, ${TEXT}, ${TEXT}, ${TEXT}, ${TEXT}, ${TEXT}, ${TEXT}, ${TEXT}, ${TEXT}, ${TEXT}, ${TEXT}`;

const INSERT_DELIVERY = bulk`
  insert into deliveries (${OF_DELIVERY},
    state, due_at, armed_at, fence, attempts, retries, unknowns, faults, created_at, generation)
  values (${DELIVERED}, 'pending', ${WHOLE}, ${WHOLE}, 0, 0, 0, 0, 0, ${WHOLE}, ${WHOLE})`;

/** For a recipient that is not active: canceled from the beginning, with the reason as outcome. */
const INSERT_ABSENT = bulk`
  insert into deliveries (${OF_DELIVERY},
    state, outcome, due_at, armed_at, fence, attempts, retries, unknowns, faults, created_at, finished_at)
  values (${DELIVERED}, 'canceled', ${TEXT}, ${WHOLE}, ${WHOLE}, 0, 0, 0, 0, 0, ${WHOLE}, ${WHOLE})`;

/** A target that receives an event. */
export interface Addressee extends EndpointName {
  readonly integration: string;
  /** Key of the target's endpoint, or its lane of tasks. */
  readonly endpoint: string;
  readonly kind: DeliveryKind;
  /**
   * Time of the last pause: deliveries armed by then are not attempted. Milliseconds since 1970.
   */
  readonly pausedAt?: number;
}

/** Why a target receives no events. */
export type Inactivity = Exclude<InstallationStatus, 'active'>;

/** A target that would receive an event if it were active. */
export interface Absentee extends Addressee {
  readonly inactive: Inactivity;
}

/** Recipients of an event, and the inactive targets that do not receive it. */
export interface Recipients {
  readonly addressees: readonly Addressee[];
  readonly absentees: readonly Absentee[];
}

/** A stored event: hash of its body, and the number of its deliveries for the answer. */
export interface KnownEvent {
  readonly bodyHash: string;
  readonly deliveries: number;
}

/** An event to insert, with its recipients. */
export interface EventRow extends Recipients {
  /** From a `Sequence`. */
  readonly id: string;
  readonly event: EventRecord;
  /** When the event arrived, in milliseconds since 1970. */
  readonly armedAt: number;
  /** When its deliveries are due; at once if absent. */
  readonly dueAt?: number;
  readonly createdAt: number;
}

/** Finds those of these events that are stored, by `eventId`. */
export async function findEvents(
  transaction: Database,
  eventIds: readonly string[],
): Promise<Map<string, KnownEvent>> {
  const known = new Map<string, KnownEvent>();
  for (let at = 0; at < eventIds.length; at += ROWS_AT_ONCE) {
    if (at > 0) await new Promise(setImmediate);
    const keys = eventIds.slice(at, at + ROWS_AT_ONCE).map((id) => [id]);
    const rows = await runForEach<{ event_id: string; body_hash: string; deliveries: number }>(
      transaction,
      FIND,
      keys,
    );
    for (const { event_id, body_hash, deliveries } of rows)
      known.set(event_id, { bodyHash: body_hash, deliveries });
  }
  return known;
}

/** Inserts events with their deliveries. */
export async function insertEvents(transaction: Database, rows: readonly EventRow[]): Promise<void> {
  await insert(transaction, INSERT_EVENT, rows.values().map(eventValues));
  await insert(transaction, INSERT_DELIVERY, rows.values().flatMap(deliveryValues));
  const missed = rows.filter(({ absentees }) => absentees.length > 0);
  if (missed.length > 0) await insert(transaction, INSERT_ABSENT, missed.values().flatMap(absentValues));
}

/**
 * @param rows generated while they are written: a thousand events may have a million rows, too many
 * to hold in memory
 */
async function insert(
  transaction: Database,
  statement: BulkStatement,
  rows: Iterator<readonly ColumnValue[], undefined>,
): Promise<void> {
  for (;;) {
    const some = next(rows, ROWS_AT_ONCE);
    await runForEach(transaction, statement, some);
    if (some.length < ROWS_AT_ONCE) return;
    await new Promise(setImmediate);
  }
}

function next<Row>(rows: Iterator<Row, undefined>, count: number): Row[] {
  const some: Row[] = [];
  while (some.length < count) {
    const { done, value } = rows.next();
    if (done) break;
    some.push(value);
  }
  return some;
}

const eventValues = ({ id, event, addressees, createdAt }: EventRow): readonly ColumnValue[] => [
  ...[id, event.eventId, event.organization, event.type, event.level, event.place],
  ...[event.installationId ?? null, event.body, event.bodyHash, addressees.length, createdAt],
];

const deliveryValues = (row: EventRow) =>
  row.addressees.map((to, index): readonly ColumnValue[] => [
    ...deliveredTo(row, to, index),
    ...[row.dueAt ?? row.armedAt, armedAfterPause(to, row.armedAt), row.createdAt],
    row.event.generation ?? 0,
  ]);

/** Numbered after the rows of active recipients. */
const absentValues = (row: EventRow) =>
  row.absentees.map((to: Absentee, index): readonly ColumnValue[] => [
    ...deliveredTo(row, to, row.addressees.length + index),
    ...[to.inactive, row.armedAt, row.armedAt, row.createdAt, row.createdAt],
  ]);

const deliveredTo = ({ id, event }: EventRow, to: Addressee, index: number): readonly ColumnValue[] => [
  ...[deliveryId(id, index), id, event.eventId, event.type, to.kind, to.endpoint, event.organization],
  ...[to.integration, to.installationId, to.level, to.place],
];

/** If the clock was set back since a pause, the event must still count as one after the pause. */
const armedAfterPause = ({ pausedAt = -1 }: Addressee, armedAt: number): number =>
  Math.max(armedAt, pausedAt + 1);

/** Sorts in the order of the events, then of an event's recipients. */
export const deliveryId = (event: string, index: number): string =>
  `${event}.${String(index + 1).padStart(NUMBER_CHARS, '0')}`;
const NUMBER_CHARS = 5;
