/**
 * A rate limit for each key, shared by several senders, which a few senders cannot use up.
 *
 * Attack: six addresses, each at the most that one address may send, use up the rate of an
 * endpoint, and all its other clients are refused. So the last quarter of a bucket is reserved for
 * senders that send little: while the reserve is in use, each sender has a small bucket of its own.
 * With up to a quarter of 64 busy senders, others are served as before.
 */
import { RateLimit, type RateLimitParts } from '../../model/rate-limit.ts';

/** Part of a bucket that is reserved for senders that send little. */
const RESERVE_SHARE = 1 / 4;
/** Part of the rate that one sender may take while the reserve is in use. */
const SENDER_SHARE = 1 / 64;

export class EndpointRate {
  readonly #all: RateLimit;
  readonly #perSender: RateLimit;
  readonly #reserveMs: number;

  constructor(parts: RateLimitParts) {
    this.#all = new RateLimit(parts);
    this.#perSender = new RateLimit({ ...parts, timesMax: Math.ceil(parts.timesMax * SENDER_SHARE) });
    this.#reserveMs = parts.windowMs * RESERVE_SHARE;
  }

  /**
   * @returns whether the request is within the rate; if not, nothing of the shared bucket is taken
   */
  take(key: string, sender: string): boolean {
    if (this.#all.take(key, this.#reserveMs)) return true;
    return this.#perSender.take(`${key} ${sender}`) && this.#all.take(key);
  }
}
