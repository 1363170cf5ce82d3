/**
 * Sends an integration's answer: status, headers in their order, and body, as the code gave them.
 * Framing and keep-alive belong to the host, whatever the answer says. So do the headers in
 * `withheld-headers.ts`, which speak for a whole origin or give orders to a proxy in front, and the
 * reach of cookies.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished, pipeline, type Readable } from 'node:stream';
import { BODILESS_STATUSES } from '../../../model/bodiless-statuses.ts';
import { HOP_BY_HOP } from '../../../model/hop-by-hop.ts';
import type { CallResponse } from '../../calls/call.ts';
import { WITHHELD } from '../withheld-headers.ts';

const LENGTH = /^\d{1,15}$/;

/** Bodies up to this size are sent in one write with the head. */
const JOIN_BYTES_MAX = 16 * 1024;

/** Larger bodies are written in pieces of this size, so that a slow reader can be recognized. */
const PIECE_BYTES = 64 * 1024;

/**
 * @param raw whose request is `raw.req`
 * @param cookieScope where the answer's cookies may apply; undefined: all headers are sent
 * unchanged
 * @param pagePolicy `content-security-policy` of pages that have none of their own
 * @returns the headers that were withheld, one clause each
 */
export function sendAnswer(
  raw: ServerResponse,
  response: CallResponse,
  cookieScope: CookieScope | undefined,
  pagePolicy?: string,
): { readonly withheld?: ReadonlySet<string> } {
  const { req: request } = raw;
  const { status, statusText, headers, body } = response;
  const { flat, withheld } = answerHeaders(headers, cookieScope);
  const bodiless = BODILESS_STATUSES.has(status);
  // An answer without a body is no page; and headers of a 304 would replace those of the cached
  // page.
  if (pagePolicy !== undefined && cookieScope !== undefined && !bodiless) addPagePolicy(flat, pagePolicy);
  const length = contentLength(request.method, response);
  if (length !== undefined) flat.push('content-length', length);
  // The rest of an upload is unread: the connection cannot carry another request.
  if (!request.complete) flat.push('connection', 'close');
  if (statusText === undefined) raw.writeHead(status, flat);
  else raw.writeHead(status, statusText, flat);
  if (request.method === 'HEAD' || bodiless) {
    if (!Buffer.isBuffer(body)) body.destroy();
    raw.end();
  } else if (!Buffer.isBuffer(body)) {
    sendStream(request, raw, body);
  } else if (body.byteLength <= JOIN_BYTES_MAX) {
    // A small body as a Latin-1 string, byte for byte, is sent in one write with the head.
    raw.end(body.toString('latin1'), 'latin1');
  } else {
    sendPieces(raw, body, 0);
  }
  return withheld ? { withheld } : {};
}

/** Writes each piece when the one before has been accepted by the socket. */
function sendPieces(raw: ServerResponse, body: Buffer, from: number): void {
  let at = from;
  while (!raw.destroyed && at + PIECE_BYTES < body.byteLength) {
    const taken = raw.write(body.subarray(at, at + PIECE_BYTES));
    at += PIECE_BYTES;
    if (taken) continue;
    raw.once('drain', () => sendPieces(raw, body, at));
    return;
  }
  raw.end(body.subarray(at));
}

/**
 * The `Content-Length` to send. For HEAD it is that of the answer to GET (RFC 9110, section 8.6):
 * if the integration made no body, its own header is used.
 */
function contentLength(
  method: string | undefined,
  { status, headers, body }: CallResponse,
): string | undefined {
  if (!Buffer.isBuffer(body) || BODILESS_STATUSES.has(status)) return undefined;
  if (method !== 'HEAD' || body.byteLength > 0) return String(body.byteLength);
  const given = headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1];
  return given !== undefined && LENGTH.test(given) ? given : undefined;
}

/**
 * Sends the head at once and the body as it is made. If the body breaks off, so does the
 * connection: an ordinary end would present half an answer as a whole one.
 */
function sendStream(request: IncomingMessage, raw: ServerResponse, body: Readable): void {
  // Not `flushHeaders`, which writes the head as UTF-8: bytes of a header above 0x7f would be two.
  raw.write(Buffer.alloc(0));
  // HTTP/1.0 has no chunks: the body ends with the connection, and only a reset marks it as
  // incomplete.
  if (request.httpVersion === '1.0') {
    finished(body, (cause) => {
      if (cause) raw.socket?.resetAndDestroy();
    });
  }
  pipeline(body, raw, (cause) => {
    if (cause) raw.destroy();
  });
}

