/**
 * Lifecycle worker: delivers lifecycle events (setup, edit, deletion of a target) to integrations
 * (docs/contract/configuration.md#lifecycle-events).
 *
 * An event is in the store before the worker learns of it, so a crash loses none. One in flight
 * when the host died or the service stopped is delivered again: at least once, and handlers
 * recognize a repetition by its `eventId`. Events of an installation are delivered in the order of
 * the commits, one after another; installations take turns. An installation is added after each
 * commit, and one timer wakes those that back off. A node that has the database to itself polls
 * nothing.
 *
 * Several nodes may share the database. An event is claimed before its call, so one event of an
 * installation is in flight at a time, in all of them. An installation whose event another node has
 * claimed backs off until the end of that lease. `LifecyclePoll` finds the events of a node
 * that has ended.
 */

import type { Target } from '../../../model/target.ts';
import { Caller } from '../../calls/call.ts';
import type { CallLog } from '../../calls/call-log.ts';
import type { Dispatch } from '../../calls/dispatch.ts';
import type { LifecycleEventState } from '../../database/tables.ts';
import { DatabaseUnavailable } from '../../database/unavailable.ts';
import type { LifecycleEventRecord } from '../../store/installations/lifecycle-event-rows.ts';
import type {
  ClaimedLifecycleEvent,
  FirstLifecycleEvent,
  LifecycleEventEnd,
  LifecycleEvents,
} from '../../store/installations/lifecycle-events.ts';
import type { TargetResolver } from '../../targets/target-resolver.ts';
import { delayMs, withJitter } from '../delays.ts';
import { discard } from '../event-call.ts';
import { FAULTS_MAX, type HandlerOutcome, handlerOutcome } from '../retry.ts';
import { BACK_OFF_MS_MAX, PAGE, STORE_BACK_OFF_MS, WorkerLoop, type WorkerLoopDeps } from '../worker-loop.ts';
import { LifecycleOrder } from './lifecycle-order.ts';

/**
 * Installations with an event in flight. Few, because each may need an isolate: after a thousand
 * installs or a long pause of the service, these must not evict all isolates that serve requests.
 */
const BUSY_MAX = 16;
/** Of them, installations of integrations that one organization owns. */
const BUSY_PER_OWNER_MAX = 4;

export interface LifecycleWorkerDeps extends WorkerLoopDeps {
  readonly events: Pick<
    LifecycleEvents,
    | 'waitingInstallations'
    | 'dueInstallations'
    | 'first'
    | 'claim'
    | 'release'
    | 'recover'
    | 'finish'
    | 'postpone'
  >;
  readonly targets: Pick<TargetResolver, 'named' | 'deleted'>;
  readonly dispatch: Pick<Dispatch, 'call'>;
  readonly callLog: Pick<CallLog, 'log'>;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Whether other nodes may deliver events of the same database at the same time. */
  readonly isShared: boolean;
  /** Receives the final state of each event, and `pending` for each postponed attempt. */
  settled(state: LifecycleEventState): void;
  /** Receives failures of the store; an event that could not be settled is delivered again. */
  onError(error: unknown): void;
}

/** The target of an event, or why it has none. */
type Recipient = Target | Pick<LifecycleEventEnd, 'outcome'>;
type HandlerRetry = Extract<HandlerOutcome, { readonly next: 'retry' }>;
/** What an attempt is made of. */
type Opened = { readonly record: LifecycleEventRecord; readonly to: Recipient };

const FAULT: HandlerRetry = { next: 'retry', outcome: 'platform fault', leastMs: 0 };

export class LifecycleWorker {
  readonly #deps: LifecycleWorkerDeps;
  readonly #order = new LifecycleOrder(BUSY_MAX, BUSY_PER_OWNER_MAX);
  readonly #loop: WorkerLoop;
  readonly #poll: LifecyclePoll;

  constructor(deps: LifecycleWorkerDeps) {
    this.#deps = deps;
    this.#loop = new WorkerLoop(deps, () => this.#wake());
    this.#poll = new LifecyclePoll({ ...deps, found: (ids) => this.#addAll(ids) });
  }

