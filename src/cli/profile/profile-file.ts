/**
 * The profiles of a user: names for services, each with a URL and a token, and the one in use. They
 * are in one file below `XDG_CONFIG_HOME`, which only the user can read. A file of tokens that
 * others can read is refused instead of used.
 */

import { constants, mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import Type from 'typebox';
import Value from 'typebox/value';
import { nearest } from '../../model/spelling-hint.ts';
import { replaceFile } from '../../real-files.ts';
import { Failure, UsageError } from '../terminal/failure.ts';

const NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;
const Profile = Type.Object({ url: Type.String(), token: Type.Optional(Type.String()) });
const Profiles = Type.Object({
  current: Type.Optional(Type.String()),
  profiles: Type.Record(Type.String({ pattern: NAME.source }), Profile),
});

type Profile = Type.Static<typeof Profile>;
export type Profiles = Type.Static<typeof Profiles>;

type Env = Readonly<Record<string, string | undefined>>;

export class ProfileFile {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** @throws Failure if the variables name no folder of the user */
  static of(env: Env): ProfileFile {
    const home = env['HOME'] || env['USERPROFILE'];
    // A relative path in the variable is invalid by the specification, and is ignored.
    const configured = env['XDG_CONFIG_HOME']?.startsWith('/') ? env['XDG_CONFIG_HOME'] : undefined;
    const folder = configured ?? (home && join(home, '.config'));
    if (folder === undefined || folder === '')
      throw new Failure('There is no folder for profiles: neither XDG_CONFIG_HOME nor HOME is set.', {
        hint: 'Set one of them, or ANNEX_URL and ANNEX_TOKEN, which need no file.',
      });
    return new ProfileFile(join(folder, 'annex', 'profiles.json'));
  }

  async read(): Promise<Profiles> {
    const text = await readPrivate(this.path);
    if (text === undefined) return { profiles: {} };
    try {
      const value: unknown = JSON.parse(text);
      if (Value.Check(Profiles, value)) return value;
    } catch {
      // Reported below, with everything else that is wrong with the file.
    }
    throw new Failure(`${this.path} is damaged: it does not hold profiles.`, {
      hint: 'Remove it and log in again: annex login',
    });
  }

  /** Reads the profiles, and writes what `change` makes of them. */
  async change(change: (profiles: Profiles) => Profiles): Promise<void> {
    const changed = change(await this.read());
    await writePrivate(this.path, `${JSON.stringify(changed, undefined, 2)}\n`);
  }
}

/** @throws UsageError */
export function profileNamed({ profiles }: Profiles, name: string): Profile {
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (profile !== undefined) return profile;
  const near = nearest(name, Object.keys(profiles));
  throw new UsageError(
    `There is no profile "${name}".${near === undefined ? '' : ` Did you mean ${near}?`}`,
    {
      code: 'PROFILE_UNKNOWN',
      hint: '`annex profile list` shows the profiles, `annex login` makes one.',
    },
  );
}

/** @throws UsageError */
export function profileName(text: string): string {
  if (NAME.test(text)) return text;
  throw new UsageError(
    'A profile has a name of lower-case letters, digits, "-" and "_", 63 at most, which begins with a letter or a digit.',
  );
}

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
