/**
 * Delivery worker: claims due deliveries, has their attempts made, and settles them
 * (docs/contract/webhooks.md#crashes).
 *
 * The database is the queue and is written first: a delivery is claimed before its attempt starts,
 * and its outcome is written before its place goes to the next one. A process that dies loses none,
 * and only repeats those in flight. Memory holds hints of what is due (`fair-scheduler.ts`).
 * Fresh deliveries are added after their commit, and one timer wakes those that back off, and tasks
 * at their time. Nothing is polled, unless other nodes use the same database: then the worker looks
 * for what they leave (`backlog-poll.ts`). An attempt is made in `attempts.ts`; `retry.ts` decides
 * what becomes of a delivery after it.
 */

import type { Limits } from '../../limits.ts';
import { isTaskLane, TASK_SCHEDULE_S_MAX } from '../../model/task.ts';
import type { CallLog } from '../calls/call-log.ts';
import { DatabaseUnavailable } from '../database/unavailable.ts';
import type { ClaimedDelivery, DueDeliveries, WaitingDelivery } from '../store/deliveries/delivery.ts';
import type { DeliveryClaims } from '../store/deliveries/delivery-claims.ts';
import type { DeliveryQueue, WaitingEndpoint } from '../store/deliveries/delivery-queue.ts';
import { type Attempts, failureText } from './attempts.ts';
import { BacklogPoll, leftBacklog } from './backlog-poll.ts';
import type { DeliveryMetrics } from './delivery-metrics.ts';
import { type Attempted, DeliveryInFlight, LOST, UNREAD } from './in-flight.ts';
import { Leases, type LeasesDeps } from './leases.ts';
import { decide, resultOf, signalOf } from './retry.ts';
import { begunAt, type EndpointSignal } from './scheduler/endpoint-queue.ts';
import { FairScheduler, type Refill, type SchedulerLimits, type Turn } from './scheduler/fair-scheduler.ts';
import { BACK_OFF_MS_MAX, STORE_BACK_OFF_MS, WorkerLoop } from './worker-loop.ts';

/** Back-off after a delivery could not be claimed or settled: it was canceled, or is not due. */
const MISSED_BACK_OFF_MS = 1_000;
/**
 * Longest back-off where other nodes claim, too: they are at work on the same endpoint, and its
 * hints are out of date.
 */
const OUTRUN_BACK_OFF_MS = 100;
/** An attempt that took longer makes its endpoint slow, with quotas of its own. */
const SLOW_MS = 1_000;
/**
 * Longest wait without a look at the clock: after the machine was suspended, or its clock set
 * forward, a task or a retry is late by at most this.
 */
const LOOK_MS = 600_000;
/** A task that is due later is so by a clock that was set back since. */
const TASK_WAIT_MS_MAX = TASK_SCHEDULE_S_MAX * 1_000 + BACK_OFF_MS_MAX;
/** Time to settle the deliveries that a stop abandons. */
const ABANDON_MS = 1_000;

export interface DeliveryWorkerDeps extends Pick<LeasesDeps, 'wallNow' | 'after' | 'onError'> {
  readonly queue: Pick<DeliveryQueue, 'waitingEndpoints' | 'dueEndpoints' | 'due' | 'waitsSince'>;
  readonly claims: Pick<DeliveryClaims, 'claim' | 'settle' | 'release' | 'renew' | 'recover'>;
  readonly attempts: Pick<Attempts, 'make'>;
  readonly callLog: Pick<CallLog, 'log'>;
  readonly metrics: DeliveryMetrics;
  readonly limits: SchedulerLimits & Pick<Limits, 'deliveryLeaseMs'>;
  /** Monotonic clock, in milliseconds. */
  readonly monotonicNow: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Whether other nodes deliver from the same database. */
  readonly isShared: boolean;
  /** Asks the other nodes to look for due deliveries. Must not throw. */
  callForHelp(): void;
}

export class DeliveryWorker {
  readonly #deps: DeliveryWorkerDeps;
  readonly #scheduler: FairScheduler;
  readonly #leases: Leases;
  readonly #writes: RepeatedWrites;
  readonly #loop: WorkerLoop;
  /** Endpoints whose deliveries are due by a clock that was set back since, with that time. */
  readonly #dueBy = new Map<string, number>();
  /** Only where other nodes deliver, too. */
  readonly #poll: BacklogPoll | undefined;
  /** Wall-clock. Deliveries that were due before are a backlog. */
  #startedAt = 0;
  #willPass = false;

