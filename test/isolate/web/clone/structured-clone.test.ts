/** `structuredClone` inside an isolate: copies, refusals, and resistance to a hostile script. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWebIsolate, type WebIsolate } from '../../../support/web/web-isolate.ts';

let isolate: WebIsolate;
beforeAll(async () => {
  isolate = await createWebIsolate();
});
afterAll(() => isolate.dispose());

/** `attempt(run)` returns the name of the error thrown, with an asterisk for a DOMException. */
const ATTEMPT = `const attempt = (run) => {
  try { run(); return 'done'; } catch (error) { return (error instanceof DOMException ? '*' : '') + error.name; }
};`;

test('primitives are themselves', async () => {
  expect(
    await isolate.run(`
      const values = [undefined, null, true, false, '', '\\uD800', '\\0', '\\u{10FFFD}', 0.2, 0, -0, NaN, Infinity, 2 ** 53 + 2, 0n, -(10n ** 40n)];
      return values.filter((value) => !Object.is(structuredClone(value), value)).length
        + structuredClone(values).filter((value, i) => !Object.is(value, values[i])).length;`),
  ).toBe(0);
});

test('boxes, dates and expressions become new ones of their kind, without their own properties', async () => {
  expect(
    await isolate.run(`
      const expression = /a\\/b/dgimsvy; expression.lastIndex = 3;
      const values = [new Boolean(false), new Number(-0), new String('\\uD800'), Object(12n), new Date(8.64e15), new Date(NaN), expression, new RegExp('')];
      return values.map((value) => {
        value.extra = 1;
        const copy = structuredClone(value);
        return [copy !== value, Object.getPrototypeOf(copy) === Object.getPrototypeOf(value), 'extra' in copy,
          copy instanceof RegExp ? [copy.source, copy.flags, copy.lastIndex] : Object.is(copy.valueOf(), value.valueOf())];
      });`),
  ).toEqual([
    ...Array(6).fill([true, true, false, true]),
    [true, true, false, ['a\\/b', 'dgimsvy', 0]],
    [true, true, false, ['(?:)', '', 0]],
  ]);
});

test('an object of a subclass, or with another prototype, is cloned by its internal slots', async () => {
  expect(
    await isolate.run(`
      const tagged = (Class, ...parameters) => new (class extends Class { get [Symbol.toStringTag]() { return 'Mine'; } })(...parameters);
      const bare = (value) => Object.setPrototypeOf(value, null);
      const values = [tagged(Map, [[1, 2]]), tagged(Set, [1]), tagged(Date, 0), tagged(RegExp, 'a'), tagged(Number, 1), tagged(Array, 1, 2), tagged(Uint8Array, 2),
        tagged(ArrayBuffer, 1), bare(new Date(0)), bare(new Boolean(true)), bare(/a/), bare([1]), bare(new Error('m')), bare(new DataView(new ArrayBuffer(1))),
        new (class Mine { a = 1; })(), Object.create(Map.prototype), Object.create(Date.prototype), Object.create(RegExp.prototype), Object.prototype];
      return values.map((value) => Object.getPrototypeOf(structuredClone(value)).constructor.name);`),
  ).toEqual([
    'Map',
    'Set',
    'Date',
    'RegExp',
    'Number',
    'Array',
    'Uint8Array',
    'ArrayBuffer',
    'Date',
    'Boolean',
    'RegExp',
    'Array',
    'Error',
    'DataView',
    ...Array(5).fill('Object'),
  ]);
});

