/** A webhook receiver that records its requests, and answers at once, later, or never. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Answers the request, unless it is answered already. */
  answer(status: number): void;
}

export class HttpReceiver {
  readonly url: string;
  /** Complete requests, in order of arrival. */
  readonly requests: Received[] = [];

  private constructor(url: string) {
    this.url = url;
  }

  /** @param status the status of each answer; undefined if the test answers, or never */
  static async start(status: (request: Received) => number | undefined = () => 200): Promise<HttpReceiver> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('error', () => undefined);
      request.on('data', (chunk: Buffer) => void chunks.push(chunk));
      request.on('end', () => {
        const { url: path = '', headers } = request;
        const body = Buffer.concat(chunks).toString('utf8');
        const received = { path, headers, body, answer: (code: number) => answer(response, code) };
        receiver.requests.push(received);
        const code = status(received);
        if (code !== undefined) received.answer(code);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    const receiver = new HttpReceiver(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    return receiver;
  }

  /** Paths of the requests so far. */
  get paths(): string[] {
    return this.requests.map(({ path }) => path);
  }
}

function answer(response: ServerResponse, status: number): void {
  if (!response.headersSent) response.writeHead(status, { connection: 'close' }).end('{"received":true}');
}
