/**
 * One attempt at a delivery of kind `handler`: calls the integration. What it answers is final; a
 * failure of its code is retried by its schedule.
 *
 * Posts nothing, whatever the answer: only targets of a manifest with `webhook` post.
 */

import type { Target } from '../../model/target.ts';
import type { CallLog } from '../calls/call-log.ts';
import type { Dispatch } from '../calls/dispatch.ts';
import { attemptedBy, callFor, DELIVER_TO, destinationIn, discard } from './event-call.ts';
import type { Attempted, DeliveryInFlight } from './in-flight.ts';

export interface HandlerDeliveryDeps {
  readonly dispatch: Pick<Dispatch, 'call'>;
  readonly callLog: Pick<CallLog, 'log'>;
}

export class HandlerDelivery {
  readonly #deps: HandlerDeliveryDeps;

  constructor(deps: HandlerDeliveryDeps) {
    this.#deps = deps;
  }

  async attempt(delivery: DeliveryInFlight, target: Target): Promise<Attempted> {
    const result = await callFor(this.#deps.dispatch, target, delivery);
    if ('ending' in result) return result;
    const { response } = result;
    discard(response);
    const attempted = attemptedBy(result, target);
    if (
      response !== undefined &&
      attempted.ending.end === 'delivered' &&
      destinationIn(response) !== undefined
    ) {
      const { id, type } = delivery.claim;
      const text =
        `${type} was handled, and the answer names a receiver (${DELIVER_TO}), but nothing is posted to it: for that, the ` +
        'manifest has to say `webhook` when the event is accepted, and still when it is delivered.';
      this.#deps.callLog.log(target, id, 'warn', text);
    }
    return attempted;
  }
}
