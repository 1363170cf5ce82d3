/**
 * Operations of the prelude on streams (`stream.ts` is their interface): through methods of the
 * library that are captured here, before the tenant sees a class, and never through one that it can
 * replace. Evaluated with the first stream.
 *
 * A source of the prelude is passed to the library as its algorithms, not as a dictionary of
 * callbacks. Attack: a replaced `Function.prototype.apply`, through which the library calls such
 * callbacks.
 */
import { part } from '../parts.ts';
import {
  apply,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  ownKeys,
  PromiseIntrinsic,
  promiseThen,
  symbolToString,
  uncurryGetter,
  uncurryThis,
} from '../primordials.ts';
import type {
  ReadSteps,
  SourceController,
  StreamChunk,
  StreamReader,
  StreamSource,
  TransformOutput,
  TransformPair,
  TransformSteps,
} from './stream.ts';

type Stream = ReadableStream;
type Method<R> = (self: unknown, ...args: unknown[]) => R;

const library = part('streams');
const { genuine, isGenuine } = library;
const uncurry = <R>(method: unknown): Method<R> => uncurryThis(method as never) as Method<R>;
const getter = uncurryGetter as <R>(prototype: object, key: string) => Method<R>;
const ObjectPrototype: unknown = getPrototypeOf({});
export const DONE = new PromiseIntrinsic<undefined>((resolve) => resolve(undefined));

const { ReadableStream: Library, ReadableStreamDefaultReader: Reader } = library;
const stream = {
  locked: getter<boolean>(Library.prototype, 'locked'),
  cancel: uncurry<Promise<unknown>>(Library.prototype.cancel),
};
const reader = {
  closed: getter<Promise<unknown>>(Reader.prototype, 'closed'),
  cancel: uncurry<Promise<unknown>>(Reader.prototype.cancel),
  releaseLock: uncurry<void>(Reader.prototype.releaseLock),
};
const writableLocked = getter<boolean>(library.WritableStream.prototype, 'locked');
const transformReadable = getter<object>(library.TransformStream.prototype, 'readable');
const transformWritable = getter<object>(library.TransformStream.prototype, 'writable');
const controllers = { chunks: methodsOf('Default'), bytes: methodsOf('Byte') };
const byobRequest = getter<object | null>(library.ReadableByteStreamController.prototype, 'byobRequest');
const respond = uncurry<void>(library.ReadableStreamBYOBRequest.prototype.respond);

/** The properties in which the library keeps what the standard calls internal slots. */
interface Slots {
  readonly _state: 'readable' | 'closed' | 'errored';
  readonly _storedError: unknown;
  _disturbed: boolean;
  readonly _readableStreamController: ControllerSlots;
}
interface ControllerSlots {
  readonly _closeRequested: boolean;
  readonly _pendingPullIntos?: { readonly length: number };
  _pullAlgorithm: unknown;
  _cancelAlgorithm: unknown;
}
const slots = (of: Stream): Slots => of as unknown as Slots;
const methodsFor = (controller: ControllerSlots) =>
  '_pendingPullIntos' in controller ? controllers.bytes : controllers.chunks;

function methodsOf(kind: 'Default' | 'Byte') {
  const { prototype } =
    kind === 'Byte' ? library.ReadableByteStreamController : library.ReadableStreamDefaultController;
  let pull: unknown;
  const keys = ownKeys(prototype);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    if (typeof key === 'symbol' && symbolToString(key) === 'Symbol([[PullSteps]])') {
      pull = (prototype as unknown as Record<symbol, unknown>)[key];
    }
  }
  return {
    desiredSize: getter<number | null>(prototype, 'desiredSize'),
    enqueue: uncurry<void>(prototype.enqueue),
    close: uncurry<void>(prototype.close),
    error: uncurry<void>(prototype.error),
    pull: uncurry<void>(pull),
  };
}

/** State of a stream for an inspection. @throws TypeError for any other value */
export const states = {
  readableState: (of: object) => ({
    locked: stream.locked(of),
    state: stateOf(of as Stream),
    supportsBYOB: isByteStream(of as Stream),
  }),
  writableState: (of: object) => ({
    locked: writableLocked(of),
    state: (of as TransformSlots['_writable'])._state,
  }),
  transformSides: (of: object) => ({ readable: transformReadable(of), writable: transformWritable(of) }),
};

