/**
 * Decides which headers of an integration's answer are sent.
 *
 * Framing headers belong to the host. Those in `withheld-headers.ts` are withheld: they speak for a
 * whole origin, or give orders to a proxy in front.
 */
import { HOP_BY_HOP } from '../../model/hop-by-hop.ts';
import { WITHHELD } from '../withheld-headers.ts';
import { type CookieScope, confineCookie } from './set-cookie.ts';

/** Dropped silently: integrations pass on headers that they fetched, and the host sets its own. */
const isFraming = (name: string): boolean => name === 'content-length' || HOP_BY_HOP.has(name);

/**
 * The types that a worker's script may have (all JavaScript types of WHATWG's MIME Sniffing), in
 * any of several values.
 */
const SCRIPT_TYPE = /(?:java|ecma|j|live)script/i;
const WORKER_AT_ROOT =
  'content-type, because a worker of this path would serve all endpoints: scripts belong below the endpoint';

export interface AnswerHeaders {
  /** Names and values, alternating. */
  readonly flat: string[];
  /** Withheld headers, one clause each; absent if there are none. */
  readonly withheld?: ReadonlySet<string>;
}

/**
 * @param cookieScope where the endpoint's cookies apply; undefined if the answer does not go to a
 * browser
 */
export function answerHeaders(
  headers: readonly (readonly [string, string])[],
  cookieScope: CookieScope | undefined,
): AnswerHeaders {
  const table = WITHHELD[cookieScope?.path === undefined ? 'every origin' : 'a shared origin'];
  const flat: string[] = [];
  let withheld: Set<string> | undefined;
  for (const [name, value] of headers) {
    const lower = name.toLowerCase();
    if (isFraming(lower)) continue;
    if (cookieScope === undefined) {
      flat.push(name, value);
      continue;
    }
    const why = table.why(lower);
    if (why !== undefined) {
      withheld ??= new Set();
      withheld.add(`${lower}, which ${why}`);
    } else if (cookieScope.isRoot && lower === 'content-type' && SCRIPT_TYPE.test(value)) {
      // Attack: `/KEY?sw`, whose scope is `/` by default, out of the cache of the browser or of a
      // CDN, where no header shows that a worker asks. Without a type it is no worker's script.
      withheld ??= new Set();
      withheld.add(WORKER_AT_ROOT);
    } else if (lower === 'set-cookie') {
      const cookie = confineCookie(value, cookieScope);
      if (cookie.value !== undefined) flat.push(name, cookie.value);
      if (cookie.change === undefined) continue;
      withheld ??= new Set();
      withheld.add(cookie.change);
    } else {
      flat.push(name, value);
    }
  }
  return { flat, ...(withheld && { withheld }) };
}

/**
 * Types in which browsers run scripts. An answer without a type counts too: browsers may sniff a
 * page.
 */
const PAGE = /^(text\/html|application\/xhtml\+xml|image\/svg\+xml|text\/xml|application\/xml)\s*(;|$)/i;

/**
 * Adds the manifest's policy to a page. A page's own policy stays: the code knows its nonces, for
 * example.
 *
 * @param flat names and values, alternating; added to
 */
export function addPagePolicy(flat: string[], policy: string): void {
  let isPage = true;
  for (let at = 0; at < flat.length; at += 2) {
    const name = flat[at]?.toLowerCase();
    if (name === 'content-security-policy') return;
    if (name === 'content-type') isPage = PAGE.test(flat[at + 1] ?? '');
  }
  if (isPage) flat.push('content-security-policy', policy);
}
