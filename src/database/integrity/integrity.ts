/**
 * Checks that the database is intact: at the start and once a day, within a bound of time, beside the service.
 *
 * A copy of a file in use, a disk or a file system that has lost writes: SQLite notices only where it comes across the damage, and
 * a service that starts with it looks well. A small database is checked at once; a larger one by a process of its own, at the
 * lowest priority, which is ended when its time is over. The next check goes on behind the last table that was finished.
 * Nothing is repaired here.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { DAY_MS } from '../../limits.ts';
import { type CheckedTable, pagesOf, quickCheck } from './quick-check.ts';

/** A database of so few pages is checked at the start itself, in some milliseconds. */
const PAGES_AT_ONCE = 1_024;
/** One check. What is not finished by then is told of as unfinished. */
const CHECK_MS = 600_000;
const PROGRAM = fileURLToPath(new URL('./integrity-process.ts', import.meta.url));

/** What is known of the database. It names tables and holds nothing of what is in them. */
export interface IntegrityState {
  /** `damaged` stays until a later check finds every table sound. */
  readonly integrity: 'checking' | 'sound' | 'damaged' | 'unfinished';
  /** When the last check ended, in milliseconds since 1970. */
  readonly checkedAt: number | undefined;
  /** Tables of the latest check, finished and in all. */
  readonly tables: { readonly checked: number; readonly of: number };
  readonly damagedTables: readonly string[];
}

export interface IntegrityNote {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly details: object;
}

export interface IntegrityParts {
  readonly file: string;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Receives the result of each check, for the log. */
  note(note: IntegrityNote): void;
  /** Pages up to which the check is made at once. */
  readonly pagesAtOnce?: number;
  /** How long one check in a process of its own may take. */
  readonly checkMs?: number;
}

export class Integrity {
  readonly #parts: IntegrityParts;
  readonly #damaged = new Map<string, readonly string[]>();
  #state: Omit<IntegrityState, 'damagedTables'> = {
    integrity: 'checking',
    checkedAt: undefined,
    tables: { checked: 0, of: 0 },
  };
  #last = '';
  #timer: NodeJS.Timeout | undefined;
  #running: { readonly child: ChildProcess; readonly over: Promise<void> } | undefined;
  #isStopped = false;

  constructor(parts: IntegrityParts) {
    this.#parts = parts;
  }

  get state(): IntegrityState {
    return { ...this.#state, damagedTables: [...this.#damaged.keys()].sort() };
  }

  /** Checks now, and once a day. @returns when the first check is over; it never rejects */
  start(): Promise<void> {
    this.#timer = setInterval(() => void this.check(), DAY_MS).unref();
    return this.check();
  }

  /** Never rejects. */
  async check(): Promise<void> {
    if (this.#running !== undefined || this.#isStopped) return this.#running?.over;
    const { file, clock, pagesAtOnce = PAGES_AT_ONCE } = this.#parts;
    const startedAt = clock();
    const checked = new Map<string, CheckedTable>();
    const take = (table: CheckedTable) => this.#take(table, checked);
    try {
      if (pagesOf(file) <= pagesAtOnce) for (const table of quickCheck(file)) take(table);
      else await this.#beside(take);
    } catch (cause) {
      this.#damaged.set('sqlite_schema', [cause instanceof Error ? cause.message : String(cause)]);
    }
    if (!this.#isStopped) this.#conclude(checked, startedAt);
  }

  /** Ends a check that is under way. @returns when its process is gone */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    this.#running?.child.kill('SIGKILL');
    await this.#running?.over;
  }

  async #beside(take: (table: CheckedTable) => void): Promise<void> {
    const { file, checkMs = CHECK_MS } = this.#parts;
    const child = fork(PROGRAM, [file, this.#last], { execArgv: [], stdio: 'ignore' });
    lowestPriority(child);
    child.on('message', (table) => take(table as CheckedTable));
    const deadline = setTimeout(() => child.kill('SIGKILL'), checkMs).unref();
    const over = new Promise<void>((resolve) => {
      child.once('error', () => resolve());
      // Its messages come before this.
      child.once('close', () => resolve());
    });
    this.#running = { child, over };
    await over;
    clearTimeout(deadline);
    this.#running = undefined;
  }

  #take(table: CheckedTable, checked: Map<string, CheckedTable>): void {
    checked.set(table.table, table);
    this.#last = table.table;
    if (table.problems.length === 0) this.#damaged.delete(table.table);
    else this.#damaged.set(table.table, table.problems);
    this.#state = { ...this.#state, tables: { checked: checked.size, of: table.of } };
  }

  #conclude(checked: ReadonlyMap<string, CheckedTable>, startedAt: number): void {
    const checkedAt = this.#parts.clock();
    const of = checked.values().next().value?.of ?? 0;
    const isWhole = of > 0 && checked.size === of;
    const integrity = this.#damaged.size > 0 ? 'damaged' : isWhole ? 'sound' : 'unfinished';
    this.#state = { integrity, checkedAt, tables: { checked: checked.size, of } };
    this.#parts.note(noteOf(this.state, this.#damaged, checkedAt - startedAt));
  }
}

function noteOf(
  { integrity, tables }: IntegrityState,
  damaged: ReadonlyMap<string, readonly string[]>,
  durationMs: number,
): IntegrityNote {
  const details = { tables, durationMs };
  if (integrity === 'damaged')
    return {
      level: 'error',
      message: 'the database is damaged: restore a backup (docs/operating.md, Backups)',
      details: { ...details, problems: Object.fromEntries(damaged) },
    };
  if (integrity === 'unfinished')
    return { level: 'warn', message: 'the integrity check of the database did not finish', details };
  return { level: 'info', message: 'the database is intact', details };
}

/** Where the system does not allow it, the check runs like any other process. */
function lowestPriority({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // It may have ended already.
  }
}
