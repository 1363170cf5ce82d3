/**
 * The folder in which `annex dev` keeps its service between two runs: database, keys, the tokens of
 * the operator and of the page. It is below the folder of the integration, closed to other users,
 * ignored by Git, and never uploaded (`upload/never-uploaded.ts`).
 */
import { randomBytes } from 'node:crypto';
import { chmod, lstat, mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { OTHERS, readPrivate, writePrivate } from '../../cli/profile/profile-file.ts';
import { Failure } from '../../cli/terminal/failure.ts';
import { replaceFile } from '../../real-files.ts';

export const DEV_FOLDER = '.annex';
const PAGE_TOKEN_FILE = 'page-token';
const TOKEN_BYTES = 24;
const TOKEN = /^[\w-]{32}$/;
/** Closed to other users, with the sticky bit as the mark of a folder of `annex dev`. */
const MODE = 0o1700;
const MARK = 0o1000;

/**
 * Attack: a folder from elsewhere brings a `.annex` that leads to another folder, that another user
 * can write, whose files are links to what the service then overwrites, or whose database and keys
 * are those of the attacker. Git gives no folder the mode and the mark that this one has. A folder
 * of an earlier version has no mark: it is known by its mode, unless the folder around it, which
 * may be of Git, is closed to others, too.
 *
 * @returns its path
 * @throws Failure
 */
export async function openDevFolder(folder: string): Promise<string> {
  const path = join(folder, DEV_FOLDER);
  const made = await mkdir(path, { mode: 0o700 }).then(
    () => true,
    (cause: NodeJS.ErrnoException) => {
      if (cause.code === 'EEXIST') return false;
      throw new Failure(`${path} cannot be made: ${cause.message}.`, { code: 'FOLDER_UNUSABLE', cause });
    },
  );
  const found = await lstat(path);
  const me = process.getuid?.();
  if (!found.isDirectory() || (me !== undefined && found.uid !== me))
    throw unusable(path, `${path} is not a folder of yours, so it is not used.`);
  const isOpen = (found.mode & OTHERS) !== 0;
  const isMarked = (found.mode & MARK) !== 0 || ((await stat(folder)).mode & OTHERS) !== 0;
  if (!made && me !== undefined && (isOpen || !isMarked))
    throw unusable(
      path,
      `${path} was not made by \`annex dev\`, which closes it to others, so it is not used.`,
    );
  await chmod(path, MODE);
  // Only this user changes it from now on.
  for (const entry of await readdir(path, { withFileTypes: true, recursive: true })) {
    if (entry.isFile() || entry.isDirectory()) continue;
    const what = entry.isSymbolicLink() ? 'a link' : 'no file';
    throw unusable(
      path,
      `${join(entry.parentPath, entry.name)} is ${what}, and \`annex dev\` makes none, so ${path} is not used.`,
    );
  }
  // It ignores itself, so that the author's own file need not.
  await replaceFile(join(path, '.gitignore'), '*\n');
  return path;
}

const unusable = (path: string, message: string): Failure =>
  new Failure(message, { code: 'FOLDER_UNUSABLE', hint: `Remove ${path}: \`annex dev\` makes it anew.` });

/** The secret part of the page's address: the same in each run, so that an open page goes on. */
export async function pageToken(devFolder: string): Promise<string> {
  const file = join(devFolder, PAGE_TOKEN_FILE);
  const known = (await readPrivate(file))?.trim();
  if (known !== undefined && TOKEN.test(known)) return known;
  const made = randomBytes(TOKEN_BYTES).toString('base64url');
  await writePrivate(file, `${made}\n`);
  return made;
}
