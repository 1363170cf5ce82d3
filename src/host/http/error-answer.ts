/**
 * How an error leaves a listener (docs/contract/api.md#errors): `{"error": {"code", "status",
 * "message", "requestId", …}}` with the code's status.
 *
 * Only what an `AnnexError` exposes is sent. Any other error is a fault of Annex: the caller gets
 * the request id, and the log has the cause. The framework's own refusals (a body that is not JSON,
 * an unknown media type) become codes of the same table, so that there is one shape of error.
 */
import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { AnnexError, type ErrorCode } from '../../errors.ts';
import type { Limits } from '../../limits.ts';
import { ENDPOINT_KEY } from '../../model/identifiers.ts';
import { limitError } from '../../model/limit-met.ts';
import { withoutTokens } from '../../model/redaction.ts';
import { PLATFORM_FAULT } from '../egress/loopback.ts';
import { AllowedMethods } from './allowed-methods.ts';
import { inProcessDepth } from './loopback-listeners.ts';

/** Answers every error and every unknown route of this instance. */
export function answerErrors(app: FastifyInstance): void {
  app.setErrorHandler((error, request, reply) => answerError(error, request, reply));
  const allowedMethods = new AllowedMethods(app);
  app.setNotFoundHandler((request, reply) =>
    answerError(routeUnknown(request, allowedMethods), request, reply),
  );
}

/** @param more a sentence that begins with a space, for paths that accept no method */
export function routeUnknown(
  { originalUrl, method }: FastifyRequest,
  allowedMethods: AllowedMethods,
  more = '',
): AnnexError {
  const path = originalUrl.split('?', 1)[0] ?? '';
  const methods = allowedMethods.of(path);
  const elsewhere = more || otherPlace(path, allowedMethods);
  const hint = methods.length === 0 ? elsewhere : ` This path accepts ${methods.join(', ')}.`;
  // Messages are logged. Attack, or a mistake: the token of an install link in a mistyped path.
  return new AnnexError('ROUTE_UNKNOWN', `No route ${method} ${withoutTokens(path)}.${hint}`);
}

/** A version of the API that there is not. */
const OTHER_VERSION = /^\/(v(?!1\/)\d{1,8})\//;

/** For a path of the other listener, or without a version of the API, or with an unknown one. */
function otherPlace(path: string, allowedMethods: AllowedMethods): string {
  if (ENDPOINT_KEY.test(path.slice(1).split('/', 1)[0] ?? ''))
    return ' This is the control listener; endpoints are on the public listener (--public-port, by default 7701).';
  const [, version] = OTHER_VERSION.exec(path) ?? [];
  if (version !== undefined) return ` Unsupported version ${version}: the API has v1 alone.`;
  if (path.startsWith('/v1/') || allowedMethods.of(`/v1${path}`).length === 0) return '';
  return ' Paths of the API begin with /v1.';
}

/**
 * Answers a request that is not valid HTTP or was not sent in time. It reached no route, so the
 * answer is written by hand. The connection ends with it: the beginning of the next request cannot
 * be found.
 *
 * @returns a listener for the server's `clientError`
 */
export function answerBadHttp(log: Logger, limits: Limits): (fault: ClientError, socket: Socket) => void {
  return (fault, socket) => {
    const { _httpMessage: earlier } = socket as { readonly _httpMessage?: ServerResponse | null };
    // Part of an answer has been sent: the client would take a second answer for the rest of its
    // body.
    if (fault.code === 'ECONNRESET' || !socket.writable || earlier?.headersSent) {
      socket.destroy();
      return;
    }
    if (earlier?.req.complete) {
      // The client would take this answer for that to an earlier, pending request. The connection
      // ends after that one.
      earlier.shouldKeepAlive = false;
      earlier.once('close', () => socket.destroySoon());
      return;
    }
    const error = badHttp(fault.code, limits);
    const requestId = answerByHand(socket, error);
    // Not the whole fault: it has the bytes that were sent, with cookies and tokens.
    log.info({ reqId: requestId, code: error.code, fault: fault.code, reason: fault.reason }, error.message);
  };
}

/** The error of Node's `clientError` event. */
type ClientError = Error & { readonly code?: string; readonly reason?: string };

function badHttp(code: string | undefined, limits: Limits): AnnexError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return limitError('REQUEST_HEAD_TOO_LARGE', { name: 'requestHeadBytes', max: limits.requestHeadBytes });
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new AnnexError('REQUEST_TOO_SLOW', 'The request was not sent in time.');
  const message =
    code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW'
      ? 'The chunk extensions of the request are too large.'
      : 'The request is not valid HTTP/1.1.';
  return new AnnexError('REQUEST_INVALID', message);
}

