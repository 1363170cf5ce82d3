/**
 * Endpoint health: which endpoints fail again and again, and which do not answer in time.
 *
 * Remembered while nothing waits for an endpoint, for those that failed or were slow last. Pure.
 */
import { entryCache } from '../../model/entry-cache.ts';

const ENDPOINTS_MAX = 50_000;

/** What the end of a delivery says of its endpoint: `none` if not tried, or a platform fault. */
export type EndpointSignal = 'succeeded' | 'failed' | 'none';

export class EndpointHealth {
  readonly #failuresBeforeProbing: number;
  /** Failures in a row. */
  readonly #failures = entryCache<number>(ENDPOINTS_MAX);
  readonly #slow = entryCache<true>(ENDPOINTS_MAX);

  constructor(failuresBeforeProbing: number) {
    this.#failuresBeforeProbing = failuresBeforeProbing;
  }

  record(endpoint: string, signal: EndpointSignal): void {
    if (signal === 'succeeded') this.#failures.delete(endpoint);
    else if (signal === 'failed') this.#failures.set(endpoint, (this.#failures.get(endpoint) ?? 0) + 1);
  }

  /** Whether it has failed so often in a row that it gets one delivery at a time. */
  isProbed(endpoint: string): boolean {
    return (this.#failures.get(endpoint) ?? 0) >= this.#failuresBeforeProbing;
  }

  setSlow(endpoint: string, slow: boolean): void {
    if (slow) this.#slow.set(endpoint, true);
    else this.#slow.delete(endpoint);
  }

  isSlow(endpoint: string): boolean {
    return this.#slow.has(endpoint);
  }
}
