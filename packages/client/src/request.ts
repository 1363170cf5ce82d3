/** What the methods of the client pass on: the parts of a request, and its options. */
import type { Reply } from './reply.ts';

export type { Answer } from './reply.ts';
export { Reply } from './reply.ts';

/** Options of every request. */
export interface Options {
  /** Ends the request, and the wait before a retry. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds until an attempt is given up; replaces that of the client. */
  readonly timeoutMs?: number | undefined;
  /** Number of retries at most; replaces that of the client. */
  readonly retries?: number | undefined;
}

/** A value in a query. */
export type QueryValue = string | number | boolean | undefined;

/** The parts of a request that a route has. */
export interface RequestParts {
  /** Names in the braces of the path. */
  readonly path?: Readonly<Record<string, string | number>>;
  readonly query?: Readonly<Record<string, QueryValue>> | object;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as `multipart/form-data`. */
  readonly form?: FormData | object;
  /** How the body of a success is read; JSON by default. */
  readonly answer?: 'json' | 'text' | 'blob' | 'none';
  /** Member of the body that makes a repetition safe. */
  readonly idempotentBy?: string;
  readonly options?: Options | undefined;
}

/** Sends a request. */
export type Send = <Body>(method: string, path: string, parts: RequestParts) => Reply<Body>;
