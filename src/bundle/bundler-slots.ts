/**
 * Bounds how many builds run at once and how many uploads wait, because each holds up to a full upload in memory.
 *
 * Publishers take turns: the next place goes to the one that has begun longest ago. Attack: one publisher's builds hold every
 * place, and an upload of another waits until one of them ends, which is the publisher's to decide. A place is not taken back,
 * so a publisher never holds the last one, even while nobody else waits; and it has no more than a quarter of the places in
 * the queue. Knows nothing of what runs in a place.
 */
import { AnnexError } from '../errors.ts';

/** Of the places in the queue, those that one publisher may have. */
const SHARE_OF_ONE = 1 / 4;
/** Publishers whose last turn is remembered. */
const TURNS_MAX = 1_000;

type Begin = () => void;

export class BundlerSlots {
  readonly #waitingMax: number;
  readonly #waitingMaxOfOne: number;
  /** Places that one publisher may hold. */
  readonly #heldMaxOfOne: number;
  /** By publisher; each in the order of arrival. */
  readonly #queues = new Map<string, Set<Begin>>();
  /** In the order of their turns: a publisher goes behind all others when an upload of it begins, and keeps its turn when it leaves. */
  readonly #turns = new Set<string>();
  readonly #held = new Map<string, number>();
  #waiting = 0;
  #free: number;

  constructor(places: number, waitingMax: number) {
    this.#free = places;
    this.#heldMaxOfOne = Math.max(1, places - 1);
    this.#waitingMax = waitingMax;
    this.#waitingMaxOfOne = Math.max(1, Math.floor(waitingMax * SHARE_OF_ONE));
  }

  /**
   * Waits for a place.
   *
   * @param publisher who has sent the upload: an organization, or one token of the operator's
   * @returns a function that gives the place back; to be called once.
   * @throws the signal's reason when it aborts first; AnnexError where too many wait already.
   */
  async enter(publisher: string, signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#mayBegin(publisher)) this.#take(publisher);
    else await this.#wait(publisher, signal);
    return () => this.#leave(publisher);
  }

  #mayBegin(publisher: string): boolean {
    return this.#free > 0 && (this.#held.get(publisher) ?? 0) < this.#heldMaxOfOne;
  }

  #take(publisher: string): void {
    this.#free -= 1;
    this.#held.set(publisher, (this.#held.get(publisher) ?? 0) + 1);
    this.#turns.delete(publisher);
    this.#turns.add(publisher);
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
    this.#turns.add(publisher);
    this.#waiting += 1;
    signal?.addEventListener('abort', abort, { once: true });
    return promise.finally(() => signal?.removeEventListener('abort', abort));
  }

  #remove(publisher: string, queue: Set<Begin>, begin: Begin): void {
    if (!queue.delete(begin)) return;
    this.#waiting -= 1;
    if (queue.size === 0) this.#queues.delete(publisher);
  }

  /** Hands the place to the upload that waits longest of the next publisher in turn that may hold one more. */
  #leave(publisher: string): void {
    const held = (this.#held.get(publisher) ?? 0) - 1;
    if (held > 0) this.#held.set(publisher, held);
    else this.#held.delete(publisher);
    this.#free += 1;
    this.#forget();
    for (const next of this.#turns) {
      const queue = this.#queues.get(next);
      const [begin] = queue ?? [];
      if (queue === undefined || begin === undefined || !this.#mayBegin(next)) continue;
      this.#remove(next, queue, begin);
      this.#take(next);
      begin();
      return;
    }
  }

  /** Turns are worth remembering as long as somebody waits for one. */
  #forget(): void {
    if (this.#waiting === 0) this.#turns.clear();
    for (const publisher of this.#turns) {
      if (this.#turns.size <= TURNS_MAX) return;
      if (!this.#queues.has(publisher)) this.#turns.delete(publisher);
    }
  }
}