test('objects keep their own enumerable string keys, as plain properties', async () => {
  expect(
    await isolate.run(`
      const source = Object.defineProperties(Object.create({ inherited: 1 }), {
        fixed: { value: 1, enumerable: true }, hidden: { value: 1 }, computed: { get: () => 'got', enumerable: true },
        [Symbol('s')]: { value: 1, enumerable: true }, ['__proto__']: { value: 'own', enumerable: true }, 2: { value: 'b', enumerable: true }, 1: { value: 'a', enumerable: true },
      });
      const copy = structuredClone(source);
      const flags = new Set(Object.values(Object.getOwnPropertyDescriptors(copy)).map((d) => '' + d.writable + d.enumerable + d.configurable));
      return [Object.entries(copy), [...flags], Object.getPrototypeOf(copy) === Object.prototype, Reflect.ownKeys(copy).length,
        Object.getPrototypeOf(structuredClone(Object.create(null))) === Object.prototype];`),
  ).toEqual([
    [
      ['1', 'a'],
      ['2', 'b'],
      ['fixed', 1],
      ['computed', 'got'],
      ['__proto__', 'own'],
    ],
    ['truetruetrue'],
    true,
    5,
    true,
  ]);
});

test('arrays keep their length, holes and further properties', async () => {
  expect(
    await isolate.run(`
      const sparse = [, 1, , { a: 1 }]; sparse.length = 10; sparse.extra = 'x';
      const copy = structuredClone(sparse);
      const long = []; long.length = 2 ** 32 - 1; long[5] = 1;
      return [copy.length, Object.keys(copy), copy.extra, Array.isArray(copy), structuredClone(long).length, Object.keys(structuredClone(long)), structuredClone(new Array(3)).length];`),
  ).toEqual([10, ['1', '3', 'extra'], 'x', true, 4294967295, ['5'], 3]);
});

test('maps and sets keep the order and the identity of their values', async () => {
  expect(
    await isolate.run(`
      const key = { k: 1 };
      const map = new Map([[key, 1], ['b', key], [NaN, new Set([key])]]); map.self = 1; map.set('me', map);
      const copy = structuredClone(map);
      const [first] = copy.keys();
      const set = new Set([3, 1, 2]); set.add(set);
      const other = structuredClone(set);
      return [first !== key, first.k, copy.get('b') === first, copy.get(NaN).has(first), copy.get('me') === copy, 'self' in copy, [...other].slice(0, 3), other.has(other), other.size];`),
  ).toEqual([true, 1, true, true, true, false, [3, 1, 2], true, 4]);
});

test('cycles and shared objects are preserved', async () => {
  expect(
    await isolate.run(`
      const shared = {}; const list = [shared, shared]; const circle = { list, shared }; circle.self = circle; list.push(list);
      const copy = structuredClone(circle);
      return [copy.self === copy, copy.list[0] === copy.list[1], copy.list[0] === copy.shared, copy.list[2] === copy.list, copy.shared !== shared];`),
  ).toEqual([true, true, true, true, true]);
});

test('getters run depth first, in the order of keys; deleted members are left out, errors are rethrown', async () => {
  expect(
    await isolate.run(`
      const order = [];
      const say = (name, value) => ({ get() { order.push(name); return value; }, enumerable: true, configurable: true });
      const inner = Object.defineProperties({}, { x: say('a.x', 1), y: say('a.y', 2) });
      structuredClone(Object.defineProperties({}, { a: say('a', inner), b: say('b', 1) }));
      const shrinking = { get a() { delete this.b; this.c = 1; return 1; }, b: 2 };
      const error = new Error(); let thrown;
      try { structuredClone([{ get x() { throw error; } }]); } catch (caught) { thrown = caught; }
      return [order, structuredClone(shrinking), thrown === error];`),
  ).toEqual([['a', 'a.x', 'a.y', 'b'], { a: 1 }, true]);
});

