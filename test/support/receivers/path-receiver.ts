/**
 * A server for the `fetch` of an integration: each path has a handler that a test sets. It is not a
 * webhook receiver: it neither reads nor keeps bodies.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

export class PathReceiver {
  /** Oldest first. */
  readonly requests: IncomingMessage[] = [];
  readonly #handlers = new Map<string, Handler>();
  readonly #server = createServer((request, response) => {
    this.requests.push(request);
    const path = (request.url ?? '').split('?')[0] ?? '';
    const handler = this.#handlers.get(path);
    if (handler) handler(request, response);
    else response.writeHead(404).end('nothing here');
  });

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  on(path: string, handler: Handler): void {
    this.#handlers.set(path, handler);
  }

  /**
   * Never answers a request for `path`; answers one for `arrivedPath` as soon as that request is
   * here. @returns a promise of the end of its connection
   */
  holdOpen(path: string, arrivedPath: string): Promise<void> {
    const arrived = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    this.on(path, (_request, response) => {
      arrived.resolve();
      response.on('close', () => closed.resolve());
    });
    this.on(arrivedPath, async (_request, response) => {
      await arrived.promise;
      response.end();
    });
    return closed.promise;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
