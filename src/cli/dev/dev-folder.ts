/**
 * The folder in which `annex dev` keeps its service between two runs: database, keys and the token
 * of the operator. It is below the folder of the integration, closed to other users, ignored by
 * Git, and never uploaded (`upload/never-uploaded.ts`).
 */
import { chmod, lstat, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../terminal/failure.ts';

export const DEV_FOLDER = '.annex';

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
