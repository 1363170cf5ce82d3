/**
 * The data folder at a start: made where it does not exist, with a database file that its owner alone can read.
 *
 * What an operator can get wrong with it has a sentence that names the file and what to do. A bare `EACCES` names neither.
 */
import { accessSync, constants } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const DATABASE_FILE = 'annex.db';
/** Results of SQLite, without their extension. */
const SQLITE = { readOnly: 8, corrupt: 11, cannotOpen: 14, notADatabase: 26 };
const PRIMARY_RESULT = 0xff;

export const databaseFile = (folder: string): string => join(folder, DATABASE_FILE);

/** @returns path of the database file, which exists @throws where the folder or the file cannot be used */
export async function prepareFolder(folder: string): Promise<string> {
  const file = databaseFile(folder);
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((cause) => {
    throw unusableFolder(folder, cause);
  });
  // SQLite gives its files the mode of the database file: made here, they are private in a folder that is not.
  const handle = await open(file, 'a', 0o600).catch((cause) => {
    throw unusableFile(file, cause) ?? unusableFolder(folder, cause);
  });
  await handle.close();
  return file;
}

/** What SQLite could not do with a database file, in words that say what to do. */
export function unusableDatabase(file: string, cause: unknown): unknown {
  const result = resultOf(cause) & PRIMARY_RESULT;
  if (result === SQLITE.corrupt || result === SQLITE.notADatabase)
    return new Error(
      `${file} is damaged, or is no database of SQLite: ${(cause as Error).message}. Restore a backup (docs/operating.md)`,
      { cause },
    );
  const isDenied = codeOf(cause) === 'EACCES' || codeOf(cause) === 'EPERM';
  if (!isDenied && result !== SQLITE.readOnly && result !== SQLITE.cannotOpen) return cause;
  const closed = [file, `${file}-wal`, `${file}-shm`, `${file}-lock`].find(isClosedToUs);
  return closed === undefined
    ? unusableFolder(dirname(file), { code: 'EACCES' }, cause)
    : notWritable(closed, cause);
}

/** SQLite's own result, also where what was thrown names the step in which it came. */
function resultOf(cause: unknown): number {
  const { errcode, cause: inner } = cause as { errcode?: number; cause?: { errcode?: number } | undefined };
  return errcode ?? inner?.errcode ?? 0;
}

/** The file is there and is not this user's to write: then the folder is not what is wrong. */
function unusableFile(file: string, cause: unknown): Error | undefined {
  const code = codeOf(cause);
  if (code === 'EISDIR') return new Error(`${file} is a folder; it has to be the database file.`, { cause });
  return (code === 'EACCES' || code === 'EPERM') && isClosedToUs(file) ? notWritable(file, cause) : undefined;
}

const notWritable = (file: string, cause: unknown): Error =>
  new Error(
    `${file} may not be read and written by this user. ` +
      'Give it to the user that the service runs as (chown), with read and write access (chmod 600).',
    { cause },
  );

/** The setting to change, for the few mistakes that an operator makes with a folder. */
function unusableFolder(folder: string, reason: unknown, cause = reason): unknown {
  const told = {
    EEXIST: 'is a file; name a folder',
    ENOTDIR: 'lies below a file; name a folder',
    EACCES: 'may not be used by this user',
    EPERM: 'may not be used by this user',
    EROFS: 'is on a file system that is read-only',
  };
  const why = told[codeOf(reason) as keyof typeof told];
  return why === undefined ? cause : new Error(`the data folder ${folder} ${why} (--data).`, { cause });
}

/** It exists and this process may not read and write it. */
function isClosedToUs(file: string): boolean {
  try {
    accessSync(file, constants.R_OK | constants.W_OK);
    return false;
  } catch (cause) {
    return codeOf(cause) !== 'ENOENT' && isThere(file);
  }
}

function isThere(file: string): boolean {
  try {
    accessSync(file, constants.F_OK);
    return true;
  } catch {
    return false;
  }
}

const codeOf = (cause: unknown): unknown =>
  typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined;
