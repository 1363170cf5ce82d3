/**
 * Settles deliveries: writes what becomes of each after its attempt, counts it, and logs a failure
 * for the installation. `retry.ts` decides what becomes of it; the worker, what is attempted next.
 *
 * The place of a delivery is free once its attempt has ended: the next delivery is claimed while
 * the outcome is written, mostly by the same commit. After a crash the attempts without a written
 * outcome are repeated, so these are bounded: while there are as many as places, each place stays
 * taken until its outcome is written.
 */
import type { CallLog } from '../calls/call-log.ts';
import type { Limits } from '../limits.ts';
import type { DeliveryClaims } from '../store/deliveries/delivery-claims.ts';
import type { DeliveryMetrics } from './delivery-metrics.ts';
import { failureText } from './failure-text.ts';
import type { Attempted, DeliveryInFlight } from './in-flight.ts';
import type { RepeatedWrites } from './repeated-writes.ts';
import { type Decision, decide, resultOf } from './retry.ts';

export interface SettlementParts {
  readonly claims: Pick<DeliveryClaims, 'settle' | 'release'>;
  readonly callLog: Pick<CallLog, 'log'>;
  readonly metrics: DeliveryMetrics;
  readonly limits: Pick<Limits, 'deliveriesInFlight'>;
  /** From 0 to 1. */
  readonly chance: () => number;
}

export class Settlement {
  readonly #parts: SettlementParts;
  readonly #writes: RepeatedWrites;
  #unwritten = 0;

  constructor(parts: SettlementParts, writes: RepeatedWrites) {
    this.#parts = parts;
    this.#writes = writes;
  }

  /** Whether a place stays taken until its outcome is written. */
  get isFull(): boolean {
    return this.#unwritten >= this.#parts.limits.deliveriesInFlight;
  }

  /**
   * Writes the outcome of an attempt. Never rejects.
   *
   * @param now when the attempt ended
   * @returns what was written; undefined if nothing was: another claim has the delivery; or it was
   * written although the store reported a failure
   */
  async settle(delivery: DeliveryInFlight, attempted: Attempted, now: number): Promise<Decision | undefined> {
    const { chance, callLog, claims, metrics } = this.#parts;
    const { claim, startedAt, target } = delivery;
    const { ending, recorded } = attempted;
    const decision = decide(claim, ending, now, chance());
    const result = recorded && resultOf(ending);
    const durationMs = Math.max(0, now - startedAt);
    const { outcome } = ending;
    const attempt = result && { at: startedAt, durationMs, result, outcome, ...recorded };
    const settlement = { claim, ...decision, outcome, ...(attempt && { attempt }) };
    if (!(await this.#written(delivery, () => claims.settle(settlement)))) return undefined;
    if (result) metrics.attempted(claim.kind, result, durationMs);
    metrics.settled(claim.kind, decision.state);
    if (decision.state === 'failed' && target)
      callLog.log(target, claim.id, 'error', failureText(claim, attempted));
    return decision;
  }

  /** Gives a claim back whose attempt was not made: the database was away. Never rejects. */
  async giveBack(delivery: DeliveryInFlight): Promise<void> {
    await this.#written(delivery, () => this.#parts.claims.release([delivery.claim]));
  }

  async #written<Result>(
    delivery: DeliveryInFlight,
    write: () => Promise<Result>,
  ): Promise<Result | undefined> {
    this.#unwritten += 1;
    try {
      return await this.#writes.run(delivery, write);
    } finally {
      this.#unwritten -= 1;
    }
  }
}
