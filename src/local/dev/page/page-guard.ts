/**
 * Decides which requests the page of `annex dev` answers. What it does is done with the operator's
 * token, so it must be reached by the author's own browser, on its own page, and by nothing else.
 */
import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

export interface GuardedRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

export interface PageAddress {
  readonly port: number;
  /** First segment of every path. */
  readonly token: string;
}

/** Why a request is refused. */
export type PageRefusal =
  | { readonly status: 404; readonly message: 'There is no such page.' }
  | { readonly status: 403; readonly message: string }
  | { readonly status: 421; readonly message: string };

const NAMES = ['127.0.0.1', 'localhost'];

/** @returns undefined where the request may be answered */
export function pageRefusal(
  { method, url, headers }: GuardedRequest,
  { port, token }: PageAddress,
): PageRefusal | undefined {
  // Attack (DNS rebinding): a page elsewhere has its host name lead to this machine, and reads this
  // server as its own origin. The name in `Host` is still its own.
  const host = headers.host ?? '';
  if (!NAMES.some((name) => host === `${name}:${port}`))
    return { status: 421, message: `This server is http://127.0.0.1:${port}.` };
  // Attack: another user of this machine, or a page that guesses the port, finds the page. Only the
  // author's terminal shows the token.
  if (!isEqual(url.split(/[/?]/, 2)[1] ?? '', token))
    return { status: 404, message: 'There is no such page.' };
  // Attack (request forgery): a page elsewhere has the browser send a request here, such as a form.
  // A browser says where a request is from, and this page is the only origin that may ask.
  const site = headers['sec-fetch-site'];
  const isForeign = site !== undefined && site !== 'same-origin' && site !== 'none';
  const { origin } = headers;
  if (isForeign || (origin !== undefined && origin !== `http://${host}`))
    return { status: 403, message: 'Only the page of `annex dev` may send this request.' };
  if (method !== 'GET' && origin === undefined)
    return { status: 403, message: 'A request other than GET must have an Origin header.' };
  return undefined;
}

function isEqual(given: string, token: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(token)];
  return one.length === other.length && timingSafeEqual(one, other);
}

/**
 * Headers of every answer.
 *
 * Attack: a text of an integration that becomes code in this page. Only the page's own script runs,
 * and Trusted Types keep texts out of what the browser parses as HTML. Images, frames and choices
 * of components are from where the integration says, as in the host product.
 */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self' https: http://127.0.0.1:*",
    "img-src 'self' https: http: data:",
    'frame-src https: http:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // The address has the token.
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
};
