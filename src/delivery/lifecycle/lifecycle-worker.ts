/**
 * Lifecycle worker: delivers lifecycle events (setup, edit, deletion of a target) to integrations
 * (docs/contract/configuration.md#lifecycle-events).
 *
 * An event is in the store before the worker learns of it, so a crash loses none. One in flight
 * when the host died or the service stopped is delivered again: at least once, and handlers
 * recognize a repetition by its `eventId`. Events of an installation are delivered in the order of
 * the commits, one after another; installations take turns. Nothing is polled: an installation is
 * added after each commit, and one timer wakes those that back off.
 */

import { Caller } from '../../calls/call.ts';
import type { CallLog } from '../../calls/call-log.ts';
import type { Dispatch } from '../../calls/dispatch.ts';
import type { LifecycleEventState } from '../../database/tables.ts';
import type { Target } from '../../model/target.ts';
import type {
  LifecycleEventEnd,
  LifecycleEvents,
  WaitingLifecycleEvent,
} from '../../store/installations/lifecycle-events.ts';
import type { TargetResolver } from '../../targets/target-resolver.ts';
import { delayMs } from '../delays.ts';
import { discard } from '../event-call.ts';
import { ATTEMPTS_MAX, type HandlerOutcome, handlerOutcome } from '../handler-outcome.ts';
import {
  BACK_OFF_MS_MAX,
  PAGE,
  STORE_BACK_OFF_MS,
  WorkerLoop,
  type WorkerLoopParts,
} from '../worker-loop.ts';
import { LifecycleOrder } from './lifecycle-order.ts';

/**
 * Installations with an event in flight. Few, because each may need an isolate: after a thousand
 * installs or a long pause of the service, these must not evict all isolates that serve requests.
 */
const BUSY_MAX = 16;
/** Of them, installations of integrations that one organization owns. */
const BUSY_PER_OWNER_MAX = 4;

export interface LifecycleWorkerParts extends WorkerLoopParts {
  readonly events: Pick<LifecycleEvents, 'waitingInstallations' | 'first' | 'finish' | 'postpone'>;
  readonly targets: Pick<TargetResolver, 'named' | 'deleted'>;
  readonly dispatch: Pick<Dispatch, 'call'>;
  readonly callLog: Pick<CallLog, 'log'>;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** From 0 to 1. */
  readonly chance: () => number;
  /** Receives the final state of each event, and `pending` for each postponed attempt. */
  settled(state: LifecycleEventState): void;
  /** Receives failures of the store; an event that could not be settled is delivered again. */
  onError(error: unknown): void;
}

/** The target of an event, or why it has none. */
type Recipient = Target | Pick<LifecycleEventEnd, 'outcome'>;

export class LifecycleWorker {
  readonly #parts: LifecycleWorkerParts;
  readonly #order = new LifecycleOrder(BUSY_MAX, BUSY_PER_OWNER_MAX);
  readonly #loop: WorkerLoop;

  constructor(parts: LifecycleWorkerParts) {
    this.#parts = parts;
    this.#loop = new WorkerLoop(parts, () => this.#wake());
  }

  /** Takes up the events that the last process left. @throws if the store cannot be read */
  async start(): Promise<void> {
    this.#loop.start();
    let cursor: string | undefined;
    do {
      const { items, next } = await this.#parts.events.waitingInstallations({ cursor, limit: PAGE });
      for (const installationId of items) this.#order.add(installationId);
      cursor = next;
      this.#pass();
    } while (cursor !== undefined && this.#loop.isRunning);
  }

  /** Adds an installation that may have an event. */
  add(installationId: string): void {
    this.#order.add(installationId);
    this.#pass();
  }

  /**
   * Starts nothing any more.
   *
   * @returns when nothing is in flight. An event whose call was cut short counts as not attempted.
   */
  async stop(): Promise<void> {
    this.#loop.stop();
    await this.#loop.idle();
  }

  #wake(): void {
    const nextAt = this.#order.wake(this.#parts.ticks());
    if (nextAt !== undefined) this.#loop.setTimerBy(nextAt);
    this.#pass();
  }

