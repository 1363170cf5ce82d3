/**
 * Why a tenant's request did not go out, or its answer did not come in.
 *
 * Two texts, because two people read it: `message` reaches the tenant's code and names no address, so that `fetch` is no
 * way to map the network Annex stands in; `detail` is for the installation's log and says what was refused and by which
 * rule. Neither has a path, a query or a header of the request: those carry keys.
 */

import type { LimitMet } from '../limits.ts';
import { limitSentence } from '../model/limit-met.ts';

/** How a fetch ended: the labels of its metric, and all there will ever be. */
export const FETCH_RESULTS = [
  /** Answered, whatever the status. */
  'ok',
  /** A rule said no: an address, a host, a port, the head of the request. */
  'refused',
  /** The network or the server did not do its part. */
  'failed',
  'timeout',
  /** A body or a head was over its limit, either way. */
  'tooLarge',
  /** Too many were under way. */
  'shed',
  /** Called off by whoever asked, or its answer was not read to the end. */
  'canceled',
] as const;
export type FetchResult = (typeof FETCH_RESULTS)[number];

/** The name of a host has no bound in a URL, and this text is written to a log. */
const DETAIL_CHARS_MAX = 512;

export class EgressError extends Error {
  override readonly name = 'EgressError';
  readonly detail: string;
  readonly result: FetchResult;
  /** The limit that it met, where it did. */
  readonly limit: LimitMet | undefined;

  /** @param options `detail` where the log is told more than the tenant */
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

/** A fetch that met a limit. @param message where there is more to say than what was met */
export const overLimit = (
  limit: LimitMet,
  result: FetchResult,
  message = limitSentence(limit),
): EgressError => new EgressError(message, { result, limit });
