/** The global object of an isolate: its members, and that none of them escapes the memory limit. */
import ivm from 'isolated-vm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ISOLATE_GLOBALS } from '../../../src/host/bundle/code-review.ts';
import { TestService } from '../../support/service.ts';
import { createWebIsolate, type WebIsolate } from '../../support/web/web-isolate.ts';

/** Globals of the language, except those that escape the memory limit. */
const ENGINE = `
  AggregateError Array ArrayBuffer AsyncDisposableStack BigInt BigInt64Array BigUint64Array Boolean DataView Date
  DisposableStack Error EvalError Float16Array Float32Array Float64Array Function Infinity Int16Array Int32Array
  Int8Array Intl Iterator JSON Map Math NaN Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set
  String SuppressedError Symbol SyntaxError Temporal TypeError URIError Uint16Array Uint32Array Uint8Array
  Uint8ClampedArray WeakMap WeakRef WeakSet decodeURI decodeURIComponent encodeURI encodeURIComponent escape eval
  globalThis isFinite isNaN parseFloat parseInt undefined unescape`
  .trim()
  .split(/\s+/);

/** Globals of the web platform. */
const PLATFORM = `
  AbortController AbortSignal Blob ByteLengthQueuingStrategy CompressionStream CountQueuingStrategy Crypto CryptoKey
  CustomEvent DOMException DecompressionStream ErrorEvent Event EventSource EventTarget File FormData Headers MessageChannel
  MessageEvent MessagePort Navigator Performance PerformanceEntry PerformanceMark PerformanceMeasure PerformanceObserver PerformanceObserverEntryList PerformanceResourceTiming QuotaExceededError ReadableByteStreamController ReadableStream ReadableStreamBYOBReader
  ReadableStreamBYOBRequest ReadableStreamDefaultController ReadableStreamDefaultReader Request Response SubtleCrypto
  TextDecoder TextDecoderStream TextEncoder TextEncoderStream TransformStream TransformStreamDefaultController URL
  URLPattern URLSearchParams WebAssembly WritableStream WritableStreamDefaultController WritableStreamDefaultWriter
  addEventListener atob btoa clearInterval clearTimeout console crypto dispatchEvent fetch navigator onerror
  performance queueMicrotask removeEventListener reportError self setInterval setTimeout structuredClone`
  .trim()
  .split(/\s+/);

/** Globals that lead to machine code of the engine. */
const OF_V8 = [...ENGINE, 'WebAssembly'];

/**
 * Inside an isolate: the paths of the functions made of machine code that can be reached from some
 * globals over properties, accessors and prototypes, and from what only syntax makes. "seen" is
 * what has been visited already.
 */
const WALK = `
  function nativesFrom(names, seen) {
    const natives = [];
    const queue = names.map((name) => [name, globalThis[name]]);
    queue.push(['prototype of globalThis', Object.getPrototypeOf(globalThis)], ['generator', function* () {}], ['async generator', async function* () {}], ['async', async () => {}],
      ['array iterator', [][Symbol.iterator]()], ['map iterator', new Map().keys()], ['set iterator', new Set().keys()], ['string iterator', ''[Symbol.iterator]()],
      ['matches', 'a'.matchAll(/a/g)], ['helper', [].values().map(String)], ['wrapped', Iterator.from({ next() {} })], ['error', new Error()]);
    for (const [path, value] of queue) {
      if (Object(value) !== value || value === globalThis || seen.has(value)) continue;
      seen.add(value);
      if (typeof value === 'function' && Function.prototype.toString.call(value).endsWith('{ [native code] }')) natives.push(path);
      queue.push([path + ' > prototype', Object.getPrototypeOf(value)]);
      for (const key of Reflect.ownKeys(value)) {
        const { value: member, get, set } = Object.getOwnPropertyDescriptor(value, key);
        const name = path + ' > ' + String(key);
        queue.push([name, member], [name + ' getter', get], [name + ' setter', set]);
      }
    }
    return natives;
  }`;

let isolate: WebIsolate;
beforeAll(async () => {
  isolate = await createWebIsolate();
});
afterAll(() => isolate.dispose());

test('the bundler knows exactly these globals, and warns of other names', () => {
  expect([...ISOLATE_GLOBALS].sort()).toEqual([...ENGINE, ...PLATFORM].sort());
});

test('functions have the lengths of their required arguments', async () => {
  expect(
    await isolate.run(`
      const each = [FormData, Headers, URLSearchParams].map(({ prototype }) => prototype.forEach.length);
      const { test, exec } = URLPattern.prototype;
      return [...each, Navigator.length, URLPattern.length, test.length, exec.length];`),
  ).toEqual([1, 1, 1, 0, 0, 0, 0]);
});

