/**
 * A start with a damaged write-ahead log is refused, unless the operator accepts the loss.
 *
 * SQLite itself would start silently and overwrite the log, which makes the loss final. Annex
 * refuses with an error that says what is wrong and what to do. With `--accept-loss` the damaged
 * log is first copied to another name; Annex never removes it.
 */
import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { foreignWal } from './foreign-wal.ts';
import { readWal, type WalState } from './wal-file.ts';

/** A note for the operator about the write-ahead log. */
export interface WalNote {
  readonly level: 'warn' | 'error';
  readonly message: string;
}

export interface WalOptions {
  /** Path of the database file. */
  readonly database: string;
  readonly acceptLoss: boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
  note(note: WalNote): void;
}

type Damage = Extract<WalState, { kind: 'damaged' }>;

/**
 * @returns whether SQLite will skip frames of the log: it must then be emptied once the database is
 * open, or they are found again
 * @throws if the log is damaged and its loss is not accepted; nothing is changed then
 */
export function checkWal({ database, acceptLoss, now, note }: WalOptions): boolean {
  const wal = `${database}-wal`;
  const state = readWal(wal);
  if (state.kind === 'torn')
    note({
      level: 'warn',
      message:
        `The last transaction in ${wal} is incomplete (from frame ${state.at} on) and is left out. After a power cut that is ` +
        'as it should be: it was never acknowledged. Otherwise the disk, or whatever copied the file, has damaged it.',
    });
  if (state.kind !== 'damaged') {
    const foreign = foreignWal(database);
    if (foreign === undefined) return state.kind === 'torn';
    if (!acceptLoss) throw new Error(foreignRefusal(database, foreign));
    note({ level: 'error', message: setAside(wal, foreign, now) });
    return false;
  }
  if (!acceptLoss) throw new Error(refusal(wal, state));
  const kept = `${wal}.damaged-${now}`;
  keepAside(wal, kept);
  note({
    level: 'error',
    message: `${wal} is damaged: ${state.problem}. The loss is accepted (--accept-loss): ${lossOf(state)}. The damaged log is kept as ${kept}.`,
  });
  return true;
}

const foreignRefusal = (database: string, problem: string): string =>
  `${database}-wal, the write-ahead log, belongs to another database than ${database}: ${problem}. ` +
  'To start all the same would write its pages over those of the database. ' +
  `If a backup was restored, it belongs into an empty folder: move ${database}-wal away, and start again. ` +
  'Otherwise bring back the database file that the log belongs to. ' +
  'With --accept-loss Annex starts with the database file alone, and keeps the log beside it';

/**
 * SQLite would accept the foreign log as valid, so it must be moved before SQLite opens the
 * database. @returns a message for the operator
 */
function setAside(wal: string, problem: string, now: number): string {
  const kept = `${wal}.foreign-${now}`;
  if (existsSync(kept)) throw new Error(`${kept} exists already: move it away, and start again`);
  renameSync(wal, kept);
  sync(dirname(kept));
  return `${wal} belongs to another database: ${problem}. The loss is accepted (--accept-loss): nothing of it is taken, and it is kept as ${kept}.`;
}

const refusal = (wal: string, damage: Damage): string =>
  `${wal}, the write-ahead log of the database, is damaged: ${damage.problem}. ` +
  `To start all the same would lose what was committed and acknowledged: ${lossOf(damage)}. ` +
  'Keep a copy of the data folder, then bring back an intact copy of the file, or restore a backup. ' +
  'To start with what is left, add --accept-loss once; the damaged log is kept beside the database';

const lossOf = ({ at, lost }: Damage): string => {
  if (lost !== undefined) return `${lost} ${lost === 1 ? 'transaction' : 'transactions'} from frame ${at} on`;
  return at === 0 ? 'every transaction in that log' : 'an unknown number of transactions';
};

/** Copies the log; the copy is on disk before the log is changed. */
function keepAside(wal: string, kept: string): void {
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
}

function sync(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
