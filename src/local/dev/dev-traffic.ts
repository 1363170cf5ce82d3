/**
 * The traffic of the session's own service: requests of others to the endpoint and fetches of the
 * code, as events. What the page asks gets an id in advance, so that its log lines and fetches are
 * known to be its own; the page's server tells of it, with what was sent and what came back.
 */
import { randomUUID } from 'node:crypto';
import {
  REQUEST_ID_HEADER,
  type SeenRequest,
  type TrafficWatcher,
} from '../../host/http/public/request-watch.ts';
import type { DevEvent } from './dev-event.ts';

export class DevTraffic implements TrafficWatcher {
  readonly #emit: (event: DevEvent) => unknown;
  /** Ids that are on their way. */
  readonly #announced = new Set<string>();

  constructor(emit: (event: DevEvent) => unknown) {
    this.#emit = emit;
  }

  requested(request: SeenRequest): void {
    this.#emit({ event: 'request', ...request });
  }

  fetched(requestId: string, fetch: Parameters<TrafficWatcher['fetched']>[1]): void {
    this.#emit({ event: 'fetch', requestId, ...fetch });
  }

  takes(id: string): boolean {
    return this.#announced.delete(id);
  }

  /** Runs a request of the session with the headers that give it its id. */
  async announced<Answer>(send: (own: OwnRequest) => Promise<Answer>): Promise<Answer> {
    const requestId = randomUUID();
    this.#announced.add(requestId);
    try {
      return await send({ requestId, headers: { [REQUEST_ID_HEADER]: requestId } });
    } finally {
      this.#announced.delete(requestId);
    }
  }
}

/** A request of the session. */
export interface OwnRequest {
  /** Absent where a running service gives it an id of its own. */
  readonly requestId?: string;
  readonly headers: Readonly<Record<string, string>>;
}
