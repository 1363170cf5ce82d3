/**
 * `createIntegration`: turns a definition into the module worker that the platform calls, and
 * routes each envelope to its handler (docs/contract/calls.md#routing).
 *
 * The result is an ordinary `export default { fetch }`. Under a registered symbol it also handles
 * an envelope that is already in parts, so that the platform need not build multipart that is
 * parsed here again.
 */
import { callContext } from './call-context.ts';
import { Component } from './component.ts';
import { ContentSource } from './content-source.ts';
import type { Context } from './context.ts';
import { deliveryOf } from './deliver-to.ts';
import { type Envelope, EnvelopeError, readEnvelope } from './envelope.ts';
import type {
  CallEvent,
  CallInput,
  ContentComputeEvent,
  FetchEvent,
  PublishedScriptEvent,
  RuntimeEvents,
  TaskEvent,
  UIRenderEvent,
  VisitorAuthenticationEvent,
} from './event.ts';
import { ExposableError } from './exposable-error.ts';
import type { AccountConfiguration, CallName, Configuration } from './manifest-types.ts';
import { RetryAfter } from './retry-after.ts';
import type { RunStorage } from './storage.ts';

/**
 * A global of the platform: logs the stack with the author's lines, and marks the call as failed.
 */
declare function reportError(error: unknown): void;

/** The member by which the platform recognises an integration of this SDK. */
const INTEGRATION = Symbol.for('annex.integration');

type Awaitable<Value> = Promise<Value> | Value;

type EventHandler<Event, C extends Configuration> = (
  event: Event,
  context: Context<C>,
) => Promise<unknown> | unknown;

/**
 * Answers a call of the product: what it returns is sent as JSON. Of a method, so that an author
 * may state the type of the input.
 */
export type CallHandler<C extends Configuration = AccountConfiguration> = {
  handle(input: CallInput, context: Context<C>): Awaitable<unknown>;
}['handle'];

/**
 * The parameter of `createIntegration`; every member is optional.
 *
 * @typeParam C configuration at the level of the account
 */
export interface IntegrationDefinition<C extends Configuration = AccountConfiguration> {
  /**
   * Answers HTTP requests to the public endpoint, with any method and path. Without it they are
   * answered 400. An `ExposableError` becomes its status; any other error 500.
   */
  readonly fetch?: (request: Request, context: Context<C>) => Promise<Response> | Response;
  /**
   * Answers the JavaScript that is added to the pages of a site, or nothing. Scope
   * `site:script:inject`.
   */
  readonly fetch_published_script?: (
    event: PublishedScriptEvent,
    context: Context<C>,
  ) => Awaitable<Response | undefined>;
  /**
   * Signs a visitor of a site in or out: normally answers a redirect. Scope `site:visitor:auth`.
   */
  readonly fetch_visitor_authentication?: (
    event: VisitorAuthenticationEvent,
    context: Context<C>,
  ) => Awaitable<Response>;
  /**
   * Runs a task of the integration, which `context.integration.queueTask` queued. A handler that
   * throws is called again by the retries of the manifest.
   */
  readonly task?: EventHandler<TaskEvent, C>;
  /**
   * Name of a call of the manifest → its handler. The host product asks, with
   * `annex.installations.call(…)`, and gets what the handler returns as JSON
   * (docs/contract/calls.md#calls-of-the-product). An `ExposableError` is for the product to read;
   * of any other error it learns that there is one.
   */
  readonly calls?: { readonly [Name in CallName]?: CallHandler<C> };
  /** Results of `createContentSource`, each with a `sourceId` of its own. */
  readonly contentSources?: readonly ContentSource[];
  /** Results of `createComponent`, each with a `componentId` of its own. */
  readonly components?: readonly Component[];
  /**
   * Event name → a handler, or several that run at the same time. A result counts only if it is
   * made by `deliverTo`. A handler that throws is called again by the retries of the manifest
   * (docs/contract/events.md#handler-retries). Posted types need a scope in the manifest.
   *
   * Of the types that the product has declared, a name may be the beginning of several,
   * `invoice.*`, or `*`. The narrowest name of an event wins.
   */
  readonly events?: {
    readonly [Name in keyof RuntimeEvents]?:
      | EventHandler<RuntimeEvents[Name], C>
      | readonly EventHandler<RuntimeEvents[Name], C>[];
  };
}

/** The third argument of a module worker's `fetch`. */
interface Execution {
  waitUntil(promise: Promise<unknown>): void;
  /**
   * Makes the request of a `fetch` event: its body streams, and its signal aborts with the call.
   * Undefined if the event describes no request. Only this platform has this member.
   */
  request?(described: FetchEvent['request'] | undefined): Request | undefined;
  /** Runs an operation of storage. Only this platform has this member. */
  readonly storage?: RunStorage;
}