  constructor(deps: DeliveryWorkerDeps) {
    this.#deps = deps;
    this.#scheduler = new FairScheduler(deps.limits);
    this.#leases = new Leases({ ...deps, recovered: (deliveries) => this.add(deliveries) });
    this.#loop = new WorkerLoop(deps, () => this.#pass());
    this.#writes = new RepeatedWrites({ ...deps, isStopped: () => this.#loop.isStopped });
    this.#poll = deps.isShared
      ? new BacklogPoll({ ...deps, hasRoom: () => !this.#isBusy, found: (some) => this.#addEndpoints(some) })
      : undefined;
  }

  /** Deliveries in flight. */
  get inFlight(): number {
    return this.#scheduler.inFlight;
  }

  /** Whether half of the places are in use: one integration alone never takes all. */
  get #isBusy(): boolean {
    return 2 * this.#scheduler.inFlight >= this.#deps.limits.deliveriesInFlight;
  }

  /** Takes up the deliveries that the last process left. @throws if the store cannot be read */
  async start(): Promise<void> {
    // Before the first claim. Without other nodes, every lease is of a process that has ended.
    await this.#deps.claims.recover({ all: !this.#deps.isShared });
    if (!this.#loop.start()) return;
    this.#startedAt = this.#deps.wallNow();
    this.#leases.start();
    // Most of what waits is of nodes that are at work on it.
    if (this.#poll !== undefined) return this.#poll.start();
    this.#addEndpoints(await leftBacklog(this.#deps.queue, () => this.#loop.isRunning));
  }

  /** Adds endpoints with deliveries that another process has accepted. */
  #addEndpoints(endpoints: readonly WaitingEndpoint[]): void {
    for (const waiting of endpoints) {
      // Attack: two hundred hanging receivers take every place before their attempts show that they
      // are slow.
      if (!this.#scheduler.has(waiting.endpoint)) this.#scheduler.setSlow(waiting.endpoint, true);
      this.#scheduler.addEndpoint(waiting);
    }
    if (this.#isBusy) this.#poll?.callForHelp();
    this.#passSoon();
  }

  /** Looks for due deliveries of other nodes now. Does nothing if there are no other nodes. */
  help(): void {
    if (this.#loop.isRunning) this.#poll?.help();
  }

  /** Ends all back-offs: the database answers again. */
  retryNow(): void {
    this.#writes.retryNow();
    this.#leases.databaseIsBack();
    this.#scheduler.wake(Number.POSITIVE_INFINITY);
    this.help();
    this.#passSoon();
  }

  /** Adds deliveries that are due. */
  add(deliveries: readonly WaitingDelivery[]): void {
    for (const delivery of deliveries) this.#scheduler.add(delivery);
    if (this.#isBusy) this.#poll?.callForHelp();
    this.#passSoon();
  }

  /** Adds a delivery that is due at `dueAt`, in milliseconds since 1970. */
  addLater(delivery: WaitingDelivery, dueAt: number): void {
    const { wallNow, monotonicNow } = this.#deps;
    const waitMs = dueAt - wallNow();
    if (waitMs <= 0) return this.add([delivery]);
    this.#scheduler.addLater(delivery, monotonicNow() + Math.min(waitMs, LOOK_MS));
    this.#passSoon();
  }

  /**
   * Starts nothing any more, and gives deliveries in flight some time.
   *
   * @returns when all have ended, or have been settled: released if no receiver can have got them,
   *   otherwise of unknown end
   */
  async stop(withinMs: number): Promise<void> {
    this.#loop.stop();
    // At the same time: a walk may wait for a database that is away.
    const polled = this.#poll?.stop();
    if (!(await this.#loop.idle(withinMs))) {
      void this.#abandon().catch(this.#deps.onError);
      await this.#loop.idle(ABANDON_MS);
    }
    this.#loop.finish();
    this.#leases.stop();
    await polled;
  }

  /** At the end of this turn of the event loop, so that its deliveries are claimed together. */
  #passSoon(): void {
    if (this.#willPass) return;
    this.#willPass = true;
    setImmediate(() => {
      this.#willPass = false;
      this.#pass();
    });
  }

  #pass(): void {
    if (!this.#loop.isRunning) return;
    const { wallNow, monotonicNow } = this.#deps;
    const now = wallNow();
    this.#scheduler.wake(monotonicNow());
    const turns: Turn[] = [];
    const setBack: Turn[] = [];
    for (let next = this.#scheduler.next(); next !== undefined; next = this.#scheduler.next()) {
      if (!('id' in next)) void this.#refill(next);
      else if (this.#dueBy.has(next.endpoint)) setBack.push(next);
      else turns.push(next);
    }
    if (turns.length > 0) void this.#claim(turns, now);
    if (setBack.length > 0) {
      const dueBy = setBack.map(({ endpoint }) => this.#dueBy.get(endpoint) ?? now);
      void this.#claim(setBack, Math.max(...dueBy));
    }
    this.#loop.setTimer(this.#scheduler.nextAt);
  }

  /** Asks the store for the due deliveries of an endpoint. Never rejects. */
  async #refill({ endpoint, hints, isContested }: Refill): Promise<void> {
    const { queue, wallNow, monotonicNow, random, onError } = this.#deps;
    this.#loop.begin();
    try {
      const now = wallNow();
      const due = begunAt(await queue.due(endpoint, now, hints), isContested ? random() : 0);
      const { nextAt } = due;
      this.#dueBy.delete(endpoint);
      if (nextAt === undefined) this.#scheduler.refilled(endpoint, due);
      else if (await this.#isDueThen(endpoint, due, now))
        this.#scheduler.refilled(endpoint, {
          ...due,
          nextAt: monotonicNow() + Math.min(nextAt - wallNow(), LOOK_MS),
        });
      else {
        this.#dueBy.set(endpoint, nextAt);
        const { ids, more, nextAt: laterAt } = await queue.due(endpoint, nextAt, hints);
        // Later due times are of that clock, too, and may be days away: they do not back off
        // either.
        this.#scheduler.refilled(endpoint, { ids, more: more || laterAt !== undefined });
      }
    } catch (error) {
      this.#scheduler.refillFailed(endpoint, monotonicNow() + STORE_BACK_OFF_MS);
      onError(error);
    }
    this.#end();
  }

  /** Whether the next due time of an endpoint is not of a clock that was set back since. */
  async #isDueThen(endpoint: string, { nextId, nextAt = 0 }: DueDeliveries, now: number): Promise<boolean> {
    if (nextAt <= now + (isTaskLane(endpoint) ? TASK_WAIT_MS_MAX : BACK_OFF_MS_MAX)) return true;
    const since = nextId === undefined ? undefined : await this.#deps.queue.waitsSince(nextId);
    return since !== undefined && since <= now + BACK_OFF_MS_MAX;
  }

  /**
   * Claims deliveries and starts their attempts. Never rejects. @param dueBy the latest due time
   */
  async #claim(turns: readonly Turn[], dueBy: number): Promise<void> {
    const { claims, wallNow, monotonicNow, limits, onError } = this.#deps;
    this.#loop.begin();
    // Before the claim: the lease ends no earlier than counted from here.
    const claimedAt = wallNow();
    const ids = turns.map(({ id }) => id);
    let claimed: readonly ClaimedDelivery[] = [];
    let hasFailed = false;
    try {
      claimed = await claims.claim(ids, dueBy);
    } catch (error) {
      hasFailed = true;
      onError(error);
    }
    const now = wallNow();
    const claimOfId = new Map(claimed.map((claim) => [claim.id, claim]));
    for (const { id, endpoint, isBacklogged } of turns) {
      const claim = claimOfId.get(id);
      // An id that was hinted twice is delivered once.
      claimOfId.delete(id);
      if (claim !== undefined) {
        this.#scheduler.claimed(endpoint);
        const delivery = new DeliveryInFlight(claim, { now, claimedAt, leaseMs: limits.deliveryLeaseMs });
        // Attack: the calls of a backlog fill the cells, and a delivery of another organization
        // waits for all of them.
        delivery.caller.background = isBacklogged || claim.dueAt < this.#startedAt;
        void this.#deliver(delivery);
      } else {
        // If the disk is full, each delivery of a long backlog would fail in turn, and then all
        // again.
        if (hasFailed) this.#scheduler.backOff(endpoint, monotonicNow() + STORE_BACK_OFF_MS);
        else this.#missed(endpoint);
        this.#scheduler.done(endpoint, 'none');
      }
    }
    this.#end();
  }

  /** A hinted delivery could not be claimed. */
  #missed(endpoint: string): void {
    const { isShared, monotonicNow, random } = this.#deps;
    if (isShared) this.#scheduler.outrun(endpoint, monotonicNow() + OUTRUN_BACK_OFF_MS * random());
    else this.#scheduler.retryAt(endpoint, monotonicNow() + MISSED_BACK_OFF_MS);
  }

  /** From the claim to the settled outcome. Never rejects. */
  async #deliver(delivery: DeliveryInFlight): Promise<void> {
    this.#loop.begin();
    this.#leases.add(delivery);
    let signal: EndpointSignal = 'none';
    try {
      signal = await this.#attempt(delivery);
    } catch (error) {
      // A fault of one delivery ends neither the others nor the process.
      this.#deps.onError(error);
    }
    this.#leases.delete(delivery);
    const { wallNow, monotonicNow } = this.#deps;
    const { endpoint } = delivery.claim;
    if (delivery.target !== undefined) {
      const { intervalMs, nextAt = 0 } = delivery;
      const notBefore = monotonicNow() + nextAt - wallNow();
      this.#scheduler.setPace(endpoint, intervalMs === undefined ? undefined : { intervalMs, notBefore });
    }
    if (signal !== 'none') this.#scheduler.setSlow(endpoint, wallNow() - delivery.startedAt > SLOW_MS);
    this.#scheduler.done(endpoint, signal);
    if (!delivery.isAbandoned) this.#end();
  }

  /** @returns what the attempt says of its endpoint */
  async #attempt(delivery: DeliveryInFlight): Promise<EndpointSignal> {
    const { attempts, wallNow, metrics } = this.#deps;
    const { claim, startedAt } = delivery;
    if (!this.#loop.isRunning) {
      delivery.isEnded = true;
      await this.#release([delivery]);
      return 'none';
    }
    metrics.begins(Math.max(0, startedAt - claim.dueAt));
    const attempted = await attempts.make(delivery);
    delivery.isEnded = true;
    // An abandoned delivery is settled already.
    if (attempted === LOST || delivery.isAbandoned) return 'none';
    if (attempted === UNREAD) {
      await this.#writes.run(delivery, () => this.#deps.claims.release([claim]));
      this.#scheduler.retryAt(claim.endpoint, this.#deps.monotonicNow() + MISSED_BACK_OFF_MS);
      return 'none';
    }
    if (this.#isCutShort(delivery, attempted)) {
      await this.#release([delivery]);
      return 'none';
    }
    return (await this.#settle(delivery, attempted, wallNow())) ? signalOf(attempted.ending) : 'none';
  }

  /** Whether the stop of the service has ended or refused the call. */
  #isCutShort({ isPosted }: DeliveryInFlight, { ending }: Attempted): boolean {
    return !this.#loop.isRunning && ending.end === 'fault' && !isPosted;
  }

  /** Writes the outcome. @param now when the attempt ended @returns whether it was written */
  async #settle(delivery: DeliveryInFlight, attempted: Attempted, now: number): Promise<boolean> {
    const { random, callLog, metrics, monotonicNow } = this.#deps;
    const { claim, startedAt, target } = delivery;
    const { ending, recorded, sign } = attempted;
    const decision = decide(claim, ending, delivery.schedule, { now, random: random() });
    const result = recorded && resultOf(ending);
    const durationMs = Math.max(0, now - startedAt);
    const { outcome } = ending;
    const attempt = result && { at: startedAt, durationMs, result, outcome, ...recorded };
    const settlement = { claim, ...decision, outcome, ...(attempt && { attempt }), ...(sign && { sign }) };
    if (!(await this.#writes.run(delivery, () => this.#deps.claims.settle(settlement)))) {
      // Another claim has it; or it was written although the store reported a failure, and waits
      // without a hint.
      this.#scheduler.retryAt(claim.endpoint, monotonicNow() + MISSED_BACK_OFF_MS);
      return false;
    }
    if (result) metrics.attempted(claim.kind, result, durationMs);
    metrics.settled(claim.kind, decision.state);
    if (decision.state === 'pending')
      this.#scheduler.retryAt(claim.endpoint, this.#ticksAt(decision.dueAt, decision.dueAt - now));
    if (decision.state === 'failed' && target)
      callLog.log(target, claim.id, 'error', failureText(claim, attempted));
    return true;
  }

  /** Gives claims back without an attempt. Never rejects. */
  async #release(deliveries: readonly DeliveryInFlight[]): Promise<void> {
    const claims = deliveries.map(({ claim }) => claim);
    await this.#deps.claims.release(claims).catch(this.#deps.onError);
  }

  /**
   * At the end of the time for a stop: releases the deliveries that no receiver can have got, and
   * settles the others as of unknown end. Never rejects.
   */
  async #abandon(): Promise<void> {
    const running = this.#leases.all().filter(({ isEnded }) => !isEnded);
    for (const delivery of running) {
      delivery.isAbandoned = true;
      delivery.caller.leave();
    }
    this.#loop.begin();
    const unknown: Attempted = { ending: { end: 'unknown', outcome: 'end unknown' } };
    const now = this.#deps.wallNow();
    const posted = running.filter(({ isPosted }) => isPosted);
    await Promise.all([
      this.#release(running.filter(({ isPosted }) => !isPosted)),
      ...posted.map((delivery) => this.#settle(delivery, unknown, now)),
    ]);
    // The stop does not wait for the rest of their attempts.
    this.#end(running.length + 1);
  }

  #end(tasks = 1): void {
    this.#loop.end(tasks);
    this.#passSoon();
  }

