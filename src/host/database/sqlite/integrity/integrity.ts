/**
 * Integrity check: verifies the database at the start and once a day, within a time limit, beside
 * the service.
 *
 * Copies of files in use, failing disks and file systems damage databases. SQLite notices only
 * where it reads the damaged pages, so a service with a damaged database can look healthy. A small
 * database is checked in this process; a larger one in a separate process of the lowest priority,
 * which is killed at the time limit. The next check continues after the last table that was
 * finished. Nothing is repaired.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { DAY_MS } from '../../../../limits.ts';
import { programPath } from '../../../../own-files.ts';
import type { IntegrityState } from '../../engine.ts';
import { type CheckedTable, pagesOf, quickCheck } from './quick-check.ts';

/** Up to so many pages, the check takes milliseconds and runs in this process. */
const PAGES_AT_ONCE = 1_024;
/** Time limit of one check. A check that exceeds it is reported as unfinished. */
const CHECK_MS = 600_000;
const PROGRAM = programPath('./integrity-process', import.meta.url);

export interface IntegrityNote {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly details: object;
}

export interface IntegrityDeps {
  readonly file: string;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
  /** Receives the result of each check, for the log. */
  note(note: IntegrityNote): void;
  /** Up to so many pages, the check runs in this process. */
  readonly pagesAtOnce?: number;
  /** Time limit of a check in a separate process. */
  readonly checkMs?: number;
}

export class Integrity {
  readonly #deps: IntegrityDeps;
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

  constructor(deps: IntegrityDeps) {
    this.#deps = deps;
  }

  get state(): IntegrityState {
    return { ...this.#state, damagedTables: [...this.#damaged.keys()].sort() };
  }

  /** Checks now and once a day. @returns once the first check has ended; never rejects */
  start(): Promise<void> {
    this.#timer = setInterval(() => void this.check(), DAY_MS).unref();
    return this.check();
  }

  /** Never rejects. */
  async check(): Promise<void> {
    if (this.#running !== undefined || this.#isStopped) return this.#running?.over;
    const { file, wallNow, pagesAtOnce = PAGES_AT_ONCE } = this.#deps;
    const startedAt = wallNow();
    const checked = new Map<string, CheckedTable>();
    const take = (table: CheckedTable) => this.#take(table, checked);
    try {
      if (pagesOf(file) <= pagesAtOnce) for (const table of quickCheck(file)) take(table);
      else await this.#inProcess(take);
    } catch (cause) {
      this.#damaged.set('sqlite_schema', [cause instanceof Error ? cause.message : String(cause)]);
    }
    if (!this.#isStopped) this.#conclude(checked, startedAt);
  }

  /** Kills a running check. @returns once its process has ended */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    this.#running?.child.kill('SIGKILL');
    await this.#running?.over;
  }

  async #inProcess(take: (table: CheckedTable) => void): Promise<void> {
    const { file, checkMs = CHECK_MS } = this.#deps;
    const child = fork(PROGRAM, [file, this.#last], { execArgv: [], stdio: 'ignore' });
    lowestPriority(child);
    child.on('message', (table) => take(table as CheckedTable));
    const deadline = setTimeout(() => child.kill('SIGKILL'), checkMs).unref();
    const over = new Promise<void>((resolve) => {
      child.once('error', () => resolve());
      // 'close' comes after all messages.
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
    const checkedAt = this.#deps.wallNow();
    const of = checked.values().next().value?.of ?? 0;
    const isWhole = of > 0 && checked.size === of;
    const integrity = this.#damaged.size > 0 ? 'damaged' : isWhole ? 'sound' : 'unfinished';
    this.#state = { integrity, checkedAt, tables: { checked: checked.size, of } };
    this.#deps.note(noteOf(this.state, this.#damaged, checkedAt - startedAt));
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
      message: 'the database is damaged: restore a backup (docs/operating/backup.md)',
      details: { ...details, problems: Object.fromEntries(damaged) },
    };
  if (integrity === 'unfinished')
    return { level: 'warn', message: 'the integrity check of the database did not finish', details };
  return { level: 'info', message: 'the database is intact', details };
}

/** If the system does not allow it, the check runs at normal priority. */
function lowestPriority({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // It may have ended already.
  }
}
