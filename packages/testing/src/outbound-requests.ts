/**
 * The outbound requests of one installation: answers them by the table of mocks, and keeps them for
 * the test. One without a mock breaks off, and the step of the test that is running fails.
 */

import type { FetchTable, SentRequest } from './fetch-table.ts';
import type { OutboundAnswer, OutboundRequest } from './test-messages.ts';
import { unfaked, withWholeBody } from './whole-body.ts';

const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
/** Headers of the connection, which a `Request` does not take. */
const OF_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'host',
  'transfer-encoding',
]);

export class OutboundRequests {
  readonly sent: SentRequest[] = [];
  readonly #table: FetchTable;
  readonly #endpoints: string[] = [];
  #id = '';
  /** The first error since the last step. */
  #error: Error | undefined;

  constructor(table: FetchTable) {
    this.#table = table;
  }

  /** Names the installation. */
  of(id: string): void {
    this.#id = id;
  }

  /** Adds an endpoint, of the installation or of a place of it: webhooks are sent by its key. */
  addEndpoint(url: string): void {
    this.#endpoints.push(url);
  }

  /** @returns undefined for a request of another installation */
  answer(request: OutboundRequest): Promise<OutboundAnswer> | undefined {
    const isOwn = request.owner === this.#id || this.#endpoints.some((url) => url.includes(request.owner));
    return isOwn ? this.#answer(request) : undefined;
  }

  /** @throws the first error since the last call */
  check(): void {
    const error = this.#error;
    this.#error = undefined;
    if (error !== undefined) throw error;
  }

  async #answer({ method, url, headers, body }: OutboundRequest): Promise<OutboundAnswer> {
    const bytes = Buffer.from(body, 'base64');
    const head = new Headers(headers.map(([name, value]) => [name, value]));
    this.sent.push({ method, url, headers: head, body: bytes.toString('utf8') });
    const answer = this.#table.find(method, url);
    if (answer === undefined) {
      const message = `The integration sent ${method} ${url}, which no mock answers.`;
      this.#error ??= new Error(`${message} ${this.#table.hintFor(method, url)}`);
      return { broken: true };
    }
    if (answer instanceof Error) return { broken: true };
    try {
      return await unfaked(async () =>
        encoded(
          answer instanceof Response ? answer.clone() : await answer(asRequest(method, url, head, bytes)),
        ),
      );
    } catch (cause) {
      this.#error ??= new Error(`The mock of ${method} ${url} failed: ${String(cause)}`, { cause });
      return { broken: true };
    }
  }
}

function asRequest(method: string, url: string, head: Headers, body: Buffer<ArrayBuffer>): Request {
  const headers = [...head].filter(([name]) => !OF_CONNECTION.has(name));
  const hasBody = !BODILESS.has(method) && body.length > 0;
  const request = new Request(url, { method, headers, ...(hasBody && { body }) });
  return withWholeBody(request, new Uint8Array(hasBody ? body : []));
}

async function encoded(response: Response): Promise<OutboundAnswer> {
  const { status, statusText, headers } = response;
  const body = Buffer.from(await response.arrayBuffer()).toString('base64');
  return { status, statusText, headers: [...headers], body };
}
