/**
 * A webhook receiver in the process of the test: records its requests, and answers as the test
 * sets.
 */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface ReceivedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export class RecordingReceiver {
  /** Oldest first. */
  readonly requests: ReceivedRequest[] = [];
  /** The answer to later requests. */
  answer: { readonly status: number; readonly body?: string } = { status: 200 };
  readonly url: string;
  readonly #stop: () => Promise<void>;

  private constructor(url: string, stop: () => Promise<void>) {
    this.url = url;
    this.#stop = stop;
  }

  static async start(): Promise<RecordingReceiver> {
    const server = createServer(async (request, response) => {
      const body = (await buffer(request)).toString('utf8');
      receiver.requests.push({ path: request.url ?? '', headers: request.headers, body });
      response.writeHead(receiver.answer.status).end(receiver.answer.body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const receiver = new RecordingReceiver(`http://127.0.0.1:${port}`, async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    return receiver;
  }

  stop(): Promise<void> {
    return this.#stop();
  }

  /** Flags of a service that may post to receivers on this machine. */
  static readonly FLAGS = ['--webhook-http', 'allow', '--egress-allow', '127.0.0.1/32'];

  /** The requests about one event. */
  about(eventId: string): ReceivedRequest[] {
    return this.requests.filter(({ body }) => body.includes(`"${eventId}"`));
  }
}