  #pass(): void {
    while (this.#loop.isRunning) {
      const installationId = this.#order.next();
      if (installationId === undefined) return;
      void this.#turn(installationId);
    }
  }

  /** Delivers the first event of an installation, if there is one. Never rejects. */
  async #turn(installationId: string): Promise<void> {
    const { events, clock, onError } = this.#parts;
    this.#loop.begin();
    try {
      const event = await events.first(installationId);
      const waitMs = event === undefined ? 0 : event.dueAt - clock();
      if (event === undefined || !this.#loop.isRunning) this.#order.done(installationId, false);
      else if (waitMs > 0 && waitMs < BACK_OFF_MS_MAX) this.#backOff(installationId, waitMs);
      else if (this.#order.takeSeat(installationId, event.owner)) await this.#deliver(event);
    } catch (error) {
      this.#backOff(installationId, STORE_BACK_OFF_MS);
      onError(error);
    }
    this.#loop.end();
    this.#pass();
  }

  async #deliver(event: WaitingLifecycleEvent): Promise<void> {
    const to = await this.#recipient(event);
    // The event waits until the target is resumed; the commit of the pause or of the resume adds it
    // again.
    if ('status' in to && to.status === 'paused') return this.#order.done(event.target.installationId, false);
    if (!('endpointKey' in to)) return this.#finish(event, { state: 'canceled', called: false, ...to });
    const { eventId, type, depth, record } = event;
    // No isolate is opened for an event that the code is known not to handle.
    if (to.handles?.has(type) === false)
      return this.#finish(event, { state: 'unhandled', outcome: 'no handler', called: false });
    const envelope = {
      event: Buffer.from(JSON.stringify(record.event), 'utf8'),
      environment: to.environmentJson,
    };
    // The id of the event is the id of the call in the log.
    const result = await this.#parts.dispatch.call(to, envelope, eventId, new Caller(depth));
    discard(result.response);
    return this.#settle(to, event, handlerOutcome(result));
  }

  async #settle(to: Target, event: WaitingLifecycleEvent, handled: HandlerOutcome): Promise<void> {
    const { outcome } = handled;
    if (handled.next !== 'retry') {
      if (handled.next === 'failed')
        this.#log(to, event, `${event.type} was not handled: ${outcome}. This is final.`);
      return this.#finish(event, { state: handled.next, outcome, called: true });
    }
    // The stop of the service has ended or refused the call.
    if (!this.#loop.isRunning) return this.#order.done(event.target.installationId, false);
    const attempts = event.attempts + 1;
    if (attempts >= ATTEMPTS_MAX) {
      const text = `${event.type} could not be delivered in ${attempts} attempts: ${outcome}. This is final.`;
      this.#log(to, event, text);
      return this.#finish(event, { state: 'failed', outcome, called: true });
    }
    const { events, clock, chance, settled } = this.#parts;
    const waitMs = delayMs(attempts, handled.leastMs, chance());
    await events.postpone(event, clock() + waitMs, outcome);
    settled('pending');
    return this.#backOff(event.target.installationId, waitMs);
  }

  async #recipient({ target: name, record: { gone } }: WaitingLifecycleEvent): Promise<Recipient> {
    const { targets } = this.#parts;
    const target = gone ? await targets.deleted(gone) : await targets.named(name);
    if (target === undefined) return { outcome: gone ? 'integration deleted' : 'deleted' };
    return gone && target.status === 'paused' ? { outcome: 'paused' } : target;
  }

  async #finish(event: WaitingLifecycleEvent, end: LifecycleEventEnd): Promise<void> {
    await this.#parts.events.finish(event, end);
    this.#parts.settled(end.state);
    this.#order.done(event.target.installationId, true);
  }

  #log(target: Target, { eventId }: WaitingLifecycleEvent, text: string): void {
    this.#parts.callLog.log(target, eventId, 'error', text);
  }

  #backOff(installationId: string, waitMs: number): void {
    const until = this.#parts.ticks() + waitMs;
    this.#order.backOff(installationId, until);
    this.#loop.setTimerBy(until);
  }
}
