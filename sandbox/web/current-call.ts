/**
 * What the web platform knows of the call that runs: which one it is, and its asynchronous context.
 *
 * Calls of many callers share an isolate. Attack: code of one call leaves a value in a state of the
 * platform, by accident or by error, and the next call reads or continues it. So each such state
 * belongs to one call (`OfCall`), and each entry begins with the empty context.
 */
import { WeakMapIntrinsic, weakMapGet, weakMapSet } from './primordials.ts';

let running: () => object | undefined = () => undefined;

/** Sets the function that returns the call that runs, or undefined in code of no call. */
export function setRunningCall(source: () => object | undefined): void {
  running = source;
}

/** A state of the platform of which each call has its own. Code of no call shares one. */
export class OfCall<T> {
  readonly #make: () => T;
  readonly #states = new WeakMapIntrinsic<object, T>();
  readonly #noCall = {};

  constructor(make: () => T) {
    this.#make = make;
  }

  get(): T {
    const call = running() ?? this.#noCall;
    const found = weakMapGet(this.#states, call);
    if (found !== undefined) return found;
    const made = this.#make();
    weakMapSet(this.#states, call, made);
    return made;
  }
}

/**
 * The values of `AsyncLocalStorage` for the code that runs, as its module in the bundle made them
 * (`../node/async-hooks.ts`); undefined is the empty context. The platform carries it to the
 * callbacks of timers and microtasks, and reads nothing of it.
 */
let context: unknown;

export const currentContext = (): unknown => context;

/** Sets the context of the code that runs: of an entry that begins, or of a bundle's own module. */
export function setContext(next: unknown): void {
  context = next;
}

/** Calls a callback in the context in which it was registered. */
export function runInContext<T>(registered: unknown, callback: () => T): T {
  const before = context;
  context = registered;
  try {
    return callback();
  } finally {
    context = before;
  }
}
