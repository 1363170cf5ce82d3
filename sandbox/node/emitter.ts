/**
 * `EventEmitter` of `node:events` (https://nodejs.org/api/events.html), without the functions of
 * the module: `process` is an emitter, too.
 *
 * The class is a function, because old code calls it without `new` and inherits from it by
 * `util.inherits`.
 */
import { nodeError, shown, validateBoolean, validateFunction, validateNumber } from './errors.ts';
import type { Listener } from './events-waiting.ts';
import { warn } from './warnings.ts';

const CAPTURES = Symbol('kCapture');
export const captureRejectionSymbol = Symbol.for('nodejs.rejection');

export type Name = string | symbol;
/** Never changed: a list is replaced, so that a running `emit` keeps its own. */
type ListenerList = readonly Listener[] & { warned?: boolean };
/** A lone listener has no list: old code of npm reads these members. */
type Listeners = Record<Name, Listener | ListenerList | undefined>;
export interface Options {
  readonly captureRejections?: boolean;
}

export interface Emitter {
  _events: Listeners;
  _eventsCount: number;
  _maxListeners: number | undefined;
  [CAPTURES]: boolean;
  emit(name: Name, ...values: unknown[]): boolean;
  on(name: Name, listener: Listener): this;
  once(name: Name, listener: Listener): this;
  removeListener(name: Name, listener: Listener): this;
  getMaxListeners(): number;
  listenerCount(name: Name, listener?: Listener): number;
  listeners(name: Name): Listener[];
  setMaxListeners(count: number): this;
  [captureRejectionSymbol]?(error: unknown, name: Name, ...values: unknown[]): void;
}
interface EmitterClass {
  (this: Emitter, options?: Options): void;
  new (options?: Options): Emitter;
  prototype: Emitter;
  defaultMaxListeners: number;
  captureRejections: boolean;
}

export const errorMonitor = Symbol('events.errorMonitor');
/** What emitters have that say nothing else. */
export const defaults = { maxListeners: 10, captureRejections: false };

export const EventEmitter = function (this: Emitter, options?: Options): void {
  init.call(this, options);
} as unknown as EmitterClass;
// A bundler may give the variable another name.
Object.defineProperty(EventEmitter, 'name', { value: 'EventEmitter' });

/** The listeners of an event; undefined if it has none. */
function listOf(emitter: Emitter, name: Name): ListenerList | undefined {
  const found = emitter._events?.[name];
  return typeof found === 'function' ? [found] : found;
}

export function init(this: Emitter, options?: Options): void {
  const inherited = Object.getPrototypeOf(this) as Partial<Emitter> | null;
  if (this._events === undefined || this._events === inherited?._events) {
    this._events = Object.create(null) as Listeners;
    this._eventsCount = 0;
  }
  this._maxListeners ||= undefined;
  if (options?.captureRejections !== undefined) {
    validateBoolean(options.captureRejections, 'options.captureRejections');
    this[CAPTURES] = options.captureRejections;
  } else if (defaults.captureRejections) this[CAPTURES] = true;
}

function add(to: Emitter, name: Name, listener: Listener, first: boolean): Emitter {
  checkListener(listener);
  if (to._events === undefined) {
    to._events = Object.create(null) as Listeners;
    to._eventsCount = 0;
  } else if (to._events['newListener'] !== undefined) {
    // Before it is added, and the original: the listener may add others of the same name.
    to.emit('newListener', name, listener.listener ?? listener);
  }
  const present = listOf(to, name);
  if (present === undefined) {
    to._eventsCount += 1;
    to._events[name] = listener;
    return to;
  }
  const list: ListenerList = first ? [listener, ...present] : [...present, listener];
  if (present.warned) list.warned = true;
  to._events[name] = list;
  const max = to._maxListeners ?? defaults.maxListeners;
  if (max > 0 && list.length > max && !list.warned) {
    list.warned = true;
    const message =
      `Possible EventEmitter memory leak detected. ${list.length} ${String(name)} listeners added to ` +
      `${shown(to, 2)}. MaxListeners is ${max}. Use emitter.setMaxListeners() to increase limit`;
    const about = { name: 'MaxListenersExceededWarning', emitter: to, type: name, count: list.length };
    warn(Object.assign(new Error(message), about));
  }
  return to;
}

function checkListener(listener: unknown): asserts listener is Listener {
  validateFunction(listener, 'listener');
}

function unhandled(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  const inspect = (thrown as Record<symbol, unknown> | undefined)?.[Symbol.for('nodejs.util.inspect.custom')];
  const message = `Unhandled error. (${typeof inspect === 'function' ? String(thrown) : shown(thrown)})`;
  return Object.assign(nodeError(Error, 'ERR_UNHANDLED_ERROR', message), { context: thrown });
}

function call(emitter: Emitter, listener: Listener, name: Name, values: unknown[]): void {
  const result = Reflect.apply(listener, emitter, values);
  if (result === undefined || result === null || !emitter[CAPTURES]) return;
  try {
    const { then } = result as PromiseLike<unknown>;
    if (typeof then !== 'function') return;
    const rejected = (error: unknown) => queueMicrotask(() => captured(emitter, error, name, values));
    then.call(result, undefined, rejected);
  } catch (error) {
    emitter.emit('error', error);
  }
}

