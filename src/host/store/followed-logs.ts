/**
 * Logs that are followed: how many lines they keep, and how lines of other nodes are found.
 */

import type { Limits } from '../../limits.ts';
import { bulk, runForEach, TEXT } from '../database/bulk.ts';
import { Sequence } from '../database/sequence.ts';
import type { Database, Tables } from '../database/tables.ts';
import { lineOf, type StoredLine } from './log-lines.ts';

/** How long a log keeps more lines after its last follower. */
const LINGER_MS = 60_000;
/** How much more a followed log keeps: times the lines of others, and bytes beyond them. */
export const FOLLOWED_TIMES = 10;
const BYTES_MORE = 8 * 1024 * 1024;

interface FollowedLog {
  followers: number;
  /** Without followers: until when. */
  until: number;
  /** Written since lines were last removed. */
  lines: number;
  bytes: number;
}

export interface FollowedLogsDeps {
  readonly limits: Pick<Limits, 'logLinesPerInstallation'>;
  /** Monotonic clock, in milliseconds. */
  readonly monotonicNow: () => number;
}

/**
 * Which logs keep more lines than others: those that are followed, and for a minute after their
 * last follower, so that a client that comes back misses none where the code logs much meanwhile.
 *
 * The bounds: ten times the lines, and some megabytes beyond what a log keeps otherwise. Of this
 * node: other nodes remove lines of a log that they write to.
 */
export class FollowedLogs {
  readonly #deps: FollowedLogsDeps;
  readonly #logs = new Map<string, FollowedLog>();

  constructor(deps: FollowedLogsDeps) {
    this.#deps = deps;
  }

  begin(tenant: string): void {
    const log = this.#logs.get(tenant) ?? { followers: 0, until: 0, lines: 0, bytes: 0 };
    log.followers += 1;
    this.#logs.set(tenant, log);
  }

  end(tenant: string): void {
    const log = this.#logs.get(tenant);
    if (log === undefined) return;
    log.followers -= 1;
    log.until = this.#deps.monotonicNow() + LINGER_MS;
  }

  /**
   * Lines were written to a log. @returns how many of its newest lines to keep; undefined if none
   * has to be removed now
   */
  keptAfter(tenant: string, { lines, bytes }: { readonly lines: number; readonly bytes: number }) {
    const max = this.#deps.limits.logLinesPerInstallation;
    const log = this.#logs.get(tenant);
    if (log === undefined) return max;
    log.lines += lines;
    log.bytes += bytes;
    // Attack: to fill the disk through a log that is followed.
    if (log.bytes > BYTES_MORE) {
      log.lines = 0;
      log.bytes = 0;
      return max;
    }
    if (log.lines < max) return undefined;
    log.lines = 0;
    return max * FOLLOWED_TIMES;
  }

  /** Logs that are not followed any more, once: they keep what others do from now on. */
  over(): readonly string[] {
    const now = this.#deps.monotonicNow();
    const over = [...this.#logs].filter(([, { followers, until }]) => followers === 0 && until <= now);
    for (const [tenant] of over) this.#logs.delete(tenant);
    return over.map(([tenant]) => tenant);
  }
}

/** Between two looks. */
const LOOK_MS = 1_000;
/** How long after its id was made a line of another node is found. */
const WRITTEN_WITHIN_MS = 10_000;
/** Ids of one log that a look reads, the newest first. */
const IDS_MAX = 5_000;
/** Lines that are read and handed on at once: a line has up to some kilobytes. */
const LINES_PER_READ = 200;

const NEWEST = bulk`
  select installation_id, id from log_lines where installation_id = ${TEXT} and id >= ${TEXT}
  order by id desc limit ${IDS_MAX}`;
const LINE = bulk`select * from log_lines where installation_id = ${TEXT} and id = ${TEXT}`;

interface LogPollDeps {
  readonly database: Database;
  /** Milliseconds since 1970, by a clock on which all nodes agree. */
  readonly wallNow: () => number;
  /** Receives the lines of a log, oldest first. Must not throw. */
  tell(tenant: string, lines: readonly StoredLine[]): void;
}

/** A followed log. */
interface Followed {
  followers: number;
  /**
   * Ids of its latest lines that were handed on, or written before it was followed; undefined until
   * the first look.
   */
  seen: Set<string> | undefined;
}

type Id = Pick<Tables['log_lines'], 'installation_id' | 'id'>;

/**
 * Finds the lines of followed logs that other nodes have written.
 *
 * Only for engines that are shared. One timer asks for the ids of all followed logs, and only while
 * a log is followed. The look goes back some seconds, because ids are made when code logs: a line
 * that another node writes later may sort before lines that were sent. Each line is handed on once;
 * lines of this node are handed on by its own writer, at once.
 *
 * It finds what is kept: of a log in which other nodes write more lines within one look than are
 * kept, the oldest are gone. A look that fails is repeated by the next one.
 */
export class LogPoll {
  readonly #deps: LogPollDeps;
  readonly #logs = new Map<string, Followed>();
  #looking: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  /** Ids before this one are not asked for any more; it never goes back. */
  #from = '';

