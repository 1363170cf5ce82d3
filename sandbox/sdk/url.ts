/**
 * URLs of an integration: below its public endpoint, with their queries, and where it is safe to send a browser
 * (REFERENCE D2).
 *
 * An endpoint may share its origin with those of other integrations. So "below the endpoint" is a question of the path, too,
 * and every function here asks it of the URL as browsers read it: `\` is `/` to them, `%2e%2e` is `..`, and a tab is nothing.
 */
import type { Environment } from './environment.ts';
import { ExposableError } from './exposable-error.ts';

/** All that is needed to know of an environment. */
type Endpoint = Pick<Environment, 'integration'>;

/** Value of a parameter to be set; a list for several of one name; null or undefined for none. */
export type QueryValue =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly (string | number | boolean)[];

/** Origins are what a URL is checked by, so nothing that hides one is let through: user, password, another scheme. */
function readURL(text: string, base: string): URL | undefined {
  if (!URL.canParse(text, base)) return undefined;
  const url = new URL(text, base);
  const isPlain = url.username === '' && url.password === '';
  return isPlain && (url.protocol === 'https:' || url.protocol === 'http:') ? url : undefined;
}

/** With the slash that makes it a folder: `/key` must not be taken for the beginning of `/key-of-another`. */
const folderOf = ({ integration }: Endpoint): URL => new URL(`${integration.urls.publicEndpoint}/`);

function isBelow(url: URL, folder: URL): boolean {
  if (url.origin !== folder.origin) return false;
  return `${url.pathname}/` === folder.pathname || url.pathname.startsWith(folder.pathname);
}

/**
 * The URL of a path below the public endpoint. A slash at the beginning makes no difference.
 *
 * @throws TypeError where the path leads out of the endpoint
 *
 * @example endpointURL(environment, '/oauth', { from: 'menu' }) // https://apps.example.com/key/oauth?from=menu
 */
export function endpointURL(
  environment: Endpoint,
  path = '',
  query: Readonly<Record<string, QueryValue>> = {},
): string {
  const folder = folderOf(environment);
  // `./` keeps what follows from being read as an origin: `//evil.example`, `javascript:…`.
  const url = readURL(path === '' ? '.' : `./${path.replace(/^[/\\]+/, '')}`, folder.href);
  if (url === undefined || !isBelow(url, folder)) {
    throw new TypeError(`endpointURL: ${JSON.stringify(path)} leads out of the public endpoint`);
  }
  if (path === '') url.pathname = url.pathname.slice(0, -1);
  return withQuery(url.href, query);
}

/**
 * What a reference means that was found in a document of this endpoint: the URL, or undefined where it leads out of the
 * endpoint or is no URL of the web.
 *
 * @param from URL of the document; the endpoint itself unless told
 *
 * @example resolveInEndpoint(environment, '../logo.png', endpointURL(environment, 'docs/a')) // …/key/logo.png
 */
export function resolveInEndpoint(
  environment: Endpoint,
  reference: string,
  from?: string,
): string | undefined {
  const folder = folderOf(environment);
  const base = readURL(from ?? '', folder.href);
  const url = base && isBelow(base, folder) ? readURL(reference, base.href) : undefined;
  return url && isBelow(url, folder) ? url.href : undefined;
}

/**
 * What of a URL's path comes after the endpoint, always with a slash before it: what a router looks at. Undefined for a URL
 * that is elsewhere.
 *
 * @example endpointPath(environment, request.url) // '/oauth' of https://apps.example.com/key/oauth?code=1
 */
export function endpointPath(environment: Endpoint, url: string): string | undefined {
  const folder = folderOf(environment);
  const read = readURL(url, folder.href);
  if (read === undefined || !isBelow(read, folder)) return undefined;
  return read.pathname.slice(folder.pathname.length - 1) || '/';
}

/**
 * The parameters of a URL's query: the text of each, or the first, where there are several of one name. Has no prototype, so
 * a parameter named `constructor` is one like any other.
 *
 * @param url absolute or relative; whatever follows `#` is left out
 *
 * @example const { code, state } = readQuery(request.url);
 */
export function readQuery(url: string): Readonly<Partial<Record<string, string>>> {
  const [, search = ''] = partsOf(url);
  const query: Record<string, string> = Object.create(null);
  for (const [name, value] of new URLSearchParams(search)) query[name] ??= value;
  return query;
}

/**
 * A URL with these parameters in its query, each in place of those of its name; the others stay as they are, and so does
 * what follows `#`. A space becomes `%20`, which everybody reads alike; not everybody does `+`.
 *
 * @param url absolute or relative
 *
 * @example withQuery('/list?page=2&q=a#top', { page: 3, q: null, tag: ['x', 'y'] }) // '/list?page=3&tag=x&tag=y#top'
 */
export function withQuery(url: string, changes: Readonly<Record<string, QueryValue>>): string {
  const [start, search, fragment] = partsOf(url);
  const query = new URLSearchParams(search);
  for (const [name, value] of Object.entries(changes)) {
    const values = Array.isArray(value) ? value : value === null || value === undefined ? [] : [value];
    const [first, ...others] = values.map(String);
    if (first === undefined) query.delete(name);
    // Stays where it was, if it was there.
    else query.set(name, first);
    for (const other of others) query.append(name, other);
  }
  const text = query.toString().replaceAll('+', '%20');
  return `${start}${text && `?${text}`}${fragment}`;
}

/** What comes before the query, the query, and the fragment with its `#`. */
function partsOf(url: string): [string, string, string] {
  const hash = url.indexOf('#');
  const [whole, fragment] = hash === -1 ? [url, ''] : [url.slice(0, hash), url.slice(hash)];
  const mark = whole.indexOf('?');
  return mark === -1 ? [whole, '', fragment] : [whole.slice(0, mark), whole.slice(mark + 1), fragment];
}

/**
 * Sends the browser on to where a request asked for, if that is a place it may be sent: below this endpoint, or on one of
 * the origins that are allowed.
 *
 * The attack is the open redirect: a link to this endpoint, which people trust, that ends on a page of the attacker's. What
 * is refused: `//evil.example`, `\\evil.example`, `javascript:…`, `https://good.example@evil.example`, other endpoints of the
 * same origin.
 *
 * @param to URL, absolute or relative to the endpoint, as a stranger may have sent it
 * @throws ExposableError with status 400 for any other place
 *
 * @example return safeRedirect(environment, readQuery(request.url).next ?? '.');
 * @example return safeRedirect(environment, page, { allow: ['https://app.example.com'] });
 */
export function safeRedirect(
  environment: Endpoint,
  to: string,
  options: {
    /** Origins, as in `https://app.example.com`. */
    readonly allow?: readonly string[];
    /** 302 unless told. */
    readonly status?: 301 | 302 | 303 | 307 | 308;
  } = {},
): Response {
  const { allow = [], status = 302 } = options;
  const folder = folderOf(environment);
  const url = readURL(to, folder.href);
  const isAllowed =
    url !== undefined && (isBelow(url, folder) || allow.some((origin) => originOf(origin) === url.origin));
  if (!isAllowed) throw new ExposableError('The address to go on to is not one of this integration.');
  return new Response(null, { status, headers: { location: url.href, 'cache-control': 'no-store' } });
}

/** @throws TypeError for what is no origin: a mistake of the author's, and one that would let nothing through. */
function originOf(text: string): string {
  const url = readURL(text, text);
  if (url === undefined || url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    throw new TypeError(
      `safeRedirect: ${JSON.stringify(text)} of allow is no origin, as in "https://example.com"`,
    );
  }
  return url.origin;
}
