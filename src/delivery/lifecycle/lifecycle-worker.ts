/**
 * Tells integrations what happens in the life of their targets: setup, edits, deletion (SPEC "States and transitions",
 * REFERENCE D4, D11).
 *
 * Events are in the store before anybody is told of them, so none is lost to a crash. One that was under way when the host
 * died, or when the service stopped, is told again: each is told at least once, and handlers know a repeated one by its
 * `eventId`. Within an installation they are told in the order of the commits, one after the other; between installations it is
 * one each in turn. It polls nothing: it is told after each commit, and has one timer for what was postponed.
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
import { discard } from '../event-call.ts';
import { ATTEMPTS_MAX, DELAY_MS_MAX, delayMs, handlerOutcome } from '../handler-outcome.ts';
import { LifecycleOrder } from './lifecycle-order.ts';

/**
 * Installations of which an event is under way. Few, because each may need an isolate of its own: after a thousand installs, or
 * a long pause of the service, the isolates of those who are called from outside must not all have to make room.
 */
const BUSY_MAX = 16;
/** Of them, those whose integrations are one organization's. */
const BUSY_PER_OWNER_MAX = 4;
/** Installations that are asked for at once, when the service starts. */
const PAGE = 500;
/** How long an installation is left alone when the store fails. */
const STORE_REST_MS = 5_000;
/** Nothing is postponed for longer, chance included: what seems to be is of a time before the clock was set back. */
const REST_MS_MAX = 2 * DELAY_MS_MAX;

export interface LifecycleWorkerParts {
  readonly events: Pick<LifecycleEvents, 'waitingInstallations' | 'first' | 'finish' | 'postpone'>;
  readonly targets: Pick<TargetResolver, 'named' | 'deleted'>;
  readonly dispatch: Pick<Dispatch, 'call'>;
  readonly journal: Pick<CallLog, 'log'>;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Milliseconds that only ever grow: what rests in this process, rests by these. */
  readonly ticks: () => number;
  /** From 0 to 1. */
  readonly chance: () => number;
  /** Runs something later. @returns what calls it off */
  readonly after: (ms: number, run: () => void) => () => void;
  /** Told how an event is over, or that it was postponed (`pending`). */
  settled(state: LifecycleEventState): void;
  /** Told when the store fails; what could not be marked is told again. */
  onError(error: unknown): void;
}

/** Whom an event is for, or why nobody. */
type Addressee = Target | Pick<LifecycleEventEnd, 'outcome'>;

export class LifecycleWorker {
  readonly #parts: LifecycleWorkerParts;
  readonly #turns = new LifecycleOrder(BUSY_MAX, BUSY_PER_OWNER_MAX);
  #timer: { readonly at: number; readonly cancel: () => void } | undefined;
  #stopping = false;
  #onIdle: (() => void) | undefined;

  constructor(parts: LifecycleWorkerParts) {
    this.#parts = parts;
  }

  /** Takes up what was left behind by the process before. @throws where the store cannot be read */
  async start(): Promise<void> {
    let cursor: string | undefined;
    do {
      const { items, next } = await this.#parts.events.waitingInstallations({ cursor, limit: PAGE });
      for (const installationId of items) this.#turns.tell(installationId);
      cursor = next;
      this.#pump();
    } while (cursor !== undefined && !this.#stopping);
  }

  /** There may be an event of this installation. */
  tell(installationId: string): void {
    this.#turns.tell(installationId);
    this.#pump();
  }

  /**
   * Begins nothing any more.
   *
   * @returns when what was under way is over. An event whose call was cut short is as if it had never been tried.
   */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#turns.busy > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
  }

  #pump(): void {
    while (!this.#stopping) {
      const installationId = this.#turns.next();
      if (installationId === undefined) return;
      void this.#turn(installationId);
    }
    if (this.#turns.busy === 0) this.#onIdle?.();
  }