  /** Takes up the events that the last process left. @throws if the store cannot be read */
  async start(): Promise<void> {
    const { events, isShared } = this.#deps;
    if (!isShared) await events.recover();
    if (!this.#loop.start()) return;
    if (isShared) this.#poll.start();
    let cursor: string | undefined;
    do {
      const { items, next } = await events.waitingInstallations({ cursor, limit: PAGE });
      this.#addAll(items);
      cursor = next;
    } while (cursor !== undefined && this.#loop.isRunning);
  }

  /** Adds an installation that may have an event. */
  add(installationId: string): void {
    this.#addAll([installationId]);
  }

  /** Ends all back-offs: the database answers again. */
  retryNow(): void {
    this.#order.wake(Number.POSITIVE_INFINITY);
    this.#pass();
  }

  /**
   * Starts nothing any more.
   *
   * @returns when nothing is in flight. An event whose call was cut short counts as not attempted,
   * and its claim is released.
   */
  async stop(): Promise<void> {
    this.#loop.stop();
    await Promise.all([this.#poll.stop(), this.#loop.idle()]);
  }

  #addAll(installationIds: readonly string[]): void {
    for (const installationId of installationIds) this.#order.add(installationId);
    this.#pass();
  }

  #wake(): void {
    const nextAt = this.#order.wake(this.#deps.monotonicNow());
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
    const { events, onError } = this.#deps;
    this.#loop.begin();
    try {
      const first = await events.first(installationId);
      const waitMs = first === undefined ? 0 : this.#waitMs(first);
      if (first === undefined || !this.#loop.isRunning) this.#order.done(installationId, false);
      else if (waitMs > 0) this.#backOff(installationId, waitMs);
      // Before the claim: an installation that waits for a seat holds no lease.
      else if (this.#order.takeSeat(installationId, first.owner)) await this.#deliver(first);
    } catch (error) {
      this.#backOff(installationId, STORE_BACK_OFF_MS);
      onError(error);
    }
    this.#loop.end();
    this.#pass();
  }

  /** How long an event waits, for its time or for the end of another claim; 0 if it does not. */
  #waitMs({ dueAt, leasedUntil }: FirstLifecycleEvent): number {
    const now = this.#deps.wallNow();
    if (leasedUntil !== undefined) return Math.max(1, leasedUntil - now);
    // A longer wait is due to a clock that was set back.
    return dueAt - now < BACK_OFF_MS_MAX ? Math.max(0, dueAt - now) : 0;
  }

  /** Claims an event, attempts it and writes the outcome. */
  async #deliver(first: FirstLifecycleEvent): Promise<void> {
    const { events, onError } = this.#deps;
    const event = await events.claim(first);
    // Another node was faster, or a change replaced the event: the next turn looks again.
    if (event === undefined) return this.#order.done(first.installationId, true);
    try {
      await (this.#loop.isRunning ? this.#attempt(event) : this.#release(event));
    } catch (error) {
      await events.release(event).catch(onError);
      throw error;
    }
  }

  async #attempt(event: ClaimedLifecycleEvent): Promise<void> {
    const opened = await this.#opened(event);
    if (opened === undefined) return this.#retry(event, FAULT);
    const { record, to } = opened;
    // The event waits until the target is resumed; the commit of the pause or of the resume adds it
    // again.
    if ('status' in to && to.status === 'paused') return this.#release(event);
    if (!('endpointKey' in to))
      return void (await this.#finish(event, { state: 'canceled', called: false, ...to }));
    const { eventId, type, depth } = event;
    // No isolate is opened for an event that the code is known not to handle.
    if (to.handles?.has(type) === false)
      return void (await this.#finish(event, { state: 'unhandled', outcome: 'no handler', called: false }));
    const envelope = {
      event: Buffer.from(JSON.stringify(record.event), 'utf8'),
      environment: to.environmentJson,
    };
    // The id of the event is the id of the call in the log.
    const result = await this.#deps.dispatch.call(
      to,
      envelope,
      eventId,
      new Caller(depth, record.generation),
    );
    discard(result.response);
    return this.#settle(to, event, handlerOutcome(result));
  }

  async #settle(to: Target, event: ClaimedLifecycleEvent, handled: HandlerOutcome): Promise<void> {
    const { type } = event;
    const { outcome } = handled;
    if (handled.next !== 'retry') {
      const isWritten = await this.#finish(event, { state: handled.next, outcome, called: true });
      if (isWritten && handled.next === 'failed')
        this.#log(to, event, `${type} was not handled: ${outcome}. This is final.`);
      return;
    }
    return this.#retry(event, handled, to);
  }

  /** Postpones an event; after the last attempt it has failed. @param to whose log says so */
  async #retry(event: ClaimedLifecycleEvent, handled: HandlerRetry, to?: Target): Promise<void> {
    // The stop of the service has ended or refused the call.
    if (!this.#loop.isRunning) return this.#release(event);
    const { outcome } = handled;
    const attempts = event.attempts + 1;
    if (attempts < FAULTS_MAX) return this.#postpone(event, handled);
    const isWritten = await this.#finish(event, { state: 'failed', outcome, called: true });
    const text = `${event.type} could not be delivered in ${attempts} attempts: ${outcome}. This is final.`;
    if (isWritten && to !== undefined) this.#log(to, event, text);
  }

  /**
   * @returns undefined if the rows of the event or of its target are damaged. It counts as an
   * attempt: the events that follow it in its installation do not wait for ever.
   */
  async #opened(event: ClaimedLifecycleEvent): Promise<Opened | undefined> {
    try {
      const record = event.record();
      return { record, to: await this.#recipient(event, record) };
    } catch (error) {
      // A database that is away again and again would use up all attempts.
      if (error instanceof DatabaseUnavailable) throw error;
      this.#deps.onError(error);
      return undefined;
    }
  }

  async #recipient(
    { target: name }: ClaimedLifecycleEvent,
    { gone }: LifecycleEventRecord,
  ): Promise<Recipient> {
    const { targets } = this.#deps;
    const target = gone ? await targets.deleted(gone) : await targets.named(name);
    if (target === undefined) return { outcome: gone ? 'integration deleted' : 'deleted' };
    return gone && target.status === 'paused' ? { outcome: 'paused' } : target;
  }

  /** @returns whether it was written; if not, another node has the event, or it was canceled */
  async #finish(event: ClaimedLifecycleEvent, end: LifecycleEventEnd): Promise<boolean> {
    const { events, settled } = this.#deps;
    const isWritten = await events.finish(event, end);
    if (isWritten) settled(end.state);
    this.#order.done(event.target.installationId, true);
    return isWritten;
  }

