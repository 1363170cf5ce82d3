/**
 * Acceptance of events (docs/contract/events.md#posting): finds the recipients of each event,
 * stores it with their deliveries, and passes the deliveries on to the worker.
 *
 * The worker is called after the commit, so it never holds a delivery that a crash loses. The
 * outbox of the store decides what was accepted before.
 */
import { AnnexError } from '../../../errors.ts';
import type { AcceptedEvent, PostedEvent } from '../../store/deliveries/delivery.ts';
import type { AuditedAction, EventOutbox } from '../../store/events/event-outbox.ts';
import type { Recipients } from '../../store/events/event-rows.ts';
import type { DeliveryWorker } from '../delivery-worker.ts';
import type { RecipientResolver } from './recipients.ts';

export interface EventAcceptanceDeps {
  readonly recipients: Pick<RecipientResolver, 'known' | 'of'>;
  readonly outbox: Pick<EventOutbox, 'insert'>;
  readonly worker: Pick<DeliveryWorker, 'add'>;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
}

export class EventAcceptance {
  readonly #deps: EventAcceptanceDeps;

  constructor(deps: EventAcceptanceDeps) {
    this.#deps = deps;
  }

  /**
   * Stores all of these events, or none.
   *
   * @param audit written in the same transaction if the events are accepted
   * @returns the result for each event, in order, once it is durable
   * @throws `EVENT_CONFLICT`; message and `extra.index` name the event
   */
  async accept(events: readonly PostedEvent[], audit?: AuditedAction): Promise<readonly AcceptedEvent[]> {
    const { recipients, outbox, worker, wallNow } = this.#deps;
    // Before recipients are resolved: a target paused after this moment is paused after the events
    // arrived.
    const arrivedAt = wallNow();
    const resolved: Recipients[] = [];
    for (const event of events) resolved.push(recipients.known(event) ?? (await recipients.of(event)));
    const answer = await outbox.insert({ events, recipients: resolved, arrivedAt, ...(audit && { audit }) });
    if (answer.kind === 'conflict') throw conflict(events, answer.index);
    if (answer.waiting.length > 0) worker.add(answer.waiting);
    return answer.events;
  }
}

function conflict(events: readonly PostedEvent[], index: number): AnnexError {
  const eventId = events[index]?.eventId ?? '';
  const isTwice = events.slice(0, index).some((event) => event.eventId === eventId);
  const what = isTwice
    ? 'is in this request twice, with two bodies'
    : 'was accepted before, with another body';
  const message = `${events.length > 1 ? `events[${index}]: an` : 'An'} event "${eventId}" ${what}.`;
  return new AnnexError('EVENT_CONFLICT', message, { extra: { eventId, index } });
}