test('errors keep a standard name, message, stack and cause', async () => {
  expect(
    await isolate.run(`
      const constructors = [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError];
      const kept = constructors.every((Class) => {
        const error = Object.assign(new Class('m'), { extra: 1 });
        const copy = structuredClone(error);
        return copy.constructor === Class && copy.message === 'm' && copy.stack === error.stack && !('extra' in copy)
          && !Object.getOwnPropertyDescriptor(copy, 'message').enumerable && Error.isError(copy);
      });
      class Mine extends TypeError { name = 'Mine'; }
      const renamed = structuredClone(Object.assign(new Error('m'), { name: 'RangeError' }));
      const accessor = Object.defineProperty(new Error('m'), 'message', { get: () => 'n' });
      const cause = { c: 1 }; const caused = new Error('m', { cause }); caused.cause.back = caused;
      const copy = structuredClone(caused);
      const text = new Error(); text.message = { toString: () => 'said' };
      return [kept, structuredClone(new Mine('m')).constructor.name, renamed.constructor.name, Object.hasOwn(structuredClone(new Error()), 'message'),
        Object.hasOwn(structuredClone(accessor), 'message'), copy.cause.c, copy.cause !== cause, copy.cause.back === copy, Object.keys(copy),
        Object.hasOwn(structuredClone(new Error('m')), 'cause'), Object.hasOwn(structuredClone(new Error('m', { cause: undefined })), 'cause'),
        structuredClone(text).message, structuredClone(new AggregateError([1], 'm')).constructor.name, structuredClone(Object.assign(new Error(), { name: 'constructor' })).constructor.name];`),
  ).toEqual([
    true,
    'Error',
    'RangeError',
    false,
    false,
    1,
    true,
    true,
    [],
    false,
    true,
    'said',
    'Error',
    'Error',
  ]);
});

test('buffers and views are copied, and views of one buffer share its copy', async () => {
  expect(
    await isolate.run(`
      const buffer = Uint8Array.from({ length: 32 }, (_, i) => i).buffer;
      const classes = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float16Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array];
      const views = classes.map((Class) => new Class(buffer, 8, 2));
      views.push(new DataView(buffer, 3, 4));
      views[1].extra = 1;
      const [copies, copied] = structuredClone([views, buffer]);
      const same = copies.every((copy, i) => copy.constructor === views[i].constructor && copy.buffer === copied && copy.byteOffset === views[i].byteOffset
        && copy.byteLength === views[i].byteLength && String(copy) === String(views[i]));
      copies[1][0] = 255;
      return [same, copied !== buffer, copied.byteLength, new Uint8Array(copied)[8], new Uint8Array(buffer)[8], 'extra' in copies[1], structuredClone(new ArrayBuffer(0)).byteLength];`),
  ).toEqual([true, true, 32, 255, 8, false, 0]);
});

test('blobs, files and DOMExceptions are cloned, as the nearest class that can be', async () => {
  expect(
    await isolate.run(`
      class MyFile extends File {}
      const { Blob: TheBlob } = globalThis;
      delete globalThis.Blob;
      const [blob, file, exception] = structuredClone([new TheBlob(['foo'], { type: 'text/x-bar' }), new MyFile(['\\0é'], 'n\\u00e4me', { type: 'a/b', lastModified: 42 }),
        new DOMException('m', 'AbortError')]);
      const original = new DOMException('m'); 
      globalThis.Blob = TheBlob;
      return [Object.getPrototypeOf(blob) === TheBlob.prototype, await blob.text(), blob.type, Object.getPrototypeOf(file) === File.prototype, file.name, file.lastModified, file.type,
        await file.text(), exception instanceof DOMException, exception.name, exception.message, exception.code, structuredClone(original).stack === original.stack];`),
  ).toEqual([true, 'foo', 'text/x-bar', true, 'näme', 42, 'a/b', '\0é', true, 'AbortError', 'm', 20, true]);
});

test('an object that cannot be cloned is a DataCloneError at any depth', async () => {
  expect(
    await isolate.run(`${ATTEMPT}
      const values = { function: () => 1, class: class {}, symbol: Symbol(), boxedSymbol: Object(Symbol()), weakMap: new WeakMap(), weakSet: new WeakSet(), weakRef: new WeakRef({}),
        promise: Promise.resolve(), generator: (function* () {})(), asyncGenerator: (async function* () {})(), iterator: [].values(), mapIterator: new Map().keys(),
        helper: [].values().map(String), arguments: (function () { return arguments; })(1), strict: (function () { 'use strict'; return arguments; })(), intl: new Intl.NumberFormat(),
        global: globalThis, proxiedFunction: new Proxy(() => 1, {}), response: new Response(), request: new Request('https://a.example'), headers: new Headers(), url: new URL('https://a.example'),
        params: new URLSearchParams(), form: new FormData(), stream: new ReadableStream(), encoder: new TextEncoder(), pattern: new URLPattern(), navigator };
      const places = [(value) => value, (value) => [value], (value) => ({ value }), (value) => new Map([[value, 1]]), (value) => new Map([[1, value]]), (value) => new Set([value]),
        (value) => new Error('m', { cause: value })];
      const wrong = [];
      for (const [name, value] of Object.entries(values)) for (const place of places) {
        const outcome = attempt(() => structuredClone(place(value)));
        if (outcome !== '*DataCloneError') wrong.push([name, String(place), outcome]);
      }
      return wrong;`),
  ).toEqual([]);
});

