/**
 * Group commit: all work requested while one commit is in progress shares the next transaction.
 *
 * A commit waits for the disk and costs the same for one row as for hundreds. A caller is answered
 * after the commit that holds its rows, so a power cut never undoes acknowledged work. A failure
 * affects only its own work: the transaction is rolled back and its work is retried in halves,
 * until the failing work is alone and its caller gets the error (docs/decisions/group-commits.md).
 * Work that collides with another node's is run again. If the database is not available, all work
 * of the transaction fails at once: to try each half would only delay the answers. Work that waits
 * too long for a transaction which does not end fails as well, before it has been sent.
 */
import { setImmediate } from 'node:timers/promises';
import type { Database } from './tables.ts';
import { DatabaseUnavailable, WriteConflict } from './unavailable.ts';

/**
 * How long a transaction may block the event loop without a turn. Statements run synchronously, so
 * a long transaction would otherwise delay every call of every installation.
 */
const STRETCH_MS = 5;
/** Runs of work that collides with that of another node. */
const RUNS_MAX = 5;

/** Statements in an open transaction. Run again if the failure of other work rolled them back. */
type Work<Result> = (transaction: Database) => Promise<Result>;

interface Waiting {
  readonly work: Work<unknown>;
  /** Whether its statements may be sent between those of other such work. */
  readonly isPipelined: boolean;
  resolve(result: unknown): void;
  reject(cause: unknown): void;
  /** Since when it waits for its transaction, in monotonic milliseconds. */
  readonly since: number;
}

export interface GroupCommitOptions {
  /** Transactions in flight at once; more than one only helps where a commit waits for a server. */
  readonly inFlightMax?: number;
  /** How long work waits for its transaction to start, in milliseconds; for ever if absent. */
  readonly waitMsMax?: number | undefined;
}

export interface RunOptions {
  /**
   * The work is right in any order with all other work of which this is said, as one that concerns
   * other rows. Where statements travel to a server, they are sent without waiting for the answers
   * of the others; the server runs them one by one.
   */
  readonly isPipelined?: boolean;
}

export class GroupCommit {
  readonly #database: Database;
  readonly #inFlightMax: number;
  readonly #waitMsMax: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #waiting: Waiting[] = [];
  #inFlight = 0;
  #willStart = false;
  /** Called when no work is left to commit. */
  #onIdle: (() => void) | undefined;
  #closed = false;

  constructor(database: Database, { inFlightMax = 1, waitMsMax }: GroupCommitOptions = {}) {
    this.#database = database;
    this.#inFlightMax = inFlightMax;
    this.#waitMsMax = waitMsMax;
  }