/** The default export of a script (docs/contract/runtime.md#default-export). */
export interface Integration {
  /** The entry of a module worker; `request` is an envelope. */
  fetch(request: Request, env: unknown, execution: Execution): Promise<Response>;
}

/**
 * Defines an integration. Write `export default createIntegration({ … })`.
 *
 * @typeParam C configuration at the level of the account. Leave it to the types that
 *   `annex types` writes from the manifest
 * @throws TypeError if the definition is wrong: an unknown key, a handler that is not a function, a
 *   component that `createComponent` did not make, a `componentId` used twice. The publish fails
 *   then
 *
 * @example
 * export default createIntegration({
 *   fetch: (request, { environment }) => new Response(`This is ${environment.integration.title}`),
 *   events: {
 *     async space_content_updated({ spaceId, revisionId }, { api }) {},
 *   },
 * });
 */
export function createIntegration<C extends Configuration = AccountConfiguration>(
  definition: IntegrationDefinition<C>,
): Integration {
  const routes = readDefinition(definition as IntegrationDefinition);
  const handle = (envelope: Envelope, execution: Execution): Promise<Response> =>
    answer(routes, envelope, execution);
  return {
    async fetch(request, _env, execution) {
      try {
        return await handle(await readEnvelope(request), execution);
      } catch (error) {
        if (error instanceof EnvelopeError) return text(error.message, 400);
        throw error;
      }
    },
    [INTEGRATION]: { handle, components: [...routes.components.keys()], events: handledEvents(routes) },
  } as Integration;
}

/** A checked definition. Maps, because callers choose the names that are looked up. */
interface Routes {
  readonly fetch: IntegrationDefinition['fetch'];
  readonly components: ReadonlyMap<string, Component>;
  readonly contentSources: ReadonlyMap<string, ContentSource>;
  readonly calls: ReadonlyMap<string, CallHandler<AccountConfiguration>>;
  /** Members of the definition that are named after their event. */
  readonly named: ReadonlyMap<string, EventHandler<object, AccountConfiguration>>;
  readonly events: ReadonlyMap<string, readonly EventHandler<object, AccountConfiguration>[]>;
}

/** A token of RFC 9110, section 5.6.2. */
const METHOD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Methods that an envelope may have in lower case. `new Request` leaves `patch` as it is. */
const KNOWN_METHOD = /^(?:DELETE|GET|HEAD|OPTIONS|PATCH|POST|PUT)$/i;
/** Without this check, a misspelt key would publish without an error and never be called. */
const KEYS: readonly string[] = [
  ...['fetch', 'components', 'events', 'contentSources', 'calls'],
  ...['fetch_published_script', 'fetch_visitor_authentication', 'task'],
];
/** Those that are named after the event that they handle. */
const NAMED = ['fetch_published_script', 'fetch_visitor_authentication', 'task'] as const;
/** Events of content sources. */
const COMPUTED: readonly string[] = ['content_compute_revision', 'content_compute_document'];
/** How many component ids, of what length, the answer to an unknown id lists. */
const COMPONENTS_LISTED_MAX = 20;
const COMPONENT_CHARS_LISTED_MAX = 64;

function readDefinition(definition: IntegrationDefinition): Routes {
  check(isObject(definition), 'expects an object with fetch, components or events');
  for (const key of Object.keys(definition)) {
    check(KEYS.includes(key), `"${key}" is not one of ${KEYS.join(', ')}`);
  }
  const { fetch, components = [], events = {} } = definition;
  check(fetch === undefined || typeof fetch === 'function', 'fetch must be a function');
  check(Array.isArray(components), 'components must be an array');
  check(isObject(events), 'events must be an object from event name to handler');
  const byId = new Map<string, Component>();
  for (const [index, component] of components.entries()) {
    check(component instanceof Component, `components[${index}] must come from createComponent()`);
    check(!byId.has(component.componentId), `componentId "${component.componentId}" is used twice`);
    byId.set(component.componentId, component);
  }
  const named = new Map<string, EventHandler<object, AccountConfiguration>>();
  for (const name of NAMED) {
    const handler = definition[name];
    if (handler === undefined) continue;
    check(typeof handler === 'function', `${name} must be a function`);
    named.set(name, handler as EventHandler<object, AccountConfiguration>);
  }
  const contentSources = readContentSources(definition.contentSources);
  const byName = new Map<string, readonly EventHandler<object, AccountConfiguration>[]>();
  for (const [name, value] of Object.entries(events)) {
    if (value === undefined) continue;
    const handlers = [value].flat() as EventHandler<object, AccountConfiguration>[];
    const functions = handlers.every((handler) => typeof handler === 'function');
    check(functions, `events.${name} must be a function or an array of functions`);
    byName.set(name, handlers);
  }
  const calls = readCalls(definition.calls);
  return { fetch, components: byId, contentSources, calls, named, events: byName };
}