test('globals are defined as in a browser', async () => {
  expect(
    await isolate.run(`
      // An event handler attribute is an accessor, as in a browser.
      const names = ${JSON.stringify([...PLATFORM, 'ArrayBuffer'])}.filter((name) => name !== 'onerror' && name in globalThis);
      for (const name of names) globalThis[name];
      const odd = names.filter((name) => {
        const { enumerable, writable, configurable } = Object.getOwnPropertyDescriptor(globalThis, name);
        const unnamed = typeof globalThis[name] === 'function' && globalThis[name].name !== name;
        return enumerable || !writable || !configurable || unnamed;
      });
      return [odd, names.length > 50, self === globalThis, navigator.userAgent, new DOMException('m', 'AbortError').code, new DOMException() instanceof Error];`),
  ).toEqual([[], true, true, 'Annex', 20, true]);
});

test('the first use of a global makes plain properties of all that come with it, but not of what replaced them', async () => {
  const fresh = await createWebIsolate();
  const seen = await fresh.run(`
    const isPlain = (name) => Object.hasOwn(Object.getOwnPropertyDescriptor(globalThis, name) ?? {}, 'value');
    const names = ['ReadableStream', 'WritableStream', 'TransformStream', 'CountQueuingStrategy'];
    const before = names.map(isPlain);
    globalThis.WritableStream = class Mine {};
    delete globalThis.TransformStream;
    new ReadableStream();
    return [before, names.map(isPlain), WritableStream.name, 'TransformStream' in globalThis];`);
  fresh.dispose();
  expect(seen).toEqual([[false, false, false, false], [true, true, false, true], 'Mine', false]);
});

test('queueMicrotask runs before the next macrotask, and its exceptions are reported', async () => {
  expect(
    await isolate.run(`
      const order = [];
      queueMicrotask(() => order.push('micro'));
      queueMicrotask(() => { throw new Error('in a microtask'); });
      order.push('sync');
      await null; await null;
      let refused; try { queueMicrotask(1); } catch (error) { refused = error.name; }
      return [order, prelude.thrown.map((text) => text.split('\\n')[0]), refused];`),
  ).toEqual([['sync', 'micro'], ['Error: in a microtask'], 'TypeError']);
});

test('attack: SharedArrayBuffer and Atomics are absent', async () => {
  expect(
    await isolate.run(`return [typeof SharedArrayBuffer, typeof Atomics, Object.getOwnPropertyNames(globalThis)
      .filter((name) => /shared|atomic/i.test(name))]`),
  ).toEqual(['undefined', 'undefined', []]);
});

test('attack: no way of making a buffer makes a resizable one', async () => {
  expect(
    await isolate.run(`
      const growth = { maxByteLength: 1 << 30 };
      class Mine extends ArrayBuffer { constructor() { super(1, growth); } }
      const makers = {
        constructor: () => new ArrayBuffer(1, growth),
        construct: () => Reflect.construct(ArrayBuffer, [1, growth]),
        newTarget: () => Reflect.construct(ArrayBuffer, [1, growth], Object),
        subclass: () => new Mine(),
        prototypeConstructor: () => new ArrayBuffer.prototype.constructor(1, growth),
        ofView: () => new (new Uint8Array(1).buffer.constructor)(1, growth),
        ofDataView: () => new (new DataView(new ArrayBuffer(1)).buffer.constructor)(1, growth),
        ofBody: async () => new ((await new Response('x').arrayBuffer()).constructor)(1, growth),
        species: () => new (ArrayBuffer[Symbol.species])(1, growth),
        transfer: () => new ArrayBuffer(1, growth).transfer(8),
        slice: () => { class S extends ArrayBuffer { static get [Symbol.species]() { return function () { return new ArrayBuffer(8, growth); }; } } return new S(4).slice(0, 2); },
        evaluated: () => (0, eval)('new ArrayBuffer(1, { maxByteLength: 1 << 30 })'),
        bound: () => new (ArrayBuffer.bind(null, 1, growth))(),
      };
      const isResizable = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, 'resizable').get;
      const found = [];
      for (const [name, make] of Object.entries(makers)) if (isResizable.call(await make())) found.push(name);
      return [found, typeof ArrayBuffer.prototype.resize, Object.getPrototypeOf(ArrayBuffer) === Function.prototype, 'growable' in ArrayBuffer.prototype];`),
  ).toEqual([[], 'undefined', true, false]);
});

