/**
 * A listener with what the public and the control listener share: time-outs, limits on heads,
 * request checks, error answers and shutdown.
 *
 * It has no routes: those are registered on it, and decide what a request may do.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo, Socket } from 'node:net';
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  LogController,
} from 'fastify';
import type { Logger } from 'pino';
import { AnnexError } from '../../errors.ts';
import type { Limits } from '../../limits.ts';
import { within } from '../../model/bounded-wait.ts';
import { answerBadHttp, answerByHand, answerError, answerErrors, answerExpectation } from './error-answer.ts';
import { inProcessDepth } from './loopback-listeners.ts';
import { type AnswersTo, headRefusal, pathBelow, routableUrl } from './request-head.ts';

const KEEP_ALIVE_MS = 65_000;
/** How often Node checks for requests that have timed out. */
const OVERDUE_EVERY_MS = 1_000;
/** `Allow` of a refused method. */
const ALLOWED = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS';
/** How long clients may take to read their last answer during shutdown. */
const HANG_UP_MS = 2_000;
const HANG_UP_EVERY_MS = 50;

export interface ListenerDeps {
  readonly log: Logger;
  readonly limits: Limits;
  readonly answersTo: AnswersTo;
  /** Which setting decides that, as the end of a sentence. */
  readonly hostSetting: string;
  /** What paths begin with where a proxy leaves it in place; empty if absent. */
  readonly base?: string;
  /** The class of the server's requests. */
  readonly requests: typeof IncomingMessage;
  /** The id of a request; a random one by default. */
  readonly idOf?: (request: IncomingMessage) => string;
  /**
   * During shutdown, requests on open connections are refused. Those of calls in flight are served.
   */
  isStopping(): boolean;
}

/** Of event ids, which have up to 255. */
const ID_CHARS_MAX = 255;
/** Of a byte, percent-encoded. */
const ENCODED_CHARS = 3;

/** Of one parameter of a path: the id of an event, or the key of a stored value. */
const paramCharsMax = ({ storageKeyBytes }: Limits): number =>
  ENCODED_CHARS * Math.max(ID_CHARS_MAX, storageKeyBytes);

export function listener({
  log,
  limits,
  answersTo,
  hostSetting,
  base = '',
  requests,
  idOf = () => randomUUID(),
  isStopping,
}: ListenerDeps): FastifyInstance {
  const { requestHeadMs, requestMs, requestHeadBytes, requestHeaders } = limits;
  const answerBad = answerBadHttp(log, limits);
  const app: FastifyInstance = fastify({
    loggerInstance: log as FastifyBaseLogger,
    // A log line for each request would cost more than its call; failures are logged where they
    // occur.
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: idOf,
    schemaController: { compilersFactory: { buildSerializer: lazySerializers } },
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: requestMs,
    http: {
      headersTimeout: Math.min(requestHeadMs, requestMs),
      requestTimeout: requestMs,
      connectionsCheckingInterval: OVERDUE_EVERY_MS,
      maxHeaderSize: requestHeadBytes,
      IncomingMessage: requests,
      // `headRefusal` checks it: Node's own refusal has another shape.
      requireHostHeader: false,
    },
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: false, caseSensitive: true, maxParamLength: paramCharsMax(limits) },
    rewriteUrl: (request) => routableUrl(pathBelow(request, base)),
    frameworkErrors: (error, request, reply) => {
      answerError(error, request as FastifyRequest, reply as FastifyReply);
    },
    clientErrorHandler: answerBad,
  });
  boundPipelines(app.server);
  // One more than allowed, so that `headRefusal` sees an excess.
  app.server.maxHeadersCount = requestHeaders + 1;
  app.server.on('checkExpectation', answerExpectation);
  // Attack: CONNECT, which would turn the connection into a tunnel past every check of HTTP.
  app.server.on('connect', (_request, socket) => {
    answerByHand(socket as Socket, new AnnexError('METHOD_REFUSED', 'The method CONNECT is not supported.'));
  });
  answerErrors(app);
  const ended = new WeakSet<object>();
  app.addHook('onRequest', (request, reply, done) => {
    // Node has already parsed requests that were pipelined behind a refused head. They get no
    // answer.
    if (ended.has(request.raw.socket)) {
      reply.hijack();
      return;
    }
    if (isStopping() && inProcessDepth(request.raw.socket) === undefined) {
      reply.header('connection', 'close');
      return done(new AnnexError('SERVICE_STOPPING', 'The service is shutting down.'));
    }
    const refusal = headRefusal(request.raw, { limits, answersTo, hostSetting });
    if (refusal === undefined) return done();
    if (refusal.code === 'METHOD_REFUSED') reply.header('allow', ALLOWED);
    // After a head that two parsers may read differently, the next request's beginning is
    // uncertain.
    ended.add(request.raw.socket);
    reply.header('connection', 'close');
    return done(refusal);
  });
  return app;
}

