/**
 * The cookie of the console's session, which stands for a token in requests of the console's page.
 */
import type { IncomingMessage } from 'node:http';
import { inProcessDepth } from './loopback-listeners.ts';

const COOKIE = 'annex_console';
const COOKIE_VALUE = /(?:^|; ?)annex_console=([\w-]{1,128})(?:;|$)/;
/** Of a page that asks by itself; a form, an image or a link of another page cannot send it. */
const OWN_HEADER = 'annex-console';

/**
 * Whether the console's own page has sent it. Attack: request forgery by a page that the browser
 * sends the cookie for. Such a page is of another site, or of another origin of this one; it cannot
 * send the header without leave, which no answer of this listener gives; and browsers name where a
 * request comes from.
 */
export function isOwnPage({ headers }: IncomingMessage): boolean {
  const from = headers['sec-fetch-site'];
  return headers[OWN_HEADER] === '1' && (from === undefined || from === 'same-origin');
}

/** The token of the session; undefined where the console's page has not sent the request. */
export function sessionToken(request: IncomingMessage): string | undefined {
  // Code of integrations reaches the control listener in process, and is no page.
  if (!isOwnPage(request) || inProcessDepth(request.socket) !== undefined) return undefined;
  return COOKIE_VALUE.exec(request.headers.cookie ?? '')?.[1];
}

/**
 * The header that sets the cookie, or removes it. It is for a session of the browser, and for no
 * script. Attacks: a page of another site that asks with it, by a link, a form or an image
 * (`SameSite=Strict`); a plain request that is read on its way, where a proxy has said that the
 * browser's had TLS (`Secure`).
 */
export function cookieOf(token: string | undefined, { headers }: IncomingMessage): string {
  const cookie = `${COOKIE}=${token ?? ''}; Path=/; HttpOnly; SameSite=Strict`;
  const secure = headers['x-forwarded-proto'] === 'https' ? `${cookie}; Secure` : cookie;
  return token === undefined ? `${secure}; Max-Age=0` : secure;
}

/**
 * A `Cookie` header without the session. Attack: an endpoint on the public listener of the same
 * host name, to which browsers send the cookies of all ports, for the tenant to use.
 */
export function withoutSession(cookie: string): string {
  if (!cookie.includes(COOKIE)) return cookie;
  const kept = cookie.split(';').filter((one) => one.trim().split('=', 1)[0] !== COOKIE);
  return kept.join(';').trim();
}
