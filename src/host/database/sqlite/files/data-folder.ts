/**
 * Prepares the data folder at a start: creates it if needed, with a database file that only its
 * owner can read.
 *
 * Each mistake that an operator can make with it has an error that names the file and what to do; a
 * bare `EACCES` names neither.
 */
import { accessSync, constants, lstatSync, statfsSync, statSync } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { whyNotNew } from '../../used-folder.ts';

const DATABASE_FILE = 'annex.db';
/** SQLite's primary result codes. */
const SQLITE = { readOnly: 8, corrupt: 11, cannotOpen: 14, notADatabase: 26 };
const PRIMARY_RESULT = 0xff;

export const databaseFile = (folder: string): string => join(folder, DATABASE_FILE);

/**
 * @returns path of the database file, which exists @throws if the folder or the file cannot be used
 */
export async function prepareFolder(folder: string): Promise<string> {
  const file = databaseFile(folder);
  refuseKernelFolder(folder);
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((cause) => {
    throw unusableFolder(folder, cause);
  });
  refuseLinks(file);
  refuseLostDatabase(folder);
  // SQLite gives its other files the mode of the database file: created here, they are private in
  // any folder.
  const handle = await open(file, 'a', 0o600).catch((cause) => {
    throw unusableFile(file, cause) ?? unusableFolder(folder, cause);
  });
  await handle.close();
  return file;
}

/**
 * Attack: `data` of a cloned folder has a link `annex.db`, and the service makes its tables in the
 * database of another program. SQLite itself follows no link to its other files.
 */
function refuseLinks(file: string): void {
  for (const name of [file, `${file}-lock`])
    if (lstatSync(name, { throwIfNoEntry: false })?.isSymbolicLink())
      throw new Error(
        `${name} is a link to another file, so it is not used; move that file here, or name its folder (--data).`,
      );
}

/** @throws if the database file is missing or empty in a folder that a service has used */
function refuseLostDatabase(folder: string): void {
  const file = databaseFile(folder);
  const found = statSync(file, { throwIfNoEntry: false });
  if (found !== undefined && (!found.isFile() || found.size > 0)) return;
  const why = whyNotNew(folder, `${file} is ${found === undefined ? 'missing' : 'empty'}`);
  if (why !== undefined) throw new Error(why);
}

/** `f_type` of file systems that the kernel makes up: proc and sysfs. */
const KERNEL_FILE_SYSTEMS: ReadonlySet<number> = new Set([0x9fa0, 0x62656572]);

/**
 * Below /proc, Node retries to create a folder for ever: each parent seems to be absent.
 *
 * @throws Error if the folder lies, or would lie, in such a file system
 */
function refuseKernelFolder(folder: string): void {
  let nearest = resolve(folder);
  while (!isThere(nearest) && dirname(nearest) !== nearest) nearest = dirname(nearest);
  if (KERNEL_FILE_SYSTEMS.has(statfsSync(nearest).type))
    throw new Error(
      `the data folder ${folder} is in a file system of the kernel, which stores no files; name a folder on a disk (--data).`,
    );
}

/**
 * Turns a failure of SQLite to use a database file into an error that says what to do; other
 * failures stay as they are.
 */
export function unusableDatabase(file: string, cause: unknown): unknown {
  const result = resultOf(cause) & PRIMARY_RESULT;
  if (result === SQLITE.corrupt || result === SQLITE.notADatabase)
    return new Error(
      `${file} is damaged or not an SQLite database: ${(cause as Error).message}. Restore a backup (docs/operating/backup.md)`,
      { cause },
    );
  const isDenied = codeOf(cause) === 'EACCES' || codeOf(cause) === 'EPERM';
  if (!isDenied && result !== SQLITE.readOnly && result !== SQLITE.cannotOpen) return cause;
  const closed = [file, `${file}-wal`, `${file}-shm`, `${file}-commits`, `${file}-lock`].find(isClosedToUs);
  return closed === undefined
    ? unusableFolder(dirname(file), { code: 'EACCES' }, cause)
    : notWritable(closed, cause);
}

/** SQLite's result code, also if the error is wrapped in others. */
function resultOf(cause: unknown): number {
  const { errcode, cause: inner } = (cause ?? {}) as { errcode?: number; cause?: unknown };
  return errcode ?? (inner === undefined ? 0 : resultOf(inner));
}

/**
 * Undefined unless the file exists and this user may not write it: then the folder is the problem.
 */
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

/** An error that names the setting to change, for the usual mistakes with a folder. */
function unusableFolder(folder: string, reason: unknown, cause = reason): unknown {
  const reasons = {
    EEXIST: 'is a file; name a folder',
    ENOTDIR: 'lies below a file; name a folder',
    EACCES: 'may not be used by this user',
    EPERM: 'may not be used by this user',
    EROFS: 'is on a file system that is read-only',
  };
  const why = reasons[codeOf(reason) as keyof typeof reasons];
  return why === undefined ? cause : new Error(`the data folder ${folder} ${why} (--data).`, { cause });
}

/** Whether the file exists and this process may not read and write it. */
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
