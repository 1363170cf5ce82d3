/**
 * One call as the cell sees it: its budgets, its timers, its answer on the way out.
 */

import { SOFT_LIMITS, type SoftLimit } from '../../limits.ts';
import type { Entry } from '../../protocol/bridge.ts';
import { type CallEnd, type Outcome, WIRE_BOUNDS } from '../../protocol/wire.ts';
import { pieces } from './text-pieces.ts';

const NS_PER_MS = 1e6;
const DETAIL_CHARS = 2_000;
/** Unhandled rejections of one call that are logged. */
const REJECTIONS_LOGGED = 16;
/** CPU for what code does on hearing that its call is over: its handlers of `abort`, what it catches. */
const LAST_WORDS_CPU_NS = 100 * NS_PER_MS;

/** An entry that carries a part of a stream, or the answer to a fetch. */
export type StreamEntry = Extract<
  Entry<Uint8Array>,
  [kind: 'chunk' | 'close' | 'credit' | 'drop' | 'fetched' | 'fetch-failed', ...rest: unknown[]]
>;

/** Why a call ends before it would by itself. */
export type EndReason = Pick<CallEnd, 'detail' | 'limit'>;

/** How a call ends as soon as the entry that runs has ended. */
export interface Leaving {
  readonly outcome: Outcome;
  readonly reason?: EndReason;
}

/** A call's id and what it may use. */
export interface CallBudget {
  readonly id: number;
  readonly cpuMs: number;
  readonly wallMs: number;
  /** Time to the response; a probe has none to give. */
  readonly firstByteMs?: number;
  /** How long it has been under way before it came here. */
  readonly elapsedMs?: number;
  /** It goes behind the calls of others. */
  readonly background?: true;
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
  /** The body follows, as stream 0; `whole`: it is there as a whole, and the host collects it. */
  readonly more: boolean | 'whole';
}

/** Why a call ends that did nothing wrong: which limit another one passed, and not what that one came to. */
export function innocentReason({ limit }: EndReason): EndReason {
  return limit === undefined ? {} : { limit: { name: limit.name } };
}

/** @param bytes what the answer has at least, by the isolate's word */
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
  /** It is one of a backlog, and goes behind the calls of others. */
  readonly background: boolean;
  readonly #timers = new Map<number, Disposable>();
  readonly startedAt: number;
  cpuNs = 0;
  /** Promises of this call that were rejected and not handled. */
  #rejections = 0;
  answer: Answer | undefined;
  responded = false;
  /** The isolate has refused memory to it. Its code may have caught that, and answered all the same. */
  exhausted = false;
  /** Its caller has gone away, or it has passed a limit, in the middle of an entry. */
  leaving: Leaving | undefined;
  /** The host has heard of it, and knows that it may not run elsewhere. */
  spokenOf = false;
  /** What came for the tenant before it had seen the call: until then the call may move to another isolate. */
  held: StreamEntry[] | undefined = [];
  /** Fetches that never left the cell; made with the first one. */
  #refused: Set<number> | undefined;
  /** Limits it has met; made with the first one. */
  #met: Set<SoftLimit> | undefined;

  /** @param input absent for a probe, which only loads a script. */
  constructor(budget: CallBudget, input?: CallInput) {
    const { id, cpuMs, wallMs, firstByteMs = wallMs, elapsedMs = 0, background } = budget;
    this.id = id;
    this.cpuMs = cpuMs;
    this.wallMs = wallMs;
    this.firstByteMs = firstByteMs;
    this.input = input;
    this.background = background === true;
    this.#cpuMaxNs = cpuMs * NS_PER_MS;
    this.startedAt = performance.now() - elapsedMs;
  }

  /** The entry that hands it to the tenant; a probe has none. */
  get entry(): Entry<Uint8Array> | undefined {
    if (this.input === undefined) return undefined;
    const { url, event, environment, body, more } = this.input;
    const texts = pieces(event);
    return ['call', this.id, url, body, more, texts.length, ...texts, ...pieces(environment)];
  }

  /** CPU the call may still use, nanoseconds. */
  get cpuLeftNs(): number {
    return this.#cpuMaxNs - this.cpuNs;
  }

  /** That it has used up its CPU, and how much that was. */
  get overdrawn(): EndReason {
    return { limit: { name: 'callCpuMs', used: Math.ceil(this.cpuNs / NS_PER_MS) } };
  }

  /** Which bound on wall time has passed; undefined while the call has time left. */
  overdue(now: number): EndReason | undefined {
    const elapsedMs = now - this.startedAt;
    const used = Math.ceil(elapsedMs);
    if (elapsedMs >= this.wallMs) return { limit: { name: 'callWallMs', used } };
    const waited = !this.responded && this.answer === undefined && elapsedMs >= this.firstByteMs;
    return waited ? { limit: { name: 'firstByteMs', used } } : undefined;
  }

  /** The call has been told of as ended: what its code still does is bounded, whatever it had left. */
  allowLastWords(): void {
    this.leaving = undefined;
    this.#cpuMaxNs = this.cpuNs + LAST_WORDS_CPU_NS;
  }

  /** Notes a limit that it has met and goes on from; an isolate's word for it is checked here. */
  meet(limit: unknown): void {
    const known = SOFT_LIMITS.find((candidate) => candidate === limit);
    if (known === undefined) return;
    this.#met ??= new Set();
    this.#met.add(known);
  }

  /**
   * @param delayMs 0 for what is due at once, behind all that was asked for before
   * @param timersMax the prelude keeps this bound; here it stops one that no longer does
   */
  setTimer(timer: number, delayMs: number, due: () => void, timersMax: number): void {
    this.clearTimer(timer);
    if (this.#timers.size >= timersMax) return;
    const ring = () => {
      this.#timers.delete(timer);
      due();
    };
    this.#timers.set(timer, delayMs === 0 ? setImmediate(ring) : setTimeout(ring, delayMs));
  }

  clearTimer(timer: number): void {
    this.#timers.get(timer)?.[Symbol.dispose]();
    this.#timers.delete(timer);
  }

  /** Nothing of a call outlives it. */
  clearTimers(): void {
    for (const timer of this.#timers.values()) timer[Symbol.dispose]();
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

  /** A promise was rejected and nobody looked. @returns whether the log is to say so */
  rejected(): boolean {
    this.#rejections += 1;
    return this.#rejections <= REJECTIONS_LOGGED;
  }

  end(outcome: Outcome, reason: EndReason = {}): CallEnd {
    // Its own end or an exception of its own; what ended it from outside says more.
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
