/**
 * What a node knows of the state of its database, from the results of its statements and, on
 * PostgreSQL, from its connection for notices.
 *
 * Attack, or a bad day: the database is away, and each of thousands of requests and deliveries
 * writes the same error to the operator's log. Here a failure is reported once when it begins and
 * once when it is over. Reports lag on purpose: a failure is over when nothing has failed for a
 * while. The health checks and the workers learn of a failure at once.
 */
import type { DatabaseState } from './engine.ts';
import { DatabaseUnfit } from './unavailable.ts';

/** Without a failure for this long, it is over: longer than a statement waits for a lock. */
const QUIET_MS = 8_000;
/**
 * The same after the database did not answer at all, from its return on. The return is certain, but
 * a statement that is sent right after it may wait for a lock of a session that is still ending.
 */
const QUIET_AFTER_LOSS_MS = 5_000;
/** After a failure, before a write of no other use tries whether writes succeed again. */
const PROBE_AFTER_MS = 2_000;
/** Between two notes to the workers that writes succeed again. */
const BACK_EVERY_MS = 2_000;

export interface AvailabilityDeps {
  /** Monotonic clock, in milliseconds. */
  readonly monotonicNow: () => number;
  /** Receives the beginning of a failure, and once more if it turns out what is to be done. */
  failed(cause: unknown): void;
  /**
   * Receives the end of a failure.
   *
   * @param lastedMs until the database was back, or a statement failed for the last time
   * @param failures statements that failed meanwhile
   */
  recovered(lastedMs: number, failures: number): void;
  /** Receives that writes succeed again after one did not. */
  back(): void;
}

/** Receives notes for the operator. */
export type Note = (level: 'info' | 'warn' | 'error', message: string, cause?: unknown) => void;

/** Reports failures of the database to the operator, each once. @param back writes succeed again */
export const reportedAvailability = (
  { monotonicNow, note }: { readonly monotonicNow: () => number; readonly note: Note },
  back: () => void,
): Availability =>
  new Availability({
    monotonicNow,
    back,
    failed: (cause) =>
      note('error', 'the database is not available: what needs it is refused, and tried again', cause),
    recovered: (lastedMs, failures) =>
      note('info', `the database answers again, after ${lastedMs} ms and ${failures} failed statements`),
  });

/** A failure that has been reported, and is not over. */
interface Trouble {
  readonly since: number;
  failures: number;
  hasBeenLost: boolean;
  /** Whether what is reported says what to do. */
  isNamed: boolean;
}

export class Availability {
  readonly #deps: AvailabilityDeps;
  #trouble: Trouble | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isLost = false;
  #cut: unknown;
  #isWritable = true;
  /** Whether a transaction was committed although the connection for notices is lost. */
  #worksAllTheSame = false;
  #answeredAt = Number.NEGATIVE_INFINITY;
  #failedAt = Number.NEGATIVE_INFINITY;
  #backAt = Number.NEGATIVE_INFINITY;

  constructor(deps: AvailabilityDeps) {
    this.#deps = deps;
  }

  get state(): DatabaseState {
    const reachable = !this.#isLost || this.#worksAllTheSame;
    return { reachable, writable: reachable && this.#isWritable };
  }

  /**
   * Why statements are not even sent: nothing has come from the server for a while, not even a
   * refusal. Undefined if they are.
   */
  get cut(): unknown {
    return this.#cut;
  }

  /**
   * Whether a write should be tried that is of no other use. A node that says it cannot write is
   * sent nothing that does, and would never learn that it could.
   */
  get wantsProbe(): boolean {
    return !this.#isWritable && this.#deps.monotonicNow() - this.#failedAt >= PROBE_AFTER_MS;
  }

  /** When the server last answered a statement, by the monotonic clock. */
  get answeredAt(): number {
    return this.#answeredAt;
  }

  /** The server has answered a statement. */
  answered(): void {
    this.#answeredAt = this.#deps.monotonicNow();
  }

  /** A transaction has been committed, or another write that shows that writes succeed. */
  committed(): void {
    this.#worksAllTheSame = this.#isLost;
    if (this.#isWritable) return;
    this.#isWritable = true;
    const now = this.#deps.monotonicNow();
    if (now - this.#backAt >= BACK_EVERY_MS) {
      this.#backAt = now;
      this.#deps.back();
    }
    this.#endSoon();
  }

  /** A statement has failed for a reason that passes. */
  failed(cause: unknown): void {
    this.refused(cause);
    if (this.#trouble !== undefined) this.#trouble.failures += 1;
  }

  /** The database says of itself that it does not write. */
  refused(cause: unknown): void {
    this.#isWritable = false;
    this.#begin(cause);
  }

  /** The connection for notices is lost. @param isCut whether nothing at all is answered */
  lost(cause: unknown, isCut: boolean): void {
    this.#isLost = true;
    this.#worksAllTheSame = false;
    this.#cut = isCut ? cause : undefined;
    this.#begin(cause);
    if (this.#trouble !== undefined) this.#trouble.hasBeenLost = true;
  }

  /** The connection for notices works again. */
  found(): void {
    if (this.#trouble !== undefined) this.#failedAt = this.#deps.monotonicNow();
    this.#isLost = false;
    this.#cut = undefined;
    this.#isWritable = true;
    this.#endSoon();
  }

  /** Nothing is reported any more. */
  close(): void {
    clearTimeout(this.#timer);
    this.#trouble = { since: 0, failures: 0, hasBeenLost: false, isNamed: true };
  }

  #begin(cause: unknown): void {
    this.#failedAt = this.#deps.monotonicNow();
    const isNamed = cause instanceof DatabaseUnfit;
    // A lost connection is reported first; what has taken its place may say more.
    if (this.#trouble !== undefined && (this.#trouble.isNamed || !isNamed)) return;
    this.#trouble ??= { since: this.#failedAt, failures: 0, hasBeenLost: false, isNamed };
    this.#trouble.isNamed = isNamed;
    this.#deps.failed(cause);
  }

  /** Looks again once the time without a failure has passed. */
  #endSoon(): void {
    if (this.#trouble === undefined) return;
    clearTimeout(this.#timer);
    const quietMs = this.#trouble.hasBeenLost ? QUIET_AFTER_LOSS_MS : QUIET_MS;
    const waitMs = this.#failedAt + quietMs - this.#deps.monotonicNow();
    if (waitMs > 0) this.#timer = setTimeout(() => this.#end(), waitMs).unref();
    else this.#end();
  }

  #end(): void {
    // Failed again meanwhile: the next success looks again.
    if (this.#trouble === undefined || this.#isLost || !this.#isWritable) return;
    const { since, failures, hasBeenLost } = this.#trouble;
    const now = this.#deps.monotonicNow();
    if (now - this.#failedAt < (hasBeenLost ? QUIET_AFTER_LOSS_MS : QUIET_MS)) return this.#endSoon();
    this.#trouble = undefined;
    this.#deps.recovered(Math.round(this.#failedAt - since), failures);
  }
}