/**
 * Writes an error to a connection without a pending request, and ends it. @returns the request id
 */
export function answerByHand(socket: Socket, error: AnnexError): string {
  const requestId = randomUUID();
  const { status, headers, text } = handmade(error, requestId);
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n${text}`);
  // Not `destroy`: an answer to an earlier request may still be in flight.
  socket.destroySoon();
  return requestId;
}

/** Answers an unknown `Expect`, which Node does not pass to routes (RFC 9110, section 10.1.1). */
export function answerExpectation(_request: IncomingMessage, response: ServerResponse): void {
  const error = new AnnexError(
    'EXPECTATION_UNKNOWN',
    'The Expect header must be `100-continue`, the only expectation that is supported.',
  );
  const { status, headers, text } = handmade(error, randomUUID());
  response.writeHead(status, headers).end(text);
}

function handmade({ code, message, status, limit }: AnnexError, requestId: string) {
  const text = JSON.stringify({ error: { ...(limit && { limit }), code, status, message, requestId } });
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(text)),
    'x-content-type-options': 'nosniff',
    connection: 'close',
  };
  return { status, headers, text };
}

/**
 * Codes after which the rest of a body is not read, so the connection cannot carry another request.
 */
const CLOSING: ReadonlySet<ErrorCode> = new Set(['REQUEST_TOO_LARGE', 'REQUEST_TOO_SLOW', 'REQUEST_SHED']);

/** Answers one request with an error. Also the handler for errors before a route is found. */
export function answerError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = annexErrorOf(thrown, request.routeOptions?.bodyLimit);
  const { code, message, status, blame } = error;
  const level = levelOf(error);
  // Detail and stack are logged for faults of Annex only. For a refused request a stack says
  // nothing, a parser's message may quote the input, and an integration's error quotes its
  // arguments.
  const more =
    blame === 'platform'
      ? { detail: error.detail, err: error.cause ?? (status === 500 ? error : undefined) }
      : {};
  request.log[level]({ code, ...more }, message);
  if (error.retryAfterS !== undefined) reply.header('retry-after', String(error.retryAfterS));
  // A failure of the code behind it is the platform's.
  if (blame === 'platform' && inProcessDepth(request.raw.socket) !== undefined)
    reply.header(PLATFORM_FAULT, code);
  // RFC 6750, section 3: a 401 names the scheme that would be accepted.
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  if (CLOSING.has(code)) reply.header('connection', 'close');
  // Attack: a message that quotes markup of the request and is shown as a page.
  reply.header('x-content-type-options', 'nosniff');
  const extra = { ...error.extra, ...(error.limit && { limit: error.limit }) };
  return reply.code(status).send({ error: { ...extra, code, status, message, requestId: request.id } });
}

function levelOf({ code, blame, status }: AnnexError): 'error' | 'info' | 'debug' {
  // Thousands in a second may be refused. The engine of the database reports the beginning and the
  // end.
  if (code === 'DATABASE_UNAVAILABLE') return 'debug';
  return blame === 'platform' && status !== 503 ? 'error' : 'info';
}

/**
 * The `AnnexError` for any thrown value.
 *
 * @param bodyBytesMax of the route
 */
function annexErrorOf(thrown: unknown, bodyBytesMax?: number): AnnexError {
  if (thrown instanceof AnnexError) return thrown;
  // The framework's errors have a status below 500 if the request is at fault, and a message that
  // may be sent.
  const status = statusOf(thrown);
  if (thrown instanceof Error && status === 413) {
    const rest = bodyBytesMax === undefined ? '.' : `: this route accepts ${bodyBytesMax} bytes.`;
    return new AnnexError('REQUEST_TOO_LARGE', `The body is too large${rest}`, { cause: thrown });
  }
  if (thrown instanceof Error && status !== undefined && status >= 400 && status < 500) {
    return new AnnexError('REQUEST_INVALID', thrown.message, { cause: thrown });
  }
  return new AnnexError(
    'INTERNAL_ERROR',
    'Annex failed to handle the request; its log has the cause under the request id.',
    { cause: thrown },
  );
}

function statusOf(thrown: unknown): number | undefined {
  if (typeof thrown !== 'object' || thrown === null || !('statusCode' in thrown)) return undefined;
  return typeof thrown.statusCode === 'number' ? thrown.statusCode : undefined;
}
