/**
 * The host's half of one cell: has its process started, speaks with it over one pipe, and ends it.
 *
 * Whatever a cell sends is hostile input. A frame out of shape, or about a call the cell was not given, ends the cell; a
 * cell that dies, whyever, has all its calls answered there and then. Nobody here knows what a call is about.
 */
import { FrameReader, FrameWriter } from '../frames.ts';
import type { Limits } from '../limits.ts';
import {
  type CallEnd,
  type CellLimits,
  type CellMessage,
  type FetchMessage,
  type HostMessage,
  type LogLevel,
  parseCellMessage,
  type ScriptExports,
  type StreamMessage,
  WIRE_BOUNDS,
} from '../wire.ts';
import type { CellBuild } from './cell-build.ts';
import type { CellLauncher, LaunchedCell } from './cell-launch.ts';

export const PING_EVERY_MS = 1_000;
const MIB = 1024 * 1024;
/** Last words of a cell that are kept, to tell why it died. */
const STDERR_CHARS_MAX = 4_096;
/** How far past its wall time a call may be before the cell counts as hung. */
const OVERDUE_MS = 2_000;
/** How long a script that was sent need not be asked for again: a cell keeps it as long as there is room. */
const ASK_AGAIN_MS = 250;
/** Lines that the cell itself adds to a call's log (rejections, exceptions, what was dropped), and UTF-8 for UTF-16. */
const LOG_LINES_BEYOND = 64;
const LOG_BYTES_FACTOR = 16;

/** One call, or probe, that a cell has been given. */
export interface CellTask {
  /** Script the cell may ask for while it has this task. */
  readonly script: string;
  readonly wallMs: number;
  log(level: LogLevel, text: string): void;
  /** With `more`, the body follows as stream 0. */
  response?(status: number, headers: [string, string][], body: Buffer, more: boolean): void;
  /** A part of a stream. @returns false where the cell broke the rules */
  stream?(message: StreamMessage, bytes: Buffer): boolean;
  /** @returns false where the cell broke the rules */
  fetch?(message: FetchMessage, body: Buffer): boolean;
  /** The last thing heard of it: always called, once. */
  end(end: CallEnd, exports?: ScriptExports): void;
}

/** What a cell's owner does for it and hears of it. */
export interface CellOwner {
  /** The source of a script the cell needs. */
  script(key: string): Promise<Uint8Array | undefined>;
  /** The cell wants to be replaced: finish what runs in it, send nothing more. */
  unwell(cell: CellProcess, reason: string): void;
  exited(cell: CellProcess, reason: string): void;
}

interface Given {
  readonly task: CellTask;
  readonly since: number;
  logLines: number;
  logBytes: number;
}

export class CellProcess {
  readonly #launched: LaunchedCell;
  readonly #writer: FrameWriter;
  readonly #owner: CellOwner;
  readonly #limits: Limits;
  readonly #given = new Map<number, Given>();
  /** Scripts it has asked for lately. */
  readonly #asked = new Set<string>();
  readonly #onReady = Promise.withResolvers<void>();
  #lastWords = '';
  /** Pings in a row without a word from the cell. */
  #unanswered = 0;
  #endReason: string | undefined;
  #exited = false;
  /** Whether it ever came up. */
  worked = false;
  isolates = 0;
  rssBytes = 0;
  /** Heaps of its isolates, by the cell's own word. */
  heapBytes = 0;