function readCalls(calls: IntegrationDefinition['calls'] = {}): Routes['calls'] {
  check(isObject(calls), 'calls must be an object from the name of a call to its handler');
  for (const [name, handler] of Object.entries(calls))
    check(typeof handler === 'function', `calls.${name} must be a function`);
  return new Map(Object.entries(calls as Record<string, CallHandler>));
}

function readContentSources(list: IntegrationDefinition['contentSources'] = []): Map<string, ContentSource> {
  check(Array.isArray(list), 'contentSources must be an array');
  const byId = new Map<string, ContentSource>();
  for (const [index, source] of list.entries()) {
    check(source instanceof ContentSource, `contentSources[${index}] must come from createContentSource()`);
    check(!byId.has(source.sourceId), `sourceId "${source.sourceId}" is used twice`);
    byId.set(source.sourceId, source);
  }
  return byId;
}

/** Names of all events that have a handler. */
function handledEvents({ events, named, contentSources }: Routes): string[] {
  const computed = contentSources.size > 0 ? COMPUTED : [];
  return [...new Set([...events.keys(), ...named.keys(), ...computed])];
}

/** Routes one envelope. An error of a handler becomes an answer. */
async function answer(routes: Routes, envelope: Envelope, execution: Execution): Promise<Response> {
  const context = callContext(envelope, (promise) => execution.waitUntil(promise), execution.storage);
  const event = envelope.event as { readonly type: string };
  try {
    switch (event.type) {
      case 'fetch':
        return await answerFetch(routes, envelope, context, execution);
      case 'ui_render':
        return await answerRender(routes, event as UIRenderEvent, context);
      case 'fetch_published_script':
      case 'fetch_visitor_authentication':
        return await answerWithResponse(routes, event, context);
      case 'content_compute_revision':
      case 'content_compute_document':
        return await answerContent(routes, event as ContentComputeEvent, context);
      case 'call':
        return await answerCall(routes, event as CallEvent, context);
      default:
        return await answerEvent(routes, event, context);
    }
  } catch (error) {
    report(error);
    return answerOf(error);
  }
}

/** Says that the event may be delivered again, and after how many seconds. */
const RETRY_HEADER = 'annex-retry';

function answerOf(error: unknown): Response {
  if (error instanceof ExposableError)
    return Response.json({ error: error.message }, { status: error.status });
  if (!(error instanceof RetryAfter))
    return Response.json({ error: 'Internal server error' }, { status: 500 });
  const headers = { 'retry-after': String(error.seconds) };
  return Response.json({ error: error.message }, { status: 503, headers });
}

async function answerFetch(
  { fetch }: Routes,
  envelope: Envelope,
  context: Context,
  execution: Execution,
): Promise<Response> {
  if (fetch === undefined) return text('Integration does not handle HTTP requests', 400);
  const event = envelope.event as FetchEvent;
  const request = execution.request ? execution.request(event.request) : rebuild(event, envelope.body);
  // The sender's fault: no exception in the author's log.
  if (request === undefined) return text('The event has no request with a method and an absolute URL', 400);
  const response = await fetch(request, context);
  if (response instanceof Response) return response;
  throw new TypeError(
    `The fetch handler must return a Response, got ${response === null ? null : typeof response}`,
  );
}

/** The original request of an envelope that came as multipart. */
function rebuild({ request }: FetchEvent, body: ArrayBuffer | undefined): Request | undefined {
  if (!isRequest(request)) return undefined;
  const { method: named, url, headers } = request;
  const method = KNOWN_METHOD.test(named) ? named.toUpperCase() : named;
  // `new Request` refuses a body for GET and HEAD.
  const withBody = body !== undefined && method !== 'GET' && method !== 'HEAD';
  return new Request(url, { method, headers: { ...headers }, ...(withBody ? { body } : {}) });
}

async function answerRender(routes: Routes, event: UIRenderEvent, context: Context): Promise<Response> {
  const component = routes.components.get(event.componentId);
  if (component === undefined) return unknownComponent(routes, event.componentId);
  const { response, isRendered } = await component.handle(event, context);
  const handlers = routes.events.get('ui_render');
  if (handlers !== undefined && isRendered) {
    // Handlers learn of the rendering; the action is the component's alone.
    const { action: _, ...rendered } = event;
    context.waitUntil(runAll(handlers, rendered, context).catch(report));
  }
  return response;
}

/**
 * The body is one line; the platform reads the header to list the known components to its caller.
 */
function unknownComponent({ components }: Routes, componentId: string): Response {
  const response = text(`Component ${componentId} not found`, 404);
  const short = [...components.keys()].filter((id) => id.length <= COMPONENT_CHARS_LISTED_MAX);
  const known = short.slice(0, COMPONENTS_LISTED_MAX).map((id) => encodeURIComponent(id.toWellFormed()));
  response.headers.set('x-known-components', known.join(', '));
  return response;
}

