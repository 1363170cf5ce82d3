/**
 * Logs of integrations: the newest `logLinesPerInstallation` lines of each installation, and of the
 * endpoint of each integration; of followed ones, more (`followed-logs.ts`).
 *
 * Appending never waits and never fails: lines are buffered, and a pass writes the whole buffer in
 * one transaction. The buffer is bounded for each installation, so that one that floods its log
 * harms only itself, and in total. Lines that do not fit are counted, and one line reports their
 * number. Lines still buffered when the process is killed are lost: a log line is not worth an
 * fsync.
 *
 * Followers receive what a pass has written after its commit, without a read of the store. Without
 * followers, nothing of this costs anything. Where other nodes write to the same database, their
 * lines are looked for (`LogPoll`).
 */

import type { Limits } from '../../limits.ts';
import type { RandomBytes } from '../../model/identifiers.ts';
import { integrationKeyIn } from '../../model/target.ts';
import { LOG_LEVELS, type LogLevel } from '../../protocol/wire.ts';
import { bulk, type ColumnValue, runForEach, TEXT, WHOLE } from '../database/bulk.ts';
import { type Page, type PageRequest, page } from '../database/page.ts';
import { Sequence } from '../database/sequence.ts';
import type { Database, Tables } from '../database/tables.ts';
import { inTransaction } from '../database/transaction.ts';
import { DatabaseUnavailable } from '../database/unavailable.ts';
import { FollowedLogs, LogPoll } from './followed-logs.ts';
import { type LogLine, lineOf, type StoredLine } from './log-lines.ts';

const BUFFERED_BYTES = 8 * 1024 * 1024;
const BUFFERED_BYTES_PER_INSTALLATION = 256 * 1024;
/** Estimated size of a line beside its text. */
const LINE_BASE_BYTES = 128;
/** Installations that one sweep checks. */
const INSTALLATIONS_PER_SWEEP = 200;
/** Rows of one statement: it may block the event loop while it runs. */
const ROWS_PER_INSERT = 1_000;

/** A line of a pass whose end is not known may be written already. */
const INSERT_LINE = bulk`
  insert into log_lines (installation_id, id, version, request_id, level, text, at)
  values (${TEXT}, ${TEXT}, ${WHOLE}, ${TEXT}, ${WHOLE}, ${TEXT}, ${WHOLE})
  on conflict do nothing`;

export type { LogLine, StoredLine } from './log-lines.ts';

export interface LinesAfter {
  readonly tenant: string;
  readonly level?: LogLevel | undefined;
  readonly after: string;
  readonly limit: number;
}

export interface LinesSince {
  readonly lines: readonly StoredLine[];
  readonly isWhole: boolean;
}

export interface LogsDeps {
  readonly database: Database;
  readonly limits: Pick<Limits, 'logLinesPerInstallation' | 'logBytesPerCall'>;
  readonly randomBytes: RandomBytes;
  /** Whether other nodes write to the same database. */
  readonly isShared: boolean;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
  /** Monotonic clock, in milliseconds. */
  readonly monotonicNow: () => number;
  /** Receives errors of passes that no caller waits for; the lines of such a pass are lost. */
  readonly onError?: ((cause: unknown) => void) | undefined;
}

/** Receives lines of one log that were written, oldest first. It must not throw. */
export type LogFollower = (lines: readonly StoredLine[]) => void;

export interface Following {
  /**
   * Resolves when the follower gets all lines that are written from now on; rejects if the store
   * cannot be read. Undefined if it gets them already.
   */
  readonly begun: Promise<void> | undefined;
  end(): void;
}

/** Buffered lines of one installation. */
interface Waiting {
  rows: Tables['log_lines'][];
  bytes: number;
  dropped: number;
  /**
   * The newest line that did not fit; the line that reports the number of dropped lines is a copy
   * of it.
   */
  lastDropped?: LogLine;
}

export class Logs {
  readonly #deps: LogsDeps;
  readonly #ids: Sequence;
  #waiting = new Map<string, Waiting>();
  #bytes = 0;
  #writing: Promise<void> = Promise.resolve();
  readonly #followers = new Map<string, Set<LogFollower>>();
  /** Only where other nodes write, too. */
  readonly #poll: LogPoll | undefined;
  readonly #followed: FollowedLogs;
  #isHurried = false;
  /** The last installation that a sweep has checked. */
  #swept = '';

  constructor(deps: LogsDeps) {
    this.#deps = deps;
    this.#ids = new Sequence(deps.randomBytes);
    this.#followed = new FollowedLogs(deps);
    const tell = (tenant: string, lines: readonly StoredLine[]) => this.#tellOf(tenant, lines);
    this.#poll = deps.isShared ? new LogPoll({ ...deps, tell }) : undefined;
  }

