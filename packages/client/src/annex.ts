/**
 * The client: settings, and the requests that all methods send. It needs only `fetch`, `URL` and
 * `AbortSignal`, and keeps no state but its settings.
 */
import { AnnexError, errorOf } from './annex-error.ts';
import { formOf } from './form.ts';
import { Routes } from './generated.ts';
import { type Answer, type Options, Reply, type RequestParts } from './request.ts';
import { urlOf } from './url.ts';

export interface AnnexOptions {
  /** Base URL of the control listener: `http://127.0.0.1:7700`. A `/v1` at its end may be there. */
  readonly url: string | URL;
  /** Token of the API, or a function that returns the current one. Without it, nothing is sent. */
  readonly token?: string | (() => string | Promise<string>) | undefined;
  /** Sends the requests; the global `fetch` by default. */
  readonly fetch?: typeof fetch | undefined;
  /** Number of retries at most; two by default. */
  readonly retries?: number | undefined;
  /** Milliseconds until an attempt is given up; a minute by default. */
  readonly timeoutMs?: number | undefined;
  /** `User-Agent` of the requests, where the platform lets it be set. */
  readonly userAgent?: string | undefined;
}

const TIMEOUT_MS = 60_000;

/**
 * The API of an Annex service.
 *
 * @example
 * const annex = new Annex({ url: 'http://127.0.0.1:7700', token });
 * const { items } = await annex.integrations.list();
 */
export class Annex extends Routes {
  readonly #settings: AnnexOptions;

  constructor(options: AnnexOptions) {
    super((method, path, parts) => new Reply(this.#send(method, path, parts)));
    this.#settings = { ...options, url: baseUrl(options.url) };
  }

  /**
   * Sends a request to any path of the API, without types.
   *
   * @param path from `/v1` on; names in braces are filled in from `parts.path`
   */
  request<Body = unknown>(method: string, path: string, parts: RequestParts = {}): Reply<Body> {
    return new Reply(this.#send(method, path, parts));
  }

  async #send<Body>(method: string, path: string, parts: RequestParts): Promise<Answer<Body>> {
    const { fetch: send = fetch } = this.#settings;
    const { options = {} } = parts;
    const timeout = AbortSignal.timeout(options.timeoutMs ?? this.#settings.timeoutMs ?? TIMEOUT_MS);
    const signal = options.signal ? AbortSignal.any([options.signal, timeout]) : timeout;
    const init = { method, headers: await this.#headers(parts), body: bodyOf(parts), signal };
    try {
      const response = await send(urlOf(this.#settings.url, path, parts), init as RequestInit);
      return await answerOf<Body>(response, parts.answer);
    } catch (error) {
      if (error instanceof AnnexError || options.signal?.aborted) throw error;
      throw noAnswer(error, timeout.aborted);
    }
  }

  async #headers({ headers = {}, body, answer = 'json' }: RequestParts): Promise<Headers> {
    const { token, userAgent } = this.#settings;
    const given = Object.entries(headers).filter(([, value]) => value !== undefined);
    const all = new Headers(given as [string, string][]);
    if (!all.has('accept') && answer === 'json') all.set('accept', 'application/json');
    if (body !== undefined && !all.has('content-type')) all.set('content-type', 'application/json');
    const current = typeof token === 'function' ? await token() : token;
    if (current !== undefined) all.set('authorization', `Bearer ${current}`);
    if (userAgent !== undefined) all.set('user-agent', userAgent);
    return all;
  }
}

/** Without what the paths of routes begin with. */
function baseUrl(url: string | URL): string {
  const { href } = new URL(url);
  return href.replace(/\/+$/, '').replace(/\/v1$/, '');
}

function bodyOf({ body, form }: RequestParts): string | FormData | undefined {
  if (form !== undefined) return formOf(form);
  return body === undefined ? undefined : JSON.stringify(body);
}

async function answerOf<Body>(
  response: Response,
  kind: RequestParts['answer'] = 'json',
): Promise<Answer<Body>> {
  const { status, headers } = response;
  if (status >= 400) throw errorOf(response, await response.text());
  if (kind === 'blob' && status === 200) return { status, headers, body: (await response.blob()) as Body };
  const text = await response.text();
  if (kind === 'text') return { status, headers, body: text as Body };
  return { status, headers, body: (text === '' ? undefined : json(text, status)) as Body };
}

function json(text: string, status: number): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const message = `The server answered ${status} with a body that is not JSON: is it the control listener?`;
    throw new AnnexError(message, { status, code: 'ANSWER_INVALID', cause });
  }
}

function noAnswer(cause: unknown, timedOut: boolean): AnnexError {
  if (timedOut)
    return new AnnexError('The service did not answer in time.', {
      status: 0,
      code: 'REQUEST_TIMED_OUT',
      cause,
    });
  return new AnnexError(`The service cannot be reached: ${reasonOf(cause)}`, {
    status: 0,
    code: 'NETWORK_FAILED',
    cause,
  });
}

/** The reason is in the cause of Node's error. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error && cause.message !== '' ? cause.message : error.message;
}

export type { Options };
