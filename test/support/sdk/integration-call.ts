/**
 * Calls an integration in the two ways of the platform: with an envelope in parts, and with a
 * multipart request. Records reported errors and `waitUntil` promises.
 */
import type { Integration } from '../../../sandbox/sdk/index.ts';

/** Answer of one call, after all `waitUntil` promises have settled. */
export interface Called {
  readonly response: Response;
  /** Body as text. */
  readonly text: string;
  /** Arguments of `reportError`. */
  readonly reported: unknown[];
  /** Promises given to `waitUntil`. */
  readonly waiting: Promise<unknown>[];
}

interface Offered {
  handle(
    envelope: { event: object; environment: object; body: ArrayBuffer | undefined },
    execution: { waitUntil(promise: Promise<unknown>): void },
  ): Promise<Response>;
  readonly components: string[];
  readonly events: string[];
}

/** The platform's interface to `createIntegration`, besides `fetch`. */
export const offered = (integration: Integration): Offered =>
  (integration as unknown as Record<symbol, Offered>)[Symbol.for('annex.integration')] as Offered;

const ENVIRONMENT = {
  integration: { name: 'test' },
  installation: { id: 'inst_1', configuration: { greeting: 'Hi' } },
};

/** Calls by an envelope in parts. */
export const call = (integration: Integration, event: object, body?: ArrayBuffer): Promise<Called> =>
  record((execution) => offered(integration).handle({ event, environment: ENVIRONMENT, body }, execution));

/** Calls by any request to `fetch`. */
export const request = (integration: Integration, envelope: Request): Promise<Called> =>
  record((execution) => integration.fetch(envelope, {}, execution));

/** Makes a multipart request. */
export function envelope(parts: Record<string, string | Blob>, url = 'https://e.example/key/v1'): Request {
  const form = new FormData();
  for (const [name, value] of Object.entries(parts)) form.append(name, value);
  return new Request(url, { method: 'POST', body: form });
}

async function record(
  run: (execution: { waitUntil(promise: Promise<unknown>): void }) => Promise<Response>,
): Promise<Called> {
  const reported: unknown[] = [];
  const waiting: Promise<unknown>[] = [];
  const platform = globalThis as { reportError?: (error: unknown) => void };
  platform.reportError = (error) => reported.push(error);
  try {
    const response = await run({ waitUntil: (promise) => waiting.push(promise) });
    await Promise.allSettled(waiting);
    return { response, text: await response.clone().text(), reported, waiting };
  } finally {
    delete platform.reportError;
  }
}
