/**
 * URL patterns (`urlUnfurl`) of a block: the pasted URLs that become this block
 * (`docs/contract/components.md#url-patterns`).
 *
 * A pattern is the beginning of a URL, in which `*` stands for any characters. Both sides are
 * parsed as URLs and then compared as text. Attack: catastrophic backtracking. Authors cannot write
 * regular expressions, so a comparison takes bounded time.
 */

export const URL_UNFURL_CHARS_MAX = 512;
/** Maximum characters of a URL that becomes a block. */
export const UNFURLED_CHARS_MAX = 2_048;

/**
 * `http` or `https`; a host, or `*.` and a name of at least two labels, because `*.com` would cover
 * a whole top-level domain; then at most eight wildcards. No white space, quotes or brackets.
 */
export const URL_UNFURL =
  /^https?:\/\/(\*\.(?=[^/?#]*[^./?#]\.[^./?#]))?[^\s\\"<>*@/?#]+([/?#][^\s\\"<>*]*(\*[^\s\\"<>*]*){0,8})?$/;
const TWO_LABELS = /[^.]\.[^.]/;

/** A parsed pattern. */
export interface UnfurlPattern {
  readonly protocol: string;
  /** The host; where `below` is set, the parent name of matching hosts. */
  readonly hostname: string;
  readonly below: boolean;
  readonly port: string;
  /**
   * Path, query and fragment, split at the wildcards.
   */
  readonly parts: readonly string[];
}

/**
 * @returns the fault of a pattern, a clause that follows its name, or `undefined` where it is valid
 */
export const unfurlPatternFault = (text: string): string | undefined =>
  readUnfurlPattern(text) === undefined ? 'must be the beginning of a URL that browsers can read' : undefined;

/** Parses a pattern. @returns undefined where it is not valid */
export function readUnfurlPattern(text: string): UnfurlPattern | undefined {
  const url = URL_UNFURL.test(text) ? URL.parse(text) : null;
  if (url === null) return undefined;
  const below = url.hostname.startsWith('*.');
  const hostname = below ? url.hostname.slice(2) : url.hostname;
  // Attack: a wildcard that is hidden from the expression as `%2a`.
  if (hostname.includes('*') || (below && !TWO_LABELS.test(hostname))) return undefined;
  return { protocol: url.protocol, hostname, below, port: url.port, parts: restOf(url).split('*') };
}

/**
 * Parses a pasted URL. Patterns match this URL and the block receives the same one, so that a
 * component only fetches URLs that its pattern covers.
 *
 * @returns undefined where it is not `http` or `https`, or contains a user name or password
 */
export function unfurledUrl(text: string): URL | undefined {
  const url = text.length <= UNFURLED_CHARS_MAX ? URL.parse(text) : null;
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return undefined;
  return url.username === '' && url.password === '' ? url : undefined;
}

/** The parts of a URL that patterns are compared with, computed once for all patterns. */
export interface UrlParts extends Pick<URL, 'protocol' | 'hostname' | 'port'> {
  /** Path, query and fragment. */
  readonly rest: string;
}

/** @param url a result of `unfurledUrl` */
export const urlParts = (url: URL): UrlParts => ({
  ...{ protocol: url.protocol, hostname: url.hostname, port: url.port },
  rest: restOf(url),
});

/**
 * Whether scheme, host and port of a URL match a pattern; a cheap check.
 */
export const isForHost = (pattern: UnfurlPattern, { protocol, hostname, port }: UrlParts): boolean =>
  protocol === pattern.protocol &&
  port === pattern.port &&
  (pattern.below ? hostname.endsWith(`.${pattern.hostname}`) : hostname === pattern.hostname);

/**
 * Whether a pattern covers a URL: scheme, host and port match, and the rest begins with the
 * pattern. The match ends at the end of a part of the URL: `/board` covers `/board/1` and
 * `/board?x`, and not `/boards`.
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
  // Greedy: the first match of a part leaves the most room for the following ones, so there is no
  // backtracking.
  for (const part of others) {
    const found = rest.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  if (last === '') return true;
  if (rest.length - last.length >= at && rest.endsWith(last)) return true;
  // Attack: a URL that repeats the last part two thousand times. It is searched for together with
  // each delimiter, not match by match.
  if (endsItself(last)) return rest.includes(last, at);
  return [...delimiters].some((delimiter) => rest.includes(`${last}${delimiter}`, at));
}

/**
 * Sorts more specific patterns first: exact hosts before wildcards, then by length.
 */
export function bySpecificity(one: UnfurlPattern, other: UnfurlPattern): number {
  const host = Number(one.below) - Number(other.below) || other.hostname.length - one.hostname.length;
  return host || lengthOf(other) - lengthOf(one) || one.parts.length - other.parts.length;
}

const lengthOf = ({ parts }: UnfurlPattern): number => parts.reduce((sum, part) => sum + part.length, 0);