test('arguments are converted as in Web IDL', async () => {
  expect(
    await isolate.run(`${ATTEMPT}
      const outcomes = [() => structuredClone(), () => structuredClone(1, 1), () => structuredClone(1, null), () => structuredClone(1, {}), () => structuredClone(1, { transfer: undefined }),
        () => structuredClone(1, { transfer: null }), () => structuredClone(1, { transfer: 'a' }), () => structuredClone(1, { transfer: {} }), () => structuredClone(1, { transfer: [1] }),
        () => structuredClone(1, { transfer: new Set([{}]) }), () => structuredClone(Symbol(), { transfer: [null] }), () => structuredClone(undefined)].map(attempt);
      const { enumerable, writable, configurable } = Object.getOwnPropertyDescriptor(globalThis, 'structuredClone');
      return [outcomes, structuredClone.length, structuredClone.name, enumerable, writable, configurable, 'prototype' in structuredClone && attempt(() => new structuredClone(1))];`),
  ).toEqual([
    [
      'TypeError',
      'TypeError',
      'done',
      'done',
      'done',
      'TypeError',
      'TypeError',
      'TypeError',
      'TypeError',
      '*DataCloneError',
      'TypeError',
      'done',
    ],
    1,
    'structuredClone',
    false,
    true,
    true,
    expect.anything(),
  ]);
});

test('a transferred buffer moves, with its views, at any depth', async () => {
  expect(
    await isolate.run(`
      const buffer = Uint8Array.of(1, 2, 3, 4).buffer; const other = Uint8Array.of(9).buffer; const unused = new ArrayBuffer(5);
      const view = new Uint8Array(buffer, 1, 2);
      const copy = structuredClone({ before: 1, view, buffer, after: [buffer], keys: new Map([[0, 0], [buffer, view], [1, 1]]), set: new Set([0, buffer, 1]), other: new DataView(other),
        error: new Error('m', { cause: buffer }), sparse: [, buffer, , ] }, { transfer: [buffer, unused] });
      const [, [key, value]] = copy.keys;
      const alone = structuredClone(other, { transfer: [other] });
      return [Object.keys(copy), [...copy.view], copy.view.buffer === copy.buffer, copy.after[0] === copy.buffer, key === copy.buffer, value === copy.view, [...copy.set].indexOf(copy.buffer),
        copy.error.cause === copy.buffer, copy.sparse.length, copy.buffer.byteLength, buffer.detached, buffer.byteLength, view.length, unused.detached, copy.other.buffer.byteLength, alone.byteLength, other.detached];`),
  ).toEqual([
    ['before', 'view', 'buffer', 'after', 'keys', 'set', 'other', 'error', 'sparse'],
    [2, 3],
    true,
    true,
    true,
    true,
    1,
    true,
    3,
    4,
    true,
    0,
    0,
    true,
    1,
    1,
    true,
  ]);
});

