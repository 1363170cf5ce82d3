/**
 * Reads the emissions of one isolate: passes answers, streams, fetches, operations of storage and
 * log lines of its open calls on to the host, sets their timers and starts their Web Crypto jobs.
 *
 * The sender is hostile. No object of the tenant is read: emissions are strings, numbers and
 * buffers, each checked before it counts. An emission of a call that is over is dropped. What
 * becomes of the isolate is decided by its owner.
 */
import type { Emission, Entry } from '../../protocol/bridge.ts';
import {
  type FetchMessage,
  type IsolateLimits,
  LOG_LEVELS,
  type LogLevel,
  type Outcome,
  type StoreMessage,
  type StreamMessage,
} from '../../protocol/wire.ts';
import type { CryptoJobs } from '../crypto/crypto-jobs.ts';
import type { CallListener } from './call-listener.ts';
import { type Answer, answerTooLarge, type CellCall, type EndReason } from './cell-call.ts';
import {
  boundedText,
  type EmissionOf,
  type Outgoing,
  readAnswer,
  readFetch,
  readStore,
  readStream,
  UNSENDABLE,
} from './emission-check.ts';
import { type IsolateCalls, LOADER_ID } from './isolate-calls.ts';
import type { OutgoingAnswers } from './outgoing-answers.ts';

/** The isolate whose emissions are read. */
export interface EmissionOwner {
  /** The script has run. */
  loaded(emission: EmissionOf<'loaded'>): void;
  /** The script cannot be used. @param why a sentence for the author */
  unloadable(why: string): void;
  /** The isolate has refused memory to one of its calls. */
  exhausted(): void;
  /** Ends one call; the isolate lives on. */
  abandon(call: CellCall, outcome: Outcome, reason: EndReason): void;
  /** Queues an entry. */
  enter(call: CellCall, entry: Entry<Uint8Array>): void;
}

export interface EmissionReaderDeps {
  readonly owner: EmissionOwner;
  readonly calls: IsolateCalls;
  readonly limits: IsolateLimits;
  readonly listener: CallListener;
  readonly jobs: CryptoJobs;
  readonly answers: OutgoingAnswers;
}

export class EmissionReader {
  readonly #owner: EmissionOwner;
  readonly #calls: IsolateCalls;
  readonly #limits: IsolateLimits;
  readonly #listener: CallListener;
  readonly #jobs: CryptoJobs;
  readonly #answers: OutgoingAnswers;

  constructor({ owner, calls, limits, listener, jobs, answers }: EmissionReaderDeps) {
    this.#owner = owner;
    this.#calls = calls;
    this.#limits = limits;
    this.#listener = listener;
    this.#jobs = jobs;
    this.#answers = answers;
  }

  /** Never throws, whatever the isolate emits. */
  read(emission: Emission): void {
    if (emission[0] === 'loaded') return this.#owner.loaded(emission);
    if (emission[0] === 'failed')
      return this.#owner.unloadable(`The script failed to load: ${boundedText(emission[2])}`);
    const call = emission[1] === LOADER_ID ? this.#calls.loader : this.#calls.get(emission[1]);
    // The call is over: whatever else it emits is too late.
    if (call === undefined) return undefined;
    switch (emission[0]) {
      case 'respond':
        return this.#respond(call, emission);
      case 'large':
        return this.#owner.abandon(call, 'responseTooLarge', answerTooLarge(emission[2]));
      case 'chunk':
      case 'close':
      case 'credit':
      case 'drop':
        // The body of a fetch that was refused here: a stream the host does not know is a breach,
        // for which it ends the cell.
        return call.isRefused(emission[2]) ? undefined : this.#send(call, readStream(call.id, emission));
      case 'fetch':
        return this.#fetch(call, emission);
      case 'store': {
        // The host does not know the call of a script that is loading.
        const { storageValueBytes } = this.#limits;
        const isLoading = call === this.#calls.loader;
        return isLoading ? undefined : this.#send(call, readStore(call.id, emission, storageValueBytes));
      }
      case 'end':
        return this.#calls.finish(call, emission[2], boundedText(emission[3]));
      case 'log':
        if (LOG_LEVELS.includes(emission[2])) this.log(call, emission[2], boundedText(emission[3]));
        return undefined;
      case 'timer': {
        const [, id, timer, delayMs] = emission;
        if (!(timer >= 1 && delayMs >= 0)) return undefined;
        const due = () => this.#owner.enter(call, ['timer', id, timer]);
        return call.setTimer(timer, delayMs, due, this.#limits.timersPerCall);
      }
      case 'clear-timer':
        return call.clearTimer(emission[2]);
      case 'met':
        return call.noteMet(emission[2]);
      case 'exhausted':
        call.exhausted = true;
        return this.#owner.exhausted();
      case 'job':
        return this.#jobs.submit(call, emission[2], emission[3], emission[4]);
    }
  }

  /**
   * Writes a log line. Lines of a script that is loading go to the first call that waits for it.
   */
  log(call: CellCall, level: LogLevel, text: string): void {
    const target = call === this.#calls.loader ? this.#calls.values().next().value : this.#calls.get(call.id);
    if (target === undefined) return;
    target.isReported = true;
    this.#listener.log(target, level, text);
  }

  #send(call: CellCall, outgoing: Outgoing<FetchMessage | StoreMessage | StreamMessage> | undefined): void {
    if (outgoing === undefined) return;
    call.isReported = true;
    this.#listener.sent(outgoing.message, outgoing.bytes);
  }

  #fetch(call: CellCall, emission: EmissionOf<'fetch'>): void {
    // The host does not know the call of a script that is loading, and ends a cell that sends
    // messages for unknown calls.
    const outgoing = call === this.#calls.loader ? undefined : readFetch(call.id, emission);
    if (outgoing) return this.#send(call, outgoing);
    call.refuse(emission[2]);
    return this.#owner.enter(call, ['fetch-failed', call.id, emission[2], UNSENDABLE]);
  }

  #respond(call: CellCall, emission: EmissionOf<'respond'>): void {
    if (call.responded || call.answer) return;
    const { answer, outcome, reason } = judgeAnswer(emission, this.#limits.responseBodyBytes);
    if (answer === undefined) {
      if (reason?.detail) this.log(call, 'error', reason.detail);
      this.#owner.abandon(call, outcome, reason);
    } else if (emission[5]) {
      call.answer = answer;
      this.#calls.finish(call, emission[6], '');
    } else {
      call.responded = true;
      call.isReported = true;
      this.#answers.add(call, emission[8]);
      this.#listener.answered(call, answer);
    }
  }
}

type Responded = Extract<Emission, [kind: 'respond', ...rest: unknown[]]>;

/** An answer, or how the call ends instead. */
type Judged =
  | { readonly answer: Answer; readonly outcome?: undefined; readonly reason?: undefined }
  | { readonly answer?: undefined; readonly outcome: Outcome; readonly reason: EndReason };

/**
 * Decides whether an emitted answer can be sent: its headers are valid in HTTP, and its body is
 * within the limit.
 *
 * Checks an answer. @param bytesMax limit on the bytes that came with it
 */
function judgeAnswer(emission: Responded, bytesMax: number): Judged {
  const answer = readAnswer(emission);
  if (answer === undefined) {
    const detail = 'The response has headers that are too many or too long, or that HTTP cannot carry.';
    return { outcome: 'exception', reason: { detail } };
  }
  const { byteLength } = answer.body;
  if (byteLength > bytesMax) return { outcome: 'responseTooLarge', reason: answerTooLarge(byteLength) };
  return { answer };
}