/** Gives a rejection of a listener to the emitter, which may have a method for it. */
function captured(emitter: Emitter, error: unknown, name: Name, values: unknown[]): void {
  const own = emitter[captureRejectionSymbol];
  if (typeof own === 'function') return own.call(emitter, error, name, ...values);
  const captures = emitter[CAPTURES];
  // A rejection of a listener of `error` must not come back to it for ever.
  try {
    emitter[CAPTURES] = false;
    emitter.emit('error', error);
  } finally {
    emitter[CAPTURES] = captures;
  }
}

function onceWrapper(emitter: Emitter, name: Name, listener: Listener): Listener {
  let fired = false;
  const wrapped: Listener = (...values) => {
    if (fired) return undefined;
    fired = true;
    emitter.removeListener(name, wrapped);
    return Reflect.apply(listener, emitter, values);
  };
  wrapped.listener = listener;
  return wrapped;
}

export const methods = {
  emit(this: Emitter, name: Name, ...values: unknown[]): boolean {
    const events = this._events;
    if (name === 'error') {
      if (events?.[errorMonitor] !== undefined) this.emit(errorMonitor, ...values);
      if (events?.['error'] === undefined) throw unhandled(values[0]);
    }
    const found = events?.[name];
    if (found === undefined) return false;
    if (typeof found === 'function') call(this, found, name, values);
    else for (const listener of found) call(this, listener, name, values);
    return true;
  },
  addListener(this: Emitter, name: Name, listener: Listener): Emitter {
    return add(this, name, listener, false);
  },
  prependListener(this: Emitter, name: Name, listener: Listener): Emitter {
    return add(this, name, listener, true);
  },
  once(this: Emitter, name: Name, listener: Listener): Emitter {
    checkListener(listener);
    return this.on(name, onceWrapper(this, name, listener));
  },
  prependOnceListener(this: Emitter, name: Name, listener: Listener): Emitter {
    checkListener(listener);
    return add(this, name, onceWrapper(this, name, listener), true);
  },
  removeListener(this: Emitter, name: Name, listener: Listener): Emitter {
    checkListener(listener);
    const list = listOf(this, name);
    const at = list?.findLastIndex((one) => one === listener || one.listener === listener) ?? -1;
    if (list === undefined || at < 0) return this;
    const removed = list[at] as Listener;
    const rest: ListenerList = list.toSpliced(at, 1);
    if (list.warned) rest.warned = true;
    if (rest.length > 0) this._events[name] = rest.length > 1 ? rest : (rest[0] as Listener);
    else drop(this, name);
    if (this._events['removeListener'] !== undefined)
      this.emit('removeListener', name, removed.listener ?? listener);
    return this;
  },
  removeAllListeners(this: Emitter, ...names: Name[]): Emitter {
    if (this._events === undefined) return this;
    if (names.length === 0) {
      const heard = this._events['removeListener'] !== undefined;
      const all = Reflect.ownKeys(this._events).filter((name) => name !== 'removeListener');
      if (heard) for (const name of [...all, 'removeListener']) methods.removeAllListeners.call(this, name);
      this._events = Object.create(null) as Listeners;
      this._eventsCount = 0;
      return this;
    }
    const [name] = names as [Name];
    const list = listOf(this, name) ?? [];
    if (this._events['removeListener'] === undefined) {
      if (list.length > 0) drop(this, name);
    } else for (const listener of list.toReversed()) this.removeListener(name, listener);
    return this;
  },
  listeners(this: Emitter, name: Name): Listener[] {
    return (listOf(this, name) ?? []).map((listener) => listener.listener ?? listener);
  },
  rawListeners(this: Emitter, name: Name): Listener[] {
    return [...(listOf(this, name) ?? [])];
  },
  listenerCount(this: Emitter, name: Name, listener?: Listener | null): number {
    const list = listOf(this, name) ?? [];
    if (listener === undefined || listener === null) return list.length;
    return list.filter((one) => one === listener || one.listener === listener).length;
  },
  eventNames(this: Emitter): Name[] {
    return this._eventsCount > 0 ? Reflect.ownKeys(this._events) : [];
  },
  setMaxListeners(this: Emitter, count: number): Emitter {
    validateNumber(count, 'setMaxListeners', 0);
    this._maxListeners = count;
    return this;
  },
  getMaxListeners(this: Emitter): number {
    return this._maxListeners ?? defaults.maxListeners;
  },
};

function drop(emitter: Emitter, name: Name): void {
  emitter._eventsCount -= 1;
  if (emitter._eventsCount === 0) emitter._events = Object.create(null) as Listeners;
  else delete emitter._events[name];
}

const { addListener, removeListener } = methods;
const state = { _events: undefined, _eventsCount: 0, _maxListeners: undefined, [CAPTURES]: false };
Object.assign(EventEmitter.prototype, state, methods, { on: addListener, off: removeListener });
for (const symbol of [CAPTURES]) Object.defineProperty(EventEmitter.prototype, symbol, { enumerable: false });