  /**
   * Resolves once the work is committed.
   *
   * @throws what the work throws, or what the commit does
   * @throws DatabaseUnavailable if no transaction could start in time; nothing was written then
   */
  run<Result>(work: Work<Result>, { isPipelined = false }: RunOptions = {}): Promise<Result> {
    if (this.#closed) return Promise.reject(new Error('The store is closed.'));
    return new Promise<Result>((resolve, reject) => {
      const since = performance.now();
      this.#waiting.push({ work, isPipelined, resolve: resolve as (result: unknown) => void, reject, since });
      this.#boundWait();
      this.#start();
    });
  }

  /** Accepts no more work. @returns once all accepted work is committed */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#inFlight === 0 && this.#waiting.length === 0) return;
    await new Promise<void>((resolve) => (this.#onIdle = resolve));
  }

  /** Looks after work that waits for a transaction which hangs. */
  #boundWait(): void {
    const [first] = this.#waiting;
    if (first === undefined || this.#waitMsMax === undefined || this.#timer !== undefined) return;
    const waitMs = Math.max(0, first.since + this.#waitMsMax - performance.now());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#refuseLate();
      this.#boundWait();
    }, waitMs).unref();
  }

  #refuseLate(): void {
    const bound = performance.now() - (this.#waitMsMax ?? 0);
    const late = this.#waiting.filter(({ since }) => since <= bound);
    if (late.length === 0) return;
    this.#waiting = this.#waiting.filter(({ since }) => since > bound);
    const cause = new DatabaseUnavailable(new Error('The transactions before this one do not end.'));
    for (const { reject } of late) reject(cause);
    if (this.#inFlight === 0 && this.#waiting.length === 0) this.#onIdle?.();
  }

  /** Starts the next transaction at the end of this turn: all work requested in it joins. */
  #start(): void {
    if (this.#willStart || this.#inFlight >= this.#inFlightMax || this.#waiting.length === 0) return;
    this.#willStart = true;
    void setImmediate().then(() => {
      this.#willStart = false;
      const group = this.#waiting;
      this.#waiting = [];
      void this.#run(group);
    });
  }

  /** Never rejects. */
  async #run(group: readonly Waiting[]): Promise<void> {
    this.#inFlight += 1;
    await this.#commit(group);
    this.#inFlight -= 1;
    this.#start();
    if (this.#inFlight === 0 && this.#waiting.length === 0) this.#onIdle?.();
  }

  /** Never rejects. */
  async #commit(group: readonly Waiting[], runs = 1): Promise<void> {
    try {
      const results = await this.#together(group);
      for (const [index, { resolve }] of group.entries()) resolve(results[index]);
    } catch (cause) {
      const collided = cause instanceof WriteConflict && runs < RUNS_MAX;
      if (cause instanceof DatabaseUnavailable) for (const { reject } of group) reject(cause);
      else if (group.length > 1) for (const half of halves(group)) await this.#commit(half);
      else if (collided) await this.#commit(group, runs + 1);
      else group[0]?.reject(cause);
    }
  }

  /** Splits a group into parts that run after one another; the works of a part run at once. */
  #parts(group: readonly Waiting[]): (readonly Waiting[])[] {
    if (this.#inFlightMax === 1) return group.map((waiting) => [waiting]);
    const pipelined = group.filter(({ isPipelined }) => isPipelined);
    const others = group.filter(({ isPipelined }) => !isPipelined);
    return [...(pipelined.length > 0 ? [pipelined] : []), ...others.map((waiting) => [waiting])];
  }

  #together(group: readonly Waiting[]): Promise<unknown[]> {
    return this.#database.transaction().execute(async (transaction) => {
      const results = new Map<Waiting, unknown>();
      let since = performance.now();
      for (const part of this.#parts(group)) {
        if (performance.now() - since > STRETCH_MS) {
          await setImmediate();
          since = performance.now();
        }
        const answers = await allOf(part.map(async ({ work }) => work(transaction)));
        for (const [index, waiting] of part.entries()) results.set(waiting, answers[index]);
      }
      return group.map((waiting) => results.get(waiting));
    });
  }
}

export interface GatheredOptions<Item> extends RunOptions {
  /** The owner of an item: batches take items of owners in turn. All have one owner if absent. */
  readonly ownerOf?: (item: Item) => string;
  /** How much of a batch an item fills; 1 if absent. */
  readonly weightOf?: (item: Item) => number;
}

/**
 * Items of one kind, written by one bulk statement for all items added in the same turn of the
 * event loop.
 *
 * Attack: an owner adds heavy items without a pause, and the light one of another waits for all of
 * them. So a batch has a bound, and takes one item of each owner in turn.
 */
export class Gathered<Item, Result> {
  readonly #commits: GroupCommit;
  readonly #write: (transaction: Database, items: readonly Item[]) => Promise<readonly Result[]>;
  readonly #weightMax: number;
  readonly #options: GatheredOptions<Item>;
  /** Owner → items that wait for a batch; the owner whose turn is next first. */
  readonly #waiting = new Map<string, Gathering<Item, Result>[]>();
  /** Whether a batch is requested that has not begun. */
  #isRequested = false;

  /**
   * @param weightMax weight of one bulk statement, which blocks the event loop while it runs; an
   * item that is heavier has one of its own
   * @param write returns a result for each item, in order; run again with fewer items if it failed
   */
  constructor(
    commits: GroupCommit,
    weightMax: number,
    write: (transaction: Database, items: readonly Item[]) => Promise<readonly Result[]>,
    options: GatheredOptions<Item> = {},
  ) {
    this.#options = options;
    this.#commits = commits;
    this.#weightMax = weightMax;
    this.#write = write;
  }

