/**
 * How an error leaves a listener (REFERENCE D9): `{"error": {"code", "message", "requestId", …}}` and the code's status.
 *
 * Only what an `AnnexError` offers is shown. Anything else is a fault of ours: the caller learns its request id, the log
 * has the cause. The framework's own refusals (a body that is no JSON, a media type nobody reads) become codes of the
 * table here, so that no second shape of error exists.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AnnexError } from '../errors.ts';

/** Answers every error and every unknown route of this instance. */
export function answerErrors(app: FastifyInstance): void {
  app.setErrorHandler((error, request, reply) => answerError(error, request, reply));
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0];
    return answerError(
      new AnnexError('ROUTE_UNKNOWN', `No route ${request.method} ${path}.`),
      request,
      reply,
    );
  });
}

function answerError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = annexErrorOf(thrown);
  const { code, message, status, blame } = error;
  const level = blame === 'platform' && status !== 503 ? 'error' : 'info';
  request.log[level]({ code, detail: error.detail, err: error.cause ?? error }, message);
  if (error.retryAfterS !== undefined) reply.header('retry-after', String(error.retryAfterS));
  // RFC 6750, section 3: a 401 names the scheme that would be accepted.
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  // The rest of a body that is too large is not read: the connection cannot carry another request.
  if (code === 'REQUEST_TOO_LARGE') reply.header('connection', 'close');
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
