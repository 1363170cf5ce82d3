/**
 * One call in its cell: its budgets, its timers, the answer that waits to leave.
 */
import { SOFT_LIMITS, type SoftLimit } from '../../limits.ts';
import type { Entry } from '../../protocol/bridge.ts';
import { type CallEnd, type Outcome, WIRE_BOUNDS } from '../../protocol/wire.ts';

const NS_PER_MS = 1e6;
const DETAIL_CHARS = 2_000;
/** Unhandled rejections of one call that are logged. */
const REJECTIONS_LOGGED = 16;
/** CPU for code that runs because its call has ended: handlers of `abort`, `catch` blocks. */
const AFTER_END_CPU_NS = 100 * NS_PER_MS;

/**
 * An entry that carries a part of a stream, or the answer to a fetch or to an operation of storage.
 */
export type StreamEntry = Extract<
  Entry<Uint8Array>,
  [kind: 'chunk' | 'close' | 'credit' | 'drop' | 'fetched' | 'fetch-failed' | 'stored', ...rest: unknown[]]
>;

/** Why a call is ended. */
export type EndReason = Pick<CallEnd, 'detail' | 'limit'>;

/** How a call ends as soon as the entry that runs has ended. */
export interface PendingEnd {
  readonly outcome: Outcome;
  readonly reason?: EndReason;
}

/** A call's id and limits. */
export interface CallBudget {
  readonly id: number;
  readonly cpuMs: number;
  readonly wallMs: number;
  /** Time to the response; a probe has none. */
  readonly firstByteMs?: number;
  /** Time since its start in a cell that has died. */
  readonly elapsedMs?: number;
  /** It is a background call. */
  readonly background?: true;
  /** Who has a share of the places; a probe has one of its own. */
  readonly holder?: string;
}

/** What a call needs to enter an isolate. */
export interface CallInput {
  readonly url: string;
  readonly event: string;
  readonly environment: string;
  /** Bytes of the caller; copied for each isolate that they enter. */
  readonly body: Uint8Array | undefined;
  /** The body follows, as stream 0. */
  readonly more: boolean;
}

/**
 * An answer that waits for its entry to end, so that it can leave with the call's CPU in one frame.
 */
export interface Answer {
  readonly status: number;
  /** The reason phrase, where the code gave one. */
  readonly statusText?: string;
  readonly headers: [string, string][];
  readonly body: Buffer;
  /**
   * The body follows, as stream 0; `whole`: it is complete in the isolate, and the host collects
   * it.
   */
  readonly more: boolean | 'whole';
}

/**
 * Why an innocent call ends with its isolate: which limit another call passed, without that call's
 * figure.
 */
export function innocentReason({ limit }: EndReason): EndReason {
  return limit === undefined ? {} : { limit: { name: limit.name } };
}

/** @param bytes length of the answer as the isolate claims it */
export function answerTooLarge(bytes: unknown): EndReason {
  const used = Number.isSafeInteger(bytes) ? Math.min(bytes as number, WIRE_BOUNDS.used) : 0;
  return { limit: { name: 'responseBodyBytes', ...(used > 0 && { used }) } };
}

export class CellCall {
  readonly id: number;
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly firstByteMs: number;
  #cpuMaxNs: number;
  readonly input: CallInput | undefined;
  /** It is a background call, and goes behind the calls of others. */
  readonly background: boolean;
  readonly holder: string | undefined;
  readonly #timers = new Map<number, Disposable>();
  #startedAt: number;
  cpuNs = 0;
  /** Unhandled rejections of this call. */
  #rejections = 0;
  answer: Answer | undefined;
  responded = false;
  /**
   * The isolate has refused memory to it. Its code may have caught the error, and answered all the
   * same.
   */
  exhausted = false;
  /**
   * Its caller has left, or it has passed a limit, in the middle of an entry: it ends so when the
   * entry ends.
   */
  pendingEnd: PendingEnd | undefined;
  /** A message about it has been sent, so the host knows that it may not run elsewhere. */
  isReported = false;
  /**
   * Entries that came before the tenant had seen the call: until then it may move to another
   * isolate. Then undefined.
   */
  held: StreamEntry[] | undefined = [];
  /** Streams of fetches that never left the cell; made with the first one. */
  #refused: Set<number> | undefined;
  /** Limits that it has met; made with the first one. */
  #met: Set<SoftLimit> | undefined;

  /** @param input absent for a probe, which only loads a script */
  constructor(budget: CallBudget, input?: CallInput) {
    const { id, cpuMs, wallMs, firstByteMs = wallMs, elapsedMs = 0, background, holder } = budget;
    this.id = id;
    this.cpuMs = cpuMs;
    this.wallMs = wallMs;
    this.firstByteMs = firstByteMs;
    this.input = input;
    this.background = background === true;
    this.holder = holder;
    this.#cpuMaxNs = cpuMs * NS_PER_MS;
    this.#startedAt = performance.now() - elapsedMs;
  }

  /** The entry that brings it to the tenant; a probe has none. */
  get entry(): Entry<Uint8Array> | undefined {
    if (this.input === undefined) return undefined;
    const { url, event, environment, body, more } = this.input;
    const texts = pieces(event);
    return ['call', this.id, url, body, more, texts.length, ...texts, ...pieces(environment)];
  }

