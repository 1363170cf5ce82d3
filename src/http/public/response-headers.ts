/**
 * Which headers of an integration's answer go out.
 *
 * What frames the connection is the host's. What speaks for a whole origin is nobody's who shares it. And what a proxy in
 * front takes for an order from the application behind it, to serve a file for instance, is the operator's.
 */
import { HOP_BY_HOP } from '../../model/hop-by-hop.ts';
import { type CookieHome, confineCookie } from './set-cookie.ts';

/** Dropped without a word: integrations pass on what they have fetched, and the host makes its own. */
const isFraming = (name: string): boolean => name === 'content-length' || HOP_BY_HOP.has(name);

/** On every origin. */
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

/** Where endpoints share an origin, in addition. */
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
  /** What was held back, one clause each; absent where nothing was. */
  readonly withheld?: ReadonlySet<string>;
}

/** @param home where the endpoint may keep cookies; undefined where its answer does not go to a browser */
export function answerHeaders(
  headers: readonly (readonly [string, string])[],
  home: CookieHome | undefined,
): AnswerHeaders {
  const refused = home?.path === undefined ? REFUSED : REFUSED_ON_SHARED;
  const flat: string[] = [];
  let withheld: Set<string> | undefined;
  for (const [name, value] of headers) {
    const lower = name.toLowerCase();
    if (isFraming(lower)) continue;
    if (home === undefined) {
      flat.push(name, value);
      continue;
    }
    const why = refused.get(lower);
    if (why !== undefined) {
      withheld ??= new Set();
      withheld.add(`${lower}, which ${why}`);
    } else if (lower === 'set-cookie') {
      const cookie = confineCookie(value, home);
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

/** What browsers run scripts of; what has no type, they look at and may take for a page. */
const PAGE = /^(text\/html|application\/xhtml\+xml|image\/svg\+xml|text\/xml|application\/xml)\s*(;|$)/i;

/**
 * Gives a page the policy of its manifest. One of its own stays: the code knows its page better, nonces for one.
 *
 * @param flat names and values, alternating; added to
 */
export function guardPage(flat: string[], policy: string): void {
  let isPage = true;
  for (let at = 0; at < flat.length; at += 2) {
    const name = flat[at]?.toLowerCase();
    if (name === 'content-security-policy') return;
    if (name === 'content-type') isPage = PAGE.test(flat[at + 1] ?? '');
  }
  if (isPage) flat.push('content-security-policy', policy);
}
