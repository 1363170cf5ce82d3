/**
 * Decides which headers of an integration's answer are sent.
 *
 * Framing headers belong to the host. Headers that apply to a whole origin are refused on an origin
 * that endpoints share. And headers that a proxy in front takes for commands from the application
 * behind it, to serve a file for example, belong to the operator.
 */
import { HOP_BY_HOP } from '../../model/hop-by-hop.ts';
import { type CookieScope, confineCookie } from './set-cookie.ts';

/** Dropped silently: integrations pass on headers that they fetched, and the host sets its own. */
const isFraming = (name: string): boolean => name === 'content-length' || HOP_BY_HOP.has(name);

/** Refused on every origin. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ['alt-svc', 'sends browsers to another server for the whole origin'],
  ['clear-site-data', 'clears cookies of the whole domain, those of the host product too'],
  ['public-key-pins', 'locks browsers out of the origin'],
  ['strict-transport-security', 'decides on TLS for the whole origin'],
  ['x-accel-redirect', 'has nginx serve what lies behind it'],
  ['x-lighttpd-send-file', 'has lighttpd serve a file'],
  ['x-reproxy-url', 'has a proxy fetch another URL'],
  ['x-sendfile', 'has a web server serve a file'],
]);

/** Refused if endpoints share an origin. */
const REFUSED_ON_SHARED: ReadonlyMap<string, string> = new Map([
  ...REFUSED,
  ['accept-ch', 'asks browsers for hints with every request to the origin'],
  ['critical-ch', 'has browsers repeat requests to the origin'],
  ['nel', 'has browsers report failures of the whole origin'],
  ['origin-agent-cluster', 'decides on the process of the whole origin'],
  ['report-to', 'sends reports of the whole origin elsewhere'],
  ['service-worker-allowed', 'lets a worker of one endpoint serve all the others'],
]);

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
  const refused = cookieScope?.path === undefined ? REFUSED : REFUSED_ON_SHARED;
  const flat: string[] = [];
  let withheld: Set<string> | undefined;
  for (const [name, value] of headers) {
    const lower = name.toLowerCase();
    if (isFraming(lower)) continue;
    if (cookieScope === undefined) {
      flat.push(name, value);
      continue;
    }
    const why = refused.get(lower);
    if (why !== undefined) {
      withheld ??= new Set();
      withheld.add(`${lower}, which ${why}`);
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
