/**
 * The server of the page of `annex dev`: on loopback, behind its guard, with a closed list of
 * operations. The token of the service stays here.
 */

import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { AnnexError } from '../../../../packages/client/src/index.ts';
import { DOCUMENT, devPageScript } from '../../../../packages/dev-page/page-files.ts';
import type { EventFeed } from '../dev-event.ts';
import { freePort } from '../dev-service.ts';
import type { PageOperations } from './page-operations.ts';

const BODY_BYTES_MAX = 2 * 1024 * 1024;
/** Bytes that wait for a page that does not read, before it is cut off. */
const WAITING_BYTES_MAX = 8 * 1024 * 1024;

interface PageServerDeps {
  readonly port: number;
  /** First segment of every path. */
  readonly token: string;
  readonly feed: EventFeed;
  readonly operations: PageOperations;
}

interface PageServer {
  /** Its address, with the token. */
  readonly url: string;
  close(): Promise<void>;
}

export async function startPageServer(deps: PageServerDeps): Promise<PageServer> {
  const server = fastify({ bodyLimit: BODY_BYTES_MAX, forceCloseConnections: true });
  const port = () => (server.server.address() as AddressInfo).port;
  server.addHook('onRequest', async (request, reply) => {
    reply.headers(PAGE_HEADERS);
    const refusal = pageRefusal(request, { port: port(), token: deps.token });
    if (refusal !== undefined) await reply.code(refusal.status).send(errorBody(refusal.message));
  });
  server.setErrorHandler((error, _request, reply) => answerError(error, reply));
  server.register(async (routes) => registerRoutes(routes, deps), { prefix: '/:token' });
  await server.listen({ port: await freePort(deps.port), host: '127.0.0.1' });
  return { url: `http://127.0.0.1:${port()}/${deps.token}/`, close: () => server.close() };
}

function registerRoutes(routes: FastifyInstance, { feed, operations }: PageServerDeps): void {
  routes.get('/', (_request, reply) => reply.type('text/html; charset=utf-8').send(DOCUMENT));
  routes.get('/page.js', async (_request, reply) =>
    reply.type('text/javascript; charset=utf-8').send(await devPageScript()),
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

interface GuardedRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

interface PageAddress {
  readonly port: number;
  /** First segment of every path. */
  readonly token: string;
}

/** Why a request is refused. */
type PageRefusal =
  | { readonly status: 404; readonly message: 'There is no such page.' }
  | { readonly status: 403; readonly message: string }
  | { readonly status: 421; readonly message: string };

const NAMES = ['127.0.0.1', 'localhost'];

/** @returns undefined where the request may be answered */
function pageRefusal(
  { method, url, headers }: GuardedRequest,
  { port, token }: PageAddress,
): PageRefusal | undefined {
  // Attack (DNS rebinding): a page elsewhere has its host name lead to this machine, and reads this
  // server as its own origin. The name in `Host` is still its own.
  const host = headers.host ?? '';
  if (!NAMES.some((name) => host === `${name}:${port}`))
    return { status: 421, message: `This server is http://127.0.0.1:${port}.` };
  // Attack: another user of this machine, or a page that guesses the port, finds the page. Only the
  // author's terminal shows the token.
  if (!isEqual(url.split(/[/?]/, 2)[1] ?? '', token))
    return { status: 404, message: 'There is no such page.' };
  // Attack (request forgery): a page elsewhere has the browser send a request here, such as a form.
  // A browser says where a request is from, and this page is the only origin that may ask.
  const site = headers['sec-fetch-site'];
  const isForeign = site !== undefined && site !== 'same-origin' && site !== 'none';
  const { origin } = headers;
  if (isForeign || (origin !== undefined && origin !== `http://${host}`))
    return { status: 403, message: 'Only the page of `annex dev` may send this request.' };
  if (method !== 'GET' && origin === undefined)
    return { status: 403, message: 'A request other than GET must have an Origin header.' };
  return undefined;
}

function isEqual(given: string, token: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(token)];
  return one.length === other.length && timingSafeEqual(one, other);
}

/**
 * Headers of every answer.
 *
 * Attack: a text of an integration that becomes code in this page. Only the page's own script runs,
 * and Trusted Types keep texts out of what the browser parses as HTML. Images, frames and choices
 * of components are from where the integration says, as in the host product.
 */
const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "connect-src 'self' https: http://127.0.0.1:*",
    "img-src 'self' https: http: data:",
    'frame-src https: http:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // The address has the token.
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
};
