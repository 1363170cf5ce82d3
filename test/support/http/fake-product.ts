/**
 * A product with an API of its own: a real server that verifies the statements of callers offline,
 * keeps what it was asked, and answers as its path says.
 */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createLocalJWKSet, type JSONWebKeySet, type JWTPayload, jwtVerify } from 'jose';

export interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

export class FakeProduct {
  readonly asked: Asked[] = [];
  readonly url: string;
  readonly #close: () => Promise<void>;

  private constructor(url: string, asked: Asked[], close: () => Promise<void>) {
    this.url = url;
    this.asked = asked;
    this.#close = close;
  }

  /** @param hostile answers instead of the product where it says so, before a body is read */
  static async start(
    hostile: (...args: Parameters<RequestListener>) => boolean = () => false,
    port = 0,
  ): Promise<FakeProduct> {
    const asked: Asked[] = [];
    const server = createServer((request, response) => {
      if (hostile(request, response)) return;
      void text(request).then(
        (body) => {
          const { method = '', url = '', headers, rawHeaders } = request;
          asked.push({ method, url, headers, rawHeaders: [...rawHeaders], body });
          response.writeHead(200, { 'content-type': 'application/json', 'x-served-by': 'product' });
          response.end(JSON.stringify({ method, url, body: body.slice(0, 100) }));
        },
        () => undefined,
      );
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const { port: bound } = server.address() as AddressInfo;
    const close = async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    };
    return new FakeProduct(`http://127.0.0.1:${bound}`, asked, close);
  }

  get last(): Asked | undefined {
    return this.asked.at(-1);
  }

  close(): Promise<void> {
    return this.#close();
  }

  /** The claims of a statement, verified with keys that were fetched before. No request is made. */
  async verified(keys: JSONWebKeySet, issuer: string, statement = this.#statement): Promise<JWTPayload> {
    const options = { issuer, audience: this.url, algorithms: ['EdDSA'] };
    const { payload } = await jwtVerify(statement, createLocalJWKSet(keys), options);
    return payload;
  }

  get #statement(): string {
    return String(this.last?.headers['x-platform-caller']);
  }
}
