/**
 * A task while a cell has it, with all that is needed to give it to another cell, as long as the
 * tenant has not seen it.
 *
 * One tenant may crash a cell that has tasks of many. A task that has not begun moves to another
 * cell, which neither the caller nor the tenant can notice; a task that may have begun is never run
 * twice.
 */
import type { AnnexError } from '../../errors.ts';
import type { Limits } from '../../limits.ts';
import type {
  CallEnd,
  FetchMessage,
  HostMessage,
  LogLevel,
  ResponseHead,
  ScriptExports,
  StoreMessage,
  StreamMessage,
} from '../../protocol/wire.ts';
import type { CellProcess } from './cell-process.ts';

/**
 * How often a task may move: it waits for the next cell each time, and may itself be what kills
 * them.
 */
const MOVES_MAX = 3;
/**
 * Lines that the cell itself adds to a call's log: rejections, exceptions, counts of dropped lines.
 */
const LOG_LINES_BEYOND = 64;
/** Limits count UTF-16 and the wire carries UTF-8; the rest is room for lines of the cell. */
const LOG_BYTES_FACTOR = 16;

/** A message that starts a task. */
export type StartMessage = Extract<HostMessage, { t: 'call' | 'probe' }>;
/** A message that starts nothing. */
export type OtherMessage = Exclude<HostMessage, { t: 'hello' | 'call' | 'probe' }>;

/** One call, or one probe of a script, that a cell runs. */
export interface CellTask {
  /** Whose code it runs: the id of an installation; of a probe, an id of its own. */
  readonly owner: string;
  /** Key of the script, which the cell may ask for while it has this task. */
  readonly script: string;
  readonly wallMs: number;
  log(level: LogLevel, text: string): void;
  /** This cell has the task now: called when it is submitted, and each time it moves. */
  placed?(cell: CellProcess): void;
  /**
   * The answer. With `more`, the body follows as stream 0; where `more` is `whole`, it is to be
   * collected.
   * @returns false where the call was answered before
   */
  response?(head: ResponseHead, body: Buffer): boolean;
  /** A part of a stream. @returns false where the cell broke a rule of streams */
  stream?(message: StreamMessage, bytes: Buffer): boolean;
  /** A fetch begins. @returns false where the cell broke a rule of fetches */
  fetch?(message: FetchMessage, body: Buffer): boolean;
  /** An operation of storage. @returns false where the cell broke a rule of them */
  store?(message: StoreMessage, value: Buffer): boolean;
  /**
   * The task had not begun when its cell died, and no other cell may have it. Ends it, instead of
   * `end`.
   */
  refuse?(refusal: AnnexError): void;
  /** The task has ended: called once, last of all. */
  end(end: CallEnd, exports?: ScriptExports): void;
}

/** A message that was sent after the task, and its bytes. */
type Later = readonly [message: OtherMessage, ...bytes: Uint8Array[]];

export class InFlightTask {
  readonly task: CellTask;
  readonly since = performance.now();
  #message: StartMessage | undefined;
  #body: readonly Uint8Array[] | undefined;
  /** At most the chunks of an upload that need no credit, its end, and its cancellation. */
  #later: Later[] | undefined;
  #moves = 0;
  #logLines = 0;
  #logBytes = 0;

  constructor(task: CellTask, message: StartMessage, body: readonly Uint8Array[]) {
    this.task = task;
    this.#message = message;
    this.#body = body;
  }

  /**
   * The tenant has seen the task, or may have: it can no longer move, and its messages are
   * released.
   */
  begin(): void {
    this.#message = undefined;
    this.#body = undefined;
    this.#later = undefined;
  }

  get begun(): boolean {
    return this.#message === undefined;
  }

  /** Whether it may move to another cell. */
  get movable(): boolean {
    return this.#message?.t === 'call' && this.#moves < MOVES_MAX;
  }

  /** Keeps a message about the task that is sent to its cell, to repeat it to the next one. */
  follow(message: OtherMessage, bytes: Uint8Array[]): void {
    if (this.begun) return;
    this.#later ??= [];
    this.#later.push([message, ...bytes]);
  }

  /** Repeats all messages about the task to another cell. Its deadlines stay what they were. */
  move(send: (message: StartMessage | OtherMessage, ...bytes: Uint8Array[]) => void): void {
    if (this.#message?.t !== 'call') return;
    this.#moves += 1;
    const elapsedMs = Math.ceil(performance.now() - this.since);
    send({ ...this.#message, elapsedMs }, ...(this.#body ?? []));
    for (const [message, ...bytes] of this.#later ?? []) send(message, ...bytes);
  }

  /**
   * Counts a line of its log. @returns false beyond what the prelude lets through: only a cell that
   * was taken over sends more
   */
  mayLog(bytes: number, limits: Limits): boolean {
    this.#logLines += 1;
    this.#logBytes += bytes;
    return (
      this.#logLines <= limits.logLinesPerCall + LOG_LINES_BEYOND &&
      this.#logBytes <= limits.logBytesPerCall * LOG_BYTES_FACTOR
    );
  }
}
