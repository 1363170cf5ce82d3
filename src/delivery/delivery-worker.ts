/**
 * Delivers what the store has to be delivered: claims, has attempts made, settles (REFERENCE 7).
 *
 * The store has the truth, and is told first: a delivery is claimed before anybody hears of it, and what has become of it is
 * put down before its place is given to the next. So a process that dies loses none, and repeats those alone that were under
 * way. Memory holds hints of what is due (`fair-scheduler.ts`). It polls nothing: fresh deliveries are told of, and one timer is there
 * for all that rests. What is due is so by the clock; what rests, rests by ticks, which nobody sets back. What an attempt is,
 * is in `attempts.ts`; what becomes of a delivery after it, in `retry.ts`.
 */

import type { CallLog } from '../calls/call-log.ts';
import type { Limits } from '../limits.ts';
import type { Deliveries } from '../store/deliveries/deliveries.ts';
import type { ClaimedDelivery, Settlement, WaitingDelivery } from '../store/deliveries/delivery.ts';
import type { WaitingEndpoint } from '../store/deliveries/delivery-queue.ts';
import type { Attempts } from './attempts.ts';
import type { DeliveryWatch } from './delivery-metrics.ts';
import { failureText } from './failure-text.ts';
import { DELAY_MS_MAX } from './handler-outcome.ts';
import { type Attempted, DeliveryInFlight, LOST } from './in-flight.ts';
import { Leases, type LeasesParts } from './leases.ts';
import { type DeliveryOutcome, decide, resultOf } from './retry.ts';
import {
  FairScheduler,
  type Refill,
  type RefillAnswer,
  type SchedulerLimits,
  type Turn,
} from './scheduler/fair-scheduler.ts';

/** Endpoints that are asked for at once, when the service starts. */
const PAGE = 500;
/** How long a lane is left alone when the store fails. */
const STORE_REST_MS = 5_000;
/** How long one is whose delivery was not there to be claimed, or to be put down: it was canceled, or is not due any more. */
const MISSED_REST_MS = 1_000;
/** Nothing rests for longer, chance included: what seems to is of a time before the clock was set back. */
const REST_MS_MAX = 2 * DELAY_MS_MAX;
/** An attempt that took longer says that its endpoint is slow: some places are for endpoints that are not. */
const SLOW_MS = 1_000;
/** For what was cut short by the stop to be put down. */
const CUT_MS = 1_000;

type Queue = Pick<Deliveries, 'claim' | 'settle' | 'release' | 'waitingEndpoints' | 'due'>;

export interface DeliveryWorkerParts extends Pick<LeasesParts, 'clock' | 'after' | 'onError'> {
  readonly deliveries: Queue & LeasesParts['deliveries'];
  readonly attempts: Pick<Attempts, 'make'>;
  readonly journal: Pick<CallLog, 'log'>;
  readonly watch: DeliveryWatch;
  readonly limits: SchedulerLimits & Pick<Limits, 'deliveryLeaseMs'>;
  /** Milliseconds that only ever grow: what rests in this process, rests by these. */
  readonly ticks: () => number;
  /** From 0 to 1. */
  readonly chance: () => number;
}

export class DeliveryWorker {
  readonly #parts: DeliveryWorkerParts;
  readonly #lanes: FairScheduler;
  readonly #leases: Leases;
  /** Endpoints whose deliveries are due by a clock that was set back since, and by when. */
  readonly #dueBy = new Map<string, number>();
  #timer: { readonly at: number; readonly cancel: () => void } | undefined;
  /** Deliveries, claims and looks that have begun and are not over. */
  #busy = 0;
  /** By the clock. What was due before is of a backlog. */
  #startedAt = 0;
  #state: 'new' | 'running' | 'stopping' | 'stopped' = 'new';
  #willPump = false;
  #onIdle: (() => void) | undefined;

  constructor(parts: DeliveryWorkerParts) {
    this.#parts = parts;
    this.#lanes = new FairScheduler(parts.limits);
    this.#leases = new Leases({ ...parts, recovered: (made) => this.tell(made) });
  }

