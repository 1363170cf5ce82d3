/**
 * Sends an integration's answer: status, headers in their order, and body, as the code gave them.
 * Framing and keep-alive belong to the host, whatever the answer says; so do the headers that
 * `response-headers.ts` refuses.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished, pipeline, type Readable } from 'node:stream';
import type { CallResponse } from '../../calls/call.ts';
import { BODILESS_STATUSES } from '../../model/bodiless-statuses.ts';
import { addPagePolicy, answerHeaders } from './response-headers.ts';
import type { CookieScope } from './set-cookie.ts';

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
