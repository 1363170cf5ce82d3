/**
 * A task while a cell has it, and all that it takes to give it to another cell, for as long as the tenant has not seen it.
 *
 * A cell may die of one tenant with the work of many in it. What had not begun begins elsewhere, and neither the caller nor
 * the tenant can tell; what may have begun is never run twice.
 */
import type { AnnexError } from '../errors.ts';
import type { Limits } from '../limits.ts';
import type {
  CallEnd,
  FetchMessage,
  HostMessage,
  LogLevel,
  ScriptExports,
  StreamMessage,
} from '../protocol/wire.ts';
import type { CellProcess } from './cell-process.ts';

/** Times that a task may move. It waits for the next cell each time, and something about it may be what kills them. */
const MOVES_MAX = 3;
/** Lines that the cell itself adds to a call's log (rejections, exceptions, what was dropped), and UTF-8 for UTF-16. */
const LOG_LINES_BEYOND = 64;
const LOG_BYTES_FACTOR = 16;

/** A message that starts something. */
export type StartMessage = Extract<HostMessage, { t: 'call' | 'probe' }>;
/** One that starts nothing. */
export type OtherMessage = Exclude<HostMessage, { t: 'hello' | 'call' | 'probe' }>;

/** One call, or try-out, that a cell has been given. */
export interface CellTask {
  /** Whose code it runs: an installation's, or its own alone where it is a try-out. */
  readonly owner: string;
  /** Script the cell may ask for while it has this task. */
  readonly script: string;
  readonly wallMs: number;
  log(level: LogLevel, text: string): void;
  /** It is with this cell now. Told when it is given, and each time it moves. */
  placed?(cell: CellProcess): void;
  /**
   * With `more`, the body follows as stream 0; where that is `whole`, it is to be collected.
   * @returns false where it has been answered already
   */
  response?(status: number, headers: [string, string][], body: Buffer, more?: true | 'whole'): boolean;
  /** A part of a stream. @returns false where the cell broke the rules */
  stream?(message: StreamMessage, bytes: Buffer): boolean;
  /** @returns false where the cell broke the rules */
  fetch?(message: FetchMessage, body: Buffer): boolean;
  /** It had not begun when its cell died, and no other may have it. Ends it, instead of `end`. */
  refuse?(refusal: AnnexError): void;
  /** The last thing heard of it: always called, once. */
  end(end: CallEnd, exports?: ScriptExports): void;
}

/** A message that came after the task, and its bytes. */
type Later = readonly [message: OtherMessage, ...bytes: Uint8Array[]];

export class InFlightTask {
  readonly task: CellTask;
  readonly since = performance.now();
  #message: StartMessage | undefined;
  #body: readonly Uint8Array[] | undefined;
  /** At most the chunks of an upload that need no credit, its end, and that its caller has left. */
  #later: Later[] | undefined;
  #moves = 0;
  #logLines = 0;
  #logBytes = 0;

  constructor(task: CellTask, message: StartMessage, body: readonly Uint8Array[]) {
    this.task = task;
    this.#message = message;
    this.#body = body;
  }

  /** The tenant has seen it, or may have: it can no longer move, and what that would need is let go of. */
  begin(): void {
    this.#message = undefined;
    this.#body = undefined;
    this.#later = undefined;
  }

  get begun(): boolean {
    return this.#message === undefined;
  }

  /** Whether another cell may have it. */
  get movable(): boolean {
    return this.#message?.t === 'call' && this.#moves < MOVES_MAX;
  }

  /** A message about it goes to its cell, and has to be repeated to the next one. */
  follow(message: OtherMessage, bytes: Uint8Array[]): void {
    if (this.begun) return;
    this.#later ??= [];
    this.#later.push([message, ...bytes]);
  }

  /** Tells another cell all that the last one was told. Its deadlines stay what they were. */
  move(send: (message: StartMessage | OtherMessage, ...bytes: Uint8Array[]) => void): void {
    if (this.#message?.t !== 'call') return;
    this.#moves += 1;
    const elapsedMs = Math.ceil(performance.now() - this.since);
    send({ ...this.#message, elapsedMs }, ...(this.#body ?? []));
    for (const [message, ...bytes] of this.#later ?? []) send(message, ...bytes);
  }

  /** Counts a line of its log. @returns false beyond what the prelude lets through: the cell is not the one we started */
  mayLog(bytes: number, limits: Limits): boolean {
    this.#logLines += 1;
    this.#logBytes += bytes;
    return (
      this.#logLines <= limits.logLinesPerCall + LOG_LINES_BEYOND &&
      this.#logBytes <= limits.logBytesPerCall * LOG_BYTES_FACTOR
    );
  }
}
