/**
 * Sends requests: URL, headers and body of one attempt, its time, and the attempts after it. Every
 * answer that is no success becomes an `AnnexError`. It does not know the routes.
 */
import { AnnexError, errorOf } from './annex-error.ts';
import { type ClientEnvironment, Deadline } from './deadline.ts';
import { formOf } from './form.ts';
import { withIds } from './idempotency.ts';
import type { Answer } from './reply.ts';
import type { RequestParts } from './request.ts';
import { isRepeatable, retryDelayMs } from './retry.ts';
import { urlOf } from './url.ts';

export interface TransportSettings {
  /** Without what the paths of routes begin with. */
  readonly base: string;
  readonly token: string | (() => string | Promise<string>) | undefined;
  readonly retries: number;
  /** Of an attempt. */
  readonly timeoutMs: number;
  /** Of all waits before retries of a request. */
  readonly retryWaitMs: number;
  readonly userAgent: string | undefined;
}

/** Reads an answer; undefined leaves it to the caller. */
type Read<Result> = ((response: Response) => Promise<Result>) | undefined;

/** Header with the version of the service. */
const VERSION_HEADER = 'annex-version';

export class Transport {
  /** That of the last answer. */
  serverVersion: string | undefined;
  readonly #settings: TransportSettings;
  readonly #environment: ClientEnvironment;

  constructor(settings: TransportSettings, environment: ClientEnvironment) {
    this.#settings = settings;
    this.#environment = environment;
  }

  /** Sends a request, and reads its answer. @throws AnnexError, or the reason of the caller's signal */
  async send<Body>(method: string, path: string, parts: RequestParts): Promise<Answer<Body>> {
    return this.#attempts(method, path, parts, (response) => answerOf<Body>(response, parts.answer));
  }

  /** The same with the body of the answer unread: only the head of the answer has a timeout. */
  open(method: string, path: string, parts: RequestParts): Promise<Response> {
    return this.#attempts(method, path, parts, undefined);
  }

  async #attempts<Result>(
    method: string,
    path: string,
    parts: RequestParts,
    read: Read<Result>,
  ): Promise<Result> {
    const { retries: retriesMax = this.#settings.retries, signal } = parts.options ?? {};
    const { now, random, wait } = this.#environment;
    const { idempotentBy } = parts;
    const fixed = idempotentBy ? { ...parts, body: withIds(parts.body, idempotentBy) } : parts;
    const waitsUntil = now() + this.#settings.retryWaitMs;
    for (let retries = 0; ; retries += 1) {
      try {
        return await this.#attempt(method, path, fixed, read);
      } catch (error) {
        if (!(error instanceof AnnexError) || !isRepeatable(method, idempotentBy)) throw error;
        const delayMs = retryDelayMs({ error, retries, retriesMax, leftMs: waitsUntil - now() }, random());
        if (delayMs === undefined) throw error;
        await wait(delayMs, signal);
      }
    }
  }

  async #attempt<Result>(
    method: string,
    path: string,
    parts: RequestParts,
    read: Read<Result>,
  ): Promise<Result> {
    const { signal, timeoutMs = this.#settings.timeoutMs } = parts.options ?? {};
    const url = urlOf(this.#settings.base, path, parts);
    const headers = await this.#headers(parts);
    const deadline = new Deadline(timeoutMs, signal);
    const body = bodyOf(parts);
    try {
      const init: RequestInit = {
        method,
        headers,
        signal: deadline.signal,
        ...(body !== undefined && { body }),
      };
      const response = await this.#environment.fetch(url, init);
      this.serverVersion = response.headers.get(VERSION_HEADER) ?? this.serverVersion;
      if (response.status >= 400) throw errorOf(response, await response.text());
      const result = await read?.(response);
      // What is unread still ends with the caller's signal.
      if (read === undefined) deadline.extend(Number.POSITIVE_INFINITY);
      else deadline.clear();
      return (read === undefined ? response : result) as Result;
    } catch (error) {
      deadline.clear();
      if (error instanceof AnnexError) throw error;
      signal?.throwIfAborted();
      throw deadline.isOver ? tooLate(error, timeoutMs) : noAnswer(error, this.#settings.base);
    }
  }

  async #headers({ headers = {}, body, answer = 'json' }: RequestParts): Promise<Headers> {
    const { token, userAgent } = this.#settings;
    const all = new Headers();
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) all.set(name, value);
    if (answer === 'json' && !all.has('accept')) all.set('accept', 'application/json');
    if (body !== undefined && !all.has('content-type')) all.set('content-type', 'application/json');
    const current = typeof token === 'function' ? await token() : token;
    if (current !== undefined && !all.has('authorization')) all.set('authorization', `Bearer ${current}`);
    if (userAgent !== undefined) all.set('user-agent', userAgent);
    return all;
  }
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
  if (kind === 'blob' && status === 200) return { status, headers, body: (await response.blob()) as Body };
  const text = await response.text();
  const isNone = kind === 'none' || text === '';
  const body = kind === 'text' && status === 200 ? text : isNone ? undefined : parsed(text, status);
  return { status, headers, body: body as Body };
}

function parsed(text: string, status: number): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const message = `The server answered ${status} with a body that is not JSON: does the URL name the control listener?`;
    throw new AnnexError(message, { status, code: 'ANSWER_INVALID', cause });
  }
}

const tooLate = (cause: unknown, timeoutMs: number): AnnexError =>
  new AnnexError(`The service did not answer within ${timeoutMs} ms.`, {
    ...{ status: 0, cause },
    code: 'REQUEST_TIMED_OUT',
  });

function noAnswer(cause: unknown, base: string): AnnexError {
  const { code, message } = reasonOf(cause);
  const hint = /CERT|SELF_SIGNED|UNABLE_TO_/.test(code)
    ? ` (${code}). In Node.js, NODE_EXTRA_CA_CERTS names the file of a certificate authority of your own.`
    : '';
  return new AnnexError(`The service at ${base} cannot be reached: ${message}${hint}`, {
    ...{ status: 0, cause },
    code: 'NETWORK_FAILED',
  });
}

/** Node.js has the reason in the cause of an error, once for each address that it tried. */
function reasonOf(error: unknown): { readonly code: string; readonly message: string } {
  if (!(error instanceof Error)) return { code: '', message: String(error) };
  const { cause } = error;
  const [inner = error] = cause instanceof AggregateError ? cause.errors : [cause];
  const { code = '', message } = (inner instanceof Error && inner.message !== '' ? inner : error) as {
    readonly code?: unknown;
    readonly message: string;
  };
  return { code: String(code), message };
}
