/**
 * Workers that know nothing of envelopes (docs/contract/plain-workers.md): gives the default export
 * of a module the requests and the runs of its schedules, as Workers have them.
 *
 * The bundler puts this file around the code of a manifest with `entry: request`; no other script
 * has any of it. Everything that the platform sends still comes in as one envelope.
 */
import { callContext } from '../sdk/call-context.ts';
import type { Context } from '../sdk/context.ts';
import type { FetchEvent, TaskEvent } from '../sdk/event.ts';
import { type RunStorage, Storage } from '../sdk/storage.ts';
import { cronOf, type Env, envOf, setSettings, type WorkerCall, type WorkerSettings, within } from './env.ts';

declare function reportError(error: unknown): void;

/** The member by which the platform recognises an integration. */
const INTEGRATION = Symbol.for('annex.integration');
/** Says that the run may be repeated, at once. */
const RETRY_HEADER = 'annex-retry';
/** By which libraries know that `env` has the bindings. */
const USER_AGENT = 'Cloudflare-Workers';

interface Execution {
  waitUntil(promise: Promise<unknown>): void;
  request?(described: FetchEvent['request']): Request | undefined;
  readonly storage?: RunStorage;
}

interface Envelope {
  readonly event: { readonly type: string };
  readonly environment: object;
}

type Handler = (first: unknown, env: Env, ctx: object) => unknown;
export interface Handlers {
  readonly fetch?: Handler;
  readonly scheduled?: Handler;
}

/** Runs before the first line of the worker. */
export function setUpWorker(settings: WorkerSettings): void {
  setSettings(settings);
  Object.defineProperty(navigator, 'userAgent', { value: USER_AGENT, configurable: true, enumerable: true });
  const { subtle } = crypto;
  const define = (target: object, name: string, value: unknown) => {
    if (!(name in target)) Object.defineProperty(target, name, { value, configurable: true, writable: true });
  };
  define(subtle, 'timingSafeEqual', timingSafeEqual);
  define(globalThis, 'caches', { default: NO_CACHE, open: async () => NO_CACHE });
  define(globalThis, 'scheduler', {
    wait: (ms: number) => new Promise((resolve) => setTimeout(resolve, ms)),
  });
  define(Request.prototype, 'cf', {});
}

/** A cache may forget: this one does at once. */
const NO_CACHE = {
  match: async () => undefined,
  put: async () => undefined,
  delete: async () => false,
};

function timingSafeEqual(left: ArrayBuffer | ArrayBufferView, right: ArrayBuffer | ArrayBufferView): boolean {
  const [a, b] = [left, right].map((given) =>
    ArrayBuffer.isView(given)
      ? new Uint8Array(given.buffer, given.byteOffset, given.byteLength)
      : new Uint8Array(given),
  ) as [Uint8Array, Uint8Array];
  if (a.length !== b.length) throw new TypeError('Input buffers must have the same byte length.');
  let differs = 0;
  for (const [index, byte] of a.entries()) differs |= byte ^ (b[index] ?? 0);
  return differs === 0;
}

/**
 * The integration that a module is.
 *
 * @param listening the listeners that it has registered
 */
export function workerOf(
  module: { readonly default?: unknown },
  listening: () => Handlers = () => ({}),
): unknown {
  const exported = module.default as
    | { readonly default?: unknown; readonly [INTEGRATION]?: unknown }
    | undefined;
  if (isPromise(exported)) return exported.then((worker) => workerOf({ default: worker }, listening));
  // The result of `createIntegration` takes envelopes by itself.
  if (exported?.[INTEGRATION] !== undefined) return exported;
  const handlers = handlersOf(exported) ?? handlersOf(exported?.default) ?? handlersOf(listening());
  if (handlers === undefined)
    throw new TypeError(
      'The worker has no handler. Write `export default { async fetch(request, env, ctx) { … } }`, or register addEventListener("fetch", …).',
    );
  return {
    fetch: handlers.fetch ?? noFetch,
    [INTEGRATION]: {
      handle: (envelope: Envelope, execution: Execution) => answer(handlers, envelope, execution),
      components: [],
      events: handlers.scheduled === undefined ? [] : ['task'],
    },
  };
}

const isPromise = (value: unknown): value is Promise<unknown> =>
  value instanceof Promise && typeof (value as { fetch?: unknown }).fetch !== 'function';

/** Handlers of an object, a function, or a class of which each call makes an instance. */
function handlersOf(worker: unknown): Handlers | undefined {
  if ((typeof worker !== 'object' || worker === null) && typeof worker !== 'function') return undefined;
  const isClass = typeof worker === 'function' && hasHandler(worker.prototype);
  if (!isClass && !hasHandler(worker)) return undefined;
  const handler = (name: keyof Handlers): Handlers => {
    const owner = (isClass ? worker.prototype : worker) as Handlers;
    if (typeof owner[name] !== 'function') return {};
    // Looked up at each call, as Workers do: frameworks replace their handlers.
    return {
      [name]: (first: unknown, env: Env, ctx: object) => {
        const instance = isClass ? new (worker as new (ctx: object, env: Env) => Handlers)(ctx, env) : owner;
        return instance[name]?.(first, env, ctx);
      },
    };
  };
  return { ...handler('fetch'), ...handler('scheduled') };
}

const hasHandler = (owner: unknown): boolean => {
  const { fetch, scheduled } = (owner ?? {}) as Handlers;
  return typeof fetch === 'function' || typeof scheduled === 'function';
};

const noFetch: Handler = () => text('The worker has no fetch handler.', 404);

