/**
 * The API as the console asks it: with the session's cookie, which no script reads, and the header
 * by which the service knows that its own page asks.
 */
import type { ErrorCode } from '../../client/src/generated.ts';

/** A refusal, in the words of the service. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: ErrorCode | undefined;
  /** By which the operator's log has the request. */
  readonly requestId: string | undefined;

  constructor(status: number, error: { code?: ErrorCode; message?: string; requestId?: string }) {
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

const HEADERS = { 'annex-console': '1' };

/** @throws ApiError for a refusal; TypeError where the service does not answer */
export async function ask<T>(
  path: string,
  { method = 'GET', body, signal, token }: AskOptions = {},
): Promise<T> {
  const response = await fetch(path, {
    method,
    ...{ credentials: 'same-origin', redirect: 'error', cache: 'no-store' },
    headers: {
      ...HEADERS,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  });
  const text = await response.text();
  const answer = text === '' ? undefined : JSON.parse(text);
  // What /readyz says is an answer, also where it says that the service is not well.
  if (!response.ok && answer?.error !== undefined) throw new ApiError(response.status, answer.error);
  return answer as T;
}

export interface AskOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  /** Signs in with it; it is kept nowhere. */
  readonly token?: string;
}

/** A path with the parameters that have a value. */
export function withQuery(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const entries = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return entries.length === 0 ? path : `${path}?${new URLSearchParams(entries)}`;
}

/** A path of segments, each as it is. */
export const at = (...segments: readonly string[]): string => segments.map(encodeURIComponent).join('/');
