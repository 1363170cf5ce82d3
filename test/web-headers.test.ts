/** Headers inside an isolate. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWebIsolate, type WebIsolate } from './support/web-isolate.ts';

let isolate: WebIsolate;
beforeAll(async () => {
  isolate = await createWebIsolate();
});
afterAll(() => isolate.dispose());

const errorName = `const errorName = (run) => { try { run(); return 'none'; } catch (error) { return error.name; } };`;

test('names are case-insensitive, values trimmed, same names combined, iteration sorted', async () => {
  expect(
    await isolate.run(`
      const headers = new Headers([['X-B', ' 1\\t'], ['accept', 'a'], ['x-b', '2']]);
      headers.append('Accept', 'b');
      headers.set('X-C', '3');
      headers.delete('x-none');
      return [[...headers], headers.get('ACCEPT'), headers.has('x-B'), headers.get('none'), [...headers.keys()]];`),
  ).toEqual([
    [
      ['accept', 'a, b'],
      ['x-b', '1, 2'],
      ['x-c', '3'],
    ],
    'a, b',
    true,
    null,
    ['accept', 'x-b', 'x-c'],
  ]);
});

test('every Set-Cookie stays apart, also through a copy', async () => {
  expect(
    await isolate.run(`
      const headers = new Headers({ 'Set-Cookie': 'a=1' });
      headers.append('set-cookie', 'b=2');
      const copy = new Headers(headers);
      return [[...copy], copy.getSetCookie(), copy.get('set-cookie')];`),
  ).toEqual([
    [
      ['set-cookie', 'a=1'],
      ['set-cookie', 'b=2'],
    ],
    ['a=1', 'b=2'],
    'a=1, b=2',
  ]);
});

test('set replaces the first and drops the others', async () => {
  expect(
    await isolate.run(`
      const headers = new Headers([['a', '1'], ['b', '2'], ['a', '3'], ['a', '4']]);
      headers.set('a', 'new');
      const after = [...headers];
      headers.delete('a');
      return [after, [...headers]];`),
  ).toEqual([
    [
      ['a', 'new'],
      ['b', '2'],
    ],
    [['b', '2']],
  ]);
});

test('header injection and characters outside Latin-1 are refused', async () => {
  expect(
    await isolate.run(`${errorName}
      return ['a\\r\\nb: c', 'a\\nb', 'a\\0b', '€'].map((value) => errorName(() => new Headers({ a: value })))
        .concat(['', 'a b', 'a:', 'ü', 'a\\n'].map((name) => errorName(() => new Headers([[name, 'x']]))))
        .concat([errorName(() => new Headers([['a']])), errorName(() => new Headers(null)), errorName(() => new Headers(1))])`),
  ).toEqual(Array(12).fill('TypeError'));
});

test('an iteration sees what is added and removed meanwhile', async () => {
  expect(
    await isolate.run(`
      const headers = new Headers({ a: '1', c: '3' });
      const seen = [];
      for (const [name] of headers) { seen.push(name); if (name === 'a') headers.set('b', '2'); if (name === 'b') headers.delete('c'); }
      return seen;`),
  ).toEqual(['a', 'b']);
});

test('the interface has the shape that Web IDL asks for', async () => {
  expect(
    await isolate.run(`
      const iterator = new Headers().entries();
      const prototype = Object.getPrototypeOf(iterator);
      return [
        Headers.prototype[Symbol.iterator] === Headers.prototype.entries,
        String(new Headers()), String(iterator), Headers.name, Headers.length, Headers.prototype.append.length,
        Object.getPrototypeOf(prototype) === Iterator.prototype,
        Object.getOwnPropertyDescriptor(prototype, 'next').enumerable,
        Object.getOwnPropertyDescriptor(Headers.prototype, 'get').enumerable,
        Object.getOwnPropertyDescriptor(globalThis, 'Headers').enumerable,
      ]`),
  ).toEqual([
    true,
    '[object Headers]',
    '[object Headers Iterator]',
    'Headers',
    0,
    2,
    true,
    true,
    true,
    false,
  ]);
});

test('a method taken to another receiver throws', async () => {
  expect(
    await isolate.run(`${errorName}
      return ['append', 'get', 'keys', 'forEach'].map((key) => errorName(() => Headers.prototype[key].call({}, 'a', 'b')))`),
  ).toEqual(Array(4).fill('TypeError'));
});
