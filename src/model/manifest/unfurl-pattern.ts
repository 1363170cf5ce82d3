/**
 * The `urlUnfurl` of a block: which URLs it takes when they are pasted
 * (`docs/contract/components.md#url-patterns`).
 *
 * A pattern is the beginning of a URL, in which `*` stands for any characters. Both sides are read
 * as browsers read a URL before they are compared, and what is compared is text. An author writes
 * no regular expression: one that backtracks could hold the service up for as long as its author
 * likes.
 */

export const URL_UNFURL_CHARS_MAX = 512;
/** Of a URL that is to become a block. */
export const UNFURLED_CHARS_MAX = 2_048;

/**
 * A scheme of the web; a host, or the names below one, of two labels at the least: `*.com` would be
 * half the internet; then at most eight wildcards, each of which is searched for once. Nothing that
 * ends a line or a word.
 */
export const URL_UNFURL =
  /^https?:\/\/(\*\.(?=[^/?#]*[^./?#]\.[^./?#]))?[^\s\\"<>*@/?#]+([/?#][^\s\\"<>*]*(\*[^\s\\"<>*]*){0,8})?$/;
const TWO_LABELS = /[^.]\.[^.]/;

/** A pattern, read. */
export interface UnfurlPattern {
  readonly protocol: string;
  /** Where `below`, the name that the host is below of. */
  readonly hostname: string;
  readonly below: boolean;
  readonly port: string;
  /**
   * What stands between the wildcards of path, query and fragment; one more than there are
   * wildcards.
   */
  readonly parts: readonly string[];
}

/** @returns what is wrong with a pattern, to follow its name, or `undefined` */
export const unfurlPatternFault = (text: string): string | undefined =>
  readUnfurlPattern(text) === undefined ? 'must be the beginning of a URL that browsers can read' : undefined;

/** @returns undefined where the text is no pattern */
export function readUnfurlPattern(text: string): UnfurlPattern | undefined {
  const url = URL_UNFURL.test(text) ? URL.parse(text) : null;
  if (url === null) return undefined;
  const below = url.hostname.startsWith('*.');
  const hostname = below ? url.hostname.slice(2) : url.hostname;
  // Attack: a wildcard that the expression has not seen, because it was written as `%2a`.
  if (hostname.includes('*') || (below && !TWO_LABELS.test(hostname))) return undefined;
  return { protocol: url.protocol, hostname, below, port: url.port, parts: restOf(url).split('*') };
}

/**
 * The URL that patterns are held against, and the one that a block is then given: the same, so that
 * what a component fetches is what its pattern covers.
 *
 * @returns undefined where no pattern covers it: it is none of the web, or has a password in it
 * that is nobody else's business
 */
export function unfurledUrl(text: string): URL | undefined {
  const url = text.length <= UNFURLED_CHARS_MAX ? URL.parse(text) : null;
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return undefined;
  return url.username === '' && url.password === '' ? url : undefined;
}

/** A URL as patterns are held against it, taken apart once for all of them. */
export interface UrlParts extends Pick<URL, 'protocol' | 'hostname' | 'port'> {
  /** Path, query and fragment. */
  readonly rest: string;
}

/** @param url as `unfurledUrl` makes it */
export const urlParts = (url: URL): UrlParts => ({
  ...{ protocol: url.protocol, hostname: url.hostname, port: url.port },
  rest: restOf(url),
});

/**
 * Whether a pattern is for the scheme, the host and the port of a URL: what costs next to nothing
 * to find out.
 */
export const isForHost = (pattern: UnfurlPattern, { protocol, hostname, port }: UrlParts): boolean =>
  protocol === pattern.protocol &&
  port === pattern.port &&
  (pattern.below ? hostname.endsWith(`.${pattern.hostname}`) : hostname === pattern.hostname);

/**
 * Scheme, host and port are the same, and the rest begins as the pattern says. A beginning ends
 * where a part of the URL ends: `/board` covers `/board/1` and `/board?x`, and not `/boards`.
 */
export const coversUrl = (pattern: UnfurlPattern, url: UrlParts): boolean =>
  isForHost(pattern, url) && covers(pattern.parts, url.rest);

/** Path, query and fragment. */
const restOf = ({ href, origin }: URL): string => href.slice(origin.length);

function covers(parts: readonly string[], rest: string): boolean {
  const delimiters = parts.some((part) => part.includes('?') || part.includes('#')) ? '&=#' : '/?#';
  const endsItself = (part: string): boolean => /[^\p{L}\p{N}%_-]$/u.test(part);
  const endsAt = (end: number, part: string): boolean =>
    end === rest.length || endsItself(part) || delimiters.includes(rest.charAt(end));
  const [first = '', ...others] = parts;
  if (!rest.startsWith(first)) return false;
  const last = others.pop();
  if (last === undefined) return endsAt(first.length, first);
  let at = first.length;
  // The first place at which each is found leaves the most room for those behind it: nothing is
  // ever tried again.
  for (const part of others) {
    const found = rest.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  if (last === '') return true;
  if (rest.length - last.length >= at && rest.endsWith(last)) return true;
  // Attack: a URL that has the last part two thousand times. It is searched for with what may
  // follow it, and not place by place.
  if (endsItself(last)) return rest.includes(last, at);
  return [...delimiters].some((delimiter) => rest.includes(`${last}${delimiter}`, at));
}

/**
 * Sorts the more specific one first: a host before names below it, then what says more of the URL.
 */
export function bySpecificity(one: UnfurlPattern, other: UnfurlPattern): number {
  const host = Number(one.below) - Number(other.below) || other.hostname.length - one.hostname.length;
  return host || lengthOf(other) - lengthOf(one) || one.parts.length - other.parts.length;
}

const lengthOf = ({ parts }: UnfurlPattern): number => parts.reduce((sum, part) => sum + part.length, 0);