  /** Deliveries under way. */
  get inFlight(): number {
    return this.#lanes.inFlight;
  }

  /** Takes up what was left behind by the process before. @throws where the store cannot be read */
  async start(): Promise<void> {
    const { deliveries } = this.#parts;
    // Before anything is claimed: every lease is of a process that is gone.
    await deliveries.recover({ all: true });
    // It may have been stopped meanwhile.
    if (this.#state !== 'new') return;
    this.#state = 'running';
    this.#startedAt = this.#parts.clock();
    this.#leases.start();
    for (const waiting of await this.#waitingEndpoints()) {
      // Two hundred hanging receivers would take every place before anything is known of them.
      this.#lanes.setSlow(waiting.endpoint, true);
      this.#lanes.look(waiting);
    }
    this.#pumpSoon();
  }

  /** The latest due first: what waits for a receiver that does not answer has been due for long. */
  async #waitingEndpoints(): Promise<readonly WaitingEndpoint[]> {
    const all: WaitingEndpoint[] = [];
    let cursor: string | undefined;
    do {
      const { items, next } = await this.#parts.deliveries.waitingEndpoints({ cursor, limit: PAGE });
      for (const item of items) all.push(item);
      cursor = next;
    } while (cursor !== undefined && this.#isRunning());
    return all.sort((one, other) => other.dueAt - one.dueAt);
  }

  /** There are these deliveries, and they are due. */
  tell(made: readonly WaitingDelivery[]): void {
    for (const delivery of made) this.#lanes.add(delivery);
    this.#pumpSoon();
  }

  /**
   * Begins nothing any more, and gives what is under way some time.
   *
   * @returns when all is over, or has been put down as what it is: not tried, or of unknown end where it may have been received
   */
  async stop(withinMs: number): Promise<void> {
    this.#state = 'stopping';
    this.#timer?.cancel();
    this.#timer = undefined;
    if (!(await this.#idle(withinMs))) {
      void this.#cut().catch(this.#parts.onError);
      await this.#idle(CUT_MS);
    }
    this.#state = 'stopped';
    this.#leases.stop();
  }

  /** At the end of this turn of the event loop, so that what it brings is claimed together. */
  #pumpSoon(): void {
    if (this.#willPump) return;
    this.#willPump = true;
    setImmediate(() => {
      this.#willPump = false;
      this.#pump();
    });
  }

  #pump(): void {
    if (!this.#isRunning()) return;
    const { clock, ticks } = this.#parts;
    const now = clock();
    this.#lanes.wake(ticks());
    const turns: Turn[] = [];
    const setBack: Turn[] = [];
    for (let next = this.#lanes.next(); next !== undefined; next = this.#lanes.next()) {
      if (!('id' in next)) void this.#look(next);
      else if (this.#dueBy.has(next.endpoint)) setBack.push(next);
      else turns.push(next);
    }
    if (turns.length > 0) void this.#claim(turns, now);
    if (setBack.length > 0) {
      const dueBy = setBack.map(({ endpoint }) => this.#dueBy.get(endpoint) ?? now);
      void this.#claim(setBack, Math.max(...dueBy));
    }
    this.#alarm();
  }

  /** Asks for what an endpoint has. Never rejects. */
  async #look({ endpoint, hints }: Refill): Promise<void> {
    const { deliveries, clock, ticks, onError } = this.#parts;
    this.#busy += 1;
    try {
      const now = clock();
      const due = await deliveries.due(endpoint, now, hints);
      const { nextAt } = due;
      this.#dueBy.delete(endpoint);
      if (nextAt === undefined) this.#lanes.found(endpoint, due);
      else if (nextAt <= now + REST_MS_MAX)
        this.#lanes.found(endpoint, { ...due, nextAt: this.#ticksAt(nextAt) });
      else {
        this.#dueBy.set(endpoint, nextAt);
        const { ids, more, nextAt: laterAt } = await deliveries.due(endpoint, nextAt, hints);
        // Those that are due later by that clock do not rest either: it may be days away.
        this.#lanes.found(endpoint, { ids, more: more || laterAt !== undefined });
      }
    } catch (error) {
      this.#lanes.leave(endpoint, ticks() + STORE_REST_MS);
      onError(error);
    }
    this.#over();
  }

  /** Never rejects. @param dueBy what is due later is not there to be claimed */
  async #claim(turns: readonly Turn[], dueBy: number): Promise<void> {
    const { deliveries, clock, ticks, limits, onError } = this.#parts;
    this.#busy += 1;
    const ids = turns.map(({ id }) => id);
    let claims: readonly ClaimedDelivery[] = [];
    let hasFailed = false;
    try {
      claims = await deliveries.claim(ids, dueBy);
    } catch (error) {
      hasFailed = true;
      onError(error);
    }
    const now = clock();
    const claimOfId = new Map(claims.map((claim) => [claim.id, claim]));
    for (const { id, endpoint, isBacklogged } of turns) {
      const claim = claimOfId.get(id);
      // An id that was there twice is delivered once.
      claimOfId.delete(id);
      if (claim !== undefined) {
        const way = new DeliveryInFlight(claim, now, limits.deliveryLeaseMs);
        // Attack: the calls of a backlog fill the cells, and a single delivery of another organization waits for all of them.
        way.caller.background = isBacklogged || claim.dueAt < this.#startedAt;
        void this.#deliver(way);
      } else {
        // A full disk: each of a long backlog would fail after the other, and then all of them again.
        if (hasFailed) this.#lanes.rest(endpoint, ticks() + STORE_REST_MS);
        else this.#lanes.later(endpoint, ticks() + MISSED_REST_MS);
        this.#lanes.done(endpoint, 'nothing');
      }
    }
    this.#over();
  }

  /** From the claim to what has become of it. Never rejects. */
  async #deliver(way: DeliveryInFlight): Promise<void> {
    this.#busy += 1;
    this.#leases.add(way);
    let news: RefillAnswer = 'nothing';
    try {
      news = await this.#attempt(way);
    } catch (error) {
      // Whatever one delivery does to its worker, the others keep their places, and the process its life.
      this.#parts.onError(error);
    }
    this.#leases.delete(way);
    const { clock } = this.#parts;
    const { endpoint } = way.claim;
    if (news !== 'nothing') this.#lanes.setSlow(endpoint, clock() - way.startedAt > SLOW_MS);
    this.#lanes.done(endpoint, news);
    if (!way.isCut) this.#over();
  }

  /** @returns what it says of its endpoint */
  async #attempt(way: DeliveryInFlight): Promise<RefillAnswer> {
    const { attempts, clock, watch } = this.#parts;
    const { claim, startedAt } = way;
    if (!this.#isRunning()) {
      way.isEnded = true;
      await this.#release([way]);
      return 'nothing';
    }
    watch.begins(Math.max(0, startedAt - claim.dueAt));
    const attempted = await attempts.make(way);
    way.isEnded = true;
    // Where it is cut, what becomes of it was said already.
    if (attempted === LOST || way.isCut) return 'nothing';
    if (this.#isCutShort(way, attempted)) {
      await this.#release([way]);
      return 'nothing';
    }
    return (await this.#settle(way, attempted, clock())) ? newsOf(attempted.ending) : 'nothing';
  }

  /** The stop has ended its call, or would not let it begin. */
  #isCutShort({ isPosted }: DeliveryInFlight, { ending }: Attempted): boolean {
    return !this.#isRunning() && ending.end === 'fault' && !isPosted;
  }

