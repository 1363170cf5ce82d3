/**
 * Files that hold tokens: only their owner can read them, and one that others can read is refused
 * instead of used.
 */
import { constants, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { replaceFile } from '../../real-files.ts';
import { Failure } from '../terminal/failure.ts';

/** Permissions of all users but the owner. */
export const OTHERS = 0o077;
const BYTES_MAX = 1_048_576;
/** Attack: a pipe in the place of the file, which would have the command wait for a writer. */
const READ = constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * Attack: a token in a file that another user can read, or has written to send this user's requests
 * to a service of their own. The permissions are those of the file that was opened.
 *
 * @returns undefined if there is no such file
 * @throws Failure
 */
export async function readPrivate(path: string): Promise<string | undefined> {
  const file = await open(path, READ).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT' || cause.code === 'ENOTDIR') return undefined;
    throw new Failure(`${path} cannot be read: ${cause.message}.`, { code: 'FILE_UNREADABLE', cause });
  });
  if (file === undefined) return undefined;
  try {
    const found = await file.stat();
    if (!found.isFile())
      throw new Failure(`${path} is not a file, so it is not used.`, {
        code: 'FILE_UNREADABLE',
        hint: 'Remove it.',
      });
    const { mode, uid, size } = found;
    const me = process.getuid?.();
    if (me !== undefined && uid !== me && uid !== 0)
      throw new Failure(`${path} belongs to another user, so it is not used.`, {
        code: 'FILE_FOREIGN',
        hint: `Remove it, or give it to yourself: chown "$USER" ${path}`,
      });
    if (me !== undefined && (mode & OTHERS) !== 0)
      throw new Failure(`${path} holds a token, and other users can read or change it.`, {
        code: 'FILE_OPEN',
        hint: `Close it (chmod 600 ${path}), and revoke its tokens if others may have read them.`,
      });
    if (size > BYTES_MAX) throw new Failure(`${path} is too large for what it holds.`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/** Replaces the file, which only its owner can read. */
export async function writePrivate(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await replaceFile(path, text, 0o600);
}
