/**
 * One call as the cell sees it: its budgets, its timers, its answer on the way out.
 */
import type { Entry } from '../bridge.ts';
import type { CallEnd, Outcome } from '../wire.ts';

const NS_PER_MS = 1e6;
const DETAIL_CHARS = 2_000;

/** An entry that carries a part of a stream, or the answer to a fetch. */
export type StreamEntry = Extract<
  Entry<Uint8Array>,
  [kind: 'chunk' | 'close' | 'credit' | 'drop' | 'fetched' | 'unfetched', ...rest: unknown[]]
>;

/** A call's id and what it may use. */
export interface CallBudget {
  readonly id: number;
  readonly cpuMs: number;
  readonly wallMs: number;
  /** Time to the response; a probe has none to give. */
  readonly firstByteMs?: number;
}

/** What a call needs to enter an isolate. */
export interface CallInput {
  readonly url: string;
  readonly event: string;
  readonly environment: string;
  /** The caller's bytes; copied for each isolate they are handed to. */
  readonly body: Uint8Array | undefined;
  /** The body follows, as stream 0. */
  readonly more: boolean;
}

/** An answer that waits for its entry to end, so that it can leave with the call's CPU in one frame. */
export interface Answer {
  readonly status: number;
  readonly headers: [string, string][];
  readonly body: Buffer;
  /** The body follows, as stream 0. */
  readonly more: boolean;
}

export class CellCall {
  readonly id: number;
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly firstByteMs: number;
  readonly input: CallInput | undefined;
  readonly #timers = new Map<number, NodeJS.Timeout>();
  readonly #startedAt = performance.now();
  cpuNs = 0;
  /** Promises of this call that were rejected and not handled. */
  rejections = 0;
  answer: Answer | undefined;
  responded = false;
  /** What came for the tenant before it had seen the call: until then the call may move to another isolate. */
  held: StreamEntry[] | undefined = [];
  /** Fetches that never left the cell; made with the first one. */
  #refused: Set<number> | undefined;

  /** @param input absent for a probe, which only loads a script. */
  constructor({ id, cpuMs, wallMs, firstByteMs = wallMs }: CallBudget, input?: CallInput) {
    this.id = id;
    this.cpuMs = cpuMs;
    this.wallMs = wallMs;
    this.firstByteMs = firstByteMs;
    this.input = input;
  }

  /** CPU the call may still use, nanoseconds. */
  get cpuLeftNs(): number {
    return this.cpuMs * NS_PER_MS - this.cpuNs;
  }

  /** Which bound on wall time has passed, as a sentence; undefined while the call has time left. */
  overdue(now: number): string | undefined {
    const elapsedMs = now - this.#startedAt;
    if (elapsedMs >= this.wallMs) return `The call did not finish within its ${this.wallMs} ms.`;
    const waited = !this.responded && this.answer === undefined && elapsedMs >= this.firstByteMs;
    return waited ? `The call gave no response within its ${this.firstByteMs} ms.` : undefined;
  }

  /** @param timersMax the prelude keeps this bound; here it stops one that no longer does */
  setTimer(timer: number, delayMs: number, due: () => void, timersMax: number): void {
    this.clearTimer(timer);
    if (this.#timers.size >= timersMax) return;
    this.#timers.set(
      timer,
      setTimeout(() => {
        this.#timers.delete(timer);
        due();
      }, delayMs),
    );
  }

  clearTimer(timer: number): void {
    clearTimeout(this.#timers.get(timer));
    this.#timers.delete(timer);
  }

  /** Nothing of a call outlives it. */
  clearTimers(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  /** A fetch cannot be sent: the host hears nothing of it. */
  refuse(stream: number): void {
    this.#refused ??= new Set();
    this.#refused.add(stream);
  }

  /** Whether the host has never heard of the fetch that a stream belongs to. */
  isRefused(stream: number): boolean {
    return this.#refused?.has(stream) === true;
  }

  end(outcome: Outcome, detail?: string): CallEnd {
    const cpuMs = Math.round(this.cpuNs / 1e4) / 100;
    return detail ? { outcome, cpuMs, detail: detail.slice(0, DETAIL_CHARS) } : { outcome, cpuMs };
  }
}
