/**
 * The end of one fetch's time, whoever ends it: the clock or whoever asked for it.
 *
 * A time-out between two pieces lets a server drip a byte at a time for ever; this one is for the whole, from the look-up of
 * the name to the last byte of the body.
 */
export class Deadline {
  readonly #abort = new AbortController();
  readonly #asked: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  readonly #onAsked = () => this.#abort.abort(this.#asked.reason);
  /** Rejects when the time is over; never settles otherwise. */
  readonly over: Promise<never>;

  constructor(asked: AbortSignal, ms: number, tooLate: () => Error) {
    this.#asked = asked;
    const { promise, reject } = Promise.withResolvers<never>();
    this.over = promise;
    // Whoever waits hears of it; nobody may be waiting.
    promise.catch(() => undefined);
    this.signal.addEventListener('abort', () => reject(this.signal.reason), { once: true });
    this.#timer = setTimeout(() => this.#abort.abort(tooLate()), ms);
    asked.addEventListener('abort', this.#onAsked, { once: true });
    if (asked.aborted) this.#onAsked();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** The fetch is over: the clock stops. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#asked.removeEventListener('abort', this.#onAsked);
  }
}
