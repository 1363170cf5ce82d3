/**
 * URLs that parse to themselves: what most programs write is an absolute http(s) URL in lower case with nothing to escape.
 *
 * One linear expression takes such a text apart, far cheaper than the state machine; as long as no other URL comes along,
 * an isolate need not even load that. Everything unusual is left to the state machine: this file knows no normalisation.
 */
import { indexOf, regExpExec, split } from '../primordials.ts';
import type { UrlRecord } from './url-machine.ts';

/**
 * Groups: scheme, host, port, path without its slash, query, fragment. The host is a name whose last label is no number, or
 * an IPv4 address as it is serialised. The classes hold what its part leaves unescaped: none of them holds what ends its part,
 * so the time it takes is in proportion to the text.
 */
const PLAIN =
  /^(https?):\/\/((?:[a-z0-9-]+\.){0,9}[a-z][a-z0-9-]*|(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?=\d)|(?![\d.]))){4})(?::([1-9]\d{3}|[1-5]\d{4}))?(?:\/([!$-.\d:;=@A-Z[\]_a-z|~/]*))?(?:\?([!$-&(-;=?-~]*))?(?:#([!#-;=?-_a-~]*))?$/;
/** What comes behind the authority alone: the same groups from the path on. */
const PLAIN_PATH = /^\/(?!\/)([!$-.\d:;=@A-Z[\]_a-z|~/]*)(?:\?([!$-&(-;=?-~]*))?(?:#([!#-;=?-_a-~]*))?$/;
/** A segment that may mean this folder or the one above. */
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

/** What a plain URL serialises to, which is itself, but for the slash of an empty path; undefined for any other text. */
export function plainHref(text: string): string | undefined {
  const plain = regExpExec(PLAIN, text);
  if (plain === null || !isPlainHost(plain[2] as string)) return undefined;
  const path = plain[4];
  return path !== undefined && isPlainPath(path) ? text : undefined;
}

/** A label in Punycode is checked, and may be refused. */
const isPlainHost = (host: string): boolean => indexOf(host, 'xn--') < 0;

const isPlainPath = (path: string): boolean =>
  (indexOf(path, '.') < 0 && indexOf(path, '%') < 0) || regExpExec(DOTS, path) === null;