  /** @param now when the attempt ended @returns whether it was put down */
  async #settle(way: DeliveryInFlight, attempted: Attempted, now: number): Promise<boolean> {
    const { chance, journal, watch, ticks } = this.#parts;
    const { claim, startedAt, target } = way;
    const { ending, noted } = attempted;
    const decision = decide(claim, ending, now, chance());
    const result = noted && resultOf(ending);
    const durationMs = Math.max(0, now - startedAt);
    const { outcome } = ending;
    const isHeard = await this.#putDown(way, {
      claim,
      ...decision,
      outcome,
      ...(result && { attempt: { at: startedAt, durationMs, result, outcome, ...noted } }),
    });
    if (!isHeard) {
      // Somebody else has it; or it was put down although the store said that it had failed, and waits where nobody knows of it.
      this.#lanes.later(claim.endpoint, ticks() + MISSED_REST_MS);
      return false;
    }
    if (result) watch.attempted(claim.kind, result, durationMs);
    watch.settled(claim.kind, decision.state);
    if (decision.state === 'pending') this.#lanes.later(claim.endpoint, this.#ticksAt(decision.dueAt));
    if (decision.state === 'failed' && target)
      journal.log(target, claim.id, 'error', failureText(claim, attempted));
    return true;
  }

  /** Again and again where the store fails, for as long as the claim holds; after that it is recovered like any that lapsed. */
  async #putDown(way: DeliveryInFlight, settlement: Settlement): Promise<boolean> {
    const { deliveries, clock, after, onError } = this.#parts;
    for (;;) {
      try {
        return await deliveries.settle(settlement);
      } catch (error) {
        onError(error);
        if (this.#state === 'stopped' || clock() + STORE_REST_MS >= way.claimedUntil) return false;
        await new Promise<void>((resolve) => after(STORE_REST_MS, resolve));
      }
    }
  }

  /** Never rejects. */
  async #release(ways: readonly DeliveryInFlight[]): Promise<void> {
    await this.#parts.deliveries.release(ways.map(({ claim }) => claim)).catch(this.#parts.onError);
  }

  /**
   * The time of a stop is over. What no receiver can have got is as if it had never been claimed; of the rest, nobody knows.
   * Never rejects.
   */
  async #cut(): Promise<void> {
    const ways = this.#leases.all().filter(({ isEnded }) => !isEnded);
    for (const way of ways) {
      way.isCut = true;
      way.caller.leave();
    }
    this.#busy += 1;
    const unknown: Attempted = { ending: { end: 'unknown', outcome: 'end unknown' } };
    const now = this.#parts.clock();
    await Promise.all([
      this.#release(ways.filter(({ isPosted }) => !isPosted)),
      ...ways.filter(({ isPosted }) => isPosted).map((way) => this.#settle(way, unknown, now)),
    ]);
    // What goes on of them is waited for by nobody.
    this.#busy -= ways.length;
    this.#over();
  }

  /** @returns whether all was over in time */
  async #idle(withinMs: number): Promise<boolean> {
    if (this.#busy === 0) return true;
    return new Promise((resolve) => {
      const cancel = this.#parts.after(withinMs, () => resolve(false));
      this.#onIdle = () => {
        cancel();
        resolve(true);
      };
    });
  }

  #over(): void {
    this.#busy -= 1;
    if (this.#busy === 0) this.#onIdle?.();
    this.#pumpSoon();
  }

  /** One timer, for whatever is due first. */
  #alarm(): void {
    const at = this.#lanes.nextAt;
    if (at === this.#timer?.at) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (at === undefined) return;
    const { ticks, after } = this.#parts;
    // Not before: a timer may come a little early, and is set again then.
    const cancel = after(Math.max(1, Math.ceil(at - ticks())), () => {
      this.#timer = undefined;
      this.#pump();
    });
    this.#timer = { at, cancel };
  }

  /** When it is that time by the clock. A time that is too far off is of a clock that was set back since: the store is asked. */
  #ticksAt(at: number): number {
    const { clock, ticks } = this.#parts;
    const restMs = at - clock();
    return ticks() + (restMs > REST_MS_MAX ? 0 : restMs);
  }

  #isRunning(): boolean {
    return this.#state === 'running';
  }
}

/** What an end says of the endpoint: nothing where it was the platform, or somebody's order. */
function newsOf({ end }: DeliveryOutcome): RefillAnswer {
  if (end === 'delivered' || end === 'unhandled') return 'succeeded';
  return end === 'rejected' || end === 'failed' || end === 'lapsed' ? 'failed' : 'nothing';
}
