/**
 * The classes of https://streams.spec.whatwg.org/ as scripts see them: web-streams-polyfill with
 * its deviations corrected.
 *
 * Bundled into the part `streams`, which captures methods before the tenant sees a class. Attack:
 * an object with the prototype and the properties of a stream, passed off as a stream.
 * `ReadableStream` is a constructor over the library's, so that every stream carries a brand that
 * no script can give to an object of its own.
 */
import * as library from 'web-streams-polyfill';
import {
  ignore,
  type PipeOptions,
  type PipeSignal,
  pipe,
  readableLocked,
  writableLocked,
} from './stream-pipe.ts';

export {
  ByteLengthQueuingStrategy,
  CountQueuingStrategy,
  ReadableByteStreamController,
  ReadableStreamBYOBReader,
  ReadableStreamBYOBRequest,
  ReadableStreamDefaultController,
  ReadableStreamDefaultReader,
  TransformStream,
  TransformStreamDefaultController,
  WritableStream,
  WritableStreamDefaultController,
  WritableStreamDefaultWriter,
} from 'web-streams-polyfill';

const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf, setPrototypeOf } = Object;
const { apply, construct } = Reflect;
const PromiseIntrinsic = Promise;
const Library = library.ReadableStream;
export type LibraryStream = library.ReadableStream<unknown>;

/** Returns its argument, so that a subclass adds private members to any object. */
class Anything {
  constructor(object: object) {
    // biome-ignore lint/correctness/noConstructorReturn: the purpose of this class.
    return object;
  }
}

class Mark extends Anything {
  readonly #genuine = true;
  static on(value: object): boolean {
    return #genuine in value && value.#genuine;
  }
}

/** Whether the library made an object, whatever its prototype. */
export const isGenuine = (value: object): value is LibraryStream => Mark.on(value);

/** Brands an object of the library. */
export function genuine<T extends object>(stream: T): T {
  if (!Mark.on(stream)) new Mark(stream);
  return stream;
}

export const ReadableStream = function ReadableStream(): object {
  if (new.target === undefined) throw new TypeError('ReadableStream: use `new`');
  return genuine(construct(Library, arguments, new.target) as object);
} as unknown as typeof library.ReadableStream;

const { from } = Library;
const { tee } = Library.prototype;
/** The library's `tee`; its branches have no brand. */
export const libraryTee: unknown = tee;
const readable = getOwnPropertyDescriptor(library.TransformStream.prototype, 'readable')?.get as Function;

/** Members that replace the library's. Methods of an object literal are not constructors. */
const statics = {
  from(asyncIterable: unknown): unknown {
    return genuine(apply(from, Library, [toIterable(asyncIterable)]));
  },
};
const members = {
  pipeThrough(transform: unknown, options: unknown = undefined): unknown {
    void readableLocked(this);
    const { readable, writable } = toPair(transform, arguments.length);
    const converted = toPipeOptions(options);
    if (readableLocked(this)) throw new TypeError('ReadableStream.pipeThrough: the stream is locked');
    if (writableLocked(writable))
      throw new TypeError('ReadableStream.pipeThrough: the writable side is locked');
    ignore(pipe(this, writable as object, converted));
    return readable;
  },
  pipeTo(destination: unknown, options: unknown = undefined): unknown {
    try {
      void readableLocked(this);
      if (arguments.length === 0) throw new TypeError('ReadableStream.pipeTo: 1 argument required');
      void writableLocked(destination);
      const converted = toPipeOptions(options);
      if (readableLocked(this)) throw new TypeError('ReadableStream.pipeTo: the stream is locked');
      if (writableLocked(destination))
        throw new TypeError('ReadableStream.pipeTo: the destination is locked');
      return pipe(this, destination as object, converted);
    } catch (error) {
      return new PromiseIntrinsic((_, reject) => reject(error));
    }
  },
  tee(): unknown {
    const pair = apply(tee, this, []);
    genuine(pair[0]);
    genuine(pair[1]);
    return pair;
  },
};
const transformMembers = {
  get readable(): unknown {
    return genuine(apply(readable, this, []) as object);
  },
};

defineProperty(ReadableStream, 'prototype', { value: Library.prototype, writable: false });
defineProperty(Library.prototype, 'constructor', { value: ReadableStream });
replace(ReadableStream, statics);
replace(Library.prototype, members);
replace(library.TransformStream.prototype, transformMembers);
// Not in the standard, or not any more.
delete (library.WritableStreamDefaultController.prototype as { abortReason?: unknown }).abortReason;
mendIterator(getPrototypeOf(new Library().values()) as object);
for (const [name, value] of Object.entries(library)) {
  defineProperty(value, 'name', { value: name, configurable: true });
}

