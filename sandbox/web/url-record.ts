/**
 * URL records (https://url.spec.whatwg.org/#concept-url): parsing and serialising.
 *
 * Most URLs a program meets parse to themselves. Those are recognised by one expression and taken apart here, which is
 * far cheaper than the state machine and, as long as no other comes along, spares the isolate from loading it.
 */
import { indexOf, regExpExec } from './primordials.ts';
import { type UrlRecord, urlMachine } from './url-machine.ts';

/**
 * URLs that parse to themselves: http(s), a lower-case name whose last label is no number, no default port, no dot
 * segment, nothing to escape. Groups: scheme, host, port, path without its slash, query.
 */
const PLAIN =
  /^(https?):\/\/((?:[a-z0-9-]{1,63}\.){0,9}[a-z][a-z0-9-]{0,62})(?::([1-9]\d{3}|[1-5]\d{4}))?\/((?:(?:[\w~!$&'()*+,;=:@-][\w.~!$&'()*+,;=:@%-]*)?\/)*(?:[\w~!$&'()*+,;=:@-][\w.~!$&'()*+,;=:@%-]*)?)(?:\?([\w.~!$&()*+,;=:@%/?-]*))?$/;

/**
 * whatwg-url 16.0.1 counts the characters of a user name and reads its code units. Escapes are its own result for
 * characters beyond U+FFFF, wherever they may stand, so those come to it escaped.
 */
const ASTRAL = /[\u{10000}-\u{10ffff}]/gu;

/** "Basic URL parser", with an optional base; null is failure. */
export function parseRecord(url: string, base: string | undefined): UrlRecord | null {
  const plain = regExpExec(PLAIN, url);
  if (plain !== null && indexOf(url, 'xn--') < 0 && base === undefined) {
    const [, scheme = '', host = '', port, path = '', query = null] = plain;
    const portNumber = port === undefined ? null : Number(port);
    return {
      scheme,
      username: '',
      password: '',
      host,
      port: portNumber,
      path: path.split('/'),
      query,
      fragment: null,
    };
  }
  const text = indexOf(url, '@') < 0 ? url : url.replace(ASTRAL, encodeURIComponent);
  if (base === undefined) return urlMachine().basicURLParse(text);
  const baseURL = parseRecord(base, undefined);
  return baseURL === null ? null : urlMachine().basicURLParse(text, { baseURL });
}

/** What an absolute URL serialises to, without a record where the text is that already; undefined where it is none. */
export function normalizeUrl(text: string): { href: string; credentials: boolean } | undefined {
  if (regExpExec(PLAIN, text) !== null && indexOf(text, 'xn--') < 0)
    return { href: text, credentials: false };
  const url = parseRecord(text, undefined);
  if (url === null) return undefined;
  return { href: serializeRecord(url), credentials: url.username !== '' || url.password !== '' };
}

export function serializeRecord(url: UrlRecord): string {
  let text = `${url.scheme}:`;
  if (url.host !== null) {
    text += '//';
    if (url.username !== '' || url.password !== '') {
      text += `${url.username}${url.password === '' ? '' : `:${url.password}`}@`;
    }
    text += serializeHostAndPort(url);
  } else if (typeof url.path !== 'string' && url.path.length > 1 && url.path[0] === '') {
    // Keeps a path that starts with two slashes from reading as a host.
    text += '/.';
  }
  text += serializePath(url);
  if (url.query !== null) text += `?${url.query}`;
  return url.fragment === null ? text : `${text}#${url.fragment}`;
}

export function serializePath({ path }: UrlRecord): string {
  if (typeof path === 'string') return path;
  return path.length === 0 ? '' : `/${path.join('/')}`;
}

export const serializeHost = ({ host }: UrlRecord): string =>
  host === null || typeof host === 'string' ? (host ?? '') : urlMachine().serializeHost(host);

export const serializeHostAndPort = (url: UrlRecord): string =>
  url.port === null ? serializeHost(url) : `${serializeHost(url)}:${url.port}`;

export const serializeOrigin = (url: UrlRecord): string =>
  url.scheme === 'https' || url.scheme === 'http'
    ? `${url.scheme}://${serializeHostAndPort(url)}`
    : urlMachine().serializeURLOrigin(url);

export const hasOpaquePath = (url: UrlRecord): boolean => typeof url.path === 'string';

export const cannotHaveCredentialsOrPort = (url: UrlRecord): boolean =>
  url.host === null || url.host === '' || url.scheme === 'file';
