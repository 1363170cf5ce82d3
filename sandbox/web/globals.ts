/**
 * Installs the web platform on the global object (https://min-common-api.proposal.wintertc.org/):
 * non-enumerable, writable and configurable, as in a browser; and removes globals that must not
 * exist.
 */
import { atob, btoa } from './encoding/base64.ts';
import { Blob, File } from './fetch/blob.ts';
import './time/clock.ts';
import { DOMException } from './dom-exception.ts';
import { FormData } from './fetch/form-data.ts';
import { Headers } from './fetch/headers.ts';
import './console/inspect-interface.ts';
import { currentContext, runInContext } from './current-call.ts';
import { TextDecoder } from './encoding/text-decoder.ts';
import { TextEncoder } from './encoding/text-encoder.ts';
import { reportError, reportException, setExceptionLog } from './events/uncaught.ts';
import { Request } from './fetch/request.ts';
import { Response } from './fetch/response.ts';
import {
  abort,
  compression,
  crypto,
  eventSource,
  events,
  messages,
  performance,
  structuredClone,
  temporal,
  textStreams,
} from './lazy.ts';
import { closeMemoryEscapes } from './memory/memory-escapes.ts';
import { createNavigator, Navigator } from './navigator.ts';
import { part } from './parts.ts';
import {
  COMPILES,
  defineProperty,
  deleteProperty,
  getOwnPropertyDescriptor,
  MapIntrinsic,
  mapForEach,
  mapSet,
  objectKeys,
} from './primordials.ts';
import { streams } from './streams/stream.ts';
import { URL } from './url/url.ts';
import { URLSearchParams } from './url/url-search-params.ts';
import { requireArguments } from './web-idl.ts';
import { webAssemblyNeeds } from './webassembly/needs.ts';

export interface GlobalsOptions {
  /** Becomes `console`. */
  readonly console: object;
  /**
   * Logs an uncaught exception that no listener of `error` prevented: any value, which may be
   * hostile.
   */
  readonly onUncaught: (thrown: unknown) => void;
}

const STREAMS = [
  'ByteLengthQueuingStrategy',
  'CountQueuingStrategy',
  'ReadableByteStreamController',
  'ReadableStream',
  'ReadableStreamBYOBReader',
  'ReadableStreamBYOBRequest',
  'ReadableStreamDefaultController',
  'ReadableStreamDefaultReader',
  'TransformStream',
  'TransformStreamDefaultController',
  'WritableStream',
  'WritableStreamDefaultController',
  'WritableStreamDefaultWriter',
] as const;

const ABORT = ['AbortController', 'AbortSignal'] as const;

const EVENTS = [
  'CustomEvent',
  'ErrorEvent',
  'Event',
  'EventTarget',
  'addEventListener',
  'dispatchEvent',
  'removeEventListener',
] as const;

/**
 * `onerror` (https://html.spec.whatwg.org/#handler-onerror): an accessor that evaluates the events
 * only when it is used.
 */
const onError: PropertyDescriptor = {
  ...getOwnPropertyDescriptor(
    {
      get onerror(): unknown {
        return events().getHandler(globalThis, 'error');
      },
      set onerror(handler: unknown) {
        events().setHandler(globalThis, 'error', handler);
      },
    },
    'onerror',
  ),
  enumerable: false,
};

const PERFORMANCE = [
  'Performance',
  'PerformanceEntry',
  'PerformanceMark',
  'PerformanceMeasure',
  'PerformanceResourceTiming',
  'performance',
] as const;

const CRYPTO = ['Crypto', 'CryptoKey', 'QuotaExceededError', 'SubtleCrypto', 'crypto'] as const;

/** Prepares a fresh global object. Called once, before any tenant code. */
export function installGlobals(target: object, { console, onUncaught }: GlobalsOptions): void {
  closeMemoryEscapes(target);
  setExceptionLog(onUncaught);
  // Deleted first: defining it over the engine's would make the engine create its own.
  deleteProperty(target, 'Temporal');
  exposeLazily(target, ['Temporal'], temporal);
  exposeLazily(target, ABORT, abort);
  exposeLazily(target, EVENTS, events);
  exposeLazily(target, ['EventSource'], eventSource);
  exposeLazily(target, ['MessageChannel', 'MessageEvent', 'MessagePort'], messages);
  exposeLazily(target, PERFORMANCE, performance);
  exposeLazily(target, ['PerformanceObserver', 'PerformanceObserverEntryList'], () =>
    performance().observers(),
  );
  defineProperty(target, 'onerror', onError);
  exposeLazily(target, STREAMS, streams);
  exposeLazily(target, ['TextDecoderStream', 'TextEncoderStream'], textStreams);
  exposeLazily(target, ['CompressionStream', 'DecompressionStream'], compression);
  exposeLazily(target, CRYPTO, crypto);
  exposeLazily(target, ['URLPattern'], () => part('urlpattern'));
  if (COMPILES) exposeLazily(target, ['WebAssembly'], () => part('webassembly', webAssemblyNeeds));
  exposeLazily(target, ['structuredClone'], structuredClone);
  exposeGlobals(target, {
    Blob,
    DOMException,
    File,
    FormData,
    Headers,
    Navigator,
    Request,
    Response,
    TextDecoder,
    TextEncoder,
    URL,
    URLSearchParams,
    atob,
    btoa,
    console,
    navigator: createNavigator(),
    self: target,
    reportError,
    queueMicrotask: function queueMicrotask(callback: unknown): void {
      requireArguments(arguments.length, 1, 'queueMicrotask');
      if (typeof callback !== 'function')
        throw new TypeError('queueMicrotask: parameter 1 is not a function');
      void runLater(callback as () => void);
    },
  });
}

/** Defines globals as a browser does: non-enumerable, writable, configurable. */
export function exposeGlobals(target: object, values: Readonly<Record<string, unknown>>): void {
  for (const name of objectKeys(values)) expose(target, name, values[name]);
}

/**
 * Defines lazy globals, whose values are made when the first of them is read, so that an isolate
 * pays only for what its script uses: all of them are 780 KiB. Until then each is an accessor; then
 * all of them are as `exposeGlobals` defines them, except those that the script has replaced or
 * deleted.
 *
 * @param load returns the values of all `names`, and possibly more
 */
function exposeLazily<Name extends string>(
  target: object,
  names: readonly Name[],
  load: () => Readonly<Record<Name, unknown>>,
): void {
  const getters = new MapIntrinsic<Name, () => unknown>();
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as Name;
    const get = (): unknown => {
      const values = load();
      mapForEach(getters, (getter, each) => {
        if (getOwnPropertyDescriptor(target, each)?.get === getter) expose(target, each, values[each]);
      });
      return values[name];
    };
    mapSet(getters, name, get);
    const set = (value: unknown): void => define(target, name, value);
    defineProperty(target, name, { get, set, enumerable: false, configurable: true });
  }
}

function expose(target: object, name: string, value: unknown): void {
  // The bundle is minified: without this, a class would have a name like `e` in logs.
  if (typeof value === 'function') defineProperty(value, 'name', { value: name, configurable: true });
  define(target, name, value);
}

function define(target: object, name: string, value: unknown): void {
  defineProperty(target, name, { value, writable: true, enumerable: false, configurable: true });
}

/**
 * Waits one microtask: `await` of a primitive looks up nothing that a tenant could have replaced.
 */
async function runLater(callback: () => void): Promise<void> {
  const context = currentContext();
  await undefined;
  try {
    runInContext(context, callback);
  } catch (thrown) {
    reportException(thrown);
  }
}
