/**
 * The call that hands an event of the product to an integration, and what its end means for the
 * delivery.
 *
 * The stored event is valid JSON and is not parsed again: the id of the installation, the only
 * member that differs between targets, is put in front of the others. A task has no ids of its own,
 * and gets all of its target's.
 */
import type { Readable } from 'node:stream';
import { includesType } from '../../model/event-type.ts';
import { eventIds, type Target } from '../../model/target.ts';
import { TASK } from '../../model/task.ts';
import type { CallResponse, CallResult } from '../calls/call.ts';
import type { Dispatch } from '../calls/dispatch.ts';
import type { Attempted, DeliveryInFlight } from './in-flight.ts';
import { handlerOutcome, headerOf } from './retry.ts';

/** Response header with the URL to which the body is posted. */
export const DELIVER_TO = 'annex-deliver-to';

/** The code is known to have no handler of the event's type. */
const NO_HANDLER: Attempted = { ending: { end: 'unhandled', outcome: 'no handler' } };

/**
 * Calls an integration with the event of a delivery.
 *
 * @returns the result of the call; the end of the delivery if the code is known to have no handler,
 * in
 *   which case no isolate is opened
 */
export function callFor(
  dispatch: Pick<Dispatch, 'call'>,
  target: Target,
  { claim, caller }: DeliveryInFlight,
): Promise<CallResult> | Attempted {
  if (target.handles !== undefined && !includesType(target.handles, claim.type)) return NO_HANDLER;
  const envelope = {
    event: Buffer.from(eventFor(target, claim), 'utf8'),
    environment: target.environmentJson,
  };
  // The call has the id of the delivery: one event may be delivered to several targets of an
  // installation.
  return dispatch.call(target, envelope, claim.id, caller);
}

function eventFor(target: Target, { type, eventBody, retries }: DeliveryInFlight['claim']): string {
  const ids = type === TASK ? eventIds(target) : { installationId: target.installationId };
  // The first attempt has the event as it was posted.
  const members = { ...ids, ...(retries > 0 && { attempt: retries + 1 }) };
  const text = JSON.stringify(members);
  return text === '{}' ? eventBody : `${text.slice(0, -1)},${eventBody.slice(1)}`;
}

/**
 * What a call means for the delivery, whatever the body of its answer is.
 *
 * @param target its failures are final unless it has a schedule for them
 */
export function attemptedBy(
  result: CallResult,
  { handlerRetries }: Pick<Target, 'handlerRetries'>,
): Attempted {
  const { outcome, ...handled } = handlerOutcome(result);
  const recorded = result.response === undefined ? {} : { status: result.response.status };
  if (handled.next === 'retry')
    return { ending: { end: 'fault', outcome, leastMs: handled.leastMs }, recorded };
  if (handled.next !== 'failed') return { ending: { end: handled.next, outcome }, recorded };
  const { againMs } = handled;
  if (againMs === undefined || handlerRetries === undefined)
    return { ending: { end: 'rejected', outcome }, recorded };
  return { ending: { end: 'failed', outcome, ...(againMs > 0 && { leastMs: againMs }) }, recorded };
}

/** The URL to which an answer wants its body posted; undefined if it names none. */
export const destinationIn = (response: CallResponse): string | undefined => headerOf(response, DELIVER_TO);

/** Ends a body that is not read: a stream is not produced to its end. */
export function discard(response: { readonly body: Buffer | Readable } | undefined): void {
  if (response !== undefined && !Buffer.isBuffer(response.body)) response.body.destroy();
}
