/**
 * Deadline of one fetch: its time, or the signal of its caller, whichever is first.
 *
 * Attack: a server that sends a byte at a time, below any time-out between chunks. This time is for
 * the whole fetch, from the look-up of the name to the last byte of the body.
 */
export class Deadline {
  readonly #abort = new AbortController();
  readonly #callerSignal: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  readonly #onCallerAbort = () => this.#abort.abort(this.#callerSignal.reason);
  /** Rejects when the time is over or the caller aborts; never resolves. */
  readonly over: Promise<never>;

  constructor(callerSignal: AbortSignal, ms: number, tooLate: () => Error) {
    this.#callerSignal = callerSignal;
    const { promise, reject } = Promise.withResolvers<never>();
    this.over = promise;
    // Nothing may be waiting for it: a rejection without a handler would end the process.
    promise.catch(() => undefined);
    this.signal.addEventListener('abort', () => reject(this.signal.reason), { once: true });
    this.#timer = setTimeout(() => this.#abort.abort(tooLate()), ms);
    callerSignal.addEventListener('abort', this.#onCallerAbort, { once: true });
    if (callerSignal.aborted) this.#onCallerAbort();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Ends the deadline: the fetch is over. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#callerSignal.removeEventListener('abort', this.#onCallerAbort);
  }
}
