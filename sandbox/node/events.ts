/**
 * `node:events`: the emitter of Node.js (`emitter.ts`) with the functions of the module
 * (https://nodejs.org/api/events.html). Those that wait for events are in `events-waiting.ts`.
 */
import { AsyncResource } from './async-resource.ts';
import {
  captureRejectionSymbol,
  defaults,
  type Emitter,
  EventEmitter,
  errorMonitor,
  init,
  methods,
  type Name,
  type Options,
} from './emitter.ts';
import {
  invalidArgType,
  validateAbortSignal,
  validateBoolean,
  validateFunction,
  validateNumber,
} from './errors.ts';
import { type Listener, on, once } from './events-waiting.ts';

/** The limit of listeners of a target of the web platform, where one was set. */
const targetLimits = new WeakMap<object, number>();

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
  if (isTarget(target)) return targetLimits.get(target) ?? defaults.maxListeners;
  throw invalidArgType('emitter', ['EventEmitter', 'EventTarget'], target);
}

export function setMaxListeners(count = defaults.maxListeners, ...targets: (Emitter | EventTarget)[]): void {
  validateNumber(count, 'setMaxListeners', 0);
  if (targets.length === 0) defaults.maxListeners = count;
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
    get: () => defaults.maxListeners,
    set(count: unknown) {
      validateNumber(count, 'defaultMaxListeners', 0);
      defaults.maxListeners = count;
    },
    enumerable: true,
  },
  captureRejections: {
    get: () => defaults.captureRejections,
    set(value: unknown) {
      validateBoolean(value, 'EventEmitter.captureRejections');
      defaults.captureRejections = value;
    },
    enumerable: true,
  },
});

export const defaultMaxListeners = defaults.maxListeners;
export const captureRejections = defaults.captureRejections;
export const usingDomains = false;
export { captureRejectionSymbol, EventEmitter, errorMonitor, init, on, once };
export default EventEmitter;
