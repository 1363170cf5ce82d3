/**
 * `node:diagnostics_channel`: named channels for reports of libraries to tools that watch them
 * (https://nodejs.org/api/diagnostics_channel.html).
 *
 * A subscriber that throws does not stop the code that reports: its exception is reported as
 * uncaught.
 */
import { invalidArgType, validateFunction } from './errors.ts';

type Name = string | symbol;
type Subscriber = (message: unknown, name: Name) => void;
type Data = Record<string, unknown>;
type Call<R = unknown> = (...values: unknown[]) => R;
/** The part of `AsyncLocalStorage` that a channel uses. */
interface Store {
  getStore(): unknown;
  enterWith(value: unknown): void;
  run<R>(value: unknown, call: () => R): R;
}
type CallbackParameters = [position?: number, context?: Data, self?: unknown, ...values: unknown[]];
type Transform = (data: unknown) => unknown;

const channels = new Map<Name, Channel>();

/** Reports an exception of a subscriber after the code that runs. */
function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

export class Channel {
  readonly name: Name;
  /** Replaced where it changes, so that a running `publish` keeps its own. */
  #subscribers: readonly Subscriber[] = [];
  readonly #stores = new Map<Store, Transform | undefined>();

  constructor(name: Name) {
    this.name = name;
    channels.set(name, this);
  }

  get hasSubscribers(): boolean {
    return this.#subscribers.length > 0 || this.#stores.size > 0;
  }

  subscribe(subscriber: Subscriber): void {
    validateFunction(subscriber, 'subscription');
    this.#subscribers = [...this.#subscribers, subscriber];
  }

  unsubscribe(subscriber: Subscriber): boolean {
    const at = this.#subscribers.indexOf(subscriber);
    if (at < 0) return false;
    this.#subscribers = this.#subscribers.toSpliced(at, 1);
    return true;
  }

  bindStore(store: Store, transform?: Transform): void {
    this.#stores.set(store, transform);
  }

  unbindStore(store: Store): boolean {
    return this.#stores.delete(store);
  }

  publish(message: unknown): void {
    for (const subscriber of this.#subscribers) {
      try {
        subscriber(message, this.name);
      } catch (error) {
        throwLater(error);
      }
    }
  }

  /** Publishes and calls, both with the values of the bound stores. */
  runStores<R>(data: unknown, call: Call<R>, self?: unknown, ...values: unknown[]): R {
    let run = (): R => {
      this.publish(data);
      return Reflect.apply(call, self, values);
    };
    for (const [store, value] of this.#values(data)) {
      const inner = run;
      run = () => store.run(value, inner);
    }
    return run();
  }

  /** Publishes and sets the values of the bound stores until it is disposed. */
  withStoreScope(data: unknown): Disposable {
    const before = [...this.#stores.keys()].map((store) => [store, store.getStore()] as const);
    for (const [store, value] of this.#values(data)) store.enterWith(value);
    this.publish(data);
    return {
      [Symbol.dispose]() {
        for (const [store, value] of before) store.enterWith(value);
      },
    };
  }

  #values(data: unknown): (readonly [Store, unknown])[] {
    return [...this.#stores].flatMap(([store, transform]) => {
      try {
        return [[store, transform === undefined ? data : transform(data)] as const];
      } catch (error) {
        throwLater(error);
        return [];
      }
    });
  }
}

export function channel(name: Name): Channel {
  const known = channels.get(name);
  if (known !== undefined) return known;
  if (typeof name !== 'string' && typeof name !== 'symbol') {
    throw invalidArgType('channel', ['string', 'symbol'], name);
  }
  return new Channel(name);
}

export const subscribe = (name: Name, subscriber: Subscriber): void => channel(name).subscribe(subscriber);
export const unsubscribe = (name: Name, subscriber: Subscriber): boolean =>
  channel(name).unsubscribe(subscriber);
export const hasSubscribers = (name: Name): boolean => channels.get(name)?.hasSubscribers ?? false;

type Channels<N extends string> = Record<N, Channel>;
type Handlers = Record<string, Subscriber | undefined>;

function channelOf(given: unknown, event: string, kind: string): Channel {
  if (typeof given === 'string') return channel(`tracing:${given}:${event}`);
  if (typeof given !== 'object' || given === null) {
    throw invalidArgType('nameOrChannels', ['string', kind, 'Object'], given);
  }
  const found = (given as Data)[event];
  if (!(found instanceof Channel)) throw invalidArgType(`nameOrChannels.${event}`, 'Channel', found);
  return found;
}

/** Channels of one operation, by the names of what happens in it. */
class ChannelGroup<N extends string> {
  constructor(names: readonly N[], given: unknown) {
    for (const name of names) {
      Object.defineProperty(this, name, {
        value: channelOf(given, name, this.constructor.name),
        enumerable: true,
      });
    }
  }

