/**
 * The table of mocks: what answers the requests that the code of an integration sends. Nothing is
 * sent to the network, so a request that no mock answers is an error of the test.
 */

/**
 * A `Response`, which can answer any number of requests; a function that makes one; or an `Error`,
 * with which the connection breaks off.
 */
export type Answer = Response | Error | ((request: Request) => Response | Promise<Response>);

/**
 * Mocks by what they answer: a URL, or a method and a URL, such as `POST https://api.example.com/items`.
 * A URL without `?` is for any query; `*` stands for any characters. The first that fits answers.
 */
export type Mocks = Readonly<Record<string, Answer>>;

/** A request that the code of an integration has sent, or a webhook that Annex has posted. */
export interface SentRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  /** Its body as text; empty if it has none. */
  readonly body: string;
}

interface Route {
  readonly method: string | undefined;
  readonly url: RegExp;
  readonly hasQuery: boolean;
  readonly answer: Answer;
}

const ROUTE = /^(?:([A-Z]+) )?(https?:\/\/\S+)$/;

export class FetchTable {
  readonly #routes: readonly Route[];
  readonly #names: readonly string[];

  /** @throws TypeError for a key that is neither a URL nor a method and a URL */
  constructor(...tables: readonly (Mocks | undefined)[]) {
    const entries = tables.flatMap((table) => Object.entries(table ?? {}));
    this.#names = entries.map(([key]) => key);
    this.#routes = entries.map(([key, answer]) => routeOf(key, answer));
  }

  /** @returns the answer; undefined if there is no mock for the request */
  find(method: string, url: string): Answer | undefined {
    const [bare = ''] = url.split('?');
    return this.#routes.find(
      (route) =>
        (route.method === undefined || route.method === method) &&
        route.url.test(route.hasQuery ? url : bare),
    )?.answer;
  }

  /** What to do about a request without a mock. */
  hintFor(method: string, url: string): string {
    const known = this.#names.length === 0 ? 'There are no mocks.' : `There are: ${this.#names.join(', ')}.`;
    return `Give load() or install() a mock for it: { fetches: { '${method} ${url}': Response.json({}) } }. ${known}`;
  }
}

function routeOf(key: string, answer: Answer): Route {
  const [, method, url] = ROUTE.exec(key) ?? [];
  if (url === undefined)
    throw new TypeError(
      `The mock "${key}" is neither a URL, such as https://api.example.com/items, nor a method and a URL.`,
    );
  // As the request has it: `https://example.com` is sent as `https://example.com/`.
  const whole = /^https?:\/\/[^/?]+$/.test(url) ? `${url}/` : url;
  const pattern = whole
    .split('*')
    .map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'))
    .join('.*');
  return { method, url: new RegExp(`^${pattern}$`), hasQuery: whole.includes('?'), answer };
}
