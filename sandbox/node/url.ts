/**
 * `node:url` (https://nodejs.org/api/url.html): the URL classes of the isolate, conversions between
 * URLs and paths of files, and the reading of URLs that came before (`url-legacy.ts`).
 */

import { toUnicode } from 'punycode';
import { Buffer } from './buffer.ts';
import { invalidArgType, invalidArgValue, nodeError, validateObject, validateString } from './errors.ts';
import { named } from './named.ts';
import { posix, win32 } from './path.ts';
import { invalidUrl, toASCII, Url } from './url-legacy.ts';

interface Windows {
  readonly windows?: boolean;
}
interface Formatting {
  readonly auth?: boolean;
  readonly fragment?: boolean;
  readonly search?: boolean;
  readonly unicode?: boolean;
}

const WebURL = URL;
const { URLPattern, URLSearchParams } = globalThis as unknown as Record<string, unknown>;

function parse(url: string | Url, withQuery?: boolean, slashesMeanHost?: boolean): Url {
  return url instanceof Url ? url : new Url().parse(url, withQuery, slashesMeanHost);
}
const resolve = (from: string | Url, to: string): string => parse(from, false, true).resolve(to);
const resolveObject = (from: string | Url, to: string | Url): string | Url | object =>
  from ? parse(from, false, true).resolveObject(to) : to;

function format(value: string | object, options?: Formatting): string {
  if (typeof value === 'string') return parse(value).format();
  if (typeof value !== 'object' || value === null)
    throw invalidArgType('urlObject', ['Object', 'string'], value);
  if (!(value instanceof URL)) return Url.prototype.format.call(Object.assign(new Url(), value as object));
  if (options !== undefined) validateObject(options, 'options');
  const { auth = true, fragment = true, search = true, unicode = false } = options ?? {};
  const url = new URL(value.href);
  if (!fragment) url.hash = '';
  if (!search) url.search = '';
  if (!auth) url.username = url.password = '';
  if (!unicode) return url.href;
  return url.href.replace(url.hostname, () => domainToUnicode(url.hostname));
}

function domainToASCII(domain: string): string {
  return toASCII(`${domain}`);
}
function domainToUnicode(domain: string): string {
  return toUnicode(toASCII(`${domain}`));
}

function fileURLToPath(path: string | URL, options: Windows = {}): string {
  const url = typeof path === 'string' ? URL.parse(path) : path;
  if (url === null && typeof path === 'string') throw invalidUrl(path);
  if (!isURL(url)) throw invalidArgType('path', ['string', 'URL'], path);
  if (url.protocol !== 'file:') {
    throw nodeError(TypeError, 'ERR_INVALID_URL_SCHEME', 'The URL must be of scheme file');
  }
  return options?.windows ? windowsPath(url) : posixPath(url);
}
const isURL = (value: unknown): value is URL =>
  Boolean(
    (value as URL | null)?.href &&
      (value as URL).protocol &&
      (value as Url).auth === undefined &&
      (value as Url).path === undefined,
  );

function invalidPath(message: string, input: URL): Error {
  return Object.assign(nodeError(TypeError, 'ERR_INVALID_FILE_URL_PATH', message), { input });
}

function posixPath(url: URL): string {
  if (url.hostname !== '') {
    throw nodeError(
      TypeError,
      'ERR_INVALID_FILE_URL_HOST',
      'File URL host must be "localhost" or empty on browser',
    );
  }
  if (/%2f/i.test(url.pathname))
    throw invalidPath('File URL path must not include encoded / characters', url);
  return decodeURIComponent(url.pathname);
}

function windowsPath(url: URL): string {
  if (/%2f|%5c/i.test(url.pathname)) {
    throw invalidPath('File URL path must not include encoded \\ or / characters', url);
  }
  const path = decodeURIComponent(url.pathname.replaceAll('/', '\\'));
  if (url.hostname !== '') return `\\\\${domainToUnicode(url.hostname)}${path}`;
  if (!/^\\[a-z]:/i.test(path)) throw invalidPath('File URL path must be absolute', url);
  return path.slice(1);
}

const fileURLToPathBuffer = (path: string | URL, options?: Windows): InstanceType<typeof Buffer> =>
  Buffer.from(fileURLToPath(path, options));

function pathToFileURL(path: string, options: Windows = {}): URL {
  validateString(path, 'path');
  const windows = options?.windows === true;
  const flavour = windows ? win32 : posix;
  const share = windows ? /^\\\\([^\\]+)(\\[^\\]+.*)?$/s.exec(path) : null;
  const url = new URL('file:///');
  if (share !== null && share[1] !== '?' && share[1] !== '.') {
    if (share[2] === undefined) throw invalidArgValue('path', path, 'Missing UNC resource path');
    url.hostname = share[1] as string;
    url.pathname = escapedPath((share[2] as string).replaceAll('\\', '/'), windows);
    return url;
  }
  let resolved = flavour.resolve(path);
  const ends = path.endsWith('/') || (windows && path.endsWith('\\'));
  if (ends && !resolved.endsWith(flavour.sep)) resolved += flavour.sep;
  const text = escapedPath(windows ? resolved.replaceAll('\\', '/') : resolved, windows);
  return new URL(`file://${text.startsWith('/') ? '' : '/'}${text}`);
}

/** What the URL standard would read as something else. */
const escapedPath = (path: string, windows: boolean): string =>
  path.replace(windows ? /[%\n\r\t?#]/g : /[%\\\n\r\t?#]/g, (char) => encodeURIComponent(char));

function urlToHttpOptions(url: URL): object {
  if (!['object', 'function'].includes(typeof url) || url === null)
    throw invalidArgType('url', 'Object', url);
  const { hostname, pathname, port, username, password, search } = url;
  return {
    __proto__: null,
    ...url,
    protocol: url.protocol,
    hostname: hostname?.startsWith('[') ? hostname.slice(1, -1) : hostname,
    hash: url.hash,
    search,
    pathname,
    path: `${pathname || ''}${search || ''}`,
    href: url.href,
    ...(port !== '' ? { port: Number(port) } : {}),
    ...(username || password
      ? { auth: `${decodeURIComponent(username)}:${decodeURIComponent(password)}` }
      : {}),
  };
}

const url = /* @__PURE__ */ named({
  Url,
  parse,
  resolve,
  resolveObject,
  format,
  URL: WebURL,
  URLPattern,
  URLSearchParams,
  domainToASCII,
  domainToUnicode,
  pathToFileURL,
  fileURLToPath,
  fileURLToPathBuffer,
  urlToHttpOptions,
});

export {
  domainToASCII,
  domainToUnicode,
  fileURLToPath,
  fileURLToPathBuffer,
  format,
  parse,
  pathToFileURL,
  resolve,
  resolveObject,
  URLPattern,
  URLSearchParams,
  Url,
  urlToHttpOptions,
  WebURL as URL,
};
export default url;
