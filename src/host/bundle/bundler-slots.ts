/**
 * Bounds concurrent builds and waiting uploads, because each holds up to a full upload in memory.
 *
 * Publishers are served round-robin: a free slot goes to the waiting publisher whose last build
 * began longest ago. Attack: one publisher's slow builds hold every slot, so other uploads wait as
 * long as that publisher likes. Slots are never revoked, so a publisher cannot hold the last one,
 * even while no other upload waits, and gets at most a quarter of the queue. Does not know what
 * runs in a slot.
 */
import { AnnexError } from '../../errors.ts';

/** Share of the queue that one publisher may use. */
const SHARE_OF_ONE = 1 / 4;
/** Most publishers whose turn is remembered. */
const TURNS_MAX = 1_000;

type Begin = () => void;

export class BundlerSlots {
  readonly #waitingMax: number;
  readonly #waitingMaxOfOne: number;
  /** Slots that one publisher may hold. */
  readonly #heldMaxOfOne: number;
  /** Publisher → its waiting uploads, in order of arrival. */
  readonly #queues = new Map<string, Set<Begin>>();
  /**
   * Publishers, next one first. One moves to the end when its build begins; the end of a build
   * changes nothing.
   */
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
   * Waits for a slot.
   *
   * @param publisher sender of the upload: an organization, or one admin token
   * @returns a function that releases the slot; call it once.
   * @throws the signal's reason if it aborts first; AnnexError if too many uploads wait.
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

  /**
   * Passes the slot to the next publisher that may hold one more: to its longest-waiting upload.
   */
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

  /** Turns matter only while an upload waits. */
  #forget(): void {
    if (this.#waiting === 0) this.#turns.clear();
    for (const publisher of this.#turns) {
      if (this.#turns.size <= TURNS_MAX) return;
      if (!this.#queues.has(publisher)) this.#turns.delete(publisher);
    }
  }
}
