/**
 * Converts rows of deliveries, payloads and attempts into the objects of `delivery.ts`.
 */
import type { Selectable } from 'kysely';
import type { Tables } from '../../database/tables.ts';
import type { Delivery, DeliveryPayload, RecordedAttempt } from './delivery.ts';

export type DeliveryRow = Selectable<Tables['deliveries']>;

/** Characters kept of an outcome. */
const OUTCOME_CHARS_MAX = 200;

export const keptOutcome = (outcome: string): string => outcome.slice(0, OUTCOME_CHARS_MAX);

export const deliveryOf = (row: DeliveryRow): Delivery => ({
  id: row.id,
  eventId: row.event_id,
  type: row.type,
  kind: row.kind,
  endpoint: row.endpoint,
  organization: row.organization,
  integration: row.integration,
  target: { installationId: row.installation_id, level: row.level, place: row.place },
  state: row.state,
  dueAt: row.due_at,
  armedAt: row.armed_at,
  attempts: row.attempts,
  retries: row.retries,
  unknowns: row.unknowns,
  faults: row.faults,
  ...(row.outcome !== null && { outcome: row.outcome }),
  createdAt: row.created_at,
  ...(row.finished_at !== null && { finishedAt: row.finished_at }),
});

export const payloadOf = (
  row: Omit<Selectable<Tables['delivery_payloads']>, 'delivery_id'>,
): DeliveryPayload => ({ destination: row.destination, payload: row.payload, revision: row.revision });

export const attemptOf = (row: Selectable<Tables['delivery_attempts']>): RecordedAttempt => ({
  number: row.number,
  at: row.at,
  durationMs: row.duration_ms,
  result: row.result,
  outcome: row.outcome,
  ...(row.destination !== null && { destination: row.destination }),
  ...(row.status !== null && { status: row.status }),
  ...(row.response !== null && { response: row.response }),
  ...(row.truncated === 1 && { truncated: true }),
  ...(row.reason !== null && { reason: row.reason }),
});

/** Ids between two bounds, both exclusive. */
export interface IdRange {
  readonly after: string;
  readonly before: string;
}

/**
 * The range of an event's deliveries: their ids are the event's id, a dot and a number.
 *
 * @param event `events.id`
 */
export const deliveriesOf = (event: string): IdRange => ({ after: `${event}.`, before: `${event}/` });
