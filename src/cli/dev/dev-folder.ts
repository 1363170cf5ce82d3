/**
 * The folder in which `annex dev` keeps its service between two runs: database, keys, the tokens of
 * the operator and of the page. It is below the folder of the integration, closed to other users,
 * ignored by Git, and never uploaded (`upload/never-uploaded.ts`).
 */
import { randomBytes } from 'node:crypto';
import { chmod, lstat, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readPrivate, writePrivate } from '../profile/private-file.ts';
import { Failure } from '../terminal/failure.ts';

export const DEV_FOLDER = '.annex';
const PAGE_TOKEN_FILE = 'page-token';
const TOKEN_BYTES = 24;
const TOKEN = /^[\w-]{32}$/;

/**
 * Attack: a folder from elsewhere brings a `.annex` that leads to another folder, or that another
 * user can write.
 *
 * @returns its path
 * @throws Failure
 */
export async function openDevFolder(folder: string): Promise<string> {
  const path = join(folder, DEV_FOLDER);
  await mkdir(path, { mode: 0o700 }).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'EEXIST')
      throw new Failure(`${path} cannot be made: ${cause.message}.`, { code: 'FOLDER_UNUSABLE', cause });
  });
  const found = await lstat(path);
  const me = process.getuid?.();
  if (!found.isDirectory() || (me !== undefined && found.uid !== me))
    throw new Failure(`${path} is not a folder of yours, so it is not used.`, {
      code: 'FOLDER_UNUSABLE',
      hint: 'Remove it: `annex dev` makes it anew.',
    });
  await chmod(path, 0o700);
  // It ignores itself, so that the author's own file need not.
  await writeFile(join(path, '.gitignore'), '*\n');
  return path;
}

/** The secret part of the page's address: the same in each run, so that an open page goes on. */
export async function pageToken(devFolder: string): Promise<string> {
  const file = join(devFolder, PAGE_TOKEN_FILE);
  const known = (await readPrivate(file))?.trim();
  if (known !== undefined && TOKEN.test(known)) return known;
  const made = randomBytes(TOKEN_BYTES).toString('base64url');
  await writePrivate(file, `${made}\n`);
  return made;
}
