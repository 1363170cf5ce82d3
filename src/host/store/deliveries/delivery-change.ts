/**
 * Changes of deliveries: what happened to one, derived from its row and its attempts. Pure.
 *
 * Nothing is written for them: a delivery that was accepted has a row, an attempt has a row, and an
 * end is in the row of the delivery. The id of a change is therefore the same wherever and whenever
 * it is derived, so that a client can recognize one that it gets twice.
 */
import type { DeliveryState } from '../../database/tables.ts';
import type { Delivery, RecordedAttempt } from './delivery.ts';
import type { DeliveryFilter } from './delivery-search.ts';

/** `attempted`: an attempt ended, and the delivery is pending still. */
export type ChangeName = 'accepted' | 'attempted' | 'redelivered' | Exclude<DeliveryState, 'pending'>;

/** What happened: the number of an attempt that ended, or `ended` for an end without an attempt. */
export type Step = 'accepted' | 'redelivered' | 'ended' | number;

/** A step of one delivery that was committed. */
export interface DeliveryStep {
  readonly id: string;
  readonly step: Step;
  readonly organization: string;
  /** Empty at the level of the integration. */
  readonly installationId: string;
}

export interface DeliveryChange {
  /** Begins with its time. */
  readonly id: string;
  readonly change: ChangeName;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** As it was when the change was read: it may have changed again. */
  readonly delivery: Delivery;
  /** The attempt that made the change. Without the receiver's answer. */
  readonly attempt?: RecordedAttempt;
}

/** The shape of the id of a change. */
export const CHANGE_ID =
  /^(?<at>[0-9a-f]{12})~[0-9a-f]{12}-[0-9a-f]{12}-[\w-]{1,32}\.\d{1,9}~(?:accepted|redelivered|ended|\d{1,9})$/;

/** When the change with this id happened, in milliseconds since 1970. */
export const timeOfChange = (id: string): number => Number.parseInt(id.slice(0, 12), 16);

/**
 * The change of one step.
 *
 * @param attempt the attempt of a step that is a number; undefined if it is not kept any more
 */
export function changeOf(
  delivery: Delivery,
  step: Step,
  attempt?: RecordedAttempt,
): DeliveryChange | undefined {
  if (typeof step === 'number') {
    if (attempt === undefined) return undefined;
    const change = isEndedBy(delivery, attempt) ? endOf(delivery) : 'attempted';
    return changed(delivery, { step, change, at: attempt.at + attempt.durationMs, attempt });
  }
  if (step === 'accepted') return changed(delivery, { step, change: 'accepted', at: delivery.createdAt });
  const { armedAt, finishedAt = armedAt } = delivery;
  if (step === 'redelivered') return changed(delivery, { step, change: 'redelivered', at: armedAt });
  // Redelivered since it ended: the end is in no row any more.
  return delivery.state === 'pending'
    ? undefined
    : changed(delivery, { step, change: endOf(delivery), at: finishedAt });
}

/** All changes of a delivery that its rows show, in their order. */
export function changesOf(delivery: Delivery, attempts: readonly RecordedAttempt[]): DeliveryChange[] {
  const isRearmed = delivery.armedAt > delivery.createdAt;
  const last = attempts.at(-1);
  const isEnded = delivery.state !== 'pending' && !(last && isEndedBy(delivery, last));
  const steps = [
    // A recipient that was not active got a delivery that had ended.
    ...(isEnded && delivery.finishedAt === delivery.createdAt ? [] : [changeOf(delivery, 'accepted')]),
    ...attempts.map((attempt) => changeOf(delivery, attempt.number, attempt)),
    ...(isRearmed ? [changeOf(delivery, 'redelivered')] : []),
    ...(isEnded ? [changeOf(delivery, 'ended')] : []),
  ];
  return steps.filter((change) => change !== undefined).sort((one, other) => one.at - other.at);
}

/** Whether a follower with this filter gets the change. `state` is the one that it led to. */
export function isChangeIn(filter: DeliveryFilter, { change, delivery }: DeliveryChange): boolean {
  const { target } = delivery;
  const { state, place, integration } = filter;
  return (
    matches(filter.organization, delivery.organization) &&
    matches(filter.installationId, target.installationId) &&
    (integration === undefined || (delivery.integration === integration && target.installationId === '')) &&
    matches(filter.eventId, delivery.eventId) &&
    matches(filter.type, delivery.type) &&
    (place === undefined || (target.level === place.level && target.place === place.place)) &&
    (state === undefined || (STATE_AFTER[change] ?? change) === state)
  );
}

const matches = (wanted: string | undefined, value: string): boolean =>
  wanted === undefined || wanted === value;

const STATE_AFTER: Partial<Record<ChangeName, DeliveryState>> = {
  accepted: 'pending',
  attempted: 'pending',
  redelivered: 'pending',
};

/** Whether this attempt decided how the delivery ended. */
const isEndedBy = ({ state, attempts, outcome }: Delivery, attempt: RecordedAttempt): boolean =>
  state !== 'pending' && state !== 'canceled' && attempt.number === attempts && attempt.outcome === outcome;

const endOf = ({ state }: Delivery): ChangeName => (state === 'pending' ? 'attempted' : state);

function changed(
  delivery: Delivery,
  { step, ...rest }: Omit<DeliveryChange, 'id' | 'delivery'> & { readonly step: Step },
): DeliveryChange {
  const id = `${rest.at.toString(16).padStart(12, '0')}~${delivery.id}~${step}`;
  return { id, delivery, ...rest };
}