export const isReadableStream = (value: object): boolean => isGenuine(value);
export const isLocked = (of: Stream): boolean => stream.locked(of);
export const isDisturbed = (of: Stream): boolean => Boolean(slots(of)._disturbed);
const stateOf = (of: Stream): 'readable' | 'closed' | 'errored' => slots(of)._state;
export const cancelStream = (of: Stream, reason: unknown): Promise<unknown> => stream.cancel(of, reason);
export const isByteStream = (of: Stream): boolean =>
  methodsFor(slots(of)._readableStreamController) === controllers.bytes;
export const acquireReader = (of: Stream): StreamReader => new OwnReader(of);

// Attack: members on `Object.prototype`. The dictionaries have no prototype.
export const newReadableStream = (source: StreamSource, highWaterMark: number): Stream =>
  withSource(
    new Library({ __proto__: null } as object, { __proto__: null, highWaterMark } as object),
    source,
  );

export const newByteStream = (source: StreamSource, highWaterMark: number): Stream =>
  withSource(
    new Library({ __proto__: null, type: 'bytes' } as never, { __proto__: null, highWaterMark } as object),
    source,
  );

function withSource(made: object, source: StreamSource): Stream {
  const of = genuine(made) as unknown as Stream;
  const controller = slots(of)._readableStreamController;
  const control = new Control(of);
  const pull = methodOf(source, 'pull');
  const cancel = methodOf(source, 'cancel');
  const start = methodOf(source, 'start');
  let pulling = false;
  let cancelled = false;
  // A tenant finds both on the controller; called at the wrong time, they do nothing.
  controller._pullAlgorithm = () => {
    if (pulling || cancelled) return DONE;
    pulling = true;
    const done = () => {
      pulling = false;
    };
    const pulled = promised(() => pull && apply(pull, source, [control]));
    promiseThen(pulled, done, done);
    return pulled;
  };
  controller._cancelAlgorithm = (reason: unknown) => {
    if (cancelled) return DONE;
    cancelled = true;
    return promised(() => cancel && apply(cancel, source, [reason]));
  };
  if (start !== undefined) apply(start, source, [control]);
  return of;
}

/**
 * A method of a source. Attack: a method on `Object.prototype`, which would receive the controller.
 */
function methodOf<Key extends keyof StreamSource>(source: StreamSource, key: Key): StreamSource[Key] {
  for (let object: unknown = source; object !== null && object !== ObjectPrototype; ) {
    const descriptor = getOwnPropertyDescriptor(object, key);
    if (descriptor !== undefined) return descriptor.value as StreamSource[Key];
    object = getPrototypeOf(object);
  }
  return undefined;
}

function promised(run: () => unknown): Promise<unknown> {
  return new PromiseIntrinsic((resolve, reject) => {
    try {
      const result = run();
      if (result === undefined) resolve(undefined);
      else promiseThen(result, resolve, reject);
    } catch (error) {
      reject(error);
    }
  });
}

class Control implements SourceController {
  readonly #stream: Stream;
  constructor(of: Stream) {
    this.#stream = of;
  }

  get desiredSize(): number | null {
    const { _readableStreamController: controller } = slots(this.#stream);
    return methodsFor(controller).desiredSize(controller);
  }

  enqueue(chunk: unknown): void {
    const controller = this.#open();
    if (controller !== undefined) methodsFor(controller).enqueue(controller, chunk);
  }

  close(): void {
    const controller = this.#open();
    if (controller === undefined) return;
    methodsFor(controller).close(controller);
    // An open read into the reader's own buffer ends empty.
    if ((controller._pendingPullIntos?.length ?? 0) > 0) respond(byobRequest(controller), 0);
  }

  error(reason: unknown): void {
    const { _readableStreamController: controller } = slots(this.#stream);
    methodsFor(controller).error(controller, reason);
  }

  /** The controller, while the stream accepts chunks. */
  #open(): ControllerSlots | undefined {
    const { _state, _readableStreamController: controller } = slots(this.#stream);
    return _state === 'readable' && !controller._closeRequested ? controller : undefined;
  }
}

/**
 * The library's read request for one read. It answers once; a second answer does nothing.
 *
 * Attack: pieces that fit into the isolate, and a whole that does not, so that the reader waits
 * forever. The refusal is thrown in a callback here, and the library drops what a request throws.
 */
class Request {
  #steps: ReadSteps | undefined;
  constructor(steps: ReadSteps) {
    this.#steps = steps;
  }

  _chunkSteps(value: unknown): void {
    const steps = this.#take();
    try {
      steps?.chunk(value);
    } catch (thrown) {
      steps?.error(thrown);
    }
  }
  _closeSteps(): void {
    const steps = this.#take();
    try {
      steps?.close();
    } catch (thrown) {
      steps?.error(thrown);
    }
  }
  _errorSteps(reason: unknown): void {
    this.#take()?.error(reason);
  }
  #take(): ReadSteps | undefined {
    const steps = this.#steps;
    this.#steps = undefined;
    return steps;
  }
}

/** A read that waits. */
interface Turn {
  readonly steps: ReadSteps;
  next: Turn | undefined;
}

class OwnReader implements StreamReader {
  readonly #stream: Stream;
  readonly #reader: object;
  #released = false;
  /** The last of the waiting reads. */
  #last: Turn | undefined;

