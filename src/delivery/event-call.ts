/**
 * The call that hands an integration an event of the product, and what its end means for the delivery.
 *
 * The event is a text that was found to be in order when it was accepted. It is not parsed any more: the id of the
 * installation, which is all that tells the event of one target from another's, is put in front of its members.
 */
import type { Readable } from 'node:stream';
import type { CallResponse, CallResult } from '../calls/call.ts';
import type { Dispatch } from '../calls/dispatch.ts';
import type { Target } from '../model/target.ts';
import { handlerOutcome } from './handler-outcome.ts';
import type { Attempted, DeliveryInFlight } from './in-flight.ts';

/** Header of an answer that says where its body is to be posted. */
export const DELIVER_TO = 'annex-deliver-to';

/** For a target that is known to have no handler of the event's type. */
const NO_HANDLER: Attempted = { ending: { end: 'unhandled', outcome: 'no handler' } };

/**
 * Hands it the event.
 *
 * @returns what came of the call; how the delivery ends where the code is known to have no handler, and no isolate is made for it
 */
export function callFor(
  dispatch: Pick<Dispatch, 'call'>,
  target: Target,
  { claim, caller }: DeliveryInFlight,
): Promise<CallResult> | Attempted {
  if (target.handles?.has(claim.type) === false) return NO_HANDLER;
  const event = `{"installationId":${JSON.stringify(target.installationId)},${claim.eventBody.slice(1)}`;
  const envelope = { event: Buffer.from(event, 'utf8'), environment: target.environmentJson };
  // What it logs is found by the id of the delivery: one event may be delivered to several targets of an installation.
  return dispatch.call(target, envelope, claim.id, caller);
}

/** What a call means for the delivery, whatever its answer holds. */
export function attemptedBy(result: CallResult): Attempted {
  const { outcome, ...verdict } = handlerOutcome(result);
  const noted = result.response === undefined ? {} : { status: result.response.status };
  if (verdict.next === 'again') return { ending: { end: 'fault', outcome, leastMs: verdict.leastMs }, noted };
  // What its author has to mend is not mended by another call.
  const end = verdict.next === 'failed' ? 'rejected' : verdict.next;
  return { ending: { end, outcome }, noted };
}

/** Where an answer wants its body posted; undefined where it says nothing of that. */
export const destinationIn = ({ headers }: CallResponse): string | undefined =>
  headers.find(([name]) => name.toLowerCase() === DELIVER_TO)?.[1];

/** Nobody reads what an event is answered with: a body that is still being made is not made to its end. */
export function discard(response: { readonly body: Buffer | Readable } | undefined): void {
  if (response !== undefined && !Buffer.isBuffer(response.body)) response.body.destroy();
}
