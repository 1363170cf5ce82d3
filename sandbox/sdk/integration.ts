/**
 * `createIntegration`: turns a definition into the module worker that the platform calls, and routes each envelope to
 * its handler (REFERENCE D2).
 *
 * What it makes is an ordinary `export default { fetch }`. Beside that it offers, under a registered symbol, the same
 * handling of an envelope that is already in parts, so that the platform need not build multipart only to have it
 * taken apart here.
 */
import { Api } from './api.ts';
import { Component } from './component.ts';
import type { Context } from './context.ts';
import { deliveryOf } from './deliver-to.ts';
import { type Envelope, EnvelopeError, readEnvelope } from './envelope.ts';
import type { Environment } from './environment.ts';
import type { FetchEvent, RuntimeEvents, UIRenderEvent } from './event.ts';
import { ExposableError } from './exposable-error.ts';
import type { AccountConfiguration, Configuration } from './manifest-types.ts';

/** Logs the stack with the author's own lines and marks the call as failed; given by the platform. */
declare function reportError(error: unknown): void;

/** The member by which the platform recognises an integration of this SDK. */
const INTEGRATION = Symbol.for('annex.integration');

type EventHandler<Event, C extends Configuration> = (
  event: Event,
  context: Context<C>,
) => Promise<unknown> | unknown;

/** The parameter of `createIntegration`; every member is optional. */
export interface IntegrationDefinition<C extends Configuration = AccountConfiguration> {
  /** Answers HTTP traffic of the public endpoint, whatever the method and the path below it. */
  readonly fetch?: (request: Request, context: Context<C>) => Promise<Response> | Response;
  readonly components?: readonly Component[];
  /** Event name → a handler, or several that run together. What it returns counts where it is made by `deliverTo`. */
  readonly events?: {
    readonly [Name in keyof RuntimeEvents]?:
      | EventHandler<RuntimeEvents[Name], C>
      | readonly EventHandler<RuntimeEvents[Name], C>[];
  };
}

/** What the platform passes beside an envelope. */
interface Execution {
  waitUntil(promise: Promise<unknown>): void;
  /**
   * The request of a `fetch` event, its body as it comes and its signal tied to the call; undefined where the event
   * describes none. Only this platform offers it.
   */
  request?(described: FetchEvent['request'] | undefined): Request | undefined;
}

/** The default export of an integration's script. */
export interface Integration {
  /** The module-worker convention; `request` is an envelope. */
  fetch(request: Request, env: unknown, execution: Execution): Promise<Response>;
}

/**
 * Defines an integration. Write `export default createIntegration({ … })`.
 *
 * @typeParam C the configuration at the level of the account. Better left to the types that `npm run types` makes of the
 *   manifest.
 * @throws TypeError where the definition is wrong, so that publishing fails and not the first call.
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
    [INTEGRATION]: { handle, components: [...routes.components.keys()], events: [...routes.events.keys()] },
  } as Integration;
}

/** A definition, checked and ready to be looked into by names that a caller chose. */
interface Routes {
  readonly fetch: IntegrationDefinition['fetch'];
  readonly components: ReadonlyMap<string, Component>;
  readonly events: ReadonlyMap<string, readonly EventHandler<object, AccountConfiguration>[]>;
}

/** A token of RFC 9110, section 5.6.2. */
const METHOD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Methods that an envelope may name in small letters, PATCH included, which the constructor of `Request` leaves as it is. */
const KNOWN_METHOD = /^(?:DELETE|GET|HEAD|OPTIONS|PATCH|POST|PUT)$/i;
/** A misspelt key would publish cleanly and never be called. */
const KEYS: readonly string[] = ['fetch', 'components', 'events'];
/** Names that an answer to an unknown one lists. */
const COMPONENTS_TOLD_MAX = 20;
const COMPONENT_CHARS_TOLD_MAX = 64;

