/**
 * Tells a session each request to the endpoints, once it is answered or its client has left: a row
 * of the page of `annex dev`. Without a session there is no watch, and nothing is registered.
 *
 * It sees heads alone, and never a body. Of the query it tells that there is one.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { SeenFetch } from '../../calls/call.ts';
import type { TargetResolver } from '../../targets/target-resolver.ts';
import { type EndpointBases, endpointAddresses } from './endpoint-address.ts';

export interface SeenRequest {
  readonly requestId: string;
  readonly method: string;
  /** Below the endpoint; the whole path where there is no such endpoint. */
  readonly path: string;
  /** 0 where the client left before there was an answer. */
  readonly status: number;
  readonly durationMs: number;
  /** Absent where no installation has the endpoint. */
  readonly installation?: string;
}

/** The session that watches. */
export interface TrafficWatcher {
  requested(request: SeenRequest): void;
  fetched(requestId: string, fetch: SeenFetch): void;
  /** Whether it has announced a request of its own with this id; true once for each. */
  takes(id: string): boolean;
}

/** The header with which the session gives a request its id. Code never sees it. */
export const REQUEST_ID_HEADER = 'x-annex-request';
const PATH_CHARS_MAX = 500;

export class RequestWatch {
  readonly watcher: TrafficWatcher;
  /** Ids of requests; those that the session has sent have none here, because it tells of them. */
  readonly #ids = new WeakMap<IncomingMessage, string>();

  constructor(watcher: TrafficWatcher) {
    this.watcher = watcher;
  }

  /**
   * The id of a request, for the framework.
   *
   * Attack: a stranger who names the id of another request, whose row would then be about both.
   * Only an id that the session has announced counts, and that once.
   */
  readonly idOf = (request: IncomingMessage): string => {
    const { [REQUEST_ID_HEADER]: given, ...headers } = request.headers;
    if (typeof given === 'string' && this.watcher.takes(given)) {
      request.headers = headers;
      return given;
    }
    const id = randomUUID();
    this.#ids.set(request, id);
    return id;
  };

  /** Follows the requests of a listener, also those that are refused by their head. */
  follow(
    app: FastifyInstance,
    { targets, ...bases }: { readonly targets: Pick<TargetResolver, 'get'> } & EndpointBases,
  ): void {
    const addressOf = endpointAddresses(bases);
    const tell = async (request: IncomingMessage, url: string, { status, since }: Ended) => {
      const requestId = this.#ids.get(request);
      if (requestId === undefined) return;
      const durationMs = Math.round(performance.now() - since);
      const { key, pathAndQuery } = addressOf(request.headers.host, url);
      const target = key === undefined ? undefined : await targets.get(key).catch(() => undefined);
      const [path = '', query] = (target === undefined ? url : pathAndQuery).split('?', 2);
      this.watcher.requested({
        ...{ requestId, method: request.method ?? '', status, durationMs },
        path: (path || '/').slice(0, PATH_CHARS_MAX) + (query === undefined ? '' : '?…'),
        ...(target && { installation: target.installationId }),
      });
    };
    app.server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
      const { url = '' } = request;
      const since = performance.now();
      response.once('close', () => {
        const status = response.headersSent ? response.statusCode : 0;
        void tell(request, url, { status, since });
      });
    });
  }
}

interface Ended {
  readonly status: number;
  readonly since: number;
}
