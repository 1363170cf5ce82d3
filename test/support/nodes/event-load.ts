/**
 * Clients that post events to several nodes at a steady pace, and record every answer. A batch
 * without an acknowledgement is posted again with the same ids, to the next node, as a careful
 * client would; so in the end every event was acknowledged.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as passed } from 'node:timers/promises';
import { Agent } from 'undici';
import { type Posted, siteView } from '../deliveries/webhook-senders.ts';
import type { GroupNode } from './node-group.ts';

/** Between two posts of a batch that was not acknowledged. */
const AGAIN_AFTER_MS = 50;
const BATCH = 4;
/** A request that takes longer counts as one that hangs. */
const ANSWER_MS = 60_000;

/** One answer to a batch. */
export interface Answered {
  /** Monotonic, in milliseconds. */
  readonly at: number;
  readonly node: string;
  /** 0 if the connection failed. */
  readonly status: number;
  readonly tookMs: number;
  /** Absent if the answer has none. */
  readonly retryAfter?: string;
}

export interface LoadOptions {
  readonly nodes: readonly GroupNode[];
  readonly places: readonly Posted[];
  /** Clients, in turn at the nodes. */
  readonly clients: number;
  /** Between two batches of one client, at least. */
  readonly everyMs: number;
  /** Whether a client goes on to the next node after a failure. */
  readonly failsOver: boolean;
}

export class EventLoad {
  readonly answers: Answered[] = [];
  /** Ids of the acknowledged events. */
  readonly acknowledged = new Set<string>();
  readonly #options: LoadOptions;
  readonly #agent = new Agent({ connections: 64, pipelining: 1, headersTimeout: ANSWER_MS });
  readonly #clients: Promise<void>[];
  readonly #prefix = randomUUID().slice(0, 8);
  #count = 0;
  #isEnding = false;
  #ended: Promise<void> | undefined;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#clients = Array.from({ length: options.clients }, (_, index) => this.#run(index));
  }

  /** Answers since a time, of one node if it is named. */
  since(at: number, node?: string): Answered[] {
    return this.answers.filter((answer) => answer.at >= at && (node === undefined || answer.node === node));
  }

  /**
   * Posts no more new events. May be called again.
   *
   * @returns once each posted one is acknowledged
   */
  end(): Promise<void> {
    this.#isEnding = true;
    this.#ended ??= Promise.all(this.#clients).then(() => this.#agent.destroy());
    return this.#ended;
  }

  async #run(client: number): Promise<void> {
    const { everyMs } = this.#options;
    while (!this.#isEnding) {
      const since = performance.now();
      await this.#post(client);
      await passed(Math.max(0, everyMs - (performance.now() - since)));
    }
  }

  async #post(client: number): Promise<void> {
    const { nodes, places, failsOver } = this.#options;
    const eventIds: string[] = [];
    const events = Array.from({ length: BATCH }, () => {
      const eventId = `${this.#prefix}-${this.#count}`;
      const place = places[this.#count % places.length] as Posted;
      this.#count += 1;
      eventIds.push(eventId);
      return siteView(place, eventId);
    });
    const body = JSON.stringify({ events });
    for (let turn = client; ; turn += failsOver ? 1 : 0) {
      const node = nodes[turn % nodes.length] as GroupNode;
      if (await this.#isAccepted(node, body)) break;
      await passed(AGAIN_AFTER_MS);
    }
    for (const eventId of eventIds) this.acknowledged.add(eventId);
  }

  async #isAccepted(node: GroupNode, body: string): Promise<boolean> {
    const host = node.running;
    if (host === undefined) return false;
    const since = performance.now();
    const answer = await this.#agent
      .request({
        ...{ origin: host.control, path: '/v1/events', method: 'POST', body },
        headers: { authorization: `Bearer ${host.adminToken}`, 'content-type': 'application/json' },
      })
      .then(async ({ statusCode, headers, body: text }) => {
        await text.dump();
        return { status: statusCode, retryAfter: headers['retry-after'] };
      })
      .catch(() => ({ status: 0, retryAfter: undefined }));
    const at = performance.now();
    const { status, retryAfter } = answer;
    this.answers.push({
      ...{ at, node: node.name, status, tookMs: at - since },
      ...(typeof retryAfter === 'string' && { retryAfter }),
    });
    return status === 202 || status === 200;
  }
}