/** Dropped silently: integrations pass on headers that they fetched, and the host sets its own. */
const isFraming = (name: string): boolean => name === 'content-length' || HOP_BY_HOP.has(name);

/**
 * The types that a worker's script may have (all JavaScript types of WHATWG's MIME Sniffing), in
 * any of several values.
 */
const SCRIPT_TYPE = /(?:java|ecma|j|live)script/i;
const WORKER_AT_ROOT =
  'content-type, because a worker of this path would serve all endpoints: scripts belong below the endpoint';

interface AnswerHeaders {
  /** Names and values, alternating. */
  readonly flat: string[];
  /** Withheld headers, one clause each; absent if there are none. */
  readonly withheld?: ReadonlySet<string>;
}

/**
 * @param cookieScope where the endpoint's cookies apply; undefined if the answer does not go to a
 * browser
 */
function answerHeaders(
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
function addPagePolicy(flat: string[], policy: string): void {
  let isPage = true;
  for (let at = 0; at < flat.length; at += 2) {
    const name = flat[at]?.toLowerCase();
    if (name === 'content-security-policy') return;
    if (name === 'content-type') isPage = PAGE.test(flat[at + 1] ?? '');
  }
  if (isPage) flat.push('content-security-policy', policy);
}

export interface CookieScope {
  /** No cookie applies. */
  readonly withoutCookies?: boolean;
  /** Path of the endpoint on its origin; `undefined` if the origin is its own. */
  readonly path?: string;
  /**
   * Whether the request was for exactly that path: a cookie without a path would then apply to the
   * whole origin (RFC 6265, section 5.1.4), and so would a service worker.
   */
  readonly isRoot?: boolean;
}

interface ConfinedCookie {
  /** The header's value; undefined if browsers would refuse the cookie. */
  readonly value: string | undefined;
  /** What was changed or removed, for the log; contains no value. */
  readonly change?: string;
}

const HOST_PREFIX = /^\s*__Host-/i;

/**
 * Confines a cookie that an integration sets (RFC 6265) to its endpoint
 * (docs/contract/endpoints.md#cookies).
 *
 * Attack: with `Domain`, a cookie would go to every host below it: the host product, the control
 * listener, other endpoints' origins. On an origin that endpoints share, a cookie without a path
 * below its endpoint would go to the other endpoints. Nothing else is changed. Scripts of a page
 * can still set any cookie: only an origin of its own isolates an endpoint's cookies.
 */
export function confineCookie(cookie: string, scope: CookieScope): ConfinedCookie {
  if (scope.withoutCookies)
    return { value: undefined, change: 'a cookie, which the content origin has none of' };
  const [pair = '', ...attributes] = cookie.split(';');
  // Such a cookie must have the path `/`, and would go to every endpoint.
  if (scope.path !== undefined && HOST_PREFIX.test(pair)) {
    return { value: undefined, change: 'a __Host- cookie, which needs an origin of its own' };
  }
  const keyed = attributes.map((text) => ({ text, key: (text.split('=')[0] ?? '').trim().toLowerCase() }));
  // Browsers use the last of several.
  const path = keyed
    .findLast(({ key }) => key === 'path')
    ?.text.split('=')
    .slice(1)
    .join('=')
    .trim();
  const isForeign = scope.path !== undefined && exceedsScope(path, scope);
  const kept = keyed.filter(({ key }) => key !== 'domain' && !(isForeign && key === 'path'));
  const changes = [
    ...(keyed.some(({ key }) => key === 'domain') ? ['Domain'] : []),
    ...(isForeign ? ['Path'] : []),
  ];
  const ownPath = isForeign ? [` Path=${scope.path}`] : [];
  const change = changes.length > 0 ? `${changes.join(' and ')} of a cookie` : undefined;
  return {
    value: [pair, ...kept.map(({ text }) => text), ...ownPath].join(';'),
    ...(change !== undefined && { change }),
  };
}

function exceedsScope(path: string | undefined, { path: own = '', isRoot = false }: CookieScope): boolean {
  // Browsers ignore a path that does not begin with a slash.
  if (path === undefined || !path.startsWith('/')) return isRoot;
  return path !== own && !path.startsWith(`${own}/`);
}
