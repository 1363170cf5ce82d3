/**
 * The API as a page of the service asks it: with the session's cookie, which no script reads, and
 * the header by which the service knows that its own page asks.
 */

/** A refusal, in the words of the service. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string | undefined;
  /** By which the operator's log has the request. */
  readonly requestId: string | undefined;

  constructor(status: number, error: { code?: string; message?: string; requestId?: string }) {
    super(error.message ?? `The service answered ${status}.`);
    this.status = status;
    this.code = error.code;
    this.requestId = error.requestId;
  }
}

/** A page of a list. */
export interface Items<T> {
  readonly items: readonly T[];
  /** Cursor of the next page. */
  readonly next?: string;
}

export interface AskOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  /** Signs in with it; it is kept nowhere. */
  readonly token?: string;
  /** The `ETag` that the target must have. */
  readonly ifMatch?: string;
}

export interface Exchanged {
  readonly status: number;
  /** The parsed JSON; undefined where there is none. */
  readonly body: unknown;
  readonly etag: string | null;
}

/** @param header by which the service knows the page */
export class PageApi {
  readonly #header: string;

  constructor(header: string) {
    this.#header = header;
  }

  /** @throws TypeError where the service does not answer */
  async exchange(path: string, options: AskOptions = {}): Promise<Exchanged> {
    const { method = 'GET', body, signal, token, ifMatch } = options;
    const response = await fetch(path, {
      method,
      ...{ credentials: 'same-origin', redirect: 'error', cache: 'no-store' },
      headers: {
        [this.#header]: '1',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(ifMatch !== undefined && { 'if-match': ifMatch }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
    const text = await response.text();
    const { status, headers } = response;
    return { status, body: text === '' ? undefined : JSON.parse(text), etag: headers.get('etag') };
  }

  /** @throws ApiError for a refusal; TypeError where the service does not answer */
  readonly ask = async <T>(path: string, options?: AskOptions): Promise<T> => {
    const { status, body } = await this.exchange(path, options);
    const { error } = (body ?? {}) as { error?: { message?: string } };
    // What /readyz says is an answer, also where it says that the service is not well.
    if (status >= 400 && error !== undefined) throw new ApiError(status, error);
    return body as T;
  };
}

/** A path with the parameters that have a value. */
export function withQuery(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const entries = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return entries.length === 0 ? path : `${path}?${new URLSearchParams(entries)}`;
}

/** A path of segments, each as it is. */
export const at = (...segments: readonly string[]): string => segments.map(encodeURIComponent).join('/');