  #all(): [string, Channel][] {
    return Object.entries(this as unknown as Channels<N>) as [string, Channel][];
  }

  get hasSubscribers(): boolean {
    return this.#all().some(([, one]) => one.hasSubscribers);
  }

  subscribe(handlers: Handlers): void {
    for (const [name, one] of this.#all()) {
      const handler = handlers[name];
      if (handler) one.subscribe(handler);
    }
  }

  unsubscribe(handlers: Handlers): boolean {
    const heard = this.#all().filter(([name]) => handlers[name]);
    return heard.map(([name, one]) => one.unsubscribe(handlers[name] as Subscriber)).every(Boolean);
  }
}

export class BoundedChannel extends ChannelGroup<'start' | 'end'> {
  declare readonly start: Channel;
  declare readonly end: Channel;

  constructor(nameOrChannels: unknown) {
    super(['start', 'end'], nameOrChannels);
  }

  run<R>(context: Data = {}, call: Call<R>, self?: unknown, ...values: unknown[]): R {
    return this.start.runStores(context, () => {
      try {
        return Reflect.apply(call, self, values);
      } finally {
        this.end.publish(context);
      }
    });
  }

  withScope(context: Data = {}): Disposable {
    const scope = this.start.withStoreScope(context);
    return {
      [Symbol.dispose]: () => {
        this.end.publish(context);
        scope[Symbol.dispose]();
      },
    };
  }
}

const EVENTS = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'] as const;

class TracingChannel extends ChannelGroup<(typeof EVENTS)[number]> {
  declare readonly start: Channel;
  declare readonly end: Channel;
  declare readonly asyncStart: Channel;
  declare readonly asyncEnd: Channel;
  declare readonly error: Channel;

  constructor(nameOrChannels: unknown) {
    super(EVENTS, nameOrChannels);
  }

  traceSync<R>(call: Call<R>, context: Data = {}, self?: unknown, ...values: unknown[]): R {
    if (!this.hasSubscribers) return Reflect.apply(call, self, values);
    return this.#traced(context, () => {
      const result = Reflect.apply(call, self, values);
      context['result'] = result;
      return result;
    });
  }

  tracePromise(call: Call, context: Data = {}, self?: unknown, ...values: unknown[]): unknown {
    if (!this.hasSubscribers) return Reflect.apply(call, self, values);
    const failed = (error: unknown): void => {
      this.#failed(context, error);
      this.#continued(context);
    };
    const settled = (result: unknown): unknown => {
      context['result'] = result;
      this.#continued(context);
      return result;
    };
    return this.#traced(context, () => {
      const result = Reflect.apply(call, self, values) as PromiseLike<unknown> | undefined;
      if (typeof result?.then !== 'function') {
        context['result'] = result;
        return result;
      }
      // A thenable of a library is given back as it is.
      if (Object.getPrototypeOf(result) !== Promise.prototype) {
        void result.then(settled, failed);
        return result;
      }
      return result.then(settled, (error) => {
        failed(error);
        throw error;
      });
    });
  }

  /** @param given the callback's position among the values, the context, `this`, and the values */
  traceCallback<R>(call: Call<R>, ...given: CallbackParameters): R {
    const [position = -1, context = {}, self, ...values] = given;
    if (!this.hasSubscribers) return Reflect.apply(call, self, values);
    const callback = values.at(position);
    validateFunction(callback, 'callback');
    const { asyncStart, asyncEnd } = this;
    const failed = (error: unknown): void => this.#failed(context, error);
    const wrapped = function (this: unknown, ...answer: unknown[]): unknown {
      const [error, result] = answer;
      if (error) failed(error);
      else context['result'] = result;
      return asyncStart.runStores(context, () => {
        try {
          return Reflect.apply(callback, this, answer);
        } finally {
          asyncEnd.publish(context);
        }
      });
    };
    return this.#traced(context, () => Reflect.apply(call, self, values.with(position, wrapped)));
  }

  #failed(context: Data, error: unknown): void {
    context['error'] = error;
    this.error.publish(context);
  }

  #continued(context: Data): void {
    this.asyncStart.publish(context);
    this.asyncEnd.publish(context);
  }

  #traced<R>(context: Data, call: () => R): R {
    return this.start.runStores(context, () => {
      try {
        return call();
      } catch (error) {
        this.#failed(context, error);
        throw error;
      } finally {
        this.end.publish(context);
      }
    });
  }
}

export const boundedChannel = (nameOrChannels: unknown): BoundedChannel => new BoundedChannel(nameOrChannels);
export const tracingChannel = (nameOrChannels: unknown): TracingChannel => new TracingChannel(nameOrChannels);

export default {
  BoundedChannel,
  Channel,
  boundedChannel,
  channel,
  hasSubscribers,
  subscribe,
  tracingChannel,
  unsubscribe,
};
