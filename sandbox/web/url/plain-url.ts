/**
 * Fast path for URLs that parse to themselves: most are absolute http(s) URLs in lower case with
 * nothing to escape.
 *
 * One linear expression parses such a text, far cheaper than the state machine, which an isolate
 * need not load until it parses another URL. Everything unusual is left to the state machine: this
 * file does not normalise.
 */
import { indexOf, regExpExec, split } from '../primordials.ts';
import type { UrlRecord } from './url-machine.ts';

/**
 * Groups: scheme, host, port, path without its slash, query, fragment. The host is a name whose
 * last label is not a number, or a serialised IPv4 address. Each class has the unescaped characters
 * of its part, without those that end it, so matching is linear.
 */
const PLAIN =
  /^(https?):\/\/((?:[a-z0-9-]+\.){0,9}[a-z][a-z0-9-]*|(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?=\d)|(?![\d.]))){4})(?::([1-9]\d{3}|[1-5]\d{4}))?(?:\/([!$-.\d:;=@A-Z[\]_a-z|~/]*))?(?:\?([!$-&(-;=?-~]*))?(?:#([!#-;=?-_a-~]*))?$/;
/** The text after the authority: the same groups from the path on. */
const PLAIN_PATH = /^\/(?!\/)([!$-.\d:;=@A-Z[\]_a-z|~/]*)(?:\?([!$-&(-;=?-~]*))?(?:#([!#-;=?-_a-~]*))?$/;
/** A segment `.` or `..`, also percent-encoded. */
const DOTS = /(?:^|\/)(?:\.|%2[Ee]){1,2}(?:\/|$)/;

/** The record of a plain URL; undefined for any other text. */
export function plainRecord(text: string): UrlRecord | undefined {
  const plain = regExpExec(PLAIN, text);
  if (plain === null) return undefined;
  const host = plain[2] as string;
  const path = plain[4] ?? '';
  if (!isPlainHost(host) || !isPlainPath(path)) return undefined;
  const port = plain[3];
  return {
    scheme: plain[1] as string,
    username: '',
    password: '',
    host,
    port: port === undefined ? null : +port,
    path: split(path, '/'),
    query: plain[5] ?? null,
    fragment: plain[6] ?? null,
  };
}

/** The record of an absolute path beside a plain URL of http(s); undefined for any other text. */
export function plainReference(text: string, base: UrlRecord): UrlRecord | undefined {
  const plain = regExpExec(PLAIN_PATH, text);
  if (plain === null) return undefined;
  const path = plain[1] as string;
  if (!isPlainPath(path)) return undefined;
  const { scheme, username, password, host, port } = base;
  return {
    scheme,
    username,
    password,
    host,
    port,
    path: split(path, '/'),
    query: plain[2] ?? null,
    fragment: plain[3] ?? null,
  };
}

/**
 * The serialised form of a plain URL: itself, plus the slash of an empty path; undefined for any
 * other text.
 */
export function plainHref(text: string): string | undefined {
  const plain = regExpExec(PLAIN, text);
  if (plain === null || !isPlainHost(plain[2] as string)) return undefined;
  const path = plain[4];
  return path !== undefined && isPlainPath(path) ? text : undefined;
}

/** A Punycode label, which needs validation. */
const isPlainHost = (host: string): boolean => indexOf(host, 'xn--') < 0;

const isPlainPath = (path: string): boolean =>
  (indexOf(path, '.') < 0 && indexOf(path, '%') < 0) || regExpExec(DOTS, path) === null;
