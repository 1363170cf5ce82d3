/**
 * `context.api`: client of the platform's API, for the routes that code of an integration may use
 * (docs/contract/runtime.md#sdk).
 *
 * Routes, bodies and answers are typed by the service's own OpenAPI description (`api-routes.ts`).
 * It sends the narrower of the two runtime tokens that is good for the route. It retries nothing
 * and caches nothing.
 */
import type { ApiRoutes } from './api-routes.ts';
import type { Environment } from './environment.ts';

/** Method and path of a route, such as `'GET /integrations/{name}'`. */
export type ApiRoute = keyof ApiRoutes;

/** Names in the braces of a path. */
type PathNames<Route> = Route extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathNames<Rest>
  : never;
/** Names whose value is the call's own by default. */
type OwnName = 'name' | 'id' | 'space' | 'site';

type PathOption<Names extends string> = [Exclude<Names, OwnName>] extends [never]
  ? { readonly path?: { readonly [Name in Names]?: string } }
  : {
      readonly path: { readonly [Name in Extract<Names, OwnName>]?: string } & {
        readonly [Name in Exclude<Names, OwnName>]: string;
      };
    };
/** The body; optional if the route's is. */
type BodyOption<Parts> = 'body' extends keyof Parts ? Pick<Parts, 'body' & keyof Parts> : unknown;
type QueryOption<Parts> = Parts extends { readonly query: infer Query }
  ? { readonly query?: Query }
  : unknown;
type HeadersOption<Parts> = Parts extends { readonly headers: infer Headers }
  ? { readonly headers?: Headers }
  : unknown;

/** `path`, `query`, `headers` and `body` of a request, as far as its route has them. */
export type ApiOptions<Route extends ApiRoute> = PathOption<PathNames<Route>> &
  BodyOption<ApiRoutes[Route]> &
  QueryOption<ApiRoutes[Route]> &
  HeadersOption<ApiRoutes[Route]>;

type Rest<Route extends ApiRoute> =
  object extends ApiOptions<Route> ? [options?: ApiOptions<Route>] : [options: ApiOptions<Route>];

/** A task to queue. */
export interface QueuedTask {
  /** Any JSON value of up to 64 KiB, which the event `task` has as its `task`. */
  readonly task: unknown;
  /** Seconds until it is delivered, from 0 to 86,400; at once if absent. */
  readonly schedule?: number;
}

/** A success of the API. */
export interface ApiAnswer<Body> {
  /** HTTP status, 200 to 299. */
  readonly status: number;
  /** Headers of the answer, such as `etag` of the resource. */
  readonly headers: Headers;
  /** Parsed JSON; undefined if the answer has no body. */
  readonly body: Body;
}

/**
 * Thrown by `context.api` for every answer that is not a success (docs/contract/api.md#errors).
 *
 * @example
 * try {
 *   await api.request('GET /integrations/{name}/installations/{id}/spaces/{space}');
 * } catch (error) {
 *   if (!(error instanceof ApiError) || error.status !== 404) throw error;
 * }
 */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status. */
  readonly status: number;
  /** Error code, such as `INSTALLATION_UNKNOWN`; empty if the answer is not the API's. */
  readonly code: string;
  /** Id of the request in the operator's log. */
  readonly requestId: string | undefined;

  constructor(message: string, about: { status: number; code: string; requestId: string | undefined }) {
    super(message);
    this.status = about.status;
    this.code = about.code;
    this.requestId = about.requestId;
  }
}

/** Options of any route; `ApiOptions` narrows them for each. */
interface AnyOptions {
  readonly path?: Readonly<Record<string, string | undefined>>;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
}

/**
 * The API client of one call: `context.api`.
 *
 * @example
 * const { body } = await context.api.request('GET /integrations/{name}/installations/{id}');
 * console.log(body.externalIds);
 */
