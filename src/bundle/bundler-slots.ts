/**
 * Bounds how many builds run at once and how many uploads wait, because each holds up to a full upload in memory.
 *
 * First come, first served. Knows nothing of what runs in a place.
 */
import { AnnexError } from '../errors.ts';

export class BundlerSlots {
  readonly #waitingMax: number;
  readonly #waiting = new Set<() => void>();
  #free: number;

  constructor(places: number, waitingMax: number) {
    this.#free = places;
    this.#waitingMax = waitingMax;
  }

  /**
   * Waits for a place.
   *
   * @returns a function that gives the place back; to be called once.
   * @throws the signal's reason when it aborts first; AnnexError where too many wait already.
   */
  async enter(signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#wait(signal);
    return () => this.#leave();
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    if (this.#waiting.size >= this.#waitingMax) {
      throw new AnnexError(
        'PUBLISH_BUSY',
        'Too many uploads wait to be bundled; try again in a few seconds.',
      );
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const abort = () => {
      this.#waiting.delete(resolve);
      reject(signal?.reason);
    };
    this.#waiting.add(resolve);
    signal?.addEventListener('abort', abort, { once: true });
    return promise.finally(() => signal?.removeEventListener('abort', abort));
  }

  /** Hands the place to whoever waits longest. */
  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
