/**
 * The work of every queue of the benchmark: the same bytes, signed in the same way, posted to the
 * same receiver. With undici, as in Annex, and without Annex's checks of addresses.
 */
import { createHmac } from 'node:crypto';
import { Agent, type Dispatcher } from 'undici';

/** The data of a job. */
export interface PostJob {
  readonly url: string;
  readonly type: string;
  readonly payload: string;
}

export interface Posted {
  readonly status: number;
  readonly durationMs: number;
}

export class SignedPosts {
  readonly #secret: string;
  readonly #agent: Dispatcher;

  constructor(secret: string, connections: number) {
    this.#secret = secret;
    this.#agent = new Agent({ connections, pipelining: 1 });
  }

  /** @throws where there is no answer, or another than 2xx, so that the queue retries */
  async post(delivery: string, { url, type, payload }: PostJob): Promise<Posted> {
    const startedAt = performance.now();
    const t = Math.floor(Date.now() / 1_000);
    const digest = createHmac('sha256', this.#secret).update(`${t}.`).update(payload).digest('hex');
    const { origin, pathname } = new URL(url);
    const { statusCode, body } = await this.#agent.request({
      origin,
      path: pathname,
      method: 'POST',
      body: payload,
      headers: {
        'content-type': 'application/json',
        'x-platform-signature': `t=${t},v1=${digest}`,
        'x-platform-event': type,
        'x-platform-delivery': delivery,
        'x-platform-attempt': '1',
      },
    });
    await body.dump();
    if (statusCode < 200 || statusCode > 299) throw new Error(`answered ${statusCode}`);
    return { status: statusCode, durationMs: Math.round(performance.now() - startedAt) };
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}