  /** Tells the first event of an installation, if there is one. Never rejects. */
  async #turn(installationId: string): Promise<void> {
    const { events, clock, onError } = this.#parts;
    try {
      const event = await events.first(installationId);
      const restMs = event === undefined ? 0 : event.dueAt - clock();
      if (event === undefined || this.#stopping) this.#turns.done(installationId, false);
      else if (restMs > 0 && restMs < REST_MS_MAX) this.#rest(installationId, restMs);
      else if (this.#turns.sit(installationId, event.owner)) await this.#deliver(event);
    } catch (error) {
      this.#rest(installationId, STORE_REST_MS);
      onError(error);
    }
    this.#pump();
  }

  async #deliver(event: WaitingLifecycleEvent): Promise<void> {
    const to = await this.#addressee(event);
    // It is held back until it is resumed. News of the pause, or of the resume, is on its way.
    if ('status' in to && to.status === 'paused') return this.#turns.done(event.target.installationId, false);
    if (!('endpointKey' in to)) return this.#finish(event, { state: 'canceled', called: false, ...to });
    const { eventId, type, depth, record } = event;
    // Not an isolate is made for an event that the code is known to have no handler for.
    if (to.handles?.has(type) === false)
      return this.#finish(event, { state: 'unhandled', outcome: 'no handler', called: false });
    const envelope = {
      event: Buffer.from(JSON.stringify(record.event), 'utf8'),
      environment: to.environmentJson,
    };
    // Its lines are found in the log by the id of the event.
    const result = await this.#parts.dispatch.call(to, envelope, eventId, new Caller(depth));
    discard(result.response);
    const verdict = handlerOutcome(result);
    const { outcome } = verdict;
    if (verdict.next !== 'again') {
      if (verdict.next === 'failed')
        this.#log(to, event, `${type} was not handled: ${outcome}. This is final.`);
      return this.#finish(event, { state: verdict.next, outcome, called: true });
    }
    // The stop has cut it short, or would not let it begin.
    if (this.#stopping) return this.#turns.done(event.target.installationId, false);
    const attempts = event.attempts + 1;
    if (attempts >= ATTEMPTS_MAX) {
      this.#log(to, event, `${type} could not be told in ${attempts} attempts: ${outcome}. This is final.`);
      return this.#finish(event, { state: 'failed', outcome, called: true });
    }
    const { events, clock, chance, settled } = this.#parts;
    const restMs = delayMs(attempts, verdict.leastMs, chance());
    await events.postpone(event, clock() + restMs, outcome);
    settled('pending');
    return this.#rest(event.target.installationId, restMs);
  }

  async #addressee({ target: name, record: { gone } }: WaitingLifecycleEvent): Promise<Addressee> {
    const { targets } = this.#parts;
    const target = gone ? await targets.deleted(gone) : await targets.named(name);
    if (target === undefined) return { outcome: gone ? 'integration deleted' : 'deleted' };
    return gone && target.status === 'paused' ? { outcome: 'paused' } : target;
  }

  async #finish(event: WaitingLifecycleEvent, end: LifecycleEventEnd): Promise<void> {
    await this.#parts.events.finish(event, end);
    this.#parts.settled(end.state);
    this.#turns.done(event.target.installationId, true);
  }

  #log(target: Target, { eventId }: WaitingLifecycleEvent, text: string): void {
    this.#parts.journal.log(target, eventId, 'error', text);
  }

  #rest(installationId: string, restMs: number): void {
    const until = this.#parts.ticks() + restMs;
    this.#turns.rest(installationId, until);
    this.#alarm(until);
  }

  /** One timer, for whichever is due first. @param at in ticks */
  #alarm(at: number | undefined): void {
    if (at === undefined || this.#stopping) return;
    if (this.#timer !== undefined) {
      if (this.#timer.at <= at) return;
      this.#timer.cancel();
    }
    const { ticks, after } = this.#parts;
    const cancel = after(Math.max(0, at - ticks()), () => {
      this.#timer = undefined;
      this.#alarm(this.#turns.wake(ticks()));
      this.#pump();
    });
    this.#timer = { at, cancel };
  }
}
