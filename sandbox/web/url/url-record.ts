/**
 * URL records (https://url.spec.whatwg.org/#concept-url): parsing and serialising.
 *
 * `plain-url.ts` parses plain URLs, the state machine all others.
 */

import { indexOf } from '../primordials.ts';
import { plainHref, plainRecord, plainReference } from './plain-url.ts';
import { type UrlRecord, urlMachine } from './url-machine.ts';

/**
 * whatwg-url counts the characters of a user name but reads its code units. Characters
 * beyond U+FFFF are escaped before, which is also its own result everywhere.
 */
const ASTRAL = /[\u{10000}-\u{10ffff}]/gu;

/** "Basic URL parser", with an optional base; null is failure. */
export function parseRecord(url: string, base: string | undefined): UrlRecord | null {
  if (base === undefined) return plainRecord(url) ?? urlMachine().basicURLParse(escapeAstral(url));
  const baseURL = parseRecord(base, undefined);
  if (baseURL === null) return null;
  const plain = plainRecord(url) ?? (isHttp(baseURL) ? plainReference(url, baseURL) : undefined);
  return plain ?? urlMachine().basicURLParse(escapeAstral(url), { baseURL });
}

const escapeAstral = (url: string): string =>
  indexOf(url, '@') < 0 ? url : url.replace(ASTRAL, encodeURIComponent);

const isHttp = ({ scheme }: UrlRecord): boolean => scheme === 'https' || scheme === 'http';

/**
 * The serialised form of an absolute URL, without a record for a plain one; undefined for any other
 * text.
 */
export function normalizeUrl(text: string): { href: string; credentials: boolean } | undefined {
  const href = plainHref(text);
  if (href !== undefined) return { href, credentials: false };
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
    // Without this, a path that starts with two slashes would be read as a host.
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
  isHttp(url) ? `${url.scheme}://${serializeHostAndPort(url)}` : urlMachine().serializeURLOrigin(url);

export const hasOpaquePath = (url: UrlRecord): boolean => typeof url.path === 'string';

export const cannotHaveCredentialsOrPort = (url: UrlRecord): boolean =>
  url.host === null || url.host === '' || url.scheme === 'file';
