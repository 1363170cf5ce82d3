/**
 * `on` and `once` of `node:events`: the events of an emitter of Node.js, or of a target of the web
 * platform, as a promise or as an iterator.
 */
import { aborted, invalidArgType, validateAbortSignal, validateInteger, validateObject } from './errors.ts';

export type Listener = ((...values: unknown[]) => unknown) & { listener?: Listener };
interface Emitter {
  on(name: string | symbol, listener: Listener): unknown;
  once(name: string | symbol, listener: Listener): unknown;
  removeListener(name: string | symbol, listener: Listener): unknown;
}
type Source = Emitter | EventTarget;
type Values = unknown[];
interface Options {
  readonly signal?: AbortSignal;
}

const isEmitter = (source: Source): source is Emitter => typeof (source as Emitter)?.on === 'function';

/** Adds a listener. @returns what removes it */
function listen(source: Source, name: string | symbol, listener: Listener, isOnce = false): () => void {
  if (isEmitter(source)) {
    if (isOnce) source.once(name, listener);
    else source.on(name, listener);
    return () => source.removeListener(name, listener);
  }
  if (typeof source?.addEventListener !== 'function') throw invalidArgType('emitter', 'EventEmitter', source);
  source.addEventListener(name as string, listener as never, { once: isOnce });
  return () => source.removeEventListener(name as string, listener as never);
}

function checkOptions(options: Options): AbortSignal | undefined {
  validateObject(options, 'options');
  const { signal } = options;
  validateAbortSignal(signal, 'options.signal');
  if (signal?.aborted) throw aborted(signal);
  return signal;
}

/** Waits for one event. @returns its values */
export async function once(source: Source, name: string | symbol, options: Options = {}): Promise<Values> {
  const signal = checkOptions(options);
  const waiting = Promise.withResolvers<Values>();
  const cleanups: (() => void)[] = [];
  const end = () => {
    for (const cleanup of cleanups) cleanup();
  };
  const heard: Listener = (...values) => {
    end();
    waiting.resolve(values);
  };
  const failed: Listener = (error) => {
    end();
    waiting.reject(error);
  };
  cleanups.push(listen(source, name, heard, true));
  if (name !== 'error' && isEmitter(source)) cleanups.push(listen(source, 'error', failed, true));
  if (signal !== undefined) {
    cleanups.push(listen(signal, 'abort', () => failed(aborted(signal)), true));
  }
  return waiting.promise;
}

/** An asynchronous iterator of these methods, which inherits that it can be iterated over. */
export function asyncIterator<T>(methods: AsyncIterator<T, undefined>): AsyncIterableIterator<T, undefined> {
  const generators = Object.getPrototypeOf(async function* () {}.prototype);
  return Object.setPrototypeOf(methods, Object.getPrototypeOf(generators));
}

interface Waiting {
  resolve(result: IteratorResult<Values, undefined>): void;
  reject(error: unknown): void;
}

/** Iterates over the events from now on, until an `error`, an event of `close`, or the signal. */
export function on(
  source: Source & { pause?(): void; resume?(): void },
  name: string | symbol,
  options: Options & {
    readonly close?: readonly string[];
    readonly highWaterMark?: number;
    readonly lowWaterMark?: number;
    readonly highWatermark?: number;
    readonly lowWatermark?: number;
  } = {},
): AsyncIterableIterator<Values, undefined> {
  const signal = checkOptions(options);
  const high = options.highWaterMark ?? options.highWatermark ?? Number.MAX_SAFE_INTEGER;
  const low = options.lowWaterMark ?? options.lowWatermark ?? 1;
  validateInteger(high, 'options.highWaterMark', 1);
  validateInteger(low, 'options.lowWaterMark', 1);
  const unread: Values[] = [];
  const waiting: Waiting[] = [];
  const cleanups: (() => void)[] = [];
  let failure: { error: unknown } | undefined;
  let paused = false;
  let finished = false;

  const heard: Listener = (...values) => {
    const reader = waiting.shift();
    if (reader !== undefined) return reader.resolve({ value: values, done: false });
    unread.push(values);
    if (paused || unread.length <= high) return undefined;
    paused = true;
    return source.pause?.();
  };
  const close = (): Promise<IteratorResult<Values, undefined>> => {
    for (const cleanup of cleanups) cleanup();
    finished = true;
    const done = { value: undefined, done: true } as const;
    for (const reader of waiting.splice(0)) reader.resolve(done);
    return Promise.resolve(done);
  };
  const failed = (error: unknown): void => {
    const reader = waiting.shift();
    if (reader === undefined) failure = { error };
    else reader.reject(error);
    void close();
  };

  cleanups.push(listen(source, name, heard));
  if (name !== 'error' && isEmitter(source)) cleanups.push(listen(source, 'error', failed));
  for (const event of options.close ?? []) cleanups.push(listen(source, event, () => void close()));
  if (signal !== undefined) cleanups.push(listen(signal, 'abort', () => failed(aborted(signal)), true));

  return asyncIterator({
    next(): Promise<IteratorResult<Values, undefined>> {
      const value = unread.shift();
      if (value !== undefined) {
        if (paused && unread.length < low) {
          paused = false;
          source.resume?.();
        }
        return Promise.resolve({ value, done: false });
      }
      if (failure !== undefined) {
        const { error } = failure;
        failure = undefined;
        return Promise.reject(error);
      }
      if (finished) return close();
      return new Promise((resolve, reject) => void waiting.push({ resolve, reject }));
    },
    return: close,
    throw(error: unknown): Promise<IteratorResult<Values, undefined>> {
      if (!(error instanceof Error)) throw invalidArgType('EventEmitter.AsyncIterator', 'Error', error);
      failed(error);
      return Promise.resolve({ value: undefined, done: true });
    },
  });
}
