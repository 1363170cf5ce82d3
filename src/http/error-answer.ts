/**
 * How an error leaves a listener (REFERENCE D9): `{"error": {"code", "message", "requestId", …}}` and the code's status.
 *
 * Only what an `AnnexError` offers is shown. Anything else is a fault of ours: the caller learns its request id, the log
 * has the cause. The framework's own refusals (a body that is no JSON, a media type nobody reads) become codes of the
 * table here, so that no second shape of error exists.
 */
import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { AnnexError, type ErrorCode } from '../errors.ts';

/** Answers every error and every unknown route of this instance. */
export function answerErrors(app: FastifyInstance): void {
  app.setErrorHandler((error, request, reply) => answerError(error, request, reply));
  app.setNotFoundHandler((request, reply) => {
    const path = request.originalUrl.split('?', 1)[0];
    return answerError(
      new AnnexError('ROUTE_UNKNOWN', `No route ${request.method} ${path}.`),
      request,
      reply,
    );
  });
}

/**
 * Answers what is no HTTP, or was not sent in time: no route has seen it, so the answer is written by hand. The
 * connection ends with it, for nobody can tell where its next request would begin.
 *
 * @returns a listener for the server's `clientError`
 */
export function answerBadHttp(log: Logger): (fault: Error & { code?: string }, socket: Socket) => void {
  return (fault, socket) => {
    if (fault.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const message = BAD_HTTP.get(fault.code ?? '') ?? 'The request is not valid HTTP/1.1.';
    const error = new AnnexError('REQUEST_INVALID', message, { cause: fault });
    const { code, status } = error;
    const requestId = randomUUID();
    log.info({ reqId: requestId, code, err: fault }, message);
    const body = JSON.stringify({ error: { code, message, requestId } });
    socket.write(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json; charset=utf-8\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    );
    // Not `destroy`: an answer to an earlier request on this connection may still be on its way.
    socket.destroySoon();
  };
}

/** Node's codes for what has a reason of its own. */
const BAD_HTTP: ReadonlyMap<string, string> = new Map([
  ['HPE_HEADER_OVERFLOW', 'The headers of the request are too large.'],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', 'The chunk extensions of the request are too large.'],
  ['ERR_HTTP_REQUEST_TIMEOUT', 'The request was not sent in time.'],
]);

/** Codes after which the rest of a body is not read: the connection cannot carry another request. */
const CLOSING: ReadonlySet<ErrorCode> = new Set(['REQUEST_TOO_LARGE', 'REQUEST_SHED']);

/** Answers one request with an error. For what fails before a route is found, the framework has no handler but this. */
export function answerError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = annexErrorOf(thrown);
  const { code, message, status, blame } = error;
  const level = blame === 'platform' && status !== 503 ? 'error' : 'info';
  request.log[level]({ code, detail: error.detail, err: error.cause ?? error }, message);
  if (error.retryAfterS !== undefined) reply.header('retry-after', String(error.retryAfterS));
  // RFC 6750, section 3: a 401 names the scheme that would be accepted.
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  if (CLOSING.has(code)) reply.header('connection', 'close');
  return reply.code(status).send({ error: { ...error.extra, code, message, requestId: request.id } });
}

/** Finds the code for whatever was thrown. */
function annexErrorOf(thrown: unknown): AnnexError {
  if (thrown instanceof AnnexError) return thrown;
  // The framework's errors carry a status below 500 where the request is at fault, and a message fit to be shown.
  const status = statusOf(thrown);
  if (thrown instanceof Error && status === 413) {
    return new AnnexError('REQUEST_TOO_LARGE', thrown.message, { cause: thrown });
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
