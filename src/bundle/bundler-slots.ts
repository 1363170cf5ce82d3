/**
 * Bounds how many builds run at once and how many uploads wait, because each holds up to a full upload in memory.
 *
 * Publishers take turns, and none may have more than a quarter of the places in the queue: one who uploads without pause
 * delays itself, not the others. Knows nothing of what runs in a place.
 */
import { AnnexError } from '../errors.ts';

/** Of the places in the queue, those that one publisher may have. */
const SHARE_OF_ONE = 1 / 4;

type Begin = () => void;

export class BundlerSlots {
  readonly #waitingMax: number;
  readonly #waitingMaxOfOne: number;
  /** By publisher, in turn; each in the order of arrival. */
  readonly #queues = new Map<string, Set<Begin>>();
  #waiting = 0;
  #free: number;

  constructor(places: number, waitingMax: number) {
    this.#free = places;
    this.#waitingMax = waitingMax;
    this.#waitingMaxOfOne = Math.max(1, Math.floor(waitingMax * SHARE_OF_ONE));
  }

  /**
   * Waits for a place.
   *
   * @param publisher whose upload it is, for instance an organization
   * @returns a function that gives the place back; to be called once.
   * @throws the signal's reason when it aborts first; AnnexError where too many wait already.
   */
  async enter(publisher: string, signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#wait(publisher, signal);
    return () => this.#leave();
  }

  #wait(publisher: string, signal: AbortSignal | undefined): Promise<void> {
    const queue = this.#queues.get(publisher) ?? new Set();
    if (this.#waiting >= this.#waitingMax || queue.size >= this.#waitingMaxOfOne) {
      const whose = queue.size >= this.#waitingMaxOfOne ? 'uploads of this organization' : 'uploads';
      throw new AnnexError(
        'PUBLISH_BUSY',
        `Too many ${whose} wait to be bundled; try again in a few seconds.`,
      );
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const abort = () => {
      this.#remove(publisher, queue, resolve);
      reject(signal?.reason);
    };
    queue.add(resolve);
    this.#queues.set(publisher, queue);
    this.#waiting += 1;
    signal?.addEventListener('abort', abort, { once: true });
    return promise.finally(() => signal?.removeEventListener('abort', abort));
  }

  #remove(publisher: string, queue: Set<Begin>, begin: Begin): void {
    if (!queue.delete(begin)) return;
    this.#waiting -= 1;
    if (queue.size === 0) this.#queues.delete(publisher);
  }

  /** Hands the place to whoever waits longest of the publisher whose turn it is. */
  #leave(): void {
    const [publisher, queue] = this.#queues.entries().next().value ?? [];
    const [next] = queue ?? [];
    if (publisher === undefined || queue === undefined || next === undefined) {
      this.#free += 1;
      return;
    }
    // Behind the others.
    this.#queues.delete(publisher);
    this.#queues.set(publisher, queue);
    this.#remove(publisher, queue, next);
    next();
  }
}
