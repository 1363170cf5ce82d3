/**
 * The cookies of sessions of the console and of the portal, each of which stands for a token in
 * requests of its page.
 */
import type { IncomingMessage } from 'node:http';
import { inProcessDepth } from './loopback-listeners.ts';

export interface SessionPage {
  readonly name: 'console' | 'portal';
  /** Path that the cookie is sent for. */
  readonly path: '/' | '/portal/';
  /** Of a page that asks by itself; a form, an image or a link of another page cannot send it. */
  readonly header: `annex-${string}`;
}

export const CONSOLE: SessionPage = { name: 'console', path: '/', header: 'annex-console' };
export const PORTAL: SessionPage = { name: 'portal', path: '/portal/', header: 'annex-portal' };

const cookieName = ({ name }: SessionPage): string => `annex_${name}`;
const COOKIES: ReadonlySet<string> = new Set([CONSOLE, PORTAL].map(cookieName));
const VALUE = /^[\w-]{1,128}$/;

/**
 * Whether the page itself has sent it. Attack: request forgery by a page that the browser sends the
 * cookie for. Such a page is of another site, or of another origin of this one; it cannot send the
 * header without leave, which no answer of this listener gives; and browsers name where a request
 * comes from.
 */
export function isOwnPage({ header }: SessionPage, { headers }: IncomingMessage): boolean {
  const from = headers['sec-fetch-site'];
  return headers[header] === '1' && (from === undefined || from === 'same-origin');
}

/** The token of the session; undefined where the page has not sent the request. */
export function sessionToken(page: SessionPage, request: IncomingMessage): string | undefined {
  // Code of integrations reaches the control listener in process, and is no page.
  if (!isOwnPage(page, request) || inProcessDepth(request.socket) !== undefined) return undefined;
  const name = cookieName(page);
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const [key = '', value = ''] = pair.trim().split('=', 2);
    if (key === name && VALUE.test(value)) return value;
  }
  return undefined;
}

/**
 * The header that sets the cookie, or removes it. It is for a session of the browser, and for no
 * script. Attacks: a page of another site that asks with it, by a link, a form or an image
 * (`SameSite=Strict`); a plain request that is read on its way, where a proxy has said that the
 * browser's had TLS (`Secure`).
 */
export function cookieOf(page: SessionPage, token: string | undefined, { headers }: IncomingMessage): string {
  const cookie = `${cookieName(page)}=${token ?? ''}; Path=${page.path}; HttpOnly; SameSite=Strict`;
  const secure = headers['x-forwarded-proto'] === 'https' ? `${cookie}; Secure` : cookie;
  return token === undefined ? `${secure}; Max-Age=0` : secure;
}

/**
 * A `Cookie` header without the sessions. Attack: an endpoint on the public listener of the same
 * host name, to which browsers send the cookies of all ports, for the tenant to use.
 */
export function withoutSessions(cookie: string): string {
  if (!cookie.includes('annex_')) return cookie;
  const kept = cookie.split(';').filter((one) => !COOKIES.has(one.trim().split('=', 1)[0] ?? ''));
  return kept.join(';').trim();
}