export class Api {
  readonly #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /**
   * Sends one request. Names in braces of the route default to the call's own: the name of the
   * integration, the id of the installation, the space or the site. `path` overrides them.
   * Properties of a configuration that a `PATCH` does not name stay, unless its `query` says
   * `configuration: 'replace'`.
   *
   * @param route method and path, such as `'GET /integrations/{name}'`
   * @param options parts of the request that the route has: `path`, `query`, `headers`, `body`
   * @throws ApiError for every answer that is not a success
   * @throws TypeError if a name of the path is neither given nor the call's own, or the network
   *   fails
   *
   * @example
   * const { headers } = await context.api.request('GET /integrations/{name}/installations/{id}');
   * await context.api.request('PATCH /integrations/{name}/installations/{id}', {
   *   body: { externalIds: [team] },
   *   headers: { 'if-match': headers.get('etag') ?? '' },
   * });
   */
  async request<Route extends ApiRoute>(
    route: Route,
    ...[options = {} as ApiOptions<Route>]: Rest<Route>
  ): Promise<ApiAnswer<ApiRoutes[Route]['answer']>> {
    const [, template = ''] = route.split(' ');
    const { id } = { ...this.#own(), ...(options as AnyOptions).path };
    return this.#send(route, options, this.#token(template, id));
  }

  /**
   * Queues a task for the target of this call (docs/contract/tasks.md); the same as
   * `context.integration.queueTask`. `request('POST /integrations/{name}/tasks', …)` sends the
   * token of the integration instead, and queues for the integration's own level.
   *
   * @returns once the task is stored
   * @throws ApiError if it is not: the task is too large, or too many are pending
   */
  async queueTask({ task, schedule }: QueuedTask): Promise<void> {
    const { apiTokens } = this.#environment;
    const token = apiTokens.installation ?? apiTokens.integration;
    await this.#send('POST /integrations/{name}/tasks', { body: { task, schedule } }, token);
  }

  async #send<Route extends ApiRoute>(
    route: Route,
    { path, query, headers, body }: AnyOptions,
    token: string,
  ): Promise<ApiAnswer<ApiRoutes[Route]['answer']>> {
    const [method = '', template = ''] = route.split(' ');
    const names = { ...this.#own(), ...path };
    // By default the API replaces the configuration for tokens of code.
    const asked = method === 'PATCH' ? { configuration: 'merge', ...query } : query;
    const response = await fetch(this.#url(template, names, asked), {
      method,
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...defined(headers),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answer = parsed(await response.text());
    if (!response.ok) throw refusal(route, response.status, answer);
    return { status: response.status, headers: response.headers, body: answer as ApiRoutes[Route]['answer'] };
  }

  #own(): Readonly<Record<string, string | undefined>> {
    const { integration, installation, space, site } = this.#environment;
    return { name: integration.name, id: installation?.id, space, site };
  }

  #url(template: string, names: AnyOptions['path'] = {}, query: AnyOptions['query'] = {}): string {
    const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = names[name];
      if (value !== undefined && value !== '' && value !== '.' && value !== '..')
        return encodeURIComponent(value);
      throw new TypeError(
        `context.api: "${name}" of ${template} is missing, and this call has none of its own`,
      );
    });
    const search = new URLSearchParams(defined(query)).toString();
    return `${this.#environment.apiEndpoint}${path}${search && `?${search}`}`;
  }

  /** For a route of the call's own installation the narrower token, otherwise the integration's. */
  #token(template: string, id: string | undefined): string {
    const { apiTokens, installation } = this.#environment;
    const isOwn = template.includes('{id}') && id !== undefined && id === installation?.id;
    return (isOwn ? apiTokens.installation : undefined) ?? apiTokens.integration;
  }
}

function defined(members: AnyOptions['query'] = {}): Record<string, string> {
  const set = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set.map(([name, value]) => [name, String(value)]));
}

function parsed(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function refusal(route: string, status: number, answer: unknown): ApiError {
  const { error } = (answer ?? {}) as {
    readonly error?: { readonly code?: string; readonly message?: string; readonly requestId?: string };
  };
  const message = `${route}: ${error?.message ?? `the API answered ${status}`}`;
  return new ApiError(message, { status, code: error?.code ?? '', requestId: error?.requestId });
}
