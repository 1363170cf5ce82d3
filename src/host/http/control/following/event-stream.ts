/**
 * Server-sent events for one follower: of a log (docs/contract/calls.md#following-a-log) or of
 * deliveries (docs/contract/webhooks.md#following-deliveries).
 *
 * Earlier items are read from their source part by part, as fast as the client reads them. From
 * then on, the source hands over each batch after its commit, so a stream never polls. A batch may
 * hold items of other nodes, which sort before items that were sent. Each item is sent once.
 * Permissions and limits are not decided here: `followers.ts` ends streams.
 */
import { Readable } from 'node:stream';

/** Ids of earlier items that are remembered when new ones follow. */
const EARLIER_IDS_KEPT = 200;
/** Unread text at which earlier items wait for the client. */
const HIGH_WATER_BYTES = 64 * 1024;

/**
 * Why a stream ends. The client is to blame for `slow` alone. `behind`: items were lost on their
 * way to the stream; they are there for the client that continues.
 */
export type StreamEnd = 'slow' | 'stopping' | 'revoked' | 'removed' | 'behind';

/** Has an id that a client can continue with. */
export interface Item {
  readonly id: string;
}

/** Items that were there before. */
export interface EarlierItems<Followed extends Item> {
  /** Oldest first. */
  readonly items: readonly Followed[];
  /** False if items before these may be missing. */
  readonly isWhole: boolean;
}

/** Where the items of a stream come from, and how they are written. */
export interface Source<Followed extends Item> {
  /** Hands over items from now on. Neither function throws. */
  follow(
    written: (items: readonly Followed[]) => void,
    lost: () => void,
  ): {
    /** Resolves when all items that are written from now on are handed over. */
    readonly begun: Promise<void> | undefined;
    end(): void;
  };
  /** The newest items, oldest first. */
  newest(count: number): Promise<readonly Followed[]>;
  /** The items after the one with this id. */
  after(id: string): AsyncIterable<EarlierItems<Followed>>;
  /** Estimated bytes of an item's event. */
  bytesOf(item: Followed): number;
  /** The events of some items. Attack: an item with line breaks that forges events. */
  textOf(items: readonly Followed[]): Buffer;
}

export interface Begin {
  /** `id` of an item: those after it come first. */
  readonly after?: string | undefined;
  /** Without `after`: how many of the newest items come first. */
  readonly earlier?: number | undefined;
  /** Unread text of one follower; beyond this, it is dropped. */
  readonly bufferBytes: number;
}

export class EventStream<Followed extends Item> extends Readable {
  readonly #source: Source<Followed>;
  readonly #begin: Begin;
  readonly #following: ReturnType<Source<Followed>['follow']>;
  /** Batches that were written while earlier items are sent; undefined from then on. */
  #waiting: (readonly Followed[])[] | undefined = [];
  #waitingBytes = 0;
  /** Ids of the earlier items that were sent; in the end, the last of them. */
  #earlier = new Set<string>();
  /** Id of the first of the newest items that were sent; empty where all were sent. */
  #oldest = '';
  #isOver = false;
  #pushedBytes = 0;
  /** Bytes that the client had read at the last comment; -1 before the first. */
  #readBytes = -1;
  #onRead = () => {};

  constructor(source: Source<Followed>, begin: Begin) {
    super({ highWaterMark: HIGH_WATER_BYTES });
    this.#source = source;
    this.#begin = begin;
    // Before the first read of earlier items, so that none falls between the two.
    this.#following = source.follow(
      (items) => this.#written(items),
      () => this.finish('behind'),
    );
    const { begun } = this.#following;
    const begins = begun === undefined ? this.#start() : begun.then(() => this.#start());
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

  async #start(): Promise<void> {
    if (this.#isOver) return;
    // The head of the answer leaves with it: the client knows that it follows.
    this.#push(': following\n\n');
    const { after, earlier = 0 } = this.#begin;
    if (after !== undefined) await this.#resume(after);
    else if (earlier > 0) {
      const newest = await this.#source.newest(earlier);
      if (newest.length === earlier) this.#oldest = newest[0]?.id ?? '';
      this.#sendEarlier(newest);
    }
    const written = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const batch of written) this.#send(this.#notSent(batch));
    // What was read last may still be handed over.
    this.#earlier = new Set([...this.#earlier].slice(-EARLIER_IDS_KEPT));
  }

  /** Sends the items after the last one that the client has, as far as they are kept. */
  async #resume(after: string): Promise<void> {
    for await (const { items, isWhole } of this.#source.after(after)) {
      if (this.#isOver) return;
      if (!isWhole) this.#push('event: gap\ndata: {}\n\n');
      this.#sendEarlier(items);
      if (this.readableLength >= HIGH_WATER_BYTES) await this.#read();
    }
  }

  #sendEarlier(items: readonly Followed[]): void {
    for (const { id } of items) this.#earlier.add(id);
    this.#send(items);
  }

  /** Resolves when the client has read what is held, or the stream is over. */
  #read(): Promise<void> {
    return new Promise((resolve) => {
      this.#onRead = resolve;
    });
  }

  #written(items: readonly Followed[]): void {
    if (this.#isOver) return;
    // Attack: a client that follows what is busy and does not read, so that the host's memory
    // fills. What is held is checked before a batch, which is bounded itself.
    if (Math.max(this.readableLength, this.#waitingBytes) > this.#begin.bufferBytes) this.finish('slow');
    else if (this.#waiting === undefined) this.#send(this.#notSent(items));
    else {
      this.#waiting.push(items);
      for (const item of items) this.#waitingBytes += this.#source.bytesOf(item);
    }
  }

  /**
   * The same array where no item of it was sent: its text is shared with other followers. A batch
   * of which an item was sent was written before the newest items were read: what is older than
   * these is not for the client.
   */
  #notSent(items: readonly Followed[]): readonly Followed[] {
    return items.some(({ id }) => this.#earlier.has(id))
      ? items.filter(({ id }) => !this.#earlier.has(id) && id > this.#oldest)
      : items;
  }

  #send(items: readonly Followed[]): void {
    if (!this.#isOver && items.length > 0) this.#push(this.#source.textOf(items));
  }

  #push(text: string | Buffer): void {
    const bytes = typeof text === 'string' ? Buffer.from(text) : text;
    if (this.#isOver || bytes.byteLength === 0) return;
    this.#pushedBytes += bytes.byteLength;
    this.push(bytes);
  }
}