  /** Buffers a line for the next pass. Never waits, never throws. */
  append(line: LogLine): void {
    const waiting = this.#waiting.get(line.tenant) ?? { rows: [], bytes: 0, dropped: 0 };
    this.#waiting.set(line.tenant, waiting);
    const text = line.text.slice(0, this.#deps.limits.logBytesPerCall);
    const bytes = LINE_BASE_BYTES + Buffer.byteLength(text);
    const full =
      waiting.rows.length >= this.#deps.limits.logLinesPerInstallation ||
      waiting.bytes + bytes > BUFFERED_BYTES_PER_INSTALLATION ||
      this.#bytes + bytes > BUFFERED_BYTES;
    if (full) {
      waiting.dropped += 1;
      waiting.lastDropped = { ...line, text: '' };
      return;
    }
    waiting.rows.push(this.#row({ ...line, text }));
    waiting.bytes += bytes;
    this.#bytes += bytes;
    const isHalfFull =
      waiting.rows.length * 2 >= this.#deps.limits.logLinesPerInstallation ||
      waiting.bytes * 2 >= BUFFERED_BYTES_PER_INSTALLATION;
    if (isHalfFull && this.#followers.has(line.tenant)) this.#hurry();
  }

  /**
   * Calls `follower` with the lines of each pass after its commit, in the order of their ids, and
   * with those of other nodes, until its end.
   */
  follow(tenant: string, follower: LogFollower): Following {
    const followers = this.#followers;
    const add = () => void followers.set(tenant, (followers.get(tenant) ?? new Set()).add(follower));
    this.#followed.begin(tenant);
    let hasEnded = false;
    const begun = this.#poll?.begin(tenant).then(() => {
      if (!hasEnded) add();
    });
    if (begun === undefined) add();
    const end = () => {
      if (hasEnded) return;
      hasEnded = true;
      const others = followers.get(tenant);
      if (others?.delete(follower) && others.size === 0) followers.delete(tenant);
      this.#poll?.end(tenant);
      this.#followed.end(tenant);
    };
    return { begun, end };
  }

  /** Looks for no lines of other nodes any more. */
  stopFollowing(): void {
    this.#poll?.stop();
  }

  /**
   * Writes all buffered lines, then removes the oldest lines beyond the bound of each installation
   * concerned. Passes run one after the other.
   *
   * @throws if the store cannot be written; the lines of this pass are lost then, unless the
   *   database is only away: they wait for the next pass
   */
  pass(): Promise<void> {
    const pass = this.#writing.then(() => this.#flush());
    this.#writing = pass.catch(() => {});
    return pass;
  }

  /** Newest first. `level` selects that level and those above it. */
  async list(
    query: PageRequest & { readonly tenant: string; readonly level?: LogLevel | undefined },
  ): Promise<Page<StoredLine>> {
    const { tenant, level, cursor, limit } = query;
    let select = this.#deps.database
      .selectFrom('log_lines')
      .selectAll()
      .where('installation_id', '=', tenant);
    if (level !== undefined) select = select.where('level', '>=', LOG_LEVELS.indexOf(level));
    if (cursor !== undefined) select = select.where('id', '<', cursor);
    const rows = await select
      .orderBy('id', 'desc')
      .limit(limit + 1)
      .execute();
    return page(rows, limit, (row) => row.id, lineOf);
  }

  /**
   * The lines after the one with the id `after`, oldest first. `isWhole` is whether that one is
   * still kept, so that none after it has been removed.
   */
  async since({ tenant, level, after, limit }: LinesAfter): Promise<LinesSince> {
    const of = this.#deps.database.selectFrom('log_lines').where('installation_id', '=', tenant);
    let select = of.selectAll().where('id', '>', after);
    if (level !== undefined) select = select.where('level', '>=', LOG_LEVELS.indexOf(level));
    const rows = await select.orderBy('id').limit(limit).execute();
    // After the read: what is removed later was read before.
    const kept = await of.select('id').where('id', '<=', after).limit(1).executeTakeFirst();
    return { lines: rows.map(lineOf), isWhole: kept !== undefined };
  }

  /**
   * Removes what a log that is not followed any more keeps beyond others, and lines of deleted
   * installations and integrations, which no principal may read: they come from calls that were in
   * flight at the deletion, and from the call that handled its lifecycle event. Each sweep checks
   * some tenants, and all of them in turn.
   */
  async sweep(): Promise<void> {
    const { database, limits } = this.#deps;
    for (const tenant of this.#followed.over())
      await this.#trim(database, tenant, limits.logLinesPerInstallation);
    for (let checked = 0; checked < INSTALLATIONS_PER_SWEEP; checked += 1) {
      const next = await database
        .selectFrom('log_lines')
        .select('installation_id')
        .where('installation_id', '>', this.#swept)
        .orderBy('installation_id')
        .limit(1)
        .executeTakeFirst();
      this.#swept = next?.installation_id ?? '';
      if (next === undefined) return;
      await database
        .deleteFrom('log_lines')
        .where('installation_id', '=', next.installation_id)
        .where(({ not, exists }) => not(exists(this.#livingTenant(next.installation_id))))
        .execute();
    }
  }

  #livingTenant(tenant: string) {
    const { database } = this.#deps;
    const key = integrationKeyIn(tenant);
    return key === undefined
      ? database.selectFrom('targets').select('organization').where('installation_id', '=', tenant)
      : database.selectFrom('integrations').select('organization').where('endpoint_key', '=', key);
  }

  async #flush(): Promise<void> {
    const waiting = this.#waiting;
    if (waiting.size === 0) return;
    this.#waiting = new Map();
    this.#bytes = 0;
    this.#isHurried = false;
    const rows: Tables['log_lines'][] = [];
    for (const { rows: own, dropped, lastDropped } of waiting.values()) {
      rows.push(...own);
      if (lastDropped !== undefined)
        rows.push(this.#row({ ...lastDropped, level: 'warn', text: droppedNote(dropped) }));
    }
    try {
      await inTransaction(this.#deps.database, async (transaction) => {
        await insertLines(transaction, rows);
        for (const [tenant, { rows: own, bytes }] of waiting)
          await this.#trim(
            transaction,
            tenant,
            this.#followed.keptAfter(tenant, { lines: own.length, bytes }),
          );
      });
    } catch (error) {
      if (error instanceof DatabaseUnavailable) this.#takeBack(waiting);
      throw error;
    }
    if (this.#followers.size > 0) this.#tell(rows);
  }

  /** Puts lines that could not be written before those that came since. */
  #takeBack(waiting: ReadonlyMap<string, Waiting>): void {
    for (const [tenant, old] of waiting) {
      const since = this.#waiting.get(tenant) ?? { rows: [], bytes: 0, dropped: 0 };
      const lastDropped = since.lastDropped ?? old.lastDropped;
      this.#waiting.set(tenant, {
        rows: [...old.rows, ...since.rows],
        bytes: old.bytes + since.bytes,
        dropped: old.dropped + since.dropped,
        ...(lastDropped && { lastDropped }),
      });
      this.#bytes += old.bytes;
    }
  }

  /** Hands the rows of a pass to the followers of their logs. */
  #tell(rows: readonly Tables['log_lines'][]): void {
    const followed = rows.filter(({ installation_id: id }) => this.#followers.has(id));
    for (const [tenant, lines] of Map.groupBy(followed.map(lineOf), ({ tenant }) => tenant))
      this.#tellOf(tenant, this.#poll?.unseen(tenant, lines) ?? lines);
  }

  #tellOf(tenant: string, lines: readonly StoredLine[]): void {
    if (lines.length === 0) return;
    for (const follower of [...(this.#followers.get(tenant) ?? [])]) follower(lines);
  }

  /**
   * Writes a followed log before its buffer is full, so that its followers miss no line. Passes run
   * one after the other, so a flood makes no more of them than the disk takes.
   */
  #hurry(): void {
    if (this.#isHurried) return;
    this.#isHurried = true;
    this.pass().catch((cause: unknown) => this.#deps.onError?.(cause));
  }

  async #trim(database: Database, tenant: string, kept: number | undefined): Promise<void> {
    if (kept === undefined) return;
    const lastKept = await database
      .selectFrom('log_lines')
      .select('id')
      .where('installation_id', '=', tenant)
      .orderBy('id', 'desc')
      .offset(kept - 1)
      .limit(1)
      .executeTakeFirst();
    if (lastKept === undefined) return;
    await database
      .deleteFrom('log_lines')
      .where('installation_id', '=', tenant)
      .where('id', '<', lastKept.id)
      .execute();
  }

  #row({ tenant, version, requestId, level, text, at }: LogLine): Tables['log_lines'] {
    const id = this.#ids.next(at);
    // PostgreSQL refuses U+0000 in text: one such line would fail the whole pass.
    const clean = text.replaceAll('\0', '\u{fffd}');
    const rank = LOG_LEVELS.indexOf(level);
    return {
      installation_id: tenant,
      id,
      version,
      request_id: requestId,
      level: rank,
      text: clean,
      at,
    };
  }
}

async function insertLines(transaction: Database, rows: readonly Tables['log_lines'][]): Promise<void> {
  for (let start = 0; start < rows.length; start += ROWS_PER_INSERT)
    await runForEach(transaction, INSERT_LINE, rows.slice(start, start + ROWS_PER_INSERT).map(valuesOf));
}

const valuesOf = (row: Tables['log_lines']): ColumnValue[] => [
  ...[row.installation_id, row.id, row.version, row.request_id],
  ...[row.level, row.text, row.at],
];

const droppedNote = (dropped: number): string =>
  `${dropped} ${dropped === 1 ? 'line was' : 'lines were'} dropped: this installation logs faster than its log is written.`;
