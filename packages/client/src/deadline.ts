/**
 * Time of an attempt: one signal for the caller's own end and for the time that runs out; and a
 * wait that the caller can end.
 */

/** What the client takes from its environment. Tests pass their own. */
export interface ClientEnvironment {
  readonly fetch: typeof fetch;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly wait: (ms: number, signal?: AbortSignal) => Promise<void>;
}

export class Deadline {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal | undefined;
  readonly #onAbort = () => this.#controller.abort(this.#caller?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;

  /** @param ms infinite for none */
  constructor(ms: number, caller?: AbortSignal) {
    this.#caller = caller;
    if (caller?.aborted) this.#onAbort();
    else caller?.addEventListener('abort', this.#onAbort, { once: true });
    this.extend(ms);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether the time ran out. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Starts the time anew. */
  extend(ms: number): void {
    clearTimeout(this.#timer);
    if (!Number.isFinite(ms)) return;
    this.#timer = setTimeout(() => {
      this.#isOver = true;
      this.#controller.abort(new Error(`No answer within ${ms} ms.`));
    }, ms);
  }

  /** Ends what still waits for the signal. */
  abort(): void {
    this.clear();
    this.#controller.abort();
  }

  /** Leaves no timer and no listener behind. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener('abort', this.#onAbort);
  }
}

/** @throws the reason of the signal, once it is aborted */
export function waited(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
