/**
 * `node:events`: the emitter of Node.js (https://nodejs.org/api/events.html).
 *
 * The class is a function, because old code calls it without `new` and inherits from it by
 * `util.inherits`. The functions that wait for events are in `events-waiting.ts`.
 */
import { AsyncResource } from './async-resource.ts';
import {
  invalidArgType,
  nodeError,
  shown,
  validateAbortSignal,
  validateBoolean,
  validateFunction,
  validateNumber,
} from './errors.ts';
import { type Listener, on, once } from './events-waiting.ts';

const CAPTURES = Symbol('kCapture');
export const captureRejectionSymbol = Symbol.for('nodejs.rejection');

type Name = string | symbol;
/** Never changed: a list is replaced, so that a running `emit` keeps its own. */
type ListenerList = readonly Listener[] & { warned?: boolean };
/** A lone listener has no list: old code of npm reads these members. */
type Listeners = Record<Name, Listener | ListenerList | undefined>;
interface Options {
  readonly captureRejections?: boolean;
}

export interface Emitter {
  _events: Listeners;
  _eventsCount: number;
  _maxListeners: number | undefined;
  [CAPTURES]: boolean;
  emit(name: Name, ...values: unknown[]): boolean;
  on(name: Name, listener: Listener): this;
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
/** The limit of listeners of a target of the web platform, where one was set. */
const targetLimits = new WeakMap<object, number>();

let defaultLimit = 10;
let capturesByDefault = false;

const EventEmitter = function (this: Emitter, options?: Options): void {
  init.call(this, options);
} as unknown as EmitterClass;
// A bundler may give the variable another name.
Object.defineProperty(EventEmitter, 'name', { value: 'EventEmitter' });

/** @returns undefined where there is no listener */
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
  } else if (capturesByDefault) this[CAPTURES] = true;
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
  const max = to._maxListeners ?? defaultLimit;
  if (max > 0 && list.length > max && !list.warned) {
    list.warned = true;
    console.warn(
      `MaxListenersExceededWarning: Possible EventEmitter memory leak detected. ${list.length} ${String(name)} ` +
        `listeners added to ${shown(to, 2)}. MaxListeners is ${max}. Use emitter.setMaxListeners() to increase limit`,
    );
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

const methods = {
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
      if (heard) for (const name of all) methods.removeAllListeners.call(this, name);
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
    return this._maxListeners ?? defaultLimit;
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

const isTarget = (value: unknown): value is EventTarget => value instanceof EventTarget;

export function getEventListeners(target: Emitter | EventTarget, name: Name): Listener[] {
  if (typeof (target as Emitter)?.listeners === 'function') return (target as Emitter).listeners(name);
  // The web platform does not tell its listeners.
  if (isTarget(target)) return [];
  throw invalidArgType('emitter', ['EventEmitter', 'EventTarget'], target);
}

export function getMaxListeners(target: Emitter | EventTarget): number {
  if (typeof (target as Emitter)?.getMaxListeners === 'function')
    return (target as Emitter).getMaxListeners();
  if (isTarget(target)) return targetLimits.get(target) ?? defaultLimit;
  throw invalidArgType('emitter', ['EventEmitter', 'EventTarget'], target);
}

export function setMaxListeners(count = defaultLimit, ...targets: (Emitter | EventTarget)[]): void {
  validateNumber(count, 'setMaxListeners', 0);
  if (targets.length === 0) defaultLimit = count;
  for (const target of targets) {
    if (isTarget(target)) targetLimits.set(target, count);
    else if (typeof target?.setMaxListeners === 'function') target.setMaxListeners(count);
    else throw invalidArgType('eventTargets', ['EventEmitter', 'EventTarget'], target);
  }
}

export const listenerCount = (emitter: Emitter, name: Name, listener?: Listener): number =>
  typeof emitter.listenerCount === 'function'
    ? emitter.listenerCount(name, listener)
    : methods.listenerCount.call(emitter, name);

/** Calls the listener when the signal is aborted, or soon where it was; disposing takes it back. */
export function addAbortListener(signal: AbortSignal, listener: (event?: Event) => void): Disposable {
  if (signal === undefined) throw invalidArgType('signal', 'AbortSignal', signal);
  validateAbortSignal(signal, 'signal');
  validateFunction(listener, 'listener');
  if (signal.aborted) queueMicrotask(() => listener());
  else signal.addEventListener('abort', listener as never, { once: true });
  return { [Symbol.dispose]: () => signal.removeEventListener('abort', listener as never) };
}

/** An emitter whose listeners run in the asynchronous context in which it was made. */
export class EventEmitterAsyncResource extends (EventEmitter as unknown as new (
  options?: Options,
) => Emitter) {
  readonly #resource: AsyncResource;

  constructor(
    options: (Options & { name?: string; triggerAsyncId?: number }) | string | undefined = undefined,
  ) {
    const given = typeof options === 'string' ? { name: options } : options;
    const name = given?.name ?? (new.target as { name: string }).name;
    super(given);
    this.#resource = new AsyncResource(name, given as object);
    Object.defineProperty(this.#resource, 'eventEmitter', { value: this });
  }

  override emit(name: Name, ...values: unknown[]): boolean {
    return this.#resource.runInAsyncScope(super.emit as never, this, name, ...values);
  }

  emitDestroy(): void {
    this.#resource.emitDestroy();
  }

  get asyncId(): number {
    return this.#resource.asyncId();
  }

  get triggerAsyncId(): number {
    return this.#resource.triggerAsyncId();
  }

  get asyncResource(): AsyncResource {
    return this.#resource;
  }
}

Object.assign(EventEmitter, {
  EventEmitter,
  EventEmitterAsyncResource,
  addAbortListener,
  captureRejectionSymbol,
  errorMonitor,
  getEventListeners,
  getMaxListeners,
  init,
  listenerCount,
  on,
  once,
  setMaxListeners,
  usingDomains: false,
});
Object.defineProperties(EventEmitter, {
  defaultMaxListeners: {
    get: () => defaultLimit,
    set(count: unknown) {
      validateNumber(count, 'defaultMaxListeners', 0);
      defaultLimit = count;
    },
    enumerable: true,
  },
  captureRejections: {
    get: () => capturesByDefault,
    set(value: unknown) {
      validateBoolean(value, 'EventEmitter.captureRejections');
      capturesByDefault = value;
    },
    enumerable: true,
  },
});

export const defaultMaxListeners = defaultLimit;
export const captureRejections = capturesByDefault;
export const usingDomains = false;
export { EventEmitter, on, once };
export default EventEmitter;
