/**
 * A log as server-sent events, for one follower
 * (docs/contract/calls.md#following-a-log).
 *
 * Earlier lines are read from the store page by page, as fast as the client reads them. From then
 * on, the store hands over each batch after its commit, so a stream never polls. A batch may hold
 * lines of other nodes, which sort before lines that were sent. Each line is sent once. Permissions
 * and limits are not decided here: `log-followers.ts` ends streams.
 */
import { Readable } from 'node:stream';
import { LOG_LEVELS, type LogLevel } from '../../protocol/wire.ts';
import type { Following, Logs, StoredLine } from '../../store/logs.ts';
import { type LineOf, lineView } from './log-line-view.ts';

/** Lines of one read of the store. */
const LINES_PER_READ = 200;
/** Unread text at which earlier lines wait for the client. */
const HIGH_WATER_BYTES = 64 * 1024;
/** Estimated text of a line beside what the code has logged. */
const LINE_BASE_BYTES = 256;

/** Why a stream ends; `slow` is the only reason that the client is to blame for. */
export type StreamEnd = 'slow' | 'stopping' | 'revoked' | 'removed';

export interface LogStreamParts {
  readonly logs: Pick<Logs, 'follow' | 'since' | 'list'>;
  /** Unread text of one follower; beyond this, it is dropped. */
  readonly bufferBytes: number;
}

export interface Followed {
  readonly tenant: string;
  /** What the lines of this tenant are shown to belong to. */
  readonly of: LineOf;
  /** This level and those above it. */
  readonly level?: LogLevel | undefined;
  /** `id` of a line: those after it come first. */
  readonly after?: string | undefined;
  /** Without `after`: how many of the newest lines come first. */
  readonly earlier?: number | undefined;
}

export class LogStream extends Readable {
  readonly #parts: LogStreamParts;
  readonly #followed: Followed;
  readonly #rank: number;
  readonly #following: Following;
  /** Batches that were written while earlier lines are sent; undefined from then on. */
  #waiting: StoredLine[] | undefined = [];
  #waitingBytes = 0;
  /** `id` of the line that was sent last. */
  #last: string;
  /** Ids of the earlier lines that were sent; in the end, those of the last read of the store. */
  #earlier = new Set<string>();
  #isOver = false;
  #pushedBytes = 0;
  /** Bytes that the client had read at the last comment; -1 before the first. */
  #readBytes = -1;
  #onRead = () => {};

  constructor(parts: LogStreamParts, followed: Followed) {
    super({ highWaterMark: HIGH_WATER_BYTES });
    this.#parts = parts;
    this.#followed = followed;
    this.#rank = followed.level === undefined ? 0 : LOG_LEVELS.indexOf(followed.level);
    this.#last = followed.after ?? '';
    // Before the first read of the store, so that no line falls between the two.
    this.#following = parts.logs.follow(followed.tenant, (lines) => this.#written(lines));
    const { begun } = this.#following;
    const begins = begun === undefined ? this.#begin() : begun.then(() => this.#begin());
    begins.catch((cause: unknown) => this.destroy(cause as Error));
  }

