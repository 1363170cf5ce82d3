/**
 * Many writers, one transaction: what is asked for while a commit is on its way goes into the next one together.
 *
 * A commit waits for the disk, and costs the same for one row as for hundreds. Whoever asks is answered after the commit that
 * has its rows, so nothing is acknowledged that a power cut could take back. One that fails takes nobody along: the transaction
 * is rolled back, and each of its works is done again in one of its own.
 */
import type { Database } from '../tables.ts';

/** Statements in a transaction that is open already. Run again where another one's failure has undone it. */
type Work<Result> = (transaction: Database) => Promise<Result>;

interface Waiting {
  readonly work: Work<unknown>;
  resolve(result: unknown): void;
  reject(cause: unknown): void;
}

export class GroupCommit {
  readonly #database: Database;
  #waiting: Waiting[] = [];
  #running = false;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Resolves once the work is committed. @throws what the work throws, or what the commit does */
  run<Result>(work: Work<Result>): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.push({ work, resolve: resolve as (result: unknown) => void, reject });
      if (!this.#running) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    // Whoever else asks in this turn of the event loop comes along.
    await new Promise(setImmediate);
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      this.#waiting = [];
      await this.#commit(group);
    }
    this.#running = false;
  }

  /** Never rejects. */
  async #commit(group: readonly Waiting[]): Promise<void> {
    try {
      const results = await this.#together(group);
      for (const [index, { resolve }] of group.entries()) resolve(results[index]);
    } catch (cause) {
      const [only] = group;
      if (group.length === 1) return only?.reject(cause);
      for (const each of group) await this.#commit([each]);
    }
  }

  #together(group: readonly Waiting[]): Promise<unknown[]> {
    return this.#database.transaction().execute(async (transaction) => {
      const results: unknown[] = [];
      for (const { work } of group) results.push(await work(transaction));
      return results;
    });
  }
}

/** Items of the same kind, put into the database by one statement for all that come in the same turn. */
export class Gathered<Item, Result> {
  readonly #commits: GroupCommit;
  readonly #write: (transaction: Database, items: readonly Item[]) => Promise<readonly Result[]>;
  readonly #itemsMax: number;
  #open: { readonly items: Item[]; readonly results: Promise<readonly Result[]> } | undefined;

  /**
   * @param write answers with a result for each item, in their order
   * @param itemsMax of one statement: it holds up the event loop for as long as it runs
   */
  constructor(
    commits: GroupCommit,
    itemsMax: number,
    write: (transaction: Database, items: readonly Item[]) => Promise<readonly Result[]>,
  ) {
    this.#commits = commits;
    this.#itemsMax = itemsMax;
    this.#write = write;
  }

  /** Resolves once the item is committed. */
  async add(item: Item): Promise<Result> {
    const open = this.#open ?? this.#begin();
    const index = open.items.push(item) - 1;
    if (open.items.length >= this.#itemsMax) this.#open = undefined;
    const results = await open.results;
    return results[index] as Result;
  }

  #begin() {
    const items: Item[] = [];
    const results = this.#commits.run((transaction) => {
      // From here on whoever comes is too late for this one.
      if (this.#open?.items === items) this.#open = undefined;
      return this.#write(transaction, items);
    });
    const open = { items, results };
    this.#open = open;
    return open;
  }
}
