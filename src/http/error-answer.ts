/**
 * How an error leaves a listener (REFERENCE D9): `{"error": {"code", "message", "requestId", …}}` and the code's status.
 *
 * Only what an `AnnexError` offers is shown. Anything else is a fault of ours: the caller learns its request id, the log
 * has the cause. The framework's own refusals (a body that is no JSON, a media type nobody reads) become codes of the
 * table here, so that no second shape of error exists.
 */
import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { AnnexError, type ErrorCode } from '../errors.ts';
import type { Limits } from '../limits.ts';
import { limitError } from '../model/limit-met.ts';
import { withoutTokens } from '../model/redaction.ts';
import { TakenMethods } from './allowed-methods.ts';

/** Answers every error and every unknown route of this instance. */
export function answerErrors(app: FastifyInstance): void {
  app.setErrorHandler((error, request, reply) => answerError(error, request, reply));
  const taken = new TakenMethods(app);
  app.setNotFoundHandler((request, reply) => {
    const asked = request.originalUrl.split('?', 1)[0] ?? '';
    const methods = taken.of(asked);
    const hint = methods.length === 0 ? '' : ` This path takes ${methods.join(', ')}.`;
    // Attack, or a slip: the token of an install link in a path that is nearly right. Messages are logged.
    const message = `No route ${request.method} ${withoutTokens(asked)}.${hint}`;
    return answerError(new AnnexError('ROUTE_UNKNOWN', message), request, reply);
  });
}

/**
 * Answers what is no HTTP, or was not sent in time: no route has seen it, so the answer is written by hand. The
 * connection ends with it, for nobody can tell where its next request would begin.
 *
 * @returns a listener for the server's `clientError`
 */
export function answerBadHttp(log: Logger, limits: Limits): (fault: ClientError, socket: Socket) => void {
  return (fault, socket) => {
    const { _httpMessage: earlier } = socket as { readonly _httpMessage?: ServerResponse | null };
    // Half an answer is out: a second one inside of it would be taken for the rest of its body.
    if (fault.code === 'ECONNRESET' || !socket.writable || earlier?.headersSent) {
      socket.destroy();
      return;
    }
    if (earlier?.req.complete) {
      // The answer to an earlier request is still to come, and this one would be taken for it. The connection ends after it.
      earlier.shouldKeepAlive = false;
      earlier.once('close', () => socket.destroySoon());
      return;
    }
    const error = badHttp(fault.code, limits);
    const requestId = answerByHand(socket, error);
    // Not the fault as it is: it carries the bytes that were sent, with whatever cookies and tokens are in them.
    log.info({ reqId: requestId, code: error.code, fault: fault.code, reason: fault.reason }, error.message);
  };
}

/** What Node's `clientError` tells. */
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

/** Writes an error to a connection that no request of is open, and ends it. @returns the request id it was told */
export function answerByHand(socket: Socket, error: AnnexError): string {
  const requestId = randomUUID();
  const { status, headers, text } = handmade(error, requestId);
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n${text}`);
  // Not `destroy`: an answer to an earlier request on this connection may still be on its way.
  socket.destroySoon();
  return requestId;
}

/** An `Expect` that Node does not understand comes to no route, either (RFC 9110, section 10.1.1). */
export function answerExpectation(_request: IncomingMessage, response: ServerResponse): void {
  const error = new AnnexError(
    'EXPECTATION_UNKNOWN',
    'The only `Expect` that is understood is `100-continue`.',
  );
  const { status, headers, text } = handmade(error, randomUUID());
  response.writeHead(status, headers).end(text);
}

function handmade({ code, message, status, limit }: AnnexError, requestId: string) {
  const text = JSON.stringify({ error: { ...(limit && { limit }), code, message, requestId } });
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(text)),
    'x-content-type-options': 'nosniff',
    connection: 'close',
  };
  return { status, headers, text };
}

/** Codes after which the rest of a body is not read: the connection cannot carry another request. */
const CLOSING: ReadonlySet<ErrorCode> = new Set(['REQUEST_TOO_LARGE', 'REQUEST_TOO_SLOW', 'REQUEST_SHED']);

/** Answers one request with an error. For what fails before a route is found, the framework has no handler but this. */
export function answerError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = annexErrorOf(thrown, request.routeOptions?.bodyLimit);
  const { code, message, status, blame } = error;
  const level = blame === 'platform' && status !== 503 ? 'error' : 'info';
  // Only what is our own has more to tell: a stack says nothing about a request that was refused, the words of a parser may
  // quote what it was handed, and what an integration throws quotes what it was called with.
  const more =
    blame === 'platform'
      ? { detail: error.detail, err: error.cause ?? (status === 500 ? error : undefined) }
      : {};
  request.log[level]({ code, ...more }, message);
  if (error.retryAfterS !== undefined) reply.header('retry-after', String(error.retryAfterS));
  // RFC 6750, section 3: a 401 names the scheme that would be accepted.
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  if (CLOSING.has(code)) reply.header('connection', 'close');
  // Messages quote what was sent: nobody shall take one for a page.
  reply.header('x-content-type-options', 'nosniff');
  const told = { ...error.extra, ...(error.limit && { limit: error.limit }) };
  return reply.code(status).send({ error: { ...told, code, message, requestId: request.id } });
}

/**
 * Finds the code for whatever was thrown.
 *
 * @param bodyBytesMax of the route
 */
function annexErrorOf(thrown: unknown, bodyBytesMax?: number): AnnexError {
  if (thrown instanceof AnnexError) return thrown;
  // The framework's errors carry a status below 500 where the request is at fault, and a message fit to be shown.
  const status = statusOf(thrown);
  if (thrown instanceof Error && status === 413) {
    const rest = bodyBytesMax === undefined ? '.' : `: this route takes ${bodyBytesMax} bytes.`;
    return new AnnexError('REQUEST_TOO_LARGE', `The body is too large${rest}`, { cause: thrown });
  }
  if (thrown instanceof Error && status !== undefined && status >= 400 && status < 500) {
    return new AnnexError('REQUEST_INVALID', thrown.message, { cause: thrown });
  }
  return new AnnexError('INTERNAL_ERROR', 'Something went wrong inside Annex.', { cause: thrown });
}

function statusOf(thrown: unknown): number | undefined {
  if (typeof thrown !== 'object' || thrown === null || !('statusCode' in thrown)) return undefined;
  return typeof thrown.statusCode === 'number' ? thrown.statusCode : undefined;
}