  /**
   * Sends a comment, so that nothing on the way takes silence for the end. A client that has read
   * nothing since the last one is dropped.
   */
  keepAlive(): void {
    if (this.#isOver) return;
    const readBytes = this.#pushedBytes - this.readableLength;
    const isStuck = this.readableLength > 0 && readBytes === this.#readBytes;
    this.#readBytes = readBytes;
    if (isStuck) this.finish('slow');
    else this.#push(': keep-alive\n\n');
  }

  /** Sends the reason as the last event, ends, and emits `over` with it. Idempotent. */
  finish(reason: StreamEnd): void {
    if (this.#isOver) return;
    this.#push(`event: ${reason === 'slow' ? 'dropped' : 'end'}\ndata: ${JSON.stringify({ reason })}\n\n`);
    this.#close();
    this.push(null);
    this.emit('over', reason);
  }

  override _read(): void {
    this.#onRead();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#close();
    done(error);
  }

  #close(): void {
    this.#isOver = true;
    this.#waiting = undefined;
    this.#following.end();
    this.#onRead();
  }

  async #begin(): Promise<void> {
    if (this.#isOver) return;
    // The head of the answer leaves with it: the client knows that it follows.
    this.#push(': following\n\n');
    const { tenant, level, after, earlier = 0 } = this.#followed;
    if (after !== undefined) await this.#resume();
    else if (earlier > 0) {
      const { items } = await this.#parts.logs.list({ tenant, level, limit: earlier });
      this.#sendEarlier(items.toReversed());
    }
    const written = this.#waiting ?? [];
    this.#waiting = undefined;
    this.#send(this.#notSent(written));
    // What was read last may still be handed over.
    this.#earlier = new Set([...this.#earlier].slice(-LINES_PER_READ));
  }

  /** Sends the lines after the last one that the client has, as far as they are kept. */
  async #resume(): Promise<void> {
    const { tenant, level } = this.#followed;
    while (!this.#isOver) {
      const query = { tenant, level, after: this.#last, limit: LINES_PER_READ };
      const { lines, isWhole } = await this.#parts.logs.since(query);
      if (this.#isOver) return;
      if (!isWhole) this.#push('event: gap\ndata: {}\n\n');
      this.#sendEarlier(lines);
      if (lines.length < LINES_PER_READ) return;
      if (this.readableLength >= HIGH_WATER_BYTES) await this.#read();
    }
  }

  #sendEarlier(lines: readonly StoredLine[]): void {
    for (const { id } of lines) this.#earlier.add(id);
    this.#send(lines);
  }

  /** Resolves when the client has read what is held, or the stream is over. */
  #read(): Promise<void> {
    return new Promise((resolve) => {
      this.#onRead = resolve;
    });
  }

  #written(lines: readonly StoredLine[]): void {
    if (this.#isOver) return;
    // Attack: a client that follows a busy log and does not read, so that the host's memory fills.
    // What is held is checked before a batch, which is bounded itself.
    if (Math.max(this.readableLength, this.#waitingBytes) > this.#parts.bufferBytes) this.finish('slow');
    else if (this.#waiting === undefined) this.#send(this.#notSent(lines));
    else {
      this.#waiting.push(...lines);
      for (const { text } of lines) this.#waitingBytes += LINE_BASE_BYTES + text.length;
    }
  }

  /** The same array where no line of it was sent: its text is shared with other followers. */
  #notSent(lines: readonly StoredLine[]): readonly StoredLine[] {
    return lines.some(({ id }) => this.#earlier.has(id))
      ? lines.filter(({ id }) => !this.#earlier.has(id))
      : lines;
  }

  #send(lines: readonly StoredLine[]): void {
    const newest = lines.at(-1);
    if (this.#isOver || newest === undefined) return;
    this.#last = newest.id;
    this.#push(textOf(lines, this.#rank, this.#followed.of));
  }

  #push(text: string | Buffer): void {
    const bytes = typeof text === 'string' ? Buffer.from(text) : text;
    if (this.#isOver || bytes.byteLength === 0) return;
    this.#pushedBytes += bytes.byteLength;
    this.push(bytes);
  }
}

/** Of each batch, its text by lowest level. */
const TEXTS = new WeakMap<readonly StoredLine[], Map<number, Buffer>>();

/** The events of a batch: made once, and held in memory once, for all followers of a log. */
function textOf(lines: readonly StoredLine[], rank: number, of: LineOf): Buffer {
  const texts = TEXTS.get(lines) ?? new Map<number, Buffer>();
  TEXTS.set(lines, texts);
  const text = texts.get(rank) ?? Buffer.from(lines.filter(isAtLeast(rank)).map(eventOf(of)).join(''));
  texts.set(rank, text);
  return text;
}

const isAtLeast =
  (rank: number) =>
  ({ level }: StoredLine): boolean =>
    LOG_LEVELS.indexOf(level) >= rank;

// Attack: a line with line breaks that forges events. JSON has none.
const eventOf =
  (of: LineOf) =>
  (line: StoredLine): string =>
    `id: ${line.id}\ndata: ${JSON.stringify(lineView(line, of))}\n\n`;
