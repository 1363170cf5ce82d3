/**
 * `fetch` for lazy modules, such as EventSource: the function itself, and not the global, which the
 * script may have replaced. Set at the start by `../../entry.ts`.
 */
import type { Response } from './response.ts';

/** Runs one fetch of the running call. */
export type FetchSource = (input: unknown, init: unknown) => Promise<Response>;

let source: FetchSource;

export function setFetchSource(fetch: FetchSource): void {
  source = fetch;
}

export const runFetch: FetchSource = (input, init) => source(input, init);
