/**
 * Decides which service a command talks to, and with which token:
 *
 * 1. the profile that `--profile` names;
 * 2. `ANNEX_URL` and `ANNEX_TOKEN`, each of which takes precedence over 3 and 4;
 * 3. the profile that `ANNEX_PROFILE` names, else the one in use;
 * 4. the service that `annex serve` runs on this machine: its default URL and, in the folder where
 *    it was started or below it, the first admin token, which it wrote for its owner alone.
 *
 * A token is sent only where it belongs. Attack: a variable, or a command line that was copied from
 * a page, names another URL, and its server receives the token of the profile.
 */
import { dirname, join, resolve } from 'node:path';
import { Failure } from '../terminal/failure.ts';
import { readPrivate } from './private-file.ts';
import { ProfileFile, type Profiles, profileNamed } from './profile-file.ts';
import { DEFAULT_URL, isLoopback, serviceUrl } from './service-url.ts';

export const ADMIN_TOKEN_FILE = 'admin-token';
/** Data folder of `annex serve` where none is named. */
const DATA_FOLDER = 'data';

export interface Connection {
  /** Base of the API, without `/v1` and without a last slash. */
  readonly url: string;
  /** Where the URL is from, for messages. */
  readonly urlFrom: string;
  readonly token: string | undefined;
  /** Where the token is from, for messages; undefined if there is none. */
  readonly tokenFrom: string | undefined;
  /** Name of the profile that is in use, if one is. */
  readonly profile: string | undefined;
}

export interface ConnectionQuery {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The value of `--profile`. */
  readonly profile: string | undefined;
}

interface Named {
  readonly name: string;
  readonly url: string;
  readonly token: string | undefined;
}

/** @throws Failure */
export async function findConnection({ env, cwd, profile }: ConnectionQuery): Promise<Connection> {
  const variable = (name: string) => (profile === undefined ? env[name] || undefined : undefined);
  const urlText = variable('ANNEX_URL');
  const tokenText = variable('ANNEX_TOKEN');
  const named = await profileInUse(env, profile, urlText !== undefined && tokenText !== undefined);
  const url = urlText === undefined ? (named?.url ?? DEFAULT_URL) : serviceUrl(urlText, 'ANNEX_URL');
  const common = {
    url,
    urlFrom: urlText === undefined ? (named ? `profile "${named.name}"` : 'the default') : 'ANNEX_URL',
    profile: named?.url === url ? named.name : undefined,
  };
  if (tokenText !== undefined)
    return { ...common, token: tokenOf(tokenText, 'ANNEX_TOKEN'), tokenFrom: 'ANNEX_TOKEN' };
  if (named?.token !== undefined && named.url === url)
    return { ...common, token: named.token, tokenFrom: `profile "${named.name}"` };
  const local = isLoopback(url) ? await localToken(cwd, env['ANNEX_DATA']) : undefined;
  if (local === undefined) return { ...common, token: undefined, tokenFrom: undefined };
  return { ...common, token: tokenOf(local.text, local.file), tokenFrom: local.file };
}

interface LocalToken {
  readonly file: string;
  readonly text: string;
}

/**
 * The admin token in the data folder of `annex serve`: beside the folder of the command, or beside
 * one above it, as for an integration in a folder of its own.
 */
async function localToken(cwd: string, data: string | undefined): Promise<LocalToken | undefined> {
  const file = resolve(cwd, join(data || DATA_FOLDER, ADMIN_TOKEN_FILE));
  const text = await readPrivate(file);
  if (text !== undefined) return { file, text };
  return data ? undefined : tokenAbove(dirname(resolve(cwd)));
}

/** Skips files that may not be used: unlike one in the folder itself, they may be of others. */
async function tokenAbove(folder: string): Promise<LocalToken | undefined> {
  const file = join(folder, DATA_FOLDER, ADMIN_TOKEN_FILE);
  const text = await readPrivate(file).catch((cause: unknown) => {
    if (cause instanceof Failure) return undefined;
    throw cause;
  });
  if (text !== undefined) return { file, text };
  return dirname(folder) === folder ? undefined : tokenAbove(dirname(folder));
}

/** @throws Failure if it could not be a header's value */
export function tokenOf(text: string, from: string): string {
  const token = text.trim();
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  // The message must not contain the token.
  throw new Failure(
    `${from.charAt(0).toUpperCase()}${from.slice(1)} holds no token: a token is one word of letters, digits, "-" and "_".`,
    {
      code: 'TOKEN_MALFORMED',
    },
  );
}

async function profileInUse(
  env: ConnectionQuery['env'],
  asked: string | undefined,
  isUnneeded: boolean,
): Promise<Named | undefined> {
  const wanted = asked ?? (env['ANNEX_PROFILE'] || undefined);
  // With both variables a command works without a home folder, as in a build.
  if (wanted === undefined && isUnneeded) return undefined;
  const hasHome = ['XDG_CONFIG_HOME', 'HOME', 'USERPROFILE'].some((name) => env[name]);
  if (wanted === undefined && !hasHome) return undefined;
  const profiles: Profiles = await ProfileFile.of(env).read();
  const name = wanted ?? profiles.current;
  if (name === undefined) return undefined;
  const { url, token } = profileNamed(profiles, name);
  // Attack: a file of profiles from elsewhere, with a URL or a token that no login would store.
  const from = `profile "${name}"`;
  return {
    name,
    url: serviceUrl(url, `The URL of ${from}`),
    token: token === undefined ? undefined : tokenOf(token, from),
  };
}
