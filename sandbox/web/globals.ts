/**
 * Puts the web platform onto the global object, as far as it exists here (https://min-common-api.proposal.wintertc.org/):
 * non-enumerable, writable and configurable, as in a browser; and takes off what must not be there.
 */
import { atob, btoa } from './base64.ts';
import { Blob, File } from './blob.ts';
import { DOMException } from './dom-exception.ts';
import { FormData } from './form-data.ts';
import { Headers } from './headers.ts';
import './inspect-interface.ts';
import { closeMemoryEscapes } from './memory-escapes.ts';
import { createNavigator, Navigator } from './navigator.ts';
import { part } from './parts.ts';
import { defineProperty, objectKeys } from './primordials.ts';
import { Request } from './request.ts';
import { Response } from './response.ts';
import { TextDecoder } from './text-decoder.ts';
import { TextEncoder } from './text-encoder.ts';
import { URL } from './url.ts';
import { URLSearchParams } from './url-search-params.ts';
import { requireArguments } from './web-idl.ts';

export interface GlobalsOptions {
  /** Becomes `console`. */
  readonly console: object;
  /** Told what a callback of `queueMicrotask` threw: any value, to be treated as hostile. */
  readonly onMicrotaskError: (thrown: unknown) => void;
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

/** Prepares a fresh global object. To be called once, before any tenant code. */
export function installGlobals(target: object, { console, onMicrotaskError }: GlobalsOptions): void {
  closeMemoryEscapes(target);
  exposeLazily(target, STREAMS, () => part('streams'));
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
    queueMicrotask: function queueMicrotask(callback: unknown): void {
      requireArguments(arguments.length, 1, 'queueMicrotask');
      if (typeof callback !== 'function')
        throw new TypeError('queueMicrotask: parameter 1 is not a function');
      void runLater(callback as () => void, onMicrotaskError);
    },
  });
}

/** Defines globals as a browser does: non-enumerable, writable, configurable. */
export function exposeGlobals(target: object, values: Readonly<Record<string, unknown>>): void {
  for (const name of objectKeys(values)) expose(target, name, values[name]);
}

/**
 * Defines globals whose values are made when the first of them is read, so that an isolate pays only for what its script
 * touches. Until then each is an accessor; from then on they are what `exposeGlobals` would have made of them, but for
 * those that the script has replaced or deleted meanwhile.
 *
 * @param load answers the values of all `names`, and possibly more
 */
export function exposeLazily<Name extends string>(
  target: object,
  names: readonly Name[],
  load: () => Readonly<Record<Name, unknown>>,
): void {
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as Name;
    defineProperty(target, name, {
      get: () => {
        const value = load()[name];
        expose(target, name, value);
        return value;
      },
      set: (value: unknown) => expose(target, name, value),
      enumerable: false,
      configurable: true,
    });
  }
}

function expose(target: object, name: string, value: unknown): void {
  // The bundle is minified, and a class that calls itself `e` is no help in a log.
  if (typeof value === 'function') defineProperty(value, 'name', { value: name, configurable: true });
  defineProperty(target, name, { value, writable: true, enumerable: false, configurable: true });
}

/** Waits one turn of the microtask queue: `await` of a primitive looks nothing up that a tenant could have replaced. */
async function runLater(callback: () => void, onError: (thrown: unknown) => void): Promise<void> {
  await undefined;
  try {
    callback();
  } catch (thrown) {
    onError(thrown);
  }
}
