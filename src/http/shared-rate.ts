/**
 * A rate for each of many keys that several senders share, of which a few senders cannot take all.
 *
 * Attack: six addresses, each at the most that one address may send, use up the rate of an endpoint, and all other clients
 * of the endpoint are refused. So the last quarter of a bucket is for senders that ask little: as long as it is touched,
 * each sender has a small bucket of its own. Beside less than a quarter of 64 busy senders, others are served as before.
 */
import { RateLimit, type RateLimitParts } from '../model/rate-limit.ts';

/** Part of a bucket that is for senders that ask little. */
const RESERVE_SHARE = 1 / 4;
/** What one sender may take of the rate while the reserve is touched. */
const SENDER_SHARE = 1 / 64;

export class SharedRate {
  readonly #all: RateLimit;
  readonly #perSender: RateLimit;
  readonly #reserveMs: number;

  constructor(parts: RateLimitParts) {
    this.#all = new RateLimit(parts);
    this.#perSender = new RateLimit({ ...parts, timesMax: Math.ceil(parts.timesMax * SENDER_SHARE) });
    this.#reserveMs = parts.windowMs * RESERVE_SHARE;
  }

  /** @returns whether there was room; where there was none, nothing of the shared bucket is taken */
  take(key: string, sender: string): boolean {
    if (this.#all.take(key, this.#reserveMs)) return true;
    return this.#perSender.take(`${key} ${sender}`) && this.#all.take(key);
  }
}
