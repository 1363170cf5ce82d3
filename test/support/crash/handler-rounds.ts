/**
 * Handlers at work while the service is stopped and started, and while its database is away: each
 * uses the API of the service, queues a task, and uses the API again. In the end every acknowledged
 * event is delivered, and no delivery has failed, because no code has.
 */
import { setTimeout as passed } from 'node:timers/promises';
import type { HostProcess } from '../host-process.ts';

export interface HandlerRoundsOptions {
  /** Starts the service; on the same data each time. */
  start(): Promise<HostProcess>;
  readonly restarts: number;
  /** Between two of them. */
  readonly everyMs: number;
  /** Takes the database away and brings it back. */
  outage?(): Promise<void>;
}

export interface HandlerLedger {
  readonly acknowledged: number;
  /** Acknowledged events and their tasks without a delivery that is `delivered`. */
  readonly undelivered: readonly string[];
  /** Deliveries of another final state, with their outcome. */
  readonly failed: readonly string[];
  /** Calls beyond the first of a delivery: for a reason of the platform, or of unknown end. */
  readonly repeated: number;
  readonly tasks: number;
  /** Answers to calls of the endpoint, by status; 0 is a connection that was refused. */
  readonly calls: Readonly<Record<number, number>>;
}

const NAME = 'working';
const ORGANIZATIONS = 4;
const POSTERS = 3;
const PAUSE_MS = 25;
const AGAIN_MS = 100;
const SETTLED_WITHIN_MS = 180_000;

const MANIFEST = `name: ${NAME}
title: Working
description: Uses the API.
organization: acme
visibility: public
scopes: ['space:content:read']
script: index.js
`;
const SOURCE = `import { createIntegration } from '@annex/sdk';
const work = async (ms, { api }) => {
  await api.request('GET /integrations/{name}/installations');
  await new Promise((done) => setTimeout(done, ms));
  await api.request('GET /integrations/{name}/installations/{id}');
};
export default createIntegration({
  async fetch(request, context) { await work(100, context); return new Response('worked'); },
  async task(_, context) { await work(50, context); },
  events: {
    async space_content_updated({ eventId }, context) {
      await work(200, context);
      await context.integration.queueTask({ task: { eventId } });
    },
  },
});`;

export async function handlerRounds(options: HandlerRoundsOptions): Promise<HandlerLedger> {
  const rounds = new HandlerRounds(options, await options.start());
  try {
    return await rounds.run();
  } finally {
    await rounds.end();
  }
}

interface ListedDelivery {
  readonly id: string;
  readonly eventId: string;
  readonly type: string;
  readonly state: string;
  readonly outcome?: string;
  readonly attempts: number;
}

class HandlerRounds {
  readonly #options: HandlerRoundsOptions;
  readonly #acknowledged = new Set<string>();
  readonly #calls: Record<number, number> = {};
  #host: HostProcess;
  #endpoint = '';
  #isOver = false;

  constructor(options: HandlerRoundsOptions, host: HostProcess) {
    this.#options = options;
    this.#host = host;
  }

  async run(): Promise<HandlerLedger> {
    const { restarts, everyMs, outage, start } = this.#options;
    await this.#install();
    const load = [
      ...Array.from({ length: POSTERS }, (_, poster) => this.#post(poster)),
      ...Array.from({ length: POSTERS }, () => this.#call()),
    ];
    for (let restart = 0; restart < restarts; restart += 1) {
      await passed(everyMs);
      await this.#host.stop();
      this.#host = await start();
    }
    await passed(everyMs);
    await outage?.();
    await passed(everyMs);
    this.#isOver = true;
    await Promise.all(load);
    return this.#ledger();
  }

  end(): Promise<void> {
    this.#isOver = true;
    return this.#host.kill();
  }

  async #install(): Promise<void> {
    const form = new FormData();
    form.append('manifest', MANIFEST);
    form.append('files', new Blob([SOURCE]), 'index.js');
    await this.#host.api('POST', '/integrations', form);
    for (let index = 0; index < ORGANIZATIONS; index += 1) {
      const path = `/integrations/${NAME}/installations`;
      const { id, urls } = await this.#host.api('POST', path, { organization: `org-${index}` });
      await this.#host.api('POST', `${path}/${id}/spaces`, { space: 'space' });
      this.#endpoint = new URL((urls as { readonly publicEndpoint: string }).publicEndpoint).pathname;
    }
  }

  /** Posts events one by one; each again until it is acknowledged. */
  async #post(poster: number): Promise<void> {
    for (let count = 0; !this.#isOver; count += 1) {
      const eventId = `handled-${poster}-${count}`;
      const organization = `org-${(poster + count) % ORGANIZATIONS}`;
      const event = {
        eventId,
        organization,
        type: 'space_content_updated',
        spaceId: 'space',
        revisionId: 'r',
      };
      while (!(await this.#isAccepted(event))) await passed(AGAIN_MS);
      this.#acknowledged.add(eventId);
      await passed(PAUSE_MS);
    }
  }

  #isAccepted(event: object): Promise<boolean> {
    return this.#host.api('POST', '/events', event).then(
      () => true,
      () => false,
    );
  }

  async #call(): Promise<void> {
    while (!this.#isOver) {
      const status = await fetch(`${this.#host.open}${this.#endpoint}/`).then(
        async (response) => {
          await response.arrayBuffer();
          return response.status;
        },
        () => 0,
      );
      this.#calls[status] = (this.#calls[status] ?? 0) + 1;
      await passed(status === 200 ? PAUSE_MS : AGAIN_MS);
    }
  }

  async #ledger(): Promise<HandlerLedger> {
    const until = performance.now() + SETTLED_WITHIN_MS;
    while ((await this.#list('state=pending&limit=1')).length > 0) {
      if (performance.now() > until) throw new Error('Deliveries are still pending.');
      await passed(AGAIN_MS);
    }
    const deliveries = await this.#all();
    const ended = deliveries.filter(({ state }) => state === 'delivered');
    const delivered = new Set(ended.map(({ eventId }) => eventId));
    const tasks = ended.filter(({ type }) => type === 'task').length;
    return {
      acknowledged: this.#acknowledged.size,
      undelivered: [...this.#acknowledged].filter((eventId) => !delivered.has(eventId)),
      failed: deliveries
        .filter(({ state }) => state !== 'delivered')
        .map(({ id, type, state, outcome }) => `${id} ${type} ${state}: ${outcome}`),
      repeated: deliveries.reduce((sum, { attempts }) => sum + Math.max(0, attempts - 1), 0),
      tasks,
      calls: this.#calls,
    };
  }

  async #list(query: string): Promise<readonly ListedDelivery[]> {
    const { items } = await this.#host.api('GET', `/deliveries?${query}`);
    return items as readonly ListedDelivery[];
  }

  async #all(): Promise<ListedDelivery[]> {
    const all: ListedDelivery[] = [];
    for (let page = ''; ; ) {
      const { items, next } = await this.#host.api('GET', `/deliveries?limit=100${page}`);
      all.push(...(items as ListedDelivery[]));
      if (next === undefined) return all;
      page = `&cursor=${encodeURIComponent(String(next))}`;
    }
  }
}