const text = (body: string, status: number): Response =>
  new Response(body, { status, headers: { 'content-type': 'text/plain; charset=utf-8' } });

function answer(handlers: Handlers, envelope: Envelope, execution: Execution): unknown {
  const { event } = envelope;
  if (event.type === 'fetch') return answerFetch(handlers.fetch ?? noFetch, envelope, execution);
  if (event.type === 'task' && 'schedule' in event && handlers.scheduled !== undefined)
    return runScheduled(handlers.scheduled, envelope, execution);
  return text(`The worker does not handle "${event.type}" events`, 406);
}

/** What a handler receives beside its first argument. */
function scopeOf(envelope: Envelope, execution: Execution) {
  const context: Context = callContext(
    envelope,
    (promise) => execution.waitUntil(promise),
    execution.storage,
  );
  const { installationId } = envelope.event as { installationId?: string };
  // The endpoint of the integration itself has no installation, and one area.
  const area = installationId === undefined ? 'integration' : 'installation';
  const call: WorkerCall = {
    context,
    storage: new Storage(execution.storage, area),
    get endpoint() {
      return context.environment.integration.urls.publicEndpoint;
    },
  };
  return { context, scope: { env: envOf(call), waitUntil: execution.waitUntil } };
}

let hasWarned = false;

class ExecutionContext {
  readonly #execution: Execution;
  readonly props = {};

  constructor(execution: Execution) {
    this.#execution = execution;
  }

  waitUntil(promise: Promise<unknown>): void {
    this.#execution.waitUntil(promise);
  }

  /** There is no server behind the worker that could answer in its place. */
  passThroughOnException(): void {
    if (!hasWarned)
      console.warn('ctx.passThroughOnException does nothing: there is no origin behind this worker.');
    hasWarned = true;
  }
}

async function answerFetch(handler: Handler, envelope: Envelope, execution: Execution): Promise<unknown> {
  const { context, scope } = scopeOf(envelope, execution);
  const { request: described } = envelope.event as FetchEvent;
  const base = baseOf(envelope.event as FetchEvent, context);
  const isBelow = base !== undefined;
  const request = execution.request?.(
    isBelow ? { ...described, url: withoutBase(described.url, base) } : described,
  );
  // The sender's fault: no exception in the author's log.
  if (request === undefined) return text('The event has no request with a method and an absolute URL', 400);
  const ctx = Object.assign(new ExecutionContext(execution), {
    originalUrl: described.url,
    endpoint: base ?? new URL(described.url).origin,
  });
  const response = await within(scope, () => handler(request, scope.env, ctx));
  if (!(response instanceof Response)) throw new TypeError('The fetch handler must return a Response.');
  return isBelow ? withBase(response, request.url, base) : response;
}

/**
 * Endpoints, without a slash at the end, by the ids of their target: each call would parse its
 * environment otherwise.
 */
const BASES = new Map<string, readonly string[]>();
const BASES_MAX = 1_000;

/** The endpoint that a request is below. */
function baseOf(
  { request, installationId, spaceId, siteId }: FetchEvent,
  context: Context,
): string | undefined {
  const key = JSON.stringify([installationId, spaceId, siteId]);
  const known = BASES.get(key)?.find((base) => isBelow(request.url, base));
  if (known !== undefined) return known;
  const { publicEndpoint, publicContentEndpoint } = context.environment.integration.urls;
  if (BASES.size >= BASES_MAX) BASES.clear();
  const bases = [publicEndpoint, publicContentEndpoint];
  BASES.set(key, bases);
  return bases.find((base) => isBelow(request.url, base));
}

/** Attack: `/key` as a prefix of `/key-of-another`. */
const isBelow = (url: unknown, base: string): boolean =>
  typeof url === 'string' &&
  url.startsWith(base) &&
  /^(?:[/?#]|$)/.test(url.slice(base.length, base.length + 1));

/** The URL as if the endpoint were an origin of its own. */
function withoutBase(url: string, base: string): string {
  const rest = url.slice(base.length);
  return `${new URL(base).origin}${rest.startsWith('/') ? '' : '/'}${rest}`;
}

/**
 * Leads a redirect to the worker's own URLs back below the endpoint: the worker made it of a URL
 * that lacks the prefix. Attack, or a mistake: `/login` of a shared origin, where another endpoint
 * may be.
 */
function withBase(response: Response, url: string, base: string): Response {
  const location = response.headers.get('location');
  const { origin, pathname } = new URL(base);
  if (location === null || pathname === '/' || !URL.canParse(location, url)) return response;
  const to = new URL(location, url);
  if (to.origin !== origin || isBelow(to.href, base)) return response;
  const headers = new Headers(response.headers);
  headers.set('location', `${base}${to.pathname}${to.search}${to.hash}`);
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}

async function runScheduled(handler: Handler, envelope: Envelope, execution: Execution): Promise<Response> {
  const { schedule } = envelope.event as TaskEvent & { schedule: { id: string; at: string } };
  const { scope } = scopeOf(envelope, execution);
  let mayRepeat = true;
  const controller = {
    ...{ type: 'scheduled', cron: cronOf(schedule.id), scheduledTime: Date.parse(schedule.at) },
    noRetry() {
      mayRepeat = false;
    },
  };
  try {
    await within(scope, () => handler(controller, scope.env, new ExecutionContext(execution)));
    return text('OK', 200);
  } catch (error) {
    reportError(error);
    const failed = text('The run has failed', 500);
    if (mayRepeat) failed.headers.set(RETRY_HEADER, '0');
    return failed;
  }
}
