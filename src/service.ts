/**
 * The composition root: hands each part what it needs, starts them in order, stops them in the reverse order.
 *
 * No decision lives here. What a part does is in the part; what it may reach is what this file passes to it.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import { Egress } from './egress/egress.ts';
import { AnnexError } from './errors.ts';
import { controlDoor } from './http/control/door.ts';
import { answerBadHttp, answerError, answerErrors } from './http/error-answer.ts';
import { publicDoor } from './http/public/door.ts';
import { routableUrl } from './http/public/routable-url.ts';
import { Publisher } from './publish/publish.ts';
import { CallMetrics } from './runtime/call-metrics.ts';
import { buildCell } from './runtime/cell-build.ts';
import { Dispatch } from './runtime/dispatch.ts';
import { Journal } from './runtime/journal.ts';
import { Pool } from './runtime/pool.ts';
import { openStore, type Store } from './store/store.ts';

/** Longest head of a request, and longest time to send it: a slow client holds a socket, not the service. */
const HEADERS_TIMEOUT_MS = 30_000;
const REQUEST_TIMEOUT_MS = 120_000;
const KEEP_ALIVE_MS = 65_000;
/** How long clients may take to read their last answer while the service stops. */
const HANG_UP_MS = 2_000;
const HANG_UP_EVERY_MS = 50;

export interface Service {
  readonly controlUrl: string;
  readonly publicUrl: string;
  readonly store: Store;
  readonly pool: Pool;
  /** The first admin token, where this start has made it. */
  readonly firstAdminToken: string | undefined;
  /** Stops accepting, finishes what is in flight within `limits.stopMs`, then lets go of everything. Idempotent. */
  stop(): Promise<void>;
}

/** @throws where a port is taken, the data folder cannot be used, or a cell cannot be started */
export async function startService(config: Config, log: Logger): Promise<Service> {
  const { limits } = config;
  const clock = () => Date.now();
  const origins = { publicUrl: config.publicUrl ?? '', apiUrl: config.apiUrl ?? '' };
  const stops: (() => void | Promise<void>)[] = [];
  const unwind = async () => {
    for (const stop of stops.reverse().splice(0)) await stop();
  };
  try {
    const build = await buildCell();
    stops.push(() => build.remove());
    const store = await openStore({
      folder: config.dataFolder,
      origins,
      limits,
      clock,
      randomBytes,
      onError: (cause) => log.error({ err: cause }, 'log lines were lost'),
    });
    stops.push(() => store.close());
    const { registry, tokens, logs } = store;
    const metrics = new CallMetrics();
    const pool = new Pool({
      build,
      limits,
      cells: config.cells,
      script: (key) => registry.script(key),
      events: {
        cellExited: (reason, lastWords) => {
          metrics.cellReplaced();
          log.warn({ reason, lastWords }, 'a cell died and was replaced');
        },
        cellUnwell: (reason) => {
          metrics.cellReplaced();
          log.warn({ reason }, 'a cell is being replaced');
        },
      },
    });
    stops.push(() => pool.stop());
    const journal = new Journal({
      logs,
      registry,
      metrics,
      clock,
      failed: ({ installationId, integration, version }, requestId, end) =>
        log.info({ requestId, installationId, integration, version, ...end }, 'a call failed'),
    });
    const egress = new Egress({ policy: config.egress, limits });
    stops.push(() => egress.close());
    const dispatch = new Dispatch({ limits, observer: journal, egress, cellFor: (id) => pool.cellFor(id) });
    metrics.watch(pool, () => dispatch.inFlight);
    await pool.ready();

    let stopping: Promise<void> | undefined;
    const isStopping = () => stopping !== undefined;
    const control = listener(log, isStopping);
    controlDoor(control, {
      limits,
      registry,
      tokens,
      logs,
      publisher: new Publisher({ registry, limits, probe: (script) => dispatch.probe(script) }),
      metrics: metrics.registry,
    });
    stops.push(() => control.close());
    const open = listener(log, isStopping);
    publicDoor(open, { limits, registry, tokens, dispatch });
    stops.push(() => open.close());

    const controlUrl = await listen(control, config.controlHost, config.controlPort);
    const publicUrl = await listen(open, config.publicHost, config.publicPort);
    origins.publicUrl ||= publicUrl;
    origins.apiUrl ||= `${controlUrl}/v1`;
    const stop = async () => {
      const closed = open.close();
      const drained = await within(limits.stopMs, dispatch.drain());
      if (!drained)
        log.warn({ inFlight: dispatch.inFlight }, 'calls were still in flight at the end of the stop');
      // Calls that did not end in time are answered before their connections are.
      pool.stop();
      await hangUp(open, closed);
      await hangUp(control, control.close());
      await unwind();
    };
    return {
      controlUrl,
      publicUrl,
      store,
      pool,
      firstAdminToken: await tokens.firstAdmin(),
      stop: () => {
        stopping ??= stop();
        return stopping;
      },
    };
  } catch (cause) {
    await unwind();
    throw cause;
  }
}

/** A listener with what both doors have in common; while the service stops, it takes no new request on old connections. */
function listener(log: Logger, isStopping: () => boolean): FastifyInstance {
  const app: FastifyInstance = fastify({
    loggerInstance: log as FastifyBaseLogger,
    // One line a request would cost more than the call it is about; failures are logged where they are known.
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: { headersTimeout: HEADERS_TIMEOUT_MS },
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: false, caseSensitive: true },
    rewriteUrl: ({ url = '/' }) => routableUrl(url),
    frameworkErrors: (error, request, reply) => {
      answerError(error, request as FastifyRequest, reply as FastifyReply);
    },
    clientErrorHandler: answerBadHttp(log),
  });
  answerErrors(app);
  app.addHook('onRequest', (_request, reply, done) => {
    if (!isStopping()) return done();
    reply.header('connection', 'close');
    return done(new AnnexError('SERVICE_STOPPING', 'The service is shutting down.'));
  });
  return app;
}

async function listen(app: FastifyInstance, host: string, port: number): Promise<string> {
  await app.listen({ host, port });
  const { port: bound } = app.server.address() as AddressInfo;
  const shown = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${shown.includes(':') ? `[${shown}]` : shown}:${bound}`;
}

/** Ends the connections of a listener that is closing: each when its answer is out, the last ones by force. */
async function hangUp(app: FastifyInstance, closed: Promise<unknown>): Promise<void> {
  const idle = setInterval(() => app.server.closeIdleConnections(), HANG_UP_EVERY_MS);
  const done = await within(HANG_UP_MS, closed);
  clearInterval(idle);
  if (!done) app.server.closeAllConnections();
}

/** @returns whether the work was done in time */
async function within(boundMs: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, boundMs, false);
  });
  const done = work.then(() => true);
  return Promise.race([done, late]).finally(() => clearTimeout(timer));
}