  constructor(of: Stream) {
    this.#stream = of;
    this.#reader = new Reader(of as never);
  }

  /**
   * A read from inside of a chunk's callback waits here: recursion over a long queue would overflow
   * the stack.
   */
  read(steps: ReadSteps): void {
    const turn: Turn = { steps, next: undefined };
    if (this.#last !== undefined) {
      this.#last = this.#last.next = turn;
      return;
    }
    this.#last = turn;
    try {
      for (let now: Turn | undefined = turn; now !== undefined; now = now.next) this.#read(now.steps);
    } finally {
      this.#last = undefined;
    }
  }

  #read(steps: ReadSteps): void {
    if (this.#released) {
      steps.error(new TypeError('The reader has been released'));
      return;
    }
    const of = slots(this.#stream);
    const request = new Request(steps);
    of._disturbed = true;
    if (of._state === 'closed') request._closeSteps();
    else if (of._state === 'errored') request._errorSteps(of._storedError);
    else methodsFor(of._readableStreamController).pull(of._readableStreamController, request);
  }

  next(): Promise<StreamChunk> {
    return new PromiseIntrinsic((resolve, reject) => {
      this.read({
        chunk: (value) => resolve({ __proto__: null, done: false, value } as StreamChunk),
        close: () => resolve({ __proto__: null, done: true, value: undefined } as StreamChunk),
        error: reject,
      });
    });
  }

  cancel(reason: unknown): Promise<unknown> {
    return reader.cancel(this.#reader, reason);
  }

  release(): void {
    this.#released = true;
    reader.releaseLock(this.#reader);
  }

  /** Calls back when the stream fails, even without a pending read. */
  onError(listener: (reason: unknown) => void): void {
    promiseThen(reader.closed(this.#reader), undefined, listener);
  }
}

/** The properties of a TransformStream that the library keeps as the standard's internal slots. */
interface TransformSlots {
  readonly _readable: object;
  readonly _writable: { readonly _state: string };
  readonly _backpressure: boolean;
  readonly _backpressureChangePromise: Promise<unknown>;
  readonly _transformStreamController: {
    _transformAlgorithm: unknown;
    _flushAlgorithm: unknown;
    _cancelAlgorithm: unknown;
  };
}

const { TransformStream, TransformStreamDefaultController } = library;
const enqueueTransformed = uncurry<void>(TransformStreamDefaultController.prototype.enqueue);

/** A TransformStream over steps of the prelude: a generic transform stream of the standards. */
export function newTransform(steps: TransformSteps): TransformPair {
  const of = new TransformStream() as unknown as TransformSlots;
  const controller = of._transformStreamController;
  const output: TransformOutput = {
    enqueue: (chunk) => enqueueTransformed(controller, chunk),
    drained: () => (of._backpressure ? of._backpressureChangePromise : undefined),
    wanted: () => of._writable._state === 'writable',
  };
  controller._transformAlgorithm = (chunk: unknown) => promised(() => steps.transform(chunk, output));
  controller._flushAlgorithm = () => promised(() => steps.flush(output));
  controller._cancelAlgorithm = () => DONE;
  return {
    readable: genuine(of._readable) as ReadableStream,
    writable: of._writable as unknown as WritableStream,
  };
}
