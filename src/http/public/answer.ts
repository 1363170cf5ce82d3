/**
 * An integration's answer onto the wire: status, every header in its order, body, as given. What belongs to the
 * connection (framing, keep-alive) is the host's, whatever the integration says; so is what `response-headers.ts` lists.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished, pipeline, type Readable } from 'node:stream';
import type { CallResponse } from '../../calls/call.ts';
import { answerHeaders, guardPage } from './response-headers.ts';
import type { CookieHome } from './set-cookie.ts';

/** Answers that have no body, whatever was given (RFC 9110, sections 6.4.1, 15.3.5, 15.3.6, 15.4.5). */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

const LENGTH = /^\d{1,15}$/;

/** Bodies up to this size are joined with the head. */
const JOIN_BYTES_MAX = 16 * 1024;

/** Larger ones leave in pieces of this size: of one that left as a whole, nobody could tell whether its reader is slow. */
const PIECE_BYTES = 64 * 1024;

/**
 * @param home where its cookies may be kept; undefined where every header goes out as it was given
 * @param pagePolicy `content-security-policy` of pages that bring none of their own
 * @returns what was held back of its headers, one clause each
 */
export function sendAnswer(
  request: IncomingMessage,
  raw: ServerResponse,
  response: CallResponse,
  home: CookieHome | undefined,
  pagePolicy?: string,
): { readonly withheld?: ReadonlySet<string> } {
  const { status, headers, body } = response;
  const { flat, withheld } = answerHeaders(headers, home);
  const bodiless = BODILESS.has(status);
  // One without a body is no page; and what a 304 says of a page replaces what the page itself has said.
  if (pagePolicy !== undefined && home !== undefined && !bodiless) guardPage(flat, pagePolicy);
  const length = contentLength(request.method, response);
  if (length !== undefined) flat.push('content-length', length);
  // What is left of an upload that nobody read: the connection cannot carry another request.
  if (!request.complete) flat.push('connection', 'close');
  raw.writeHead(status, flat);
  if (request.method === 'HEAD' || bodiless) {
    if (!Buffer.isBuffer(body)) body.destroy();
    raw.end();
  } else if (!Buffer.isBuffer(body)) {
    sendStream(request, raw, body);
  } else if (body.byteLength <= JOIN_BYTES_MAX) {
    // As a Latin-1 string, byte for byte, a small body leaves in one write with the head.
    raw.end(body.toString('latin1'), 'latin1');
  } else {
    sendPieces(raw, body, 0);
  }
  return withheld ? { withheld } : {};
}

/** Each piece follows when the one before has gone. */
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
 * The length to announce. To a HEAD request it is that of the answer to GET (RFC 9110, section 8.6): an integration that has
 * made no body for it may know it, and is taken at its word; otherwise there is none to tell.
 */
function contentLength(
  method: string | undefined,
  { status, headers, body }: CallResponse,
): string | undefined {
  if (!Buffer.isBuffer(body) || BODILESS.has(status)) return undefined;
  if (method !== 'HEAD' || body.byteLength > 0) return String(body.byteLength);
  const given = headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1];
  return given !== undefined && LENGTH.test(given) ? given : undefined;
}

/**
 * The head leaves at once, the body as it is made. One that breaks off breaks the connection: an ordinary end would pass
 * half an answer off as a whole one.
 */
function sendStream(request: IncomingMessage, raw: ServerResponse, body: Readable): void {
  raw.flushHeaders();
  // HTTP/1.0 knows no chunks: an answer ends with its connection, and only a reset tells half of one from a whole.
  if (request.httpVersion === '1.0') {
    finished(body, (cause) => {
      if (cause) raw.socket?.resetAndDestroy();
    });
  }
  pipeline(body, raw, (cause) => {
    if (cause) raw.destroy();
  });
}