  /** Resolves once the item is committed. @throws the error of writing this item alone */
  add(item: Item): Promise<Result> {
    const owner = this.#options.ownerOf?.(item) ?? '';
    return new Promise<Result>((resolve, reject) => {
      const gathering = { item, resolve, reject };
      const queue = this.#waiting.get(owner);
      if (queue === undefined) this.#waiting.set(owner, [gathering]);
      else queue.push(gathering);
      this.#request();
    });
  }

  /** Requests a transaction for the items that wait. */
  #request(): void {
    if (this.#isRequested) return;
    this.#isRequested = true;
    // Chosen when the transaction runs, and kept: it may be run again.
    let batch: readonly Gathering<Item, Result>[] | undefined;
    const begin = (weightMax: number) => {
      if (batch !== undefined) return batch;
      batch = this.#take(weightMax);
      this.#isRequested = false;
      if (this.#waiting.size > 0) this.#request();
      return batch;
    };
    const written = this.#commits.run(
      (transaction) =>
        this.#write(
          transaction,
          begin(this.#weightMax).map(({ item }) => item),
        ),
      this.#options,
    );
    void written.then(
      (results) => answer(begin(0), results),
      // Where no transaction could begin, all that wait have waited too long.
      (cause) => this.#retryInHalves(begin(Number.POSITIVE_INFINITY), cause),
    );
  }

  /** The items of the next batch, at least one: one of each owner in turn. */
  #take(weightMax: number): Gathering<Item, Result>[] {
    const { weightOf = () => 1 } = this.#options;
    const taken: Gathering<Item, Result>[] = [];
    let weight = 0;
    for (let turn = first(this.#waiting); turn !== undefined; turn = first(this.#waiting)) {
      const [owner, items] = turn;
      const [next] = items;
      if (next === undefined) break;
      weight += weightOf(next.item);
      if (weight > weightMax && taken.length > 0) break;
      taken.push(next);
      items.shift();
      // To the end of the turns.
      this.#waiting.delete(owner);
      if (items.length > 0) this.#waiting.set(owner, items);
    }
    return taken;
  }

  /** Retries a failed batch in halves. Never rejects. */
  async #retryInHalves(batch: readonly Gathering<Item, Result>[], cause: unknown): Promise<void> {
    if (batch.length <= 1 || cause instanceof DatabaseUnavailable) {
      for (const { reject } of batch) reject(cause);
      return;
    }
    for (const half of halves(batch)) {
      const items = half.map(({ item }) => item);
      const written = this.#commits.run((transaction) => this.#write(transaction, items), this.#options);
      await written.then(
        (results) => answer(half, results),
        (failure) => this.#retryInHalves(half, failure),
      );
    }
  }
}

/** An item that waits for its result. */
interface Gathering<Item, Result> {
  readonly item: Item;
  resolve(result: Result): void;
  reject(cause: unknown): void;
}

function answer<Item, Result>(batch: readonly Gathering<Item, Result>[], results: readonly Result[]): void {
  for (const [index, { resolve, reject }] of batch.entries()) {
    if (index < results.length) resolve(results[index] as Result);
    else reject(new Error('Not every item that was written has a result.'));
  }
}

function first<Key, Value>(map: ReadonlyMap<Key, Value>): [Key, Value] | undefined {
  for (const entry of map) return entry;
  return undefined;
}

/** Waits for all before it throws: none sends a statement after the transaction is rolled back. */
async function allOf<Result>(works: readonly Promise<Result>[]): Promise<Result[]> {
  await Promise.allSettled(works);
  return Promise.all(works);
}

function halves<Item>(items: readonly Item[]): [readonly Item[], readonly Item[]] {
  const middle = items.length >> 1;
  return [items.slice(0, middle), items.slice(middle)];
}
