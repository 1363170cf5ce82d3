/**
 * Many writers, one transaction: what is asked for while a commit is on its way goes into the next one together.
 *
 * A commit waits for the disk, and costs the same for one row as for hundreds. Whoever asks is answered after the commit that
 * has its rows, so nothing is acknowledged that a power cut could take back. One that fails takes nobody along: the transaction
 * is rolled back, and what it held is done again in halves, until the one that fails is alone with its failure.
 */
import { setImmediate } from 'node:timers/promises';
import type { Database } from './tables.ts';

/**
 * How long a transaction holds up the event loop at a stretch. Statements are executed in the call that asks for them, so a long
 * one would otherwise keep every call of every installation waiting.
 */
const STRETCH_MS = 5;

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
  /** Resolves when nothing is left to be committed. */
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Resolves once the work is committed. @throws what the work throws, or what the commit does */
  run<Result>(work: Work<Result>): Promise<Result> {
    if (this.#closed) return Promise.reject(new Error('The store is closed.'));
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.push({ work, resolve: resolve as (result: unknown) => void, reject });
      this.#running ??= this.#run();
    });
  }

  /** Takes on nothing any more. @returns when all that was asked for before is committed */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Whoever else asks in this turn of the event loop comes along.
      await setImmediate();
      const group = this.#waiting;
      this.#waiting = [];
      await this.#commit(group);
    }
    this.#running = undefined;
  }

  /** Never rejects. */
  async #commit(group: readonly Waiting[]): Promise<void> {
    try {
      const results = await this.#together(group);
      for (const [index, { resolve }] of group.entries()) resolve(results[index]);
    } catch (cause) {
      const [only] = group;
      if (group.length === 1) return only?.reject(cause);
      for (const half of halves(group)) await this.#commit(half);
    }
  }

  #together(group: readonly Waiting[]): Promise<unknown[]> {
    return this.#database.transaction().execute(async (transaction) => {
      const results: unknown[] = [];
      let since = performance.now();
      for (const { work } of group) {
        if (performance.now() - since > STRETCH_MS) {
          await setImmediate();
          since = performance.now();
        }
        results.push(await work(transaction));
      }
      return results;
    });
  }
}

/** Items of the same kind, put into the database by one statement for all that come in the same turn. */
export class Gathered<Item, Result> {
  readonly #commits: GroupCommit;
  readonly #write: (transaction: Database, items: readonly Item[]) => Promise<readonly Result[]>;
  readonly #itemsMax: number;
  #open: { readonly items: Item[]; readonly results: Promise<readonly Answer<Result>[]> } | undefined;

  /**
   * @param itemsMax of one statement: it holds up the event loop for as long as it runs
   * @param write answers with a result for each item, in their order. Run again, with fewer, where it has failed
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

  /** Resolves once the item is committed. @throws what its writing does, when it is the only one that is written */
  async add(item: Item): Promise<Result> {
    const open = this.#open ?? this.#begin();
    const index = open.items.push(item) - 1;
    if (open.items.length >= this.#itemsMax) this.#open = undefined;
    const answer = (await open.results)[index];
    if (answer === undefined) throw new Error('Not every item that was written has a result.');
    if ('cause' in answer) throw answer.cause;
    return answer.result;
  }

  #begin() {
    const items: Item[] = [];
    const written = this.#commits.run((transaction) => {
      // From here on whoever comes is too late for this one.
      if (this.#open?.items === items) this.#open = undefined;
      return this.#write(transaction, items);
    });
    const results = written.then(answers, (cause) => {
      if (this.#open?.items === items) this.#open = undefined;
      return this.#apart(items, cause);
    });
    const open = { items, results };
    this.#open = open;
    return open;
  }

  /** Writes in halves what could not be written together. Never rejects. */
  async #apart(items: readonly Item[], cause: unknown): Promise<Answer<Result>[]> {
    if (items.length <= 1) return items.map(() => ({ cause }));
    const answered: Answer<Result>[] = [];
    for (const half of halves(items)) {
      const written = this.#commits.run((transaction) => this.#write(transaction, half));
      answered.push(...(await written.then(answers, (again) => this.#apart(half, again))));
    }
    return answered;
  }
}

/** What has become of one item. */
type Answer<Result> = { readonly result: Result } | { readonly cause: unknown };

const answers = <Result>(results: readonly Result[]): Answer<Result>[] =>
  results.map((result) => ({ result }));

function halves<Item>(items: readonly Item[]): [readonly Item[], readonly Item[]] {
  const middle = items.length >> 1;
  return [items.slice(0, middle), items.slice(middle)];
}
