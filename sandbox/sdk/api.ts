/**
 * `context.api`: the platform's API, as far as code of an integration may ask it (REFERENCE D8, D9).
 *
 * Routes, bodies and answers are typed by the service's own description (`api-routes.ts`). Of the two tokens of the
 * environment the narrower one that will do is sent. Nothing is repeated and nothing is kept: an answer is what the platform
 * says now.
 */
import type { ApiRoutes } from './api-routes.ts';
import type { Environment } from './environment.ts';

/** Method and path, as in `'GET /integrations/{name}'`. */
export type ApiRoute = keyof ApiRoutes;

/** Names in the braces of a path. */
type PathNames<Route> = Route extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathNames<Rest>
  : never;
/** What the call knows of itself, and need not be said. */
type OwnName = 'name' | 'id' | 'space' | 'site';

type PathOption<Names extends string> = [Exclude<Names, OwnName>] extends [never]
  ? { readonly path?: { readonly [Name in Names]?: string } }
  : {
      readonly path: { readonly [Name in Extract<Names, OwnName>]?: string } & {
        readonly [Name in Exclude<Names, OwnName>]: string;
      };
    };
/** One that a route can do without may be left out. */
type BodyOption<Parts> = 'body' extends keyof Parts ? Pick<Parts, 'body' & keyof Parts> : unknown;
type QueryOption<Parts> = Parts extends { readonly query: infer Query }
  ? { readonly query?: Query }
  : unknown;
type HeadersOption<Parts> = Parts extends { readonly headers: infer Headers }
  ? { readonly headers?: Headers }
  : unknown;

/** What goes into a request, besides its route. */
export type ApiOptions<Route extends ApiRoute> = PathOption<PathNames<Route>> &
  BodyOption<ApiRoutes[Route]> &
  QueryOption<ApiRoutes[Route]> &
  HeadersOption<ApiRoutes[Route]>;

type Rest<Route extends ApiRoute> =
  object extends ApiOptions<Route> ? [options?: ApiOptions<Route>] : [options: ApiOptions<Route>];

/** What comes back. */
export interface ApiAnswer<Body> {
  readonly status: number;
  /** `etag` of what was read or changed, for instance. */
  readonly headers: Headers;
  readonly body: Body;
}

/** The API refused, or could not be asked. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status. */
  readonly status: number;
  /** As in `INSTALLATION_UNKNOWN`; empty where something else than the API has answered. */
  readonly code: string;
  /** By which the operator finds it in the log. */
  readonly requestId: string | undefined;

  constructor(message: string, about: { status: number; code: string; requestId: string | undefined }) {
    super(message);
    this.status = about.status;
    this.code = about.code;
    this.requestId = about.requestId;
  }
}

/** What all routes may be given; which of it a route takes, its types say. */
interface AnyOptions {
  readonly path?: Readonly<Record<string, string | undefined>>;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
}

/** The client of one call. */
export class Api {
  readonly #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /**
   * Asks one route. What stands in the braces of its path is the call's own, unless `path` says otherwise: the name of the
   * integration, the id of the installation, the space or the site.
   *
   * @throws ApiError for every answer but a success
   * @throws TypeError where a name in the path is neither given nor the call's own
   *
   * @example
   * const { body, headers } = await context.api.request('GET /integrations/{name}/installations/{id}');
   * await context.api.request('PATCH /integrations/{name}/installations/{id}', {
   *   body: { externalIds: [team] },
   *   headers: { 'if-match': headers.get('etag') ?? '' },
   * });
   */
  async request<Route extends ApiRoute>(
    route: Route,
    ...[options = {} as ApiOptions<Route>]: Rest<Route>
  ): Promise<ApiAnswer<ApiRoutes[Route]['answer']>> {
    const { path, query, headers, body } = options as AnyOptions;
    const [method = '', template = ''] = route.split(' ');
    const names = { ...this.#own(), ...path };
    const response = await fetch(this.#url(template, names, query), {
      method,
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${this.#token(template, names['id'])}`,
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

  /** For its own installation, the token that is good for nothing else. */
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