/** An event whose handler returns the answer itself. A handler in `events` may do so, too. */
async function answerWithResponse(
  routes: Routes,
  event: { readonly type: string },
  context: Context,
): Promise<Response> {
  const results = await runHandlers(routes, event, context);
  if (results === undefined) return unhandled(event.type);
  const [returned] = results;
  if (returned instanceof Response) return returned;
  const isNoScript = event.type === 'fetch_published_script' && (returned === undefined || returned === null);
  if (isNoScript)
    return new Response('/** no-op */', { headers: { 'content-type': 'text/javascript; charset=utf-8' } });
  throw new TypeError(
    `The handler of "${event.type}" must return a Response, got ${returned === null ? null : typeof returned}`,
  );
}

async function answerCall({ calls }: Routes, { call, input }: CallEvent, context: Context) {
  const handler = calls.get(call);
  if (handler === undefined) return text(`Integration has no handler of the call "${call}"`, 404);
  return Response.json((await handler(input, context)) ?? null);
}

async function answerContent(
  routes: Routes,
  event: ContentComputeEvent,
  context: Context,
): Promise<Response> {
  if (routes.contentSources.size === 0) return answerEvent(routes, event, context);
  // Some products name the source by another member.
  const { source: other } = event as { readonly source?: unknown };
  const sourceId = event.sourceId ?? other;
  const source = routes.contentSources.get(sourceId);
  if (source === undefined) throw new ExposableError(`Content source ${sourceId} not found`, 404);
  return source.compute(event, context);
}

/**
 * Runs the handlers of an event. The named member of the definition wins over an entry in `events`.
 *
 * @returns the result of each; undefined if the event has no handler
 */
async function runHandlers(
  { named, events }: Routes,
  event: { readonly type: string },
  context: Context,
): Promise<readonly unknown[] | undefined> {
  const handler = named.get(event.type);
  const handlers = handler === undefined ? handlersOf(events, event) : [handler];
  return handlers && runAll(handlers, event, context);
}

/** Of an event of the product, also those of the narrowest beginning of its type. */
function handlersOf(events: Routes['events'], event: { readonly type: string }) {
  const own = events.get(event.type);
  if (own !== undefined || !('organizationId' in event && 'data' in event)) return own;
  const groups = event.type.split('.');
  while (groups.pop() !== undefined && groups.length > 0) {
    const found = events.get(`${groups.join('.')}.*`);
    if (found !== undefined) return found;
  }
  return events.get('*');
}

const unhandled = (type: string): Response => text(`Integration does not handle "${type}" events`, 406);

async function answerEvent(
  routes: Routes,
  event: { readonly type: string },
  context: Context,
): Promise<Response> {
  // The platform says which attempt it is from the second on. Not enumerable: what code passes on
  // of an event is what was posted.
  if (!('attempt' in event)) Object.defineProperty(event, 'attempt', { value: 1 });
  try {
    const results = await runHandlers(routes, event, context);
    if (results === undefined) return unhandled(event.type);
    return deliveryOf(event.type, results)?.toResponse() ?? text('OK', 200);
  } catch (error) {
    report(error);
    const response = answerOf(error);
    if (!(error instanceof ExposableError))
      response.headers.set(RETRY_HEADER, String(error instanceof RetryAfter ? error.seconds : 0));
    return response;
  }
}

/**
 * Runs handlers at the same time, each to its end.
 *
 * @returns the result of each
 * @throws the first failure; the others are reported
 */
async function runAll(
  handlers: readonly EventHandler<object, AccountConfiguration>[],
  event: object,
  context: Context,
): Promise<readonly unknown[]> {
  const runs = await Promise.allSettled(handlers.map(async (handler) => handler(event, context)));
  const [first, ...others] = runs.filter((run) => run.status === 'rejected');
  for (const other of others) report(other.reason);
  if (first !== undefined) throw first.reason;
  return runs.flatMap((run) => (run.status === 'fulfilled' ? [run.value] : []));
}

/** These errors are answers that the author chose; any other error is a fault. */
function report(error: unknown): void {
  if (!(error instanceof ExposableError || error instanceof RetryAfter)) reportError(error);
}

const isRequest = (request: Partial<FetchEvent['request']> | undefined): boolean =>
  typeof request?.method === 'string' && METHOD.test(request.method) && URL.canParse(`${request.url}`);

const text = (body: string, status: number): Response =>
  new Response(body, { status, headers: { 'content-type': 'text/plain; charset=utf-8' } });

const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function check(condition: boolean, complaint: string): asserts condition {
  if (!condition) throw new TypeError(`createIntegration: ${complaint}`);
}
