/**
 * Why a fetch of a tenant failed.
 *
 * It has two texts. `message` reaches the tenant's code and names no address. Attack: code that
 * maps the network of Annex by the errors of `fetch`. `detail` goes to the log of the installation
 * and says what was refused and by which rule. Neither has a path, a query or a header, which may
 * hold keys.
 */

import type { LimitMet } from '../../limits.ts';
import { limitSentence } from '../../model/limit-met.ts';

/** How a fetch ended; the labels of its metric. */
export const FETCH_RESULTS = [
  /** Answered, whatever the status. */
  'ok',
  /** Refused by a rule: an address, a host, a port, the head of the request. */
  'refused',
  /** The network or the server failed. */
  'failed',
  'timeout',
  /** A body or a head of the request or the answer was over its limit. */
  'tooLarge',
  /** Too many were in flight. */
  'shed',
  /** Aborted by the caller, or its answer was not read to the end. */
  'canceled',
] as const;
export type FetchResult = (typeof FETCH_RESULTS)[number];

/** The host of a URL may be long, and this text is written to a log. */
const DETAIL_CHARS_MAX = 512;

export class EgressError extends Error {
  override readonly name = 'EgressError';
  readonly detail: string;
  readonly result: FetchResult;
  /** The limit that was reached, if that is the reason. */
  readonly limit: LimitMet | undefined;

  /** @param options `detail` if the log has more than the tenant */
  constructor(
    message: string,
    options: { detail?: string; result?: FetchResult; limit?: LimitMet | undefined; cause?: unknown } = {},
  ) {
    const { detail = message, result = 'failed', limit, cause } = options;
    super(message, cause === undefined ? {} : { cause });
    this.detail = detail.length > DETAIL_CHARS_MAX ? `${detail.slice(0, DETAIL_CHARS_MAX)}…` : detail;
    this.result = result;
    this.limit = limit;
  }
}

/** An error for a limit that was reached. @param message if the limit alone does not explain it */
export const overLimit = (
  limit: LimitMet,
  result: FetchResult,
  message = limitSentence(limit),
): EgressError => new EgressError(message, { result, limit });
