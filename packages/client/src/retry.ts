/**
 * Whether and when a request is repeated: pure functions of the request and of how it failed.
 *
 * The contract gives `Retry-After` wherever a repetition makes sense, so an error of Annex without
 * it is final. What has no such header is an answer of a proxy, or no answer at all: these are
 * repeated after a growing time.
 */
import type { AnnexError } from './annex-error.ts';

/** Methods whose repetition has the effect of one request. */
const REPEATABLE = new Set(['GET', 'HEAD', 'PUT', 'DELETE']);
const STATUSES = new Set([429, 503]);

const FIRST_DELAY_MS = 250;
const DELAY_MS_MAX = 30_000;
/** Share of a time of the server that is added at most, so that clients do not return together. */
const SPREAD = 0.25;

/** Whether a request may be sent again though the service may have carried it out. */
export const isRepeatable = (method: string, idempotentBy?: readonly string[]): boolean =>
  REPEATABLE.has(method) || idempotentBy !== undefined;

/** A failed attempt of a request that may be repeated. */
export interface FailedAttempt {
  readonly error: AnnexError;
  /** Number of retries before it. */
  readonly retries: number;
  readonly retriesMax: number;
  /** Milliseconds that are left for waiting. */
  readonly leftMs: number;
}

/**
 * Milliseconds until the next attempt; undefined if there is none: the fault stays, the retries are
 * used up, or the server asks for more time than is left.
 *
 * @param chance from 0 to 1
 */
export function retryDelayMs(
  { error, retries, retriesMax, leftMs }: FailedAttempt,
  chance: number,
): number | undefined {
  if (retries >= retriesMax || !isPassing(error)) return undefined;
  const { retryAfterS } = error;
  const delayMs =
    retryAfterS === undefined ? backOffMs(retries, chance) : retryAfterS * 1_000 * (1 + SPREAD * chance);
  return delayMs <= leftMs ? delayMs : undefined;
}

/** A time that doubles with each failure in a row, half of it by chance. */
export function backOffMs(failures: number, chance: number, firstMs = FIRST_DELAY_MS): number {
  return Math.min(DELAY_MS_MAX, firstMs * 2 ** failures) * (0.5 + chance / 2);
}

function isPassing({ status, code, retryAfterS }: AnnexError): boolean {
  if (code === 'NETWORK_FAILED' || code === 'REQUEST_TIMED_OUT') return true;
  return STATUSES.has(status) && (retryAfterS !== undefined || code === 'ANSWER_INVALID');
}
