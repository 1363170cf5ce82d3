/**
 * Connection pools of undici, and how their parser reads answers.
 *
 * undici refuses answers that RFC 9112 asks a client to read, or that other clients read: it ends
 * the connection at `100 Continue`, and at a length beside chunks. The request has been served
 * then, so a delivery is posted again. Its parser has the switches, but no option sets them: they
 * are set here, on the parser of each new connection. This reaches into undici, whose version is
 * exact; `raw-answers.test.ts` fails where another version differs.
 */
import { createRequire } from 'node:module';
import { type buildConnector, type Dispatcher, Pool } from 'undici';

/** Idle connections are kept for the next request of the same call or of the one after it. */
export const KEEP_ALIVE_MS = 4_000;

export interface HttpPoolDeps {
  readonly connect: buildConnector.connector;
  /** At most this many, one request at a time on each. */
  readonly connections: number;
  readonly headerBytes: number;
}

/** @param origin of all requests */
export function newHttpPool(origin: string, { connect, connections, headerBytes }: HttpPoolDeps): Pool {
  const pool = new Pool(origin, {
    connect,
    connections,
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: headerBytes,
    // The deadline of a request covers all of it; a time-out between chunks would end it earlier.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  // The pool, and the client that has the new connection.
  pool.on('connect', (_origin, [, client]) => {
    if (client !== undefined) readAsClientsDo(client);
  });
  return pool;
}

/** The status of the answer whose head could not be read; 0 if that is not known. */
export const statusOfUnreadable = (error: Error): number => (error as Unreadable).answerStatus ?? 0;

interface Unreadable extends Error {
  answerStatus?: number;
}

/** llhttp, which undici has as WebAssembly. */
type Llhttp = Readonly<
  Record<
    | 'llhttp_set_lenient_chunked_length'
    | 'llhttp_set_lenient_headers'
    | 'llhttp_set_lenient_keep_alive'
    | 'llhttp_set_lenient_optional_cr_before_lf'
    | 'llhttp_set_lenient_spaces_after_chunk_size',
    (parser: number, isOn: 1) => void
  >
> & { llhttp_get_status_code(parser: number): number };

/** undici's parser of one connection, as far as it is used here. */
interface Parser {
  readonly ptr: number;
  readonly llhttp: Llhttp;
  /** Of the current answer; -1 without one. undici compares it with the bytes of the body. */
  contentLength: number;
  readonly hasTransferEncoding: boolean;
  /** Names and values in turns, as they are parsed. */
  readonly headers: Buffer[];
  onHeaderValue(value: Buffer): number;
  onHeadersComplete(status: number, upgrades: boolean, staysOpen: boolean): number;
  onMessageComplete(): number;
  createError(code: number, rest: Buffer): Error;
}

interface Client {
  readonly socket: { readonly parser: Parser };
}

/** Symbols, which the checker takes for names. */
const { kSocket, kParser } = createRequire(import.meta.url)('undici/lib/core/symbols.js') as {
  readonly kSocket: 'socket';
  readonly kParser: 'parser';
};

/** undici ends the connection at a 100, which means no more here than any other interim answer. */
const CONTINUE = 100;
const PROCESSING = 102;
/**
 * Errors of llhttp behind a status line: of a line of the head or its end, of lengths and codings.
 */
const BEHIND_STATUS_LINE: ReadonlySet<number> = new Set([3, 4, 10, 11, 15, 25, 30]);

const BLANK = 0x20;

function withoutBlanks(name: Buffer): Buffer {
  let end = name.length;
  while (name[end - 1] === BLANK) end -= 1;
  return name.subarray(0, end);
}

function readAsClientsDo(client: Dispatcher): void {
  const parser = (client as unknown as Client)[kSocket][kParser];
  const { ptr, llhttp, onHeaderValue, onHeadersComplete, onMessageComplete, createError } = parser;
  // RFC 9112, section 6.3: chunks override a length.
  llhttp.llhttp_set_lenient_chunked_length(ptr, 1);
  // RFC 9112, section 5.2: a folded line is one value.
  llhttp.llhttp_set_lenient_headers(ptr, 1);
  // An answer follows an interim one of HTTP/1.0, or with `Connection: close`.
  llhttp.llhttp_set_lenient_keep_alive(ptr, 1);
  // RFC 9112, section 2.2: a line may end with LF alone.
  llhttp.llhttp_set_lenient_optional_cr_before_lf(ptr, 1);
  // RFC 9112, section 7.1.1: blanks behind the size of a chunk.
  llhttp.llhttp_set_lenient_spaces_after_chunk_size(ptr, 1);
  // RFC 9112, section 5.1: blanks before a colon are no part of the name. llhttp takes them behind
  // the names that frame an answer, and goes by these headers.
  // Attack: `Transfer-Encoding : chunked`, which undici would take for a header of the answer, and
  // use a connection again whose next bytes another reader took for an answer.
  parser.onHeaderValue = function (value) {
    const at = this.headers.length - 1;
    const name = this.headers[at];
    if (at % 2 === 0 && name?.at(-1) === BLANK) this.headers[at] = withoutBlanks(name);
    return onHeaderValue.call(this, value);
  };
  parser.onHeadersComplete = function (status, upgrades, staysOpen) {
    // Attack: response splitting. Where a proxy in between went by the length, what follows the
    // chunks is another answer for it. Nothing is read behind such an answer.
    const isAmbiguous = this.hasTransferEncoding && this.contentLength !== -1;
    const shown = status === CONTINUE ? PROCESSING : status;
    return onHeadersComplete.call(this, shown, upgrades, staysOpen && !isAmbiguous);
  };
  // llhttp ends a body at its length. undici counts again, and reads lengths in its own way: blanks
  // behind the number, a length beside chunks and one in trailers are digits for it.
  parser.onMessageComplete = function () {
    this.contentLength = -1;
    return onMessageComplete.call(this);
  };
  parser.createError = function (code, rest) {
    this.contentLength = -1;
    const error: Unreadable = createError.call(this, code, rest);
    if (BEHIND_STATUS_LINE.has(code)) error.answerStatus = this.llhttp.llhttp_get_status_code(this.ptr);
    return error;
  };
}
