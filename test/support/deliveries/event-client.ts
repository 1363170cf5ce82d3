/**
 * A client that posts events and records the acknowledged ones, across crashes of the host.
 *
 * A batch without an answer may have been accepted or not. Half of these are posted again with the
 * same ids once the host is back, as a careful client would; the others are given up, and recorded
 * as such.
 */
import { Agent, type Dispatcher } from 'undici';

export type BatchState = 'acknowledged' | 'given up' | 'in flight';

export interface Batch {
  readonly eventIds: readonly string[];
  state: BatchState;
}

/** Address and token of the running host. */
export interface Host {
  readonly control: string;
  readonly adminToken: string;
}

export class EventClient {
  /** All batches that were sent. */
  readonly batches: Batch[] = [];
  acknowledgedEvents = 0;
  readonly #agent: Dispatcher = new Agent({ connections: 32, pipelining: 1 });
  /** Resolves with the running host; a new one after each crash. */
  #host: Promise<Host>;
  #random: () => number;

  constructor(host: Host, random: () => number) {
    this.#host = Promise.resolve(host);
    this.#random = random;
  }

  /** Called before the host is killed. @returns a function to call once the next one listens */
  hostGone(): (next: Host) => void {
    const { promise, resolve } = Promise.withResolvers<Host>();
    this.#host = promise;
    return resolve;
  }

  /** Resolves once the batch was acknowledged or given up. @throws if it was refused */
  async post(events: readonly { readonly eventId: string }[]): Promise<void> {
    const batch: Batch = { eventIds: events.map(({ eventId }) => eventId), state: 'in flight' };
    this.batches.push(batch);
    const body = JSON.stringify({ events });
    for (;;) {
      const answer = await this.#send(await this.#host, body);
      if (answer === 'acknowledged') {
        batch.state = 'acknowledged';
        this.acknowledgedEvents += events.length;
        return;
      }
      if (this.#random() < 0.5) {
        batch.state = 'given up';
        return;
      }
    }
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  async #send({ control, adminToken }: Host, body: string): Promise<'acknowledged' | 'unanswered'> {
    const answer = await this.#agent
      .request({
        origin: control,
        path: '/v1/events',
        method: 'POST',
        body,
        headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      })
      .then(async ({ statusCode, body: answered }) => ({ statusCode, text: await answered.text() }))
      .catch(() => undefined);
    if (answer === undefined) return 'unanswered';
    const { statusCode, text } = answer;
    // 200: all were known already. 503: the host is stopping.
    if (statusCode === 202 || statusCode === 200) return 'acknowledged';
    if (statusCode === 503) return 'unanswered';
    throw new Error(`A batch was answered ${statusCode}: ${text}`);
  }
}