function replace(target: object, replacements: object): void {
  for (const key of Object.keys(replacements)) {
    const descriptor = getOwnPropertyDescriptor(replacements, key) as PropertyDescriptor;
    defineProperty(target, key, descriptor);
  }
}

/**
 * Argument of `from`: reads its iterator, and never `getReader` of an object that only looks like a
 * stream.
 */
function toIterable(value: unknown): unknown {
  const object = value as Record<symbol, unknown>;
  for (const key of [Symbol.asyncIterator, Symbol.iterator]) {
    const method = object[key];
    if (method === undefined || method === null) continue;
    if (typeof method !== 'function')
      throw new TypeError('ReadableStream.from: the iterator is not a function');
    return { __proto__: null, [key]: () => apply(method, value, []) };
  }
  throw new TypeError('ReadableStream.from: parameter 1 is not iterable');
}

/** ReadableWritablePair: each member is read once, and must be a stream of its kind. */
function toPair(value: unknown, given: number): { readable: unknown; writable: unknown } {
  if (given === 0 || !isObject(value))
    throw new TypeError('ReadableStream.pipeThrough: parameter 1 is not a pair of streams');
  const { readable } = value as { readable?: unknown };
  void readableLocked(readable);
  const { writable } = value as { writable?: unknown };
  void writableLocked(writable);
  return { readable, writable };
}

/** StreamPipeOptions, converted in the order of the names. */
function toPipeOptions(value: unknown): PipeOptions {
  if (value !== undefined && value !== null && !isObject(value))
    throw new TypeError('The options of a pipe are not an object');
  const options = (value ?? NO_OPTIONS) as Record<string, unknown>;
  const preventAbort = Boolean(options.preventAbort);
  const preventCancel = Boolean(options.preventCancel);
  const preventClose = Boolean(options.preventClose);
  const { signal } = options;
  return {
    preventAbort,
    preventCancel,
    preventClose,
    signal: signal === undefined ? undefined : toSignal(signal),
  };
}
const NO_OPTIONS = { __proto__: null };

const isObject = (value: unknown): value is object =>
  (typeof value === 'object' && value !== null) || typeof value === 'function';

/** What pipes need of genuine signals. */
type Signals = Pick<
  typeof import('../events/abort.ts'),
  'isAbortSignal' | 'isAborted' | 'abortReason' | 'onAbort'
>;
let signals: (() => Signals) | undefined;

/** Sets the functions for signals, which are evaluated with the first signal. */
export function setSignals(load: () => Signals): void {
  signals = load;
}

/** A signal for a pipe: without events, which a script could fake or stop. */
function toSignal(value: unknown): PipeSignal {
  const known = signals?.();
  if (!known?.isAbortSignal(value)) throw new TypeError('The option "signal" is not an AbortSignal');
  return {
    get aborted() {
      return known.isAborted(value);
    },
    get reason() {
      return known.abortReason(value);
    },
    onAbort: (algorithm) => known.onAbort(value, algorithm),
  };
}

/**
 * Web IDL's asynchronous iterator prototype object
 * (https://webidl.spec.whatwg.org/#es-asynchronous-iterator-prototype-object).
 */
function mendIterator(prototype: object): void {
  const generator = getPrototypeOf(async function* () {}.prototype) as object;
  setPrototypeOf(prototype, getPrototypeOf(generator));
  delete (prototype as { [Symbol.asyncIterator]?: unknown })[Symbol.asyncIterator];
  defineProperty(prototype, Symbol.toStringTag, {
    value: 'ReadableStream AsyncIterator',
    configurable: true,
  });
}

/** The library's constant: elements of one node of its queue. */
const NODE_ELEMENTS = 16_384;

/** The library's queue, with the members that are used here. */
interface Queue {
  _size: number;
  _back: QueueNode;
}

interface QueueNode {
  _elements: unknown[];
  _next: QueueNode | undefined;
}

/**
 * Attack: a `push` or a setter for index 0 on `Array.prototype` that drops chunks of the prelude or
 * keeps pending reads. Makes the library's queue store its elements without `Array.prototype`.
 */
function hardenQueue(): void {
  const { _readableStreamController } = new Library() as unknown as {
    _readableStreamController: { _queue: object };
  };
  const prototype = getPrototypeOf(_readableStreamController._queue) as object;
  const push = function (this: Queue, element: unknown): void {
    const back = this._back;
    const elements = back._elements;
    if (elements.length === 0) setPrototypeOf(elements, null);
    elements[elements.length] = element;
    if (elements.length === NODE_ELEMENTS) this._back = back._next = { _elements: [], _next: undefined };
    this._size += 1;
  };
  defineProperty(prototype, 'push', { value: push });
}
defineProperty(ReadableStream, 'name', { value: 'ReadableStream', configurable: true });
hardenQueue();
