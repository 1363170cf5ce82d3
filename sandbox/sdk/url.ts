/**
 * URL utilities: URLs below the public endpoint, their queries, and safe redirects
 * (docs/contract/runtime.md#url-utilities).
 *
 * Endpoints of several integrations may share an origin, so "below the endpoint" depends on origin
 * and path. Every function reads URLs as browsers do: `\` is `/`, `%2e%2e` is `..`, and tabs and
 * line breaks are ignored.
 */
import type { Environment } from './environment.ts';
import { ExposableError } from './exposable-error.ts';

/** The part of an environment that these functions read. */
type Endpoint = Pick<Environment, 'integration'>;

/** Value of a query parameter; a list for several of one name; null or undefined for none. */
export type QueryValue =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly (string | number | boolean)[];

/** Parses an http or https URL, without user name and password: these can disguise the origin. */
function readURL(text: string, base: string): URL | undefined {
  if (!URL.canParse(text, base)) return undefined;
  const url = new URL(text, base);
  const isPlain = url.username === '' && url.password === '';
  return isPlain && (url.protocol === 'https:' || url.protocol === 'http:') ? url : undefined;
}

/** The endpoint with a slash at its end. Attack: `/key` as a prefix of `/key-of-another`. */
const folderOf = ({ integration }: Endpoint): URL => new URL(`${integration.urls.publicEndpoint}/`);

function isBelow(url: URL, folder: URL): boolean {
  if (url.origin !== folder.origin) return false;
  return `${url.pathname}/` === folder.pathname || url.pathname.startsWith(folder.pathname);
}

/**
 * The URL of a path below the public endpoint.
 *
 * @param environment `context.environment`
 * @param path path with or without a slash at its beginning; the endpoint itself by default
 * @param query parameters to set
 * @returns absolute URL
 * @throws TypeError if the path leaves the endpoint
 *
 * @example
 * endpointURL(environment, '/oauth', { from: 'menu' })
 * // 'https://apps.example.com/key/oauth?from=menu'
 */
export function endpointURL(
  environment: Endpoint,
  path = '',
  query: Readonly<Record<string, QueryValue>> = {},
): string {
  const folder = folderOf(environment);
  // Attack: a path that is read as an origin or a scheme, `//evil.example`, `javascript:…`. `./`
  // makes it relative.
  const url = readURL(path === '' ? '.' : `./${path.replace(/^[/\\]+/, '')}`, folder.href);
  if (url === undefined || !isBelow(url, folder)) {
    throw new TypeError(`endpointURL: ${JSON.stringify(path)} leads out of the public endpoint`);
  }
  if (path === '') url.pathname = url.pathname.slice(0, -1);
  return withQuery(url.href, query);
}

/**
 * Resolves a reference, such as a link, in a document below the endpoint.
 *
 * @param environment `context.environment`
 * @param reference absolute or relative URL
 * @param from URL of the document; the endpoint itself by default
 * @returns absolute URL; undefined if it leaves the endpoint or is not http or https
 *
 * @example
 * resolveInEndpoint(environment, '../logo.png', endpointURL(environment, 'docs/a'))
 * // 'https://apps.example.com/key/logo.png'
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
 * The path of a URL below the endpoint, for routing.
 *
 * @param environment `context.environment`
 * @param url absolute or relative URL, such as `request.url`
 * @returns path that begins with `/`; undefined if the URL is not below the endpoint
 *
 * @example
 * endpointPath(environment, request.url) // '/oauth' of https://apps.example.com/key/oauth?code=1
 */
export function endpointPath(environment: Endpoint, url: string): string | undefined {
  const folder = folderOf(environment);
  const read = readURL(url, folder.href);
  if (read === undefined || !isBelow(read, folder)) return undefined;
  return read.pathname.slice(folder.pathname.length - 1) || '/';
}

/**
 * The parameters of a URL's query: the first of each name. The object has no prototype, so a
 * parameter named `constructor` is like any other.
 *
 * @param url absolute or relative; its fragment is ignored
 * @returns name → value
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
 * A URL with some parameters of its query replaced. Other parameters and the fragment stay. A space
 * becomes `%20`, which every server understands, unlike `+`.
 *
 * @param url absolute or relative
 * @param changes name → value, a list for several values, `null` or `undefined` to remove
 *
 * @example
 * withQuery('/list?page=2&q=a#top', { page: 3, q: null, tag: ['x', 'y'] })
 * // '/list?page=3&tag=x&tag=y#top'
 */
export function withQuery(url: string, changes: Readonly<Record<string, QueryValue>>): string {
  const [start, search, fragment] = partsOf(url);
  const query = new URLSearchParams(search);
  for (const [name, value] of Object.entries(changes)) {
    const values = Array.isArray(value) ? value : value === null || value === undefined ? [] : [value];
    const [first, ...others] = values.map(String);
    if (first === undefined) query.delete(name);
    // `set` keeps the position of a parameter that is there.
    else query.set(name, first);
    for (const other of others) query.append(name, other);
  }
  const text = query.toString().replaceAll('+', '%20');
  return `${start}${text && `?${text}`}${fragment}`;
}

/** A URL up to its query, its query, and its fragment with `#`. */
function partsOf(url: string): [string, string, string] {
  const hash = url.indexOf('#');
  const [whole, fragment] = hash === -1 ? [url, ''] : [url.slice(0, hash), url.slice(hash)];
  const mark = whole.indexOf('?');
  return mark === -1 ? [whole, '', fragment] : [whole.slice(0, mark), whole.slice(mark + 1), fragment];
}

/**
 * Redirects the browser to a URL from a request, if it is below this endpoint or on an allowed
 * origin.
 *
 * Attack: an open redirect, a link to this trusted endpoint that ends on the attacker's page.
 * Refused are `//evil.example`, `\\evil.example`, `javascript:…`,
 * `https://good.example@evil.example`, and other endpoints of the same origin.
 *
 * @param environment `context.environment`
 * @param to URL, absolute or relative to the endpoint; it may come from anyone
 * @param options `allow`: further origins; `status`: status of the redirect
 * @returns the redirect, with `cache-control: no-store`
 * @throws ExposableError with status 400 if the URL is not allowed
 * @throws TypeError if a member of `allow` is not an origin
 *
 * @example return safeRedirect(environment, readQuery(request.url).next ?? '.');
 * @example return safeRedirect(environment, page, { allow: ['https://app.example.com'] });
 */
export function safeRedirect(
  environment: Endpoint,
  to: string,
  options: {
    /** Origins such as `https://app.example.com`; none by default. */
    readonly allow?: readonly string[];
    /** Status of the redirect; 302 by default. */
    readonly status?: 301 | 302 | 303 | 307 | 308;
  } = {},
): Response {
  const { allow = [], status = 302 } = options;
  const folder = folderOf(environment);
  const url = readURL(to, folder.href);
  const isAllowed =
    url !== undefined && (isBelow(url, folder) || allow.some((origin) => originOf(origin) === url.origin));
  if (!isAllowed)
    throw new ExposableError(
      'The URL to redirect to is neither below the endpoint nor of an allowed origin.',
    );
  return new Response(null, { status, headers: { location: url.href, 'cache-control': 'no-store' } });
}

/** @throws TypeError if the text is not an origin */
function originOf(text: string): string {
  const url = readURL(text, text);
  if (url === undefined || url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    throw new TypeError(
      `safeRedirect: ${JSON.stringify(text)} of allow is not an origin such as "https://example.com"`,
    );
  }
  return url.origin;
}