test('ordinary buffers work as before', async () => {
  expect(
    await isolate.run(`
      class Mine extends ArrayBuffer {}
      let called; try { ArrayBuffer(1); } catch (error) { called = error.name; }
      const mine = new Mine(8);
      return [mine instanceof Mine, mine instanceof ArrayBuffer, mine.slice(2) instanceof Mine, mine.slice(2).byteLength, new ArrayBuffer(3).transfer(5).byteLength,
        ArrayBuffer.isView(new Uint8Array(1)), new Uint8Array(2).buffer instanceof ArrayBuffer, ArrayBuffer.length, called, structuredCloneless(new ArrayBuffer(2))];
      function structuredCloneless(buffer) { return Object.prototype.toString.call(buffer); }`),
  ).toEqual([true, true, true, 6, 5, true, true, 1, 'TypeError', '[object ArrayBuffer]']);
});

test('attack: a fixed buffer over the memory limit is refused, in every way of making one', async () => {
  expect(
    await isolate.run(`
      const big = 1 << 30;
      const attempt = (run) => { try { run(); return 'got it'; } catch (error) { return error.name; } };
      return [() => new ArrayBuffer(big), () => new Uint8Array(big), () => new ArrayBuffer(8).transfer(big), () => new ArrayBuffer(8).transferToFixedLength(big)].map(attempt);`),
  ).toEqual(Array(4).fill('RangeError'));
});

describe('the global object of an integration', () => {
  let answer: { keys: string[]; prototypes: string[][]; engine: string[]; rest: string[]; odd: string[] };

  let annex: TestService | undefined;

  beforeAll(async () => {
    annex = await TestService.start();
    const script = `${WALK}
      export default {
        fetch() {
          const keys = Reflect.ownKeys(globalThis).map(String).sort();
          const prototypes = [];
          for (let at = Object.getPrototypeOf(globalThis); at !== null; at = Object.getPrototypeOf(at)) prototypes.push(Reflect.ownKeys(at).map(String).sort());
          const odd = keys.filter((name) => Object.getOwnPropertyDescriptor(globalThis, name).enumerable);
          const seen = new Set();
          const engine = nativesFrom(${JSON.stringify(OF_V8)}, seen);
          return Response.json({ keys, prototypes, odd, engine, rest: nativesFrom(keys, seen) });
        },
      };`;
    await annex.publish('globals', { 'index.js': script });
    const { endpoint } = await annex.install('globals');
    answer = (await (await fetch(`${endpoint}/x`)).json()) as typeof answer;
  });

  afterAll(() => annex?.stop());

  test('holds the language, the web platform and nothing else', () => {
    expect(answer.keys).toEqual([...ENGINE, ...PLATFORM].sort());
    expect(answer.odd).toEqual([]);
    expect(answer.prototypes).toEqual([
      ['constructor'],
      [
        '__defineGetter__',
        '__defineSetter__',
        '__lookupGetter__',
        '__lookupSetter__',
        '__proto__',
        'constructor',
        'hasOwnProperty',
        'isPrototypeOf',
        'propertyIsEnumerable',
        'toLocaleString',
        'toString',
        'valueOf',
      ],
    ]);
  });

  test('attack: no function of the host can be reached from it', async () => {
    const bare = new ivm.Isolate({ memoryLimit: 64 });
    const context = await bare.createContext();
    const known = new Set(
      JSON.parse(
        String(
          await context.eval(`${WALK} JSON.stringify(nativesFrom(${JSON.stringify(OF_V8)}, new Set()))`),
        ),
      ) as string[],
    );
    bare.dispose();
    expect(known.size).toBeGreaterThan(800);
    // Some built-ins are replaced by wrappers that count their memory.
    expect(answer.engine.length).toBeGreaterThan(700);
    expect(answer.engine.filter((path) => !known.has(path))).toEqual([]);
    // All machine code that the platform leads to is the engine's own.
    expect(answer.rest).toEqual([]);
  });
});

test('navigator has only its user agent, and cannot be constructed', async () => {
  expect(
    await isolate.run(`
      const { get, set, enumerable } = Object.getOwnPropertyDescriptor(Navigator.prototype, 'userAgent');
      const attempt = (run) => { try { return run(); } catch (error) { return error.name; } };
      return [Object.keys(Navigator.prototype), Reflect.ownKeys(navigator), set, enumerable, attempt(() => new Navigator()), attempt(() => get.call({})), String(navigator),
        navigator instanceof Navigator];`),
  ).toEqual([['userAgent'], [], null, true, 'TypeError', 'TypeError', '[object Navigator]', true]);
});
