/**
 * ReadableStreamPipeTo (https://streams.spec.whatwg.org/#readable-stream-pipe-to), instead of the
 * library's.
 *
 * The library writes a chunk inside the call that enqueued it, and inside `pipeTo` itself, so that
 * the code of one side runs in the middle of the other's. Here each write has a microtask of its
 * own. Attack: a `then` on `Object.prototype`; no promise of a pipe is resolved with an object.
 * Part of `streams`: methods are captured before a script sees a class.
 */
import * as library from 'web-streams-polyfill';

const { apply } = Reflect;
const { getOwnPropertyDescriptor, getOwnPropertySymbols } = Object;
const PromiseIntrinsic = Promise;
const { then } = Promise.prototype;

const Reader = library.ReadableStreamDefaultReader;
const Writer = library.WritableStreamDefaultWriter;
const { cancel, releaseLock: releaseReader } = Reader.prototype;
const { abort, close, releaseLock: releaseWriter, write } = Writer.prototype;
const readerClosed = getterOf(Reader.prototype, 'closed');
const writerClosed = getterOf(Writer.prototype, 'closed');
const writerReady = getterOf(Writer.prototype, 'ready');

/**
 * How the library reads from a controller of either kind: `[[PullSteps]]`, by the symbol that both
 * share.
 */
const PULL = getOwnPropertySymbols(library.ReadableStreamDefaultController.prototype).find(
  ({ description }) => description === '[[PullSteps]]',
) as symbol;

/** @throws TypeError unless the value is a stream of the kind */
export const readableLocked = getterOf(library.ReadableStream.prototype, 'locked') as (
  of: unknown,
) => boolean;
export const writableLocked = getterOf(library.WritableStream.prototype, 'locked') as (
  of: unknown,
) => boolean;

/** The properties in which the library keeps what the standard calls internal slots. */
interface ReadableSlots {
  readonly _state: 'readable' | 'closed' | 'errored';
  readonly _storedError: unknown;
  _disturbed: boolean;
  readonly _readableStreamController: Record<symbol, (request: ReadRequest) => void>;
}
interface WritableSlots {
  readonly _state: 'writable' | 'erroring' | 'closed' | 'errored';
  readonly _storedError: unknown;
  readonly _closeRequest: unknown;
  readonly _inFlightCloseRequest: unknown;
}
interface ReadRequest {
  _chunkSteps(chunk: unknown): void;
  _closeSteps(): void;
  _errorSteps(reason: unknown): void;
}

/** The part of a genuine signal that a pipe needs. */
export interface PipeSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  /** Returns a function that removes the algorithm. */
  onAbort(algorithm: () => void): () => void;
}

export interface PipeOptions {
  readonly preventAbort: boolean;
  readonly preventCancel: boolean;
  readonly preventClose: boolean;
  readonly signal: PipeSignal | undefined;
}

/** End of a pipe. The error is boxed, because `undefined` may be one. */
type Failure = { readonly error: unknown } | undefined;
type Action = () => Promise<unknown> | undefined;

/** Settles the promise of a pipe. */
interface Settle {
  resolve(): void;
  reject(reason: unknown): void;
}

/** Both streams are genuine and unlocked. The promise is resolved with undefined. */
export const pipe = (source: object, target: object, options: PipeOptions): Promise<void> =>
  new PromiseIntrinsic((resolve, reject) => {
    new Pipe(source, target, options, { resolve: resolve as () => void, reject }).start();
  });

/** Marks a promise whose rejection needs no handler. */
export const ignore = (promise: Promise<unknown>): void => upon(promise, undefined, () => {});

class Pipe {
  readonly #source: ReadableSlots;
  readonly #target: WritableSlots;
  readonly #options: PipeOptions;
  readonly #settle: Settle;
  readonly #reader: object;
  readonly #writer: object;
  #shuttingDown = false;
  /** Fulfilled when the latest chunk that was read has been written, or cannot be. */
  #written: Promise<unknown> = DONE;
  #forgetSignal: (() => void) | undefined;

  constructor(source: object, target: object, options: PipeOptions, settle: Settle) {
    this.#source = source as ReadableSlots;
    this.#target = target as WritableSlots;
    this.#options = options;
    this.#settle = settle;
    this.#reader = new Reader(source as never);
    this.#writer = new Writer(target as never);
    this.#source._disturbed = true;
  }

  start(): void {
    const { signal } = this.#options;
    if (signal !== undefined) {
      const aborted = () => this.#aborted(signal.reason);
      if (signal.aborted) return aborted();
      this.#forgetSignal = signal.onAbort(aborted);
    }
    this.#watch();
    this.#next();
  }

