/**
 * The server of the page of `annex dev`: on loopback, behind its guard, with a closed list of
 * operations. The token of the service stays here.
 */
import type { AddressInfo } from 'node:net';
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { AnnexError } from '../../../../packages/client/src/index.ts';
import { DOCUMENT, pageFiles } from '../../../../packages/dev-page/page-files.ts';
import { freePort } from '../dev-service.ts';
import type { EventFeed } from '../event-feed.ts';
import { PAGE_HEADERS, pageRefusal } from './page-guard.ts';
import type { PageOperations } from './page-operations.ts';

const BODY_BYTES_MAX = 2 * 1024 * 1024;
/** Bytes that wait for a page that does not read, before it is cut off. */
const WAITING_BYTES_MAX = 8 * 1024 * 1024;

export interface PageServerParts {
  readonly port: number;
  /** First segment of every path. */
  readonly token: string;
  readonly feed: EventFeed;
  readonly operations: PageOperations;
}

export interface PageServer {
  /** Its address, with the token. */
  readonly url: string;
  close(): Promise<void>;
}

export async function startPageServer(parts: PageServerParts): Promise<PageServer> {
  const server = fastify({ bodyLimit: BODY_BYTES_MAX, forceCloseConnections: true });
  const port = () => (server.server.address() as AddressInfo).port;
  server.addHook('onRequest', async (request, reply) => {
    reply.headers(PAGE_HEADERS);
    const refusal = pageRefusal(request, { port: port(), token: parts.token });
    if (refusal !== undefined) await reply.code(refusal.status).send(errorBody(refusal.message));
  });
  server.setErrorHandler((error, _request, reply) => answerError(error, reply));
  server.register(async (routes) => registerRoutes(routes, parts), { prefix: '/:token' });
  await server.listen({ port: await freePort(parts.port), host: '127.0.0.1' });
  return { url: `http://127.0.0.1:${port()}/${parts.token}/`, close: () => server.close() };
}

function registerRoutes(routes: FastifyInstance, { feed, operations }: PageServerParts): void {
  routes.get('/', (_request, reply) => reply.type('text/html; charset=utf-8').send(DOCUMENT));
  routes.get('/page.js', async (_request, reply) =>
    reply.type('text/javascript; charset=utf-8').send((await pageFiles()).script),
  );
  routes.get('/page.css', async (_request, reply) =>
    reply.type('text/css; charset=utf-8').send((await pageFiles()).style),
  );
  routes.get('/api/events', (_request, reply) => sendEvents(feed, reply));
  for (const [name, operation] of Object.entries(operations.reads))
    routes.get(`/api/${name}`, ({ query }) => operation(query as Readonly<Record<string, string>>));
  for (const [name, operation] of Object.entries(operations.writes))
    routes.post(`/api/${name}`, ({ body }) => operation(objectOf(body)));
  // As the render API answers, with its status and `Cache-Control`.
  routes.post('/api/render', async ({ body, query }, reply) => {
    const asked = query as Readonly<Record<string, string>>;
    const { status, cacheControl, body: drawing } = await operations.render(objectOf(body), asked);
    if (cacheControl !== null) reply.header('cache-control', cacheControl);
    return reply.code(status).send(drawing);
  });
}

/** Server-sent events: first what has happened, then what happens. */
function sendEvents(feed: EventFeed, reply: FastifyReply): void {
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, { ...PAGE_HEADERS, 'content-type': 'text/event-stream' });
  const end = feed.listen((event) => {
    if (raw.writableLength > WAITING_BYTES_MAX) raw.destroy();
    else raw.write(`data: ${JSON.stringify(event)}\n\n`);
  });
  raw.once('close', end);
}

type JsonObject = Readonly<Record<string, unknown>>;

const objectOf = (body: unknown): JsonObject =>
  typeof body === 'object' && body !== null && !Array.isArray(body) ? (body as JsonObject) : {};

const errorBody = (message: string, code = 'REFUSED') => ({ error: { code, message } });

function answerError(error: unknown, reply: FastifyReply): unknown {
  const { message, statusCode } = error as Error & { statusCode?: number };
  if (error instanceof AnnexError)
    return reply.code(error.status || 502).send(errorBody(message, error.code));
  return reply.code(statusCode ?? 500).send(errorBody(message));
}
