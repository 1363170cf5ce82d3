/**
 * A listener with what both doors have in common: time-outs, the size of a head, what no request may be like, how an error
 * looks, and how it ends.
 *
 * It has no route. What is asked for, and who may, is up to the door that is registered on it.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import type { Logger } from 'pino';
import { AnnexError } from '../errors.ts';
import type { Limits } from '../limits.ts';
import { within } from '../model/within.ts';
import { answerBadHttp, answerByHand, answerError, answerErrors, answerExpectation } from './error-answer.ts';
import type { AnswersTo } from './host-header.ts';
import { lazySerializers } from './lazy-serializers.ts';
import { boundPipelines } from './pipelined.ts';
import { headRefusal } from './request-head.ts';
import { routableUrl } from './routable-url.ts';

const KEEP_ALIVE_MS = 65_000;
/** How often Node looks for requests that are over their time. */
const OVERDUE_EVERY_MS = 1_000;
/** Methods that are answered, for whoever tried another one. */
const ALLOWED = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS';
/** How long clients may take to read their last answer while the service stops. */
const HANG_UP_MS = 2_000;
const HANG_UP_EVERY_MS = 50;

export interface ListenerParts {
  readonly log: Logger;
  readonly limits: Limits;
  readonly answersTo: AnswersTo;
  /** The class of its requests. */
  readonly requests: typeof IncomingMessage;
  /** While the service stops, no new request is taken on old connections. */
  isStopping(): boolean;
}

export function listener({ log, limits, answersTo, requests, isStopping }: ListenerParts): FastifyInstance {
  const { requestHeadMs, requestMs, requestHeadBytes, requestHeaders } = limits;
  const answerBad = answerBadHttp(log, limits);
  const app: FastifyInstance = fastify({
    loggerInstance: log as FastifyBaseLogger,
    // One line a request would cost more than the call it is about; failures are logged where they are known.
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    schemaController: { compilersFactory: { buildSerializer: lazySerializers } },
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: requestMs,
    http: {
      headersTimeout: Math.min(requestHeadMs, requestMs),
      requestTimeout: requestMs,
      connectionsCheckingInterval: OVERDUE_EVERY_MS,
      maxHeaderSize: requestHeadBytes,
      IncomingMessage: requests,
      // Node would refuse it in a shape of its own; `headRefusal` does.
      requireHostHeader: false,
    },
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    // Ids of events may have 255 characters, each of which may be written as three.
    routerOptions: { ignoreTrailingSlash: false, caseSensitive: true, maxParamLength: 3 * 255 },
    rewriteUrl: ({ url = '/' }) => routableUrl(url),
    frameworkErrors: (error, request, reply) => {
      answerError(error, request as FastifyRequest, reply as FastifyReply);
    },
    clientErrorHandler: answerBad,
  });
  boundPipelines(app.server);
  // One more than allowed, so that too many are seen as such.
  app.server.maxHeadersCount = requestHeaders + 1;
  app.server.on('checkExpectation', answerExpectation);
  // A tunnel would end every rule of HTTP on its connection.
  app.server.on('connect', (_request, socket) => {
    answerByHand(socket as Socket, new AnnexError('METHOD_REFUSED', 'CONNECT is answered by nobody here.'));
  });
  answerErrors(app);
  const ended = new WeakSet<object>();
  app.addHook('onRequest', (request, reply, done) => {
    // What came in one piece with a refused head has been read as a request already. Nobody answers it.
    if (ended.has(request.raw.socket)) {
      reply.hijack();
      return;
    }
    if (isStopping()) {
      reply.header('connection', 'close');
      return done(new AnnexError('SERVICE_STOPPING', 'The service is shutting down.'));
    }
    const refusal = headRefusal(request.raw, { limits, answersTo });
    if (refusal === undefined) return done();
    if (refusal.code === 'METHOD_REFUSED') reply.header('allow', ALLOWED);
    // Nobody can tell where the next request would begin, or whom it is for.
    ended.add(request.raw.socket);
    reply.header('connection', 'close');
    return done(refusal);
  });
  return app;
}

/**
 * @param door which listener it is, as its flags are named: `--control-port`
 * @returns the URL of the listener, as seen from this machine
 * @throws Error that names the flag to change
 */
export async function listen(
  app: FastifyInstance,
  door: 'control' | 'public',
  host: string,
  port: number,
): Promise<string> {
  try {
    await app.listen({ host, port });
  } catch (cause) {
    throw cannotListen(cause, door, host, port);
  }
  const { port: bound } = app.server.address() as AddressInfo;
  const shown = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${shown.includes(':') ? `[${shown}]` : shown}:${bound}`;
}

function cannotListen(cause: unknown, door: string, host: string, port: number): unknown {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  const told = {
    EADDRINUSE: `--${door}-port: ${port} is taken on ${host}. Name another port, or stop what listens there.`,
    EACCES: `--${door}-port: this user may not listen on ${port}. Name a port from 1024 on.`,
    EADDRNOTAVAIL: `--${door}-host: ${host} is no address of this machine.`,
    ENOTFOUND: `--${door}-host: ${host} is the name of no address.`,
  };
  const message = told[code as keyof typeof told];
  return message === undefined ? cause : new Error(message, { cause });
}

/** Ends the connections of a listener that is closing: each when its answer is out, the last ones by force. */
export async function hangUp(app: FastifyInstance, closed: Promise<unknown>): Promise<void> {
  const idle = setInterval(() => app.server.closeIdleConnections(), HANG_UP_EVERY_MS);
  if (!(await within(HANG_UP_MS, closed))) app.server.closeAllConnections();
  clearInterval(idle);
}