  constructor(deps: LogPollDeps) {
    this.#deps = deps;
  }

  /**
   * Begins to look at a log for one more follower; `end` follows. Looks at once: earlier followers
   * get what they do not have.
   *
   * @returns once all lines that were written before count as seen
   * @throws if the store cannot be read
   */
  begin(tenant: string): Promise<void> {
    const log = this.#logs.get(tenant) ?? { followers: 0, seen: undefined };
    this.#logs.set(tenant, log);
    log.followers += 1;
    this.#later();
    return this.#look([tenant]);
  }

  /** A follower has ended. */
  end(tenant: string): void {
    const log = this.#logs.get(tenant);
    if (log === undefined) return;
    log.followers -= 1;
    if (log.followers === 0) this.#logs.delete(tenant);
    if (this.#logs.size === 0) this.stop();
  }

  /** Of lines that were written, those that were not handed on yet. They count as seen. */
  unseen(tenant: string, lines: readonly StoredLine[]): readonly StoredLine[] {
    const seen = this.#logs.get(tenant)?.seen;
    if (seen === undefined) return lines;
    return lines.filter(({ id }) => {
      const isNew = !seen.has(id);
      seen.add(id);
      return isNew;
    });
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #later(): void {
    if (this.#timer !== undefined) return;
    const timer = setTimeout(() => {
      const next = () => {
        // Stopped meanwhile, and perhaps begun again with a timer of its own.
        if (this.#timer !== timer) return;
        this.#timer = undefined;
        this.#later();
      };
      this.#look([...this.#logs.keys()]).then(next, next);
    }, LOOK_MS).unref();
    this.#timer = timer;
  }

  /** Looks run one after the other, so that none hands on what another does. */
  #look(tenants: readonly string[]): Promise<void> {
    const look = this.#looking.then(() => this.#tellNew(tenants));
    this.#looking = look.catch(() => undefined);
    return look;
  }

  async #tellNew(tenants: readonly string[]): Promise<void> {
    const found = Map.groupBy(await this.#ids(tenants), (row) => row.installation_id);
    const fresh = tenants.flatMap((tenant) => this.#fresh(tenant, found.get(tenant) ?? []));
    for (let at = 0; at < fresh.length; at += LINES_PER_READ) {
      const rows = fresh.slice(at, at + LINES_PER_READ).map((row) => [row.installation_id, row.id]);
      const read = await runForEach<Tables['log_lines']>(this.#deps.database, LINE, rows);
      for (const [tenant, lines] of Map.groupBy(read.map(lineOf), (line) => line.tenant))
        this.#deps.tell(tenant, this.unseen(tenant, lines));
    }
  }

  /** Of the latest ids of a log, those that were not seen, oldest first; at its first look none. */
  #fresh(tenant: string, newestFirst: readonly Id[]): readonly Id[] {
    const log = this.#logs.get(tenant);
    if (log === undefined) return [];
    if (log.seen === undefined) {
      log.seen = new Set(newestFirst.map(({ id }) => id));
      return [];
    }
    const { seen } = log;
    for (const id of seen) if (id < this.#from) seen.delete(id);
    return newestFirst.filter(({ id }) => !seen.has(id)).reverse();
  }

  /** The ids of the latest lines; of each log, newest first. */
  #ids(tenants: readonly string[]): Promise<Id[]> {
    const { database, wallNow } = this.#deps;
    const from = Sequence.first(wallNow() - WRITTEN_WITHIN_MS);
    if (from > this.#from) this.#from = from;
    const rows = tenants.map((tenant) => [tenant, this.#from]);
    return runForEach(database, NEWEST, rows);
  }
}
