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

import { BlockList, isIP } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { Annex } from '../../../packages/client/src/index.ts';
import { type Asked, proxyFor } from '../terminal/explain.ts';
import { Failure, UsageError } from '../terminal/failure.ts';
import { ProfileFile, type Profiles, profileNamed, readPrivate } from './profile-file.ts';

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

interface ConnectionQuery {
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

/** Where `annex serve` listens if nothing else is said. */
export const DEFAULT_URL = 'http://127.0.0.1:7700';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** @throws UsageError */
export function serviceUrl(text: string, from: string): string {
  const typed = text.trim();
  const hasScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(typed);
  // A name without a scheme is reached over TLS, unless it is this machine.
  const url = URL.parse(hasScheme ? typed : `http://${typed}`);
  if (url === null || url.hostname === '')
    throw new UsageError(`${from} is not a URL: "${typed}".`, { hint: `It looks like ${DEFAULT_URL}.` });
  if (!['http:', 'https:'].includes(url.protocol))
    throw new UsageError(`${from} must begin with http:// or https://; it is "${typed}".`);
  if (url.username !== '' || url.password !== '')
    throw new UsageError(`${from} must not have a user name or a password: the token is the credential.`);
  if (url.search !== '' || url.hash !== '')
    throw new UsageError(`${from} must end with its path, without "?" and "#".`);
  if (!hasScheme && !isLoopback(url.href)) url.protocol = 'https:';
  const href = url.href.replace(/(?<!\/)\/+$/, '');
  return href.endsWith('/v1') ? href.slice(0, -'/v1'.length) : href;
}

/** Whether a URL leads to this machine alone. */
export function isLoopback(url: string): boolean {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  if (host === 'localhost' || host.endsWith('.localhost')) return true;
  const family = isIP(host);
  return family !== 0 && LOOPBACK.check(host, family === 6 ? 'ipv6' : 'ipv4');
}

const VERSION_HEADER = 'annex-version';

interface ServiceAccessDeps extends ConnectionQuery {
  /** Version of this command line. */
  readonly version: string;
  /** Prints a warning. */
  talk(text: string): void;
}

export class ServiceAccess {
  readonly #deps: ServiceAccessDeps;
  #connection: Promise<Connection> | undefined;
  #found: Pick<Connection, 'url' | 'tokenFrom'> | undefined;
  #itsVersion: string | undefined;
  #hasWarned = false;

  constructor(deps: ServiceAccessDeps) {
    this.#deps = deps;
  }

  /** What was asked; undefined if nothing was. */
  get asked(): Asked | undefined {
    if (this.#found === undefined) return undefined;
    const { url, tokenFrom } = this.#found;
    const proxy = proxyFor(url, this.#deps.env);
    return { url, tokenFrom, isLoopback: isLoopback(url), proxy, versions: this.versions };
  }

  get versions(): readonly [string, string | undefined] {
    return [this.#deps.version, this.#itsVersion];
  }

  async connection(): Promise<Connection> {
    this.#connection ??= findConnection(this.#deps);
    const found = await this.#connection;
    this.#found = found;
    return found;
  }

  async client(): Promise<Annex> {
    const { url, token, tokenFrom } = await this.connection();
    if (token === undefined)
      throw new Failure(`There is no token for ${url}.`, {
        code: 'TOKEN_MISSING',
        hint: `Log in (annex login ${url}), set ANNEX_TOKEN, or run the command in the folder of \`annex serve\`.`,
      });
    return this.clientOf(url, token, tokenFrom);
  }

  /** A client of another service, or with another token. */
  clientOf(url: string, token: string | undefined, tokenFrom: string | undefined): Annex {
    this.#found = { url, tokenFrom };
    if (token !== undefined) this.#warnOfReaders(url);
    const { version } = this.#deps;
    return new Annex({ url, token, userAgent: `annex/${version}`, fetch: this.#fetch });
  }

  /** Attack: where nothing encrypts it, a reader on the way takes the token. */
  #warnOfReaders(url: string): void {
    if (this.#hasWarned || !url.startsWith('http:') || isLoopback(url)) return;
    this.#hasWarned = true;
    const { talk } = this.#deps;
    talk(`warning: ${url} has no https://: everyone on the way to it can read the token.`);
  }

  readonly #fetch: typeof fetch = async (input, init) => {
    const answer = await fetch(input, init);
    this.#compare(answer.headers.get(VERSION_HEADER));
    return answer;
  };

  /** Warns once where the two may not understand each other. */
  #compare(its: string | null): void {
    if (its === null || this.#itsVersion !== undefined) return;
    this.#itsVersion = its;
    const { version: own, talk } = this.#deps;
    if (release(own) !== release(its))
      talk(
        `warning: the service is Annex ${its}, this command line is ${own}: they may differ in what they know.`,
      );
  }
}

/** Releases within one minor version know the same commands and routes. */
const release = (version: string): string => version.split('.', 2).join('.');
