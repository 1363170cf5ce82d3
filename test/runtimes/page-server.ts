/**
 * The product's server of a page that uses the client: serves the page and the packed client, and
 * passes `/v1` on to the control listener with its own token, on the page's origin. The page posts
 * its result. On loopback, for the exercise in a browser.
 */
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, normalize } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';

export interface PageServerDeps {
  /** With `exercise.js`, and the package below `node_modules`. */
  readonly folder: string;
  /** Path of the package's module, below the folder. */
  readonly client: string;
  readonly control: string;
  readonly token: string;
  /** Passed to the exercise. */
  readonly given: object;
}

export class PageServer {
  readonly result: Promise<string>;
  readonly #deps: PageServerDeps;
  readonly #server: Server;
  #ended: (result: string) => void = () => {};

  private constructor(deps: PageServerDeps) {
    this.#deps = deps;
    this.result = new Promise((resolve) => {
      this.#ended = resolve;
    });
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => response.destroy(error as Error));
    });
  }

  static async start(deps: PageServerDeps): Promise<PageServer> {
    const server = new PageServer(deps);
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '/';
    if (path.startsWith('/v1/')) return this.#forward(request, response);
    if (path === '/result') {
      this.#ended(await text(request));
      response.end();
    } else if (path === '/') response.setHeader('content-type', 'text/html').end(this.#page());
    else {
      const file = join(this.#deps.folder, normalize(path));
      response.setHeader('content-type', 'text/javascript').end(await readFile(file));
    }
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const stop = new AbortController();
    response.once('close', () => stop.abort());
    const passed = ['accept', 'content-type', 'if-match', 'if-none-match', 'last-event-id'];
    const headers = new Headers({ authorization: `Bearer ${this.#deps.token}` });
    for (const name of passed) {
      const value = request.headers[name];
      if (typeof value === 'string') headers.set(name, value);
    }
    const { method = 'GET' } = request;
    const body = method === 'GET' ? null : await text(request);
    const init = { method, headers, signal: stop.signal, ...(body && { body }) };
    const answer = await fetch(`${this.#deps.control}${request.url}`, init);
    for (const name of ['content-type', 'etag', 'annex-version', 'retry-after']) {
      const value = answer.headers.get(name);
      if (value !== null) response.setHeader(name, value);
    }
    response.writeHead(answer.status);
    if (answer.body)
      Readable.fromWeb(answer.body)
        .on('error', () => response.destroy())
        .pipe(response);
    else response.end();
  }

  #page(): string {
    const imports = JSON.stringify({ imports: { '@annex/client': `/${this.#deps.client}` } });
    return `<!doctype html><script type="importmap">${imports}</script><script type="module">
const report = (text) => fetch('/result', { method: 'POST', body: text });
try {
  const [client, { exercise }] = await Promise.all([import('@annex/client'), import('/exercise.js')]);
  const done = await exercise(client, location.origin, undefined, ${JSON.stringify(this.#deps.given)});
  await report(navigator.userAgent.replace(/.*(Chrome)/, '$1').replace(/ .*/, '') + ': ' + done);
} catch (error) {
  await report('failed: ' + error.stack);
}
</script>`;
  }
}
