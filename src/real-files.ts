/**
 * Files of an author's folder: read by their paths without links, and written by a rename.
 *
 * Git stores links, so a folder from elsewhere has them where its author wants them: what a path
 * leads to decides, and never how it is written.
 */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join, parse, relative, sep } from 'node:path';

/** A pipe in the place of a file would have the command wait for a writer. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** Times that a file is opened which an editor replaces meanwhile. */
const OPENED_MAX = 3;

/** The path without links, as the disk writes its names; undefined where there is nothing. */
export function realPath(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}

/** Whether a path is in a folder, or the folder itself. Both are without links. */
export const isIn = (folder: string, path: string): boolean =>
  path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);

/**
 * Reads a file by its path without links. Attack: a folder in the path, or the file, becomes a link
 * after its path was judged. The judgement is of the file that was opened.
 *
 * @returns undefined where that is no file, another one, or a larger one
 */
export function readAt(real: string, bytesMax = Number.MAX_SAFE_INTEGER): Buffer | undefined {
  for (let opened = 0; opened < OPENED_MAX; opened += 1) {
    const file = openedAt(real);
    if (file === undefined) return undefined;
    try {
      const found = fstatSync(file);
      if (!found.isFile() || found.size > bytesMax) return undefined;
      if (isAt(file, found, real)) return readFileSync(file);
    } finally {
      closeSync(file);
    }
  }
  return undefined;
}

function openedAt(real: string): number | undefined {
  try {
    return openSync(real, READ);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ELOOP' || code === 'ENOENT' || code === 'ENOTDIR' || code === 'ENXIO') return undefined;
    throw cause;
  }
}

/** Whether an opened file is the one at a path. */
function isAt(file: number, found: Stats, real: string): boolean {
  try {
    return readlinkSync(`/proc/self/fd/${file}`) === real;
  } catch {
    // A system that does not say which path a file was opened by.
    const { dev, ino } = lstatSync(real, { throwIfNoEntry: false }) ?? {};
    return found.dev === dev && found.ino === ino && realPath(real) === real;
  }
}

const isFile = (real: string): boolean => statSync(real, { throwIfNoEntry: false })?.isFile() === true;

/** What is at a path of a folder: a file in it, a link that leaves it, or no file. */
export type Inside = { readonly bytes: Buffer; readonly real: string } | 'leaves' | 'absent';

/** Reads a file of a folder. @param path relative, or absolute and in the folder */
export function readInside(folder: string, path: string, bytesMax?: number): Inside {
  const whole = join(folder, path);
  const root = realPath(folder);
  const real = realPath(whole);
  // What is no file is not opened: to open a device may have an effect.
  if (root === undefined || real === undefined || !isFile(real)) return 'absent';
  if (!isIn(root, real)) return 'leaves';
  const bytes = readAt(real, bytesMax);
  return bytes === undefined ? 'absent' : { bytes, real };
}

/**
 * Reads a file that an option names. Its links are followed, but not out of the folder: what is in
 * there is the word of the folder's author.
 *
 * @param path absolute
 */
export function readGiven(folder: string, path: string, bytesMax?: number): Inside {
  const root = isIn(folder, path) ? folder : parse(path).root;
  return readInside(root, relative(root, path), bytesMax);
}

/**
 * Replaces a file by a rename: no process reads half of one, and a link in its place is replaced,
 * not followed.
 */
export async function replaceFile(path: string, text: string, mode = 0o666): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  const file = await open(draft, 'wx', mode);
  try {
    await file.writeFile(text);
    await file.close();
    await rename(draft, path);
  } catch (cause) {
    await rm(draft, { force: true });
    throw cause;
  }
}
