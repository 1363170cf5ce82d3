/**
 * A start with a write-ahead log that is damaged, cut or missing is refused, unless nothing is lost
 * or the operator accepts the loss (`wal-verdict.ts` decides which it is).
 *
 * SQLite itself would start silently and overwrite the log, which makes the loss final. Annex
 * refuses with an error that says what is wrong and what to do. With `--accept-loss` it starts with
 * what has the most: the database file and what is left of the log, or the file alone. The log is
 * kept under another name; Annex never removes it.
 */
import { constants, copyFileSync, existsSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { sync } from './commit-list.ts';
import { MISSING, verdictOn, type WalLoss } from './wal-verdict.ts';

/** A note for the operator about the write-ahead log. */
export interface WalNote {
  readonly level: 'warn' | 'error';
  readonly message: string;
}

export interface WalOptions {
  /** Path of the database file. */
  readonly database: string;
  /** `never`: the folder is only read, and nothing in it is changed. */
  readonly acceptLoss: boolean | 'never';
  /** Milliseconds since 1970. */
  readonly now: number;
  note(note: WalNote): void;
}

/**
 * Call it before SQLite opens the database. Frames that SQLite will skip may be left in the log: it
 * must be emptied once the database is open, or they are found again.
 *
 * @throws if transactions are lost and the loss is not accepted; nothing is changed then
 */
export function checkWal({ database, acceptLoss, now, note }: WalOptions): void {
  const wal = `${database}-wal`;
  const verdict = verdictOn(database);
  if (verdict.kind === 'take') {
    if (verdict.tornAt === undefined) return;
    note({
      level: 'warn',
      message:
        `The last transaction in ${wal} is incomplete (from frame ${verdict.tornAt} on) and is left out. After a power cut that is ` +
        'as it should be: it was never acknowledged. Otherwise the disk, or whatever copied the file, has damaged it.',
    });
    return;
  }
  const { problem } = verdict;
  if (verdict.kind === 'leave') {
    if (acceptLoss === 'never')
      throw new Error(`${wal} ${stateOf(problem)}. Start the service once, and stop it`);
    const kept = moveAside(wal, `${wal}.damaged-${now}`);
    const message = `${wal} ${stateOf(problem)}. Nothing is lost: the database file has every transaction of it.${kept}`;
    return note({ level: 'warn', message });
  }
  if (verdict.kind === 'foreign') {
    if (acceptLoss !== true) throw new Error(foreignRefusal(database, problem));
    const kept = moveAside(wal, `${wal}.foreign-${now}`);
    const message = `${wal} belongs to another database: ${problem}. The loss is accepted (--accept-loss): nothing of it is taken.${kept}`;
    return note({ level: 'error', message });
  }
  if (acceptLoss !== true) throw new Error(refusal(wal, verdict));
  const name = `${wal}.damaged-${now}`;
  const kept = verdict.isLogWorse ? moveAside(wal, name) : copyAside(wal, name);
  const message = `${wal} ${stateOf(problem)}. The loss is accepted (--accept-loss): ${verdict.lost}.${kept}`;
  note({ level: 'error', message });
}

export const stateOf = (problem: string): string =>
  problem === MISSING ? 'is missing' : `is damaged: ${problem}`;

const foreignRefusal = (database: string, problem: string): string =>
  `${database}-wal, the write-ahead log, belongs to another database than ${database}: ${problem}. ` +
  'To start all the same would write its pages over those of the database. ' +
  `If a backup was restored, it belongs into an empty folder: move ${database}-wal away, and start again. ` +
  'Otherwise bring back the database file that the log belongs to. ' +
  'With --accept-loss Annex starts with the database file alone, and keeps the log beside it';

const refusal = (wal: string, { problem, lost, isLogWorse, isMixed }: WalLoss): string =>
  `${wal}, the write-ahead log of the database, ${stateOf(problem)}. ` +
  `To start all the same would lose what was committed and acknowledged: ${lost}. ` +
  (problem === MISSING ? OTHER_PROGRAM : '') +
  'Keep a copy of the data folder, then bring back an intact copy of the file, or restore a backup. ' +
  (isMixed ? 'A part of the log is in the database file, which may be inconsistent without the rest. ' : '') +
  `To start with ${isLogWorse ? 'the database file alone' : 'what is left'}, add --accept-loss once; ` +
  'the damaged log is kept beside the database';

const OTHER_PROGRAM =
  'If another program has opened the database since the service ended, such as sqlite3, it has put the log into the database file, and nothing is lost. ';

/** @returns a sentence about it; empty if there is no log */
function moveAside(wal: string, kept: string): string {
  if (!existsSync(wal)) return '';
  if (existsSync(kept)) throw new Error(`${kept} exists already: move it away, and start again`);
  renameSync(wal, kept);
  sync(dirname(kept));
  return ` The log is kept as ${kept}.`;
}

/** Copies the log; the copy is on disk before the log is changed. @returns a sentence about it */
function copyAside(wal: string, kept: string): string {
  if (!existsSync(wal)) return '';
  try {
    copyFileSync(wal, kept, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOSPC') throw cause;
    // Removes the part that fitted.
    rmSync(kept, { force: true });
    const message = `there is no room to keep the damaged log as ${kept}: make room for the size of ${wal}, and start again`;
    throw new Error(message, { cause });
  }
  sync(kept);
  sync(dirname(kept));
  return ` The log is kept as ${kept}.`;
}