  /** "Errors must be propagated forward and backward", and so must closing. */
  #watch(): void {
    const { preventAbort, preventCancel, preventClose } = this.#options;
    const source = this.#source;
    const target = this.#target;
    const failed = (error: unknown) =>
      this.#shutDown(preventAbort ? undefined : () => this.#abort(error), { error });
    if (source._state === 'errored') failed(source._storedError);
    else upon(readerClosed(this.#reader), undefined, failed);
    const refused = (error: unknown) =>
      this.#shutDown(preventCancel ? undefined : () => this.#cancel(error), { error });
    if (target._state === 'errored') refused(target._storedError);
    else upon(writerClosed(this.#writer), undefined, refused);
    const ended = () => this.#shutDown(preventClose ? undefined : () => this.#close(), undefined);
    if (source._state === 'closed') ended();
    else upon(readerClosed(this.#reader), ended, undefined);
    if (target._state === 'closed' || isClosing(target))
      refused(new TypeError('The destination of the pipe closed before all of the source was written to it'));
  }

  /** Reads one chunk as soon as the destination is ready. */
  #next(): void {
    if (this.#shuttingDown) return;
    upon(writerReady(this.#writer), () => this.#read(), undefined);
  }

  #read(): void {
    if (this.#shuttingDown) return;
    const { _state, _readableStreamController: controller } = this.#source;
    // The reader's promise reports end and failure.
    if (_state !== 'readable') return;
    const request: ReadRequest = {
      _chunkSteps: (chunk) => {
        // The source may be inside of its `enqueue`: the sink's code waits for the next microtask.
        this.#written = chain(DONE, () => {
          const writing = apply(write, this.#writer, [chunk]) as Promise<unknown>;
          this.#next();
          return chain(writing, undefined, () => {});
        });
      },
      _closeSteps: () => {},
      _errorSteps: () => {},
    };
    apply(controller[PULL] as (request: ReadRequest) => void, controller, [request]);
  }

  /** "Shutdown", or "shutdown with an action": after everything that was read is written. */
  #shutDown(action: Action | undefined, failure: Failure): void {
    if (this.#shuttingDown) return;
    this.#shuttingDown = true;
    const act = () => {
      const done = action?.();
      if (done === undefined) return this.#finish(failure);
      upon(
        done,
        () => this.#finish(failure),
        (error) => this.#finish({ error }),
      );
    };
    if (this.#target._state === 'writable' && !isClosing(this.#target)) upon(this.#written, act, act);
    else act();
  }

  #finish(failure: Failure): void {
    apply(releaseWriter, this.#writer, []);
    apply(releaseReader, this.#reader, []);
    this.#forgetSignal?.();
    if (failure === undefined) this.#settle.resolve();
    else this.#settle.reject(failure.error);
  }

  #aborted(error: unknown): void {
    const { preventAbort, preventCancel } = this.#options;
    const actions = () => {
      const aborting = preventAbort || this.#target._state !== 'writable' ? DONE : this.#abort(error);
      const cancelling = preventCancel || this.#source._state !== 'readable' ? DONE : this.#cancel(error);
      return both(aborting, cancelling);
    };
    this.#shutDown(actions, { error });
  }

  #abort(error: unknown): Promise<unknown> {
    return apply(abort, this.#writer, [error]) as Promise<unknown>;
  }

  #cancel(error: unknown): Promise<unknown> {
    return apply(cancel, this.#reader, [error]) as Promise<unknown>;
  }

  /** "Close with error propagation" of a writer. */
  #close(): Promise<unknown> | undefined {
    const target = this.#target;
    if (target._state === 'closed' || isClosing(target)) return undefined;
    // The last write has failed: the sink's error, and not that it cannot be closed any more.
    if (target._state === 'errored') return rejected(target._storedError);
    return apply(close, this.#writer, []) as Promise<unknown>;
  }
}

const DONE: Promise<unknown> = new PromiseIntrinsic<void>((resolve) => resolve());

const rejected = (reason: unknown): Promise<unknown> =>
  new PromiseIntrinsic((_resolve, reject) => reject(reason));

const isClosing = ({ _closeRequest, _inFlightCloseRequest }: WritableSlots): boolean =>
  _closeRequest !== undefined || _inFlightCloseRequest !== undefined;

function chain(
  promise: unknown,
  fulfilled: ((value: unknown) => unknown) | undefined,
  rejected?: (reason: unknown) => unknown,
): Promise<unknown> {
  return apply(then, promise, [fulfilled, rejected] as never) as Promise<unknown>;
}

/** Reacts to a promise. The result is undefined: the `then` of an object would be called. */
function upon(
  promise: unknown,
  fulfilled: (() => void) | undefined,
  rejected: ((reason: unknown) => void) | undefined,
): void {
  chain(
    promise,
    () => {
      fulfilled?.();
    },
    (reason) => {
      rejected?.(reason);
    },
  );
}

/** Settles when both have settled, with the first rejection if any. */
function both(one: Promise<unknown>, other: Promise<unknown>): Promise<unknown> {
  return new PromiseIntrinsic<void>((resolve, reject) => {
    let open = 2;
    const settled = () => {
      open -= 1;
      if (open === 0) resolve();
    };
    upon(one, settled, reject);
    upon(other, settled, reject);
  });
}

function getterOf(prototype: object, key: string): (self: unknown) => unknown {
  const getter = getOwnPropertyDescriptor(prototype, key)?.get as () => unknown;
  return (self) => apply(getter, self, []);
}