  /**
   * The monotonic time of a due time. One that is farther off than its delay is of a clock that was
   * set back: now.
   */
  #ticksAt(at: number, delayMs: number): number {
    const { wallNow, monotonicNow } = this.#deps;
    const waitMs = at - wallNow();
    return monotonicNow() + (waitMs > delayMs + BACK_OFF_MS_MAX ? 0 : Math.min(waitMs, LOOK_MS));
  }
}

interface RepeatedWritesDeps {
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
  /** Runs a function later. @returns a function that cancels it */
  readonly after: (ms: number, run: () => void) => () => void;
  /** Whether nothing is to be repeated any more. */
  isStopped(): boolean;
  /** Receives failures of the store. */
  onError(error: unknown): void;
}

/**
 * Writes about deliveries in flight, repeated while the store fails.
 *
 * While the database is away, they are repeated until it is back, however long that takes: an
 * outcome that is written late spares the receiver a repetition. A write of a claim that another
 * node has taken over by then changes nothing.
 */
class RepeatedWrites {
  readonly #deps: RepeatedWritesDeps;
  /** Ends the waits in progress. */
  readonly #waits = new Set<() => void>();

  constructor(deps: RepeatedWritesDeps) {
    this.#deps = deps;
  }

  /**
   * Repeats a write that fails. Never rejects.
   *
   * @returns its result; undefined if it was given up: the service stops, or the store fails for
   *   another reason until the lease of the delivery expires, after which it is taken back
   */
  async run<Result>(delivery: DeliveryInFlight, write: () => Promise<Result>): Promise<Result | undefined> {
    const { wallNow, isStopped, onError } = this.#deps;
    for (;;) {
      try {
        return await write();
      } catch (error) {
        onError(error);
        const isAway = error instanceof DatabaseUnavailable;
        if (isStopped() || (!isAway && wallNow() + STORE_BACK_OFF_MS >= delivery.claimedUntil))
          return undefined;
        await this.#wait();
      }
    }
  }

  /** Repeats all writes that wait: the database answers again. */
  retryNow(): void {
    for (const end of [...this.#waits]) end();
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        this.#waits.delete(end);
        resolve();
      };
      const cancel = this.#deps.after(STORE_BACK_OFF_MS, end);
      this.#waits.add(end);
    });
  }
}