  constructor(build: CellBuild, launcher: CellLauncher, limits: Limits, owner: CellOwner) {
    this.#owner = owner;
    this.#limits = limits;
    this.#launched = launcher.launch();
    const { pipe, child } = this.#launched;
    this.#writer = new FrameWriter(pipe);
    const bounds = { headBytes: WIRE_BOUNDS.headBytes, bodyBytes: WIRE_BOUNDS.bodyBytes };
    const reader = new FrameReader(bounds, (head, body) => this.#receive(head, body));
    pipe.on('data', (chunk: Buffer) => {
      if (!reader.push(chunk)) this.kill('sent a broken frame');
    });
    // A dead pipe shows as the exit of the child, which is where it is handled.
    pipe.on('error', () => undefined);
    child.stderr?.on('data', (chunk: Buffer) => {
      this.#lastWords = (this.#lastWords + chunk.toString('utf8')).slice(-STDERR_CHARS_MAX);
    });
    child.on('error', (cause) => this.#exit(`could not be started: ${cause.message}`));
    child.on('exit', (code, signal) => this.#exit(signal ? `ended by ${signal}` : `exited with ${code}`));
    this.#onReady.promise.catch(() => undefined);
    this.#writer.send(
      {
        t: 'hello',
        limits: cellLimits(limits),
        sources: build.sources.map(({ byteLength }) => byteLength),
      } satisfies HostMessage,
      ...build.sources,
    );
  }

  /** Settles when the cell has its first blank isolate; rejects where it died before. */
  get ready(): Promise<void> {
    return this.#onReady.promise;
  }

  get pid(): number | undefined {
    return this.#launched.pid;
  }

  get inFlight(): number {
    return this.#given.size;
  }

  /** Why it died, in words for the operator: what the process printed last. */
  get lastWords(): string {
    return this.#lastWords.trim();
  }

  /** Gives the cell a task; the message must carry `id`. */
  give(message: Extract<HostMessage, { t: 'call' | 'probe' }>, task: CellTask, ...body: Uint8Array[]): void {
    if (this.#exited) return task.end({ outcome: 'cellCrashed', cpuMs: 0 });
    this.#given.set(message.id, { task, since: performance.now(), logLines: 0, logBytes: 0 });
    this.#writer.send(message, ...body);
  }

  /** Sends a message that starts nothing. */
  tell(message: Exclude<HostMessage, { t: 'hello' | 'call' | 'probe' }>, ...body: Uint8Array[]): void {
    this.#writer.send(message, ...body);
  }

  /**
   * Looks at the cell from outside: is it alive, has it grown too large, is a call overdue? Called several times a
   * second. The cell's own word is not taken for any of it.
   */
  check(now: number, hostStalled: boolean): void {
    if (this.#exited) return;
    this.rssBytes = this.#launched.residentBytes();
    // After a stall of the host, what the cell has said meanwhile is still unread.
    const overdue =
      !hostStalled &&
      [...this.#given.values()].some(({ task, since }) => now - since > task.wallMs + OVERDUE_MS);
    if (this.rssBytes > this.#limits.cellRssMib * MIB) {
      this.kill(`grew to ${Math.round(this.rssBytes / MIB)} MiB, over its ${this.#limits.cellRssMib} MiB`);
    } else if (!hostStalled && this.#unanswered * PING_EVERY_MS > this.#limits.cellHeartbeatMs) {
      this.kill(`was silent for ${this.#limits.cellHeartbeatMs} ms`);
    } else if (overdue) {
      this.kill('held a call past its wall time');
    }
  }

  /** To be called every `PING_EVERY_MS`. Pings are counted, not time: a host that stalls must not take its cells for dead. */
  ping(): void {
    this.#unanswered += 1;
    this.#writer.send({ t: 'ping' } satisfies HostMessage);
  }

  /** SIGKILL: the only end that a broken engine cannot delay. */
  kill(reason: string): void {
    this.#endReason ??= reason;
    this.#launched.kill();
  }

  #receive(head: unknown, body: Buffer): void {
    if (this.#exited) return;
    const message = parseCellMessage(head);
    if (message === undefined) return this.kill('sent a malformed message');
    this.#unanswered = 0;
    switch (message.t) {
      case 'ready':
        this.worked = true;
        return this.#onReady.resolve();
      case 'pulse':
        this.isolates = message.isolates;
        this.heapBytes = message.heapMib * MIB;
        if (message.stuck > 0) this.#owner.unwell(this, 'an isolate does not let go of its thread');
        return undefined;
      case 'need':
        return void this.#sendScript(message.script);
      default:
        return this.#hear(message, body);
    }
  }

  #hear(message: Extract<CellMessage, { id: number }>, body: Buffer): void {
    const given = this.#given.get(message.id);
    // A forged answer to a call of another cell, or of nobody.
    if (given === undefined) return this.kill('spoke of a call it was not given');
    const { task } = given;
    switch (message.t) {
      case 'log':
        given.logLines += 1;
        given.logBytes += body.byteLength;
        // The prelude keeps the limits; a cell that sends far more than them is no longer the one we started.
        if (given.logLines > this.#limits.logLinesPerCall + LOG_LINES_BEYOND)
          return this.kill('flooded the log');
        if (given.logBytes > this.#limits.logBytesPerCall * LOG_BYTES_FACTOR)
          return this.kill('flooded the log');
        return task.log(message.level, body.toString('utf8'));
      case 'response':
        task.response?.(message.status, message.headers, body, message.more === true);
        if (message.end) this.#finish(message.id, task, message.end);
        return undefined;
      case 'chunk':
      case 'close':
      case 'credit':
      case 'drop':
        return this.#obey(task.stream?.(message, body), 'broke the rules of a stream');
      case 'fetch':
        return this.#obey(task.fetch?.(message, body), 'fetched more than it may');
      case 'end':
        return this.#finish(message.id, task, message.end);
      case 'probed':
        return this.#finish(message.id, task, message.end, message.exports);
    }
  }

  /** The prelude keeps these rules; a cell that breaks one is no longer the one we started. */
  #obey(obeyed: boolean | undefined, breach: string): void {
    if (obeyed !== true) this.kill(breach);
  }

  #finish(id: number, task: CellTask, end: CallEnd, exports?: ScriptExports): void {
    this.#given.delete(id);
    task.end(end, exports);
  }

  async #sendScript(key: string): Promise<void> {
    // A cell may read the code of its own tenants alone.
    const entitled = [...this.#given.values()].some(({ task }) => task.script === key);
    if (!entitled) return this.kill('asked for a script it was not given');
    // Each answer is a copy of up to a whole script: a cell that asks without reading would fill the host's memory.
    if (this.#asked.has(key)) return this.kill('asked for a script again and again');
    this.#asked.add(key);
    if (this.#asked.size === 1) setTimeout(() => this.#asked.clear(), ASK_AGAIN_MS).unref();
    const source = await this.#owner.script(key).catch(() => undefined);
    if (source) this.#writer.send({ t: 'script', script: key } satisfies HostMessage, source);
    else this.kill(`could not be given the script ${key}`);
    return undefined;
  }

  #exit(how: string): void {
    if (this.#exited) return;
    this.#exited = true;
    const reason = this.#endReason ? `${this.#endReason}, ${how}` : how;
    this.#onReady.reject(new Error(`A cell ${reason}. ${this.lastWords}`));
    // Replaced first: whoever tries again on hearing of the crash finds the next cell.
    this.#owner.exited(this, reason);
    for (const [id, { task }] of [...this.#given]) {
      this.#finish(id, task, { outcome: 'cellCrashed', cpuMs: 0, detail: `The cell ${reason}.` });
    }
  }
}

function cellLimits(limits: Limits): CellLimits {
  return {
    responseBodyBytes: limits.responseBodyBytes,
    fetchesPerCall: limits.fetchesPerCall,
    fetchesInFlightPerCall: limits.fetchesInFlightPerCall,
    fetchRequestBodyBytes: limits.fetchRequestBodyBytes,
    isolateHeapMib: limits.isolateHeapMib,
    timersPerCall: limits.timersPerCall,
    logLinesPerCall: limits.logLinesPerCall,
    logBytesPerCall: limits.logBytesPerCall,
    isolatesPerCell: limits.isolatesPerCell,
    cellHeapMib: limits.cellHeapMib,
    warmIsolatesPerCell: limits.warmIsolatesPerCell,
  };
}