  async #postpone(event: ClaimedLifecycleEvent, { outcome, leastMs }: HandlerRetry): Promise<void> {
    const { events, wallNow, random, settled } = this.#deps;
    const { installationId } = event.target;
    const waitMs = delayMs(event.attempts + 1, leastMs, random());
    if (!(await events.postpone(event, wallNow() + waitMs, outcome)))
      return this.#order.done(installationId, true);
    settled('pending');
    return this.#backOff(installationId, waitMs);
  }

  /** Gives a claim back without an outcome, and ends the turn. */
  async #release(event: ClaimedLifecycleEvent): Promise<void> {
    await this.#deps.events.release(event);
    this.#order.done(event.target.installationId, false);
  }

  #log(target: Target, { eventId }: ClaimedLifecycleEvent, text: string): void {
    this.#deps.callLog.log(target, eventId, 'error', text);
  }

  #backOff(installationId: string, waitMs: number): void {
    const until = this.#deps.monotonicNow() + waitMs;
    this.#order.backOff(installationId, until);
    this.#loop.setTimerBy(until);
  }
}

/** From the end of one walk to the next, without jitter. */
export const LIFECYCLE_POLL_MS = 5_000;
/** Installations looked at in one statement. */
const POLLED_PAGE = 100;
/** Between two pages of a walk. */
const PAGE_PAUSE_MS = 100;

interface LifecyclePollDeps {
  readonly events: Pick<LifecycleEvents, 'dueInstallations'>;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Runs a function later. @returns a function that cancels it */
  readonly after: (ms: number, run: () => void) => () => void;
  /** Receives installations that have a due event. */
  found(installationIds: readonly string[]): void;
  /** Receives failures of the store. */
  onError(error: unknown): void;
}

/**
 * Lifecycle poll: finds installations with due events of which no node knows, where several
 * share the database.
 *
 * A node learns only of the events of its own commits, and of those that wait when it starts.
 * If it ends with events pending, the others find them here. The poll walks the waiting
 * installations page by page with a pause after each, so that a hundred thousand of them are no
 * load. It claims nothing and decides nothing: what it finds is added to the lifecycle worker.
 */
class LifecyclePoll {
  readonly #deps: LifecyclePollDeps;
  #cancel: (() => void) | undefined;
  #page: Promise<void> | undefined;
  #isStopped = false;

  constructor(deps: LifecyclePollDeps) {
    this.#deps = deps;
  }

  /** The first walk begins after an interval. */
  start(): void {
    this.#schedule(undefined);
  }

  /** @returns when no page is being read */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#page;
  }

  /** @param cursor of the next page; undefined for a new walk */
  #schedule(cursor: string | undefined): void {
    if (this.#isStopped) return;
    const { after, random } = this.#deps;
    // With jitter, nodes that were started together do not all ask at once.
    const ms = cursor === undefined ? withJitter(LIFECYCLE_POLL_MS, random()) : PAGE_PAUSE_MS;
    this.#cancel = after(ms, () => {
      this.#page = this.#read(cursor);
    });
  }

  /** Never rejects. */
  async #read(cursor: string | undefined): Promise<void> {
    const { events, found, onError } = this.#deps;
    let next: string | undefined;
    try {
      const page = await events.dueInstallations({ cursor, limit: POLLED_PAGE });
      next = page.next;
      if (!this.#isStopped && page.items.length > 0) found(page.items);
    } catch (error) {
      onError(error);
    }
    this.#schedule(next);
  }
}