/**
 * @param name of the listener, as in its flags: `--control-port`
 * @returns the URL of the listener, as seen from this machine
 * @throws Error that names the flag to change
 */
export async function listen(
  app: FastifyInstance,
  name: 'control' | 'public',
  host: string,
  port: number,
): Promise<string> {
  try {
    await app.listen({ host, port });
  } catch (cause) {
    throw cannotListen(cause, name, host, port);
  }
  const { port: bound } = app.server.address() as AddressInfo;
  const shown = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${shown.includes(':') ? `[${shown}]` : shown}:${bound}`;
}

function cannotListen(cause: unknown, name: string, host: string, port: number): unknown {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  const messages = {
    EADDRINUSE: `--${name}-port: port ${port} is in use on ${host}. Use another port, or stop the process that listens there.`,
    EACCES: `--${name}-port: this user may not listen on port ${port}. Use a port of 1024 or above.`,
    EADDRNOTAVAIL: `--${name}-host: ${host} is not an address of this machine.`,
    ENOTFOUND: `--${name}-host: the name ${host} does not resolve to an address.`,
  };
  const message = messages[code as keyof typeof messages];
  return message === undefined ? cause : new Error(message, { cause });
}

/** Closes the connections of a closing listener: each after its answer, the rest by force. */
export async function hangUp(app: FastifyInstance, closed: Promise<unknown>): Promise<void> {
  const idle = setInterval(() => app.server.closeIdleConnections(), HANG_UP_EVERY_MS);
  if (!(await within(HANG_UP_MS, closed))) app.server.closeAllConnections();
  clearInterval(idle);
}

/** More than real clients pipeline. */
export const REQUESTS_PER_TURN = 32;

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/** The turn in which a connection last started a request, and how many it started in it. */
interface Pipeline {
  turn: number;
  started: number;
}

/**
 * Bounds the requests that one connection may start in one turn of the event loop.
 *
 * Attack: thousands of pipelined requests in one segment, over and over. Node's parser emits every
 * request of a segment, and reads up to 32 segments, before anything else runs: one connection
 * blocked the event loop for 0.5 s at a time. Clients may pipeline requests, but no real client
 * sends many. A connection that exceeds the bound is closed; the rest of its segment costs only its
 * parsing and reaches neither the framework nor a route.
 *
 * Puts the bound in front of the request listeners that the server has now.
 */
function boundPipelines(server: Server): void {
  const served = server.listeners('request') as Serve[];
  const pipelines = new WeakMap<object, Pipeline>();
  let turn = 0;
  let isTurnEnding = false;
  const endTurn = (): void => {
    turn += 1;
    isTurnEnding = false;
  };
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (!isTurnEnding) {
      isTurnEnding = true;
      setImmediate(endTurn);
    }
    const { socket } = request;
    let pipeline = pipelines.get(socket);
    if (pipeline === undefined) {
      pipeline = { turn, started: 0 };
      pipelines.set(socket, pipeline);
    }
    if (pipeline.turn !== turn) {
      pipeline.turn = turn;
      pipeline.started = 0;
    }
    pipeline.started += 1;
    if (pipeline.started <= REQUESTS_PER_TURN) for (const serve of served) serve(request, response);
    else socket.destroy();
  });
}

type BuildSerializer = NonNullable<
  NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>['buildSerializer']
>;

// fastify's own compiler, which fastify does not export but allows to be replaced.
const require = createRequire(createRequire(import.meta.url).resolve('fastify'));
const build = (require('@fastify/fast-json-stringify-compiler') as () => BuildSerializer)();

/**
 * Builds the JSON serializer of a route when the route first answers. fastify would build all of
 * them at startup, which takes longer than all else there.
 */
const lazySerializers: BuildSerializer = (schemas, options) => {
  const compile = build(schemas, options);
  return (route) => {
    let serialize: ReturnType<typeof compile> | undefined;
    return (answer) => {
      serialize ??= compile(route);
      return serialize(answer);
    };
  };
};