function readDefinition(definition: IntegrationDefinition): Routes {
  check(isObject(definition), 'expects an object with fetch, components or events');
  for (const key of Object.keys(definition)) {
    check(KEYS.includes(key), `"${key}" is none of ${KEYS.join(', ')}`);
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
  const byName = new Map<string, readonly EventHandler<object, AccountConfiguration>[]>();
  for (const [name, value] of Object.entries(events)) {
    if (value === undefined) continue;
    const handlers = [value].flat() as EventHandler<object, AccountConfiguration>[];
    const functions = handlers.every((handler) => typeof handler === 'function');
    check(functions, `events.${name} must be a function or an array of functions`);
    byName.set(name, handlers);
  }
  return { fetch, components: byId, events: byName };
}

/** Routes one envelope; whatever a handler throws becomes an answer. */
async function answer(routes: Routes, envelope: Envelope, execution: Execution): Promise<Response> {
  const environment = envelope.environment as Environment;
  const context: Context = {
    environment,
    api: new Api(environment),
    waitUntil: (promise) => execution.waitUntil(promise),
  };
  const event = envelope.event as { readonly type: string };
  try {
    switch (event.type) {
      case 'fetch':
        return await answerFetch(routes, event as FetchEvent, envelope.body, context, execution);
      case 'ui_render':
        return await answerRender(routes, event as UIRenderEvent, context);
      default:
        return await answerEvent(routes, event, context);
    }
  } catch (error) {
    report(error);
    const exposed = error instanceof ExposableError;
    const body = { error: exposed ? error.message : 'Internal server error' };
    return Response.json(body, { status: exposed ? error.status : 500 });
  }
}

async function answerFetch(
  { fetch }: Routes,
  event: FetchEvent,
  body: ArrayBuffer | undefined,
  context: Context,
  execution: Execution,
): Promise<Response> {
  if (fetch === undefined) return text('Integration does not handle HTTP requests', 400);
  const request = execution.request ? execution.request(event.request) : rebuild(event, body);
  // A fault of the sender: it must not become an exception in the author's log.
  if (request === undefined) return text('The event has no request with a method and an absolute URL', 400);
  const response = await fetch(request, context);
  if (response instanceof Response) return response;
  throw new TypeError(
    `The fetch handler must return a Response, got ${response === null ? null : typeof response}`,
  );
}

/** The original request out of an envelope that came as multipart. */
function rebuild({ request }: FetchEvent, body: ArrayBuffer | undefined): Request | undefined {
  if (!isRequest(request)) return undefined;
  const { method: named, url, headers } = request;
  const method = KNOWN_METHOD.test(named) ? named.toUpperCase() : named;
  // GET and HEAD carry no body, and a Request of theirs must not be given one.
  const withBody = body !== undefined && method !== 'GET' && method !== 'HEAD';
  return new Request(url, { method, headers: { ...headers }, ...(withBody ? { body } : {}) });
}

async function answerRender(routes: Routes, event: UIRenderEvent, context: Context): Promise<Response> {
  const component = routes.components.get(event.componentId);
  if (component === undefined) return unknownComponent(routes, event.componentId);
  const { response, isRendered } = await component.handle(event, context);
  const handlers = routes.events.get('ui_render');
  if (handlers !== undefined && isRendered) {
    // Handlers are told of the rendering. What the user did is for the component alone.
    const { action: _, ...rendered } = event;
    context.waitUntil(runAll(handlers, rendered, context).catch(report));
  }
  return response;
}

/** The platform tells its caller which there are; to whoever sends envelopes the answer stays one line. */
function unknownComponent({ components }: Routes, componentId: string): Response {
  const response = text(`Component ${componentId} not found`, 404);
  const short = [...components.keys()].filter((id) => id.length <= COMPONENT_CHARS_TOLD_MAX);
  const known = short.slice(0, COMPONENTS_TOLD_MAX).map((id) => encodeURIComponent(id.toWellFormed()));
  response.headers.set('x-known-components', known.join(', '));
  return response;
}

async function answerEvent(
  routes: Routes,
  event: { readonly type: string },
  context: Context,
): Promise<Response> {
  const handlers = routes.events.get(event.type);
  if (handlers === undefined) return text(`Integration does not handle "${event.type}" events`, 406);
  const returned = await runAll(handlers, event, context);
  return deliveryOf(event.type, returned)?.toResponse() ?? text('OK', 200);
}

/**
 * Runs handlers together and lets each finish: one that fails does not cut another short.
 *
 * @returns what each has returned
 * @throws the first failure
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

/** An `ExposableError` is an answer that the author chose; anything else is a fault to be looked into. */
function report(error: unknown): void {
  if (!(error instanceof ExposableError)) reportError(error);
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
