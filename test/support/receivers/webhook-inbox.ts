/**
 * A webhook receiver that keeps each request until the test takes and answers it.
 */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Answers the request; until then its sender waits. */
  answer(status: number): void;
}

export class WebhookInbox {
  readonly url: string;
  /** Requests that are not taken yet, in order. */
  readonly #waiting: Received[] = [];
  readonly #takers: ((received: Received) => void)[] = [];

  private constructor(url: string) {
    this.url = url;
  }

  /** Starts an inbox that stops with the test. */
  static async start(): Promise<WebhookInbox> {
    const server = createServer(async (request, response) => {
      const body = Buffer.concat(await Array.fromAsync(request)).toString('utf8');
      const answer = (status: number) => void response.writeHead(status).end('{"received":true}');
      inbox.#take({ headers: request.headers, body, answer });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    const inbox = new WebhookInbox(`http://127.0.0.1:${(server.address() as AddressInfo).port}/in?key=k1`);
    return inbox;
  }

  /** The next request, once there is one. */
  next(): Promise<Received> {
    const first = this.#waiting.shift();
    return first ? Promise.resolve(first) : new Promise((resolve) => this.#takers.push(resolve));
  }

  /** The next request, which is answered at once. */
  async taken(status = 200): Promise<Received> {
    const received = await this.next();
    received.answer(status);
    return received;
  }

  /** Requests that are not taken yet. */
  get untaken(): readonly Received[] {
    return this.#waiting;
  }

  #take(received: Received): void {
    const taker = this.#takers.shift();
    if (taker) taker(received);
    else this.#waiting.push(received);
  }
}