test('a refused transfer leaves the buffers attached', async () => {
  expect(
    await isolate.run(`${ATTEMPT}
      const fresh = () => new ArrayBuffer(4);
      const detached = fresh(); const stale = new Uint8Array(detached); detached.transfer();
      const a = fresh(); const b = fresh();
      const outcomes = [
        () => structuredClone(1, { transfer: [a, a] }), () => structuredClone(1, { transfer: [a, new Blob()] }), () => structuredClone(1, { transfer: [a, new Uint8Array(b)] }),
        () => structuredClone(1, { transfer: [a, new ReadableStream()] }), () => structuredClone([a, () => 1], { transfer: [a] }), () => structuredClone(1, { transfer: [detached] }),
        () => structuredClone(detached), () => structuredClone(stale), () => structuredClone(1, { transfer: [new DOMException()] }),
        () => structuredClone({ get x() { throw new RangeError(); } }, { transfer: [a] }), () => structuredClone({ get x() { b.transfer(); } }, { transfer: [b] }),
      ].map(attempt);
      return [outcomes, a.detached];`),
  ).toEqual([[...Array(9).fill('*DataCloneError'), 'RangeError', '*DataCloneError'], false]);
});

test('attack: a setter or a getter on a prototype sees nothing of the copy', async () => {
  const own = await createWebIsolate();
  expect(
    await own.run(`
      let seen = 0;
      for (const name of ['a', '0', 'cause', 'message']) for (const prototype of [Object.prototype, Array.prototype, Error.prototype])
        if (name !== 'message' || prototype !== Error.prototype) Object.defineProperty(prototype, name, { set() { seen++; }, get: () => 'inherited', configurable: true });
      const copy = structuredClone({ a: [1], b: new Map([[0, { a: 2 }]]), e: new Error('m', { cause: 3 }) });
      return [seen, Object.hasOwn(copy, 'a'), Object.hasOwn(copy.a, '0'), copy.b.get(0).a, copy.e.cause];`),
  ).toEqual([0, true, true, 2, 3]);
  own.dispose();
});

test('attack: a prototype that has a name already changes neither the copy of it nor the order of names', async () => {
  const own = await createWebIsolate();
  expect(
    await own.run(`
      let seen = 0;
      const spy = { set() { seen++; }, get: () => 'inherited' };
      Object.defineProperty(Object.prototype, 'fixed', { value: 'inherited', writable: false });
      Object.defineProperty(Object.prototype, 'spied', spy);
      Object.defineProperty(Array.prototype, 2, spy);
      const object = { first: 1, fixed: 2, ['__proto__']: 3, spied: 4, toString: 5, last: 6 };
      const holes = [, 'one', 'two', , 'four'];
      holes.more = 'five';
      Object.setPrototypeOf(Array.prototype, new Proxy({}, { set() { seen++; return true; }, has() { seen++; return false; } }));
      const before = [Object.entries(object), Object.entries(holes)];
      const copies = [object, holes].map((value) => structuredClone(value));
      const { value, writable, enumerable, configurable } = Object.getOwnPropertyDescriptor(copies[0], 'fixed');
      return [seen, JSON.stringify(copies.map(Object.entries)) === JSON.stringify(before), before[0].length, copies[1].length, [value, writable, enumerable, configurable]];`),
  ).toEqual([0, true, 6, 5, [2, true, true, true]]);
  own.dispose();
});

test('attack: nesting of any depth is cloned, or refused with an error that the script can catch', async () => {
  expect(
    await isolate.run(`
      let object = {}; let map = new Map(); let error = new Error('e');
      for (let i = 0; i < 20_000; i++) { object = { object }; map = new Map([[map, 1]]); }
      for (let i = 0; i < 2_000; i++) error = new Error('e', { cause: error });
      const depth = (value, next) => { let depth = 0; while ((value = next(value)) !== undefined) depth++; return depth; };
      return [depth(structuredClone(object), (value) => value.object), depth(structuredClone(map), (value) => value.keys().next().value), depth(structuredClone(error), (value) => value.cause)];`),
  ).toEqual([20_000, 20_000, 2_000]);
});

test('unlike in a browser, a Proxy is cloned through its traps', async () => {
  expect(
    await isolate.run(`
      const proxy = new Proxy({ a: 1 }, { get: (target, name) => target[name] + 1 });
      return [structuredClone(proxy), structuredClone(new Proxy([1, 2], {}))];`),
  ).toEqual([{ a: 2 }, [1, 2]]);
});

