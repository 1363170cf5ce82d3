/** The global object of an isolate: what is there, and that nothing is left that escapes the memory limit. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWebIsolate, type WebIsolate } from './support/web-isolate.ts';

let isolate: WebIsolate;
beforeAll(async () => {
  isolate = await createWebIsolate();
});
afterAll(() => isolate.dispose());

test('globals are defined as in a browser', async () => {
  expect(
    await isolate.run(`
      const names = ['Blob', 'DOMException', 'File', 'FormData', 'Headers', 'Navigator', 'Request', 'Response', 'TextDecoder', 'TextEncoder',
        'URL', 'URLSearchParams', 'atob', 'btoa', 'console', 'navigator', 'self', 'queueMicrotask', 'ArrayBuffer'];
      const odd = names.filter((name) => {
        const { enumerable, writable, configurable } = Object.getOwnPropertyDescriptor(globalThis, name);
        const unnamed = typeof globalThis[name] === 'function' && globalThis[name].name !== name;
        return enumerable || !writable || !configurable || unnamed;
      });
      return [odd, self === globalThis, navigator.userAgent, new DOMException('m', 'AbortError').code, new DOMException() instanceof Error];`),
  ).toEqual([[], true, 'Annex', 20, true]);
});

test('queueMicrotask runs before the next macrotask, and what it throws is reported', async () => {
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

test('attack: WebAssembly, SharedArrayBuffer and Atomics are gone', async () => {
  expect(
    await isolate.run(`return [typeof WebAssembly, typeof SharedArrayBuffer, typeof Atomics, Object.getOwnPropertyNames(globalThis)
      .filter((name) => /wasm|shared|atomic/i.test(name))]`),
  ).toEqual(['undefined', 'undefined', 'undefined', []]);
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

test('attack: a fixed buffer over the memory limit is refused, however it is asked for', async () => {
  expect(
    await isolate.run(`
      const big = 1 << 30;
      const attempt = (run) => { try { run(); return 'got it'; } catch (error) { return error.name; } };
      return [() => new ArrayBuffer(big), () => new Uint8Array(big), () => new ArrayBuffer(8).transfer(big), () => new ArrayBuffer(8).transferToFixedLength(big)].map(attempt);`),
  ).toEqual(Array(4).fill('RangeError'));
});