  /** When its time began, without the time that a debugger held it. */
  get startedAt(): number {
    return this.#startedAt;
  }

  /** CPU the call may still use, nanoseconds. */
  get cpuLeftNs(): number {
    return this.#cpuMaxNs - this.cpuNs;
  }

  /** The reason of an end for used-up CPU, with the figure. */
  get overdrawn(): EndReason {
    return { limit: { name: 'callCpuMs', used: Math.ceil(this.cpuNs / NS_PER_MS) } };
  }

  /** Which bound on wall time has passed; undefined while the call has time left. */
  overdue(now: number): EndReason | undefined {
    const elapsedMs = now - this.#startedAt;
    const used = Math.ceil(elapsedMs);
    if (elapsedMs >= this.wallMs) return { limit: { name: 'callWallMs', used } };
    const waited = !this.responded && this.answer === undefined && elapsedMs >= this.firstByteMs;
    return waited ? { limit: { name: 'firstByteMs', used } } : undefined;
  }

  /** A debugger had stopped its isolate: that time, or its part of it, does not count. */
  excuse(from: number, until: number): void {
    this.#startedAt += until - Math.max(from, this.#startedAt);
  }

  /**
   * The host has the end of the call: bounds the CPU of what its code still does, whatever was left
   * of its limit.
   */
  limitAfterEnd(): void {
    this.pendingEnd = undefined;
    this.#cpuMaxNs = this.cpuNs + AFTER_END_CPU_NS;
  }

  /**
   * Notes a limit that the call has met without ending. The name comes from the isolate and is
   * checked here.
   */
  noteMet(limit: unknown): void {
    const known = SOFT_LIMITS.find((candidate) => candidate === limit);
    if (known === undefined) return;
    this.#met ??= new Set();
    this.#met.add(known);
  }

  /**
   * @param delayMs 0 for a timer that is due at once, behind those that were set before
   * @param timersMax the prelude keeps this bound; here it stops a prelude that has been taken over
   */
  setTimer(timer: number, delayMs: number, due: () => void, timersMax: number): void {
    this.clearTimer(timer);
    if (this.#timers.size >= timersMax) return;
    const fire = () => {
      this.#timers.delete(timer);
      due();
    };
    this.#timers.set(timer, delayMs === 0 ? setImmediate(fire) : setTimeout(fire, delayMs));
  }

  /** Clears one timer, if it is pending. */
  clearTimer(timer: number): void {
    this.#timers.get(timer)?.[Symbol.dispose]();
    this.#timers.delete(timer);
  }

  /** Clears all timers: none outlives its call. */
  clearTimers(): void {
    for (const timer of this.#timers.values()) timer[Symbol.dispose]();
    this.#timers.clear();
  }

  /** Notes a fetch that cannot be sent: the host gets nothing of its stream. */
  refuse(stream: number): void {
    this.#refused ??= new Set();
    this.#refused.add(stream);
  }

  /** Whether a stream belongs to a fetch that was not sent. */
  isRefused(stream: number): boolean {
    return this.#refused?.has(stream) === true;
  }

  /** Counts an unhandled rejection. @returns whether it is to be logged */
  countRejection(): boolean {
    this.#rejections += 1;
    return this.#rejections <= REJECTIONS_LOGGED;
  }

  /** How the call ends, for the host. */
  end(outcome: Outcome, reason: EndReason = {}): CallEnd {
    // Only where it ended by itself: the reason of an end from outside says more.
    if (this.exhausted && (outcome === 'ok' || outcome === 'exception'))
      return this.#ended('exceededMemory', { limit: { name: 'isolateHeapMib' } });
    return this.#ended(outcome, reason);
  }

  #ended(outcome: Outcome, { detail, limit }: EndReason): CallEnd {
    const end: CallEnd = { outcome, cpuMs: Math.round(this.cpuNs / 1e4) / 100 };
    if (detail) end.detail = detail.slice(0, DETAIL_CHARS);
    if (limit) end.limit = limit;
    if (this.#met) end.met = [...this.#met];
    return end;
  }
}

/** Of two bytes each, where a text is not of one-byte characters: just below the kilobyte. */
const PIECE_CHARS = 511;
/** A longer text costs more to copy and join than to hold. */
const IN_PIECES_CHARS_MAX = 64 * 1024;

/**
 * Splits texts on their way into an isolate into pieces that it copies into its heap.
 *
 * isolated-vm (7.0.1, `external_copy/string.cc`) passes a text of a kilobyte or more as a view of
 * memory outside of the heap. V8 puts such strings into the old generation, and collects there only
 * when 64 MiB of them have come together: each isolate that is called often would hold 64 MiB of
 * the texts of calls that are over. Shorter texts are in the young generation, and the next small
 * collection frees them.
 *
 * The pieces of a text; the text itself where it is short, or so long that copying it costs more.
 */
export function pieces(text: string): string[] {
  if (text.length <= PIECE_CHARS || text.length > IN_PIECES_CHARS_MAX) return [text];
  const all: string[] = [];
  for (let at = 0; at < text.length; at += PIECE_CHARS) all.push(text.slice(at, at + PIECE_CHARS));
  return all;
}