test('an array without holes and other properties is copied in bulk; any other keeps its holes and properties', async () => {
  expect(
    await isolate.run(`
      const show = (array) => [array.length, Object.keys(array).join(), Array.isArray(array), Object.getPrototypeOf(array) === Array.prototype];
      const named = [1, 2]; named.name = 'n';
      const holes = [1, , 3];
      const both = [1, , 3]; both.name = undefined;
      const last = [undefined]; last.length = 3; last.x = undefined; last.y = undefined;
      const dense = [1, 'a', null, undefined, true, 2n, -0, NaN, { nested: [1] }];
      dense[8].self = dense;
      class Sub extends Array {}
      const read = [];
      const accessor = [0, 1]; Object.defineProperty(accessor, 0, { get() { read.push('0'); return 'got'; }, enumerable: true, configurable: true });
      const hidden = [1, 2]; Object.defineProperty(hidden, 0, { enumerable: false });
      const sparse = []; sparse[4_000_000_000] = 'far';
      const copy = structuredClone(dense);
      const symbol = (() => { try { structuredClone([1, Symbol()]); } catch (error) { return error.name; } })();
      const shared = {}; const pair = structuredClone([shared, shared, [shared]]);
      return [
        [named, holes, both, last, Sub.from([1, 2]), hidden, sparse, []].map((array) => show(structuredClone(array))),
        structuredClone(named).name, 1 in structuredClone(holes), copy.length, copy[0] === 1 && copy[2] === null && copy[5] === 2n && Object.is(copy[6], -0) && Number.isNaN(copy[7]),
        3 in copy, copy[8] !== dense[8], copy[8].self === copy, copy[8].nested, structuredClone(accessor), read.length, symbol,
        pair[0] === pair[1] && pair[2][0] === pair[0] && pair[0] !== shared, structuredClone(sparse)[4_000_000_000],
      ];`),
  ).toEqual([
    [
      [2, '0,1,name', true, true],
      [3, '0,2', true, true],
      [3, '0,2,name', true, true],
      [3, '0,x,y', true, true],
      [2, '0,1', true, true],
      [2, '1', true, true],
      [4_000_000_001, '4000000000', true, true],
      [0, '', true, true],
    ],
    'n',
    false,
    9,
    true,
    true,
    true,
    true,
    [1],
    ['got', 1],
    1,
    'DataCloneError',
    true,
    'far',
  ]);
});

test('arrays of a million values are copied within the time of a call, a transfer beside them included', async () => {
  expect(
    await isolate.run(`
      const numbers = Array.from({ length: 1_000_000 }, (_, i) => i / 2);
      const copy = structuredClone(numbers);
      const buffer = new ArrayBuffer(8);
      const moved = structuredClone([1, buffer, [buffer], 'a'], { transfer: [buffer] });
      return [copy.length, copy !== numbers, copy[999_999], copy.every((value, i) => value === numbers[i]), buffer.byteLength, moved[1].byteLength, moved[1] === moved[2][0], moved[3]];`),
  ).toEqual([1_000_000, true, 499_999.5, true, 0, 8, true, 'a']);
});

test('attack: built-ins and setters of a script see nothing of an array that is copied in bulk', async () => {
  expect(
    await isolate.run(`
      const seen = [];
      const { values, keys } = Object; const { includes } = Array.prototype;
      const spy = (...args) => { seen.push(args.length); return []; };
      Object.values = Object.keys = Array.prototype.includes = spy;
      for (let i = 0; i < 4; i++) Object.defineProperty(Array.prototype, i, { set() { seen.push('set'); }, get() { seen.push('get'); }, configurable: true });
      const inner = Array.of(1, 2);
      try { return prelude.stringify([structuredClone(Array.of(1, inner, 'b')), seen]); }
      finally { for (let i = 0; i < 4; i++) delete Array.prototype[i]; Object.values = values; Object.keys = keys; Array.prototype.includes = includes; }`),
  ).toBe('[[1,[1,2],"b"],[]]');
});
