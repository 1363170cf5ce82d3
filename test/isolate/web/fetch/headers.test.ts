/** Headers inside an isolate. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWebIsolate, type WebIsolate } from '../../../support/web/web-isolate.ts';

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

test('an iteration sees headers that are added and removed meanwhile', async () => {
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

test('a record is read as Web IDL does: keys and values in turn, up to the first that is wrong, each property once', async () => {
  expect(
    await isolate.run(`${errorName}
      const read = (record) => {
        const log = [];
        const traps = {};
        for (const trap of ['get', 'getOwnPropertyDescriptor', 'getPrototypeOf', 'has', 'ownKeys']) {
          traps[trap] = (target, ...rest) => { log.push(trap + (rest.length > 0 ? ' ' + String(rest[0]) : '')); return Reflect[trap](target, ...rest); };
        }
        const error = errorName(() => new Headers(new Proxy(record, traps)));
        return [error, ...log];
      };
      const hidden = Object.defineProperty({ b: '2' }, 'a', { value: '1', enumerable: false });
      return [read({ a: '1', b: '2' }), read(hidden), read({ a: '\\u0100', b: '2' }), read({ '\\u0100': '1', b: '2' }), read({ 'not a name': '1', b: '2' }), read({ [Symbol.toStringTag]: '' })];`),
  ).toEqual([
    [
      'none',
      'get Symbol(Symbol.iterator)',
      'ownKeys',
      'getOwnPropertyDescriptor a',
      'get a',
      'getOwnPropertyDescriptor b',
      'get b',
    ],
    [
      'none',
      'get Symbol(Symbol.iterator)',
      'ownKeys',
      'getOwnPropertyDescriptor b',
      'get b',
      'getOwnPropertyDescriptor a',
    ],
    ['TypeError', 'get Symbol(Symbol.iterator)', 'ownKeys', 'getOwnPropertyDescriptor a', 'get a'],
    ['TypeError', 'get Symbol(Symbol.iterator)', 'ownKeys', 'getOwnPropertyDescriptor \u0100'],
    [
      'TypeError',
      'get Symbol(Symbol.iterator)',
      'ownKeys',
      'getOwnPropertyDescriptor not a name',
      'get not a name',
      'getOwnPropertyDescriptor b',
      'get b',
    ],
    [
      'TypeError',
      'get Symbol(Symbol.iterator)',
      'ownKeys',
      'getOwnPropertyDescriptor Symbol(Symbol.toStringTag)',
    ],
  ]);
});

test('pairs may come from any iterator, also of Headers whose own was replaced', async () => {
  expect(
    await isolate.run(`${errorName}
      const own = new Headers({ a: '1' });
      own[Symbol.iterator] = function* () { yield ['b', '2']; };
      const pairs = function* () { yield new Set(['c', 3]); yield [{ toString: () => 'd' }, null]; };
      return [[...new Headers(own)], [...new Headers(pairs())], [...new Headers(new Map([['e', '5']]))],
        [[['a']], [['a', 'b', 'c']], ['ab'], [1], [['a', '\\u0100']], { [Symbol.iterator]: 1 }].map((init) => errorName(() => new Headers(init)))];`),
  ).toEqual([
    [['b', '2']],
    [
      ['c', '3'],
      ['d', 'null'],
    ],
    [['e', '5']],
    Array(6).fill('TypeError'),
  ]);
});

test('an iteration goes by position: a header inserted before it shifts it back, and every Set-Cookie counts', async () => {
  expect(
    await isolate.run(`
      const headers = new Headers([['fizz', 'buzz'], ['X-Header', 'test']]);
      const iterator = headers[Symbol.iterator]();
      const seen = [iterator.next().value];
      headers.append('Set-Cookie', 'a=b');
      seen.push(iterator.next().value);
      headers.append('Accept', 'text/html');
      seen.push(iterator.next().value, iterator.next().value);
      headers.append('set-cookie', 'c=d');
      seen.push(iterator.next().value, iterator.next().done);
      return seen;`),
  ).toEqual([
    ['fizz', 'buzz'],
    ['set-cookie', 'a=b'],
    ['set-cookie', 'a=b'],
    ['x-header', 'test'],
    ['x-header', 'test'],
    true,
  ]);
});

test('a value loses the white space of HTTP at its ends, keeps it inside, and may hold no line break or NUL', async () => {
  expect(
    await isolate.run(`${errorName}
      const value = (text) => new Headers({ a: text }).get('a');
      const appended = new Headers(); appended.append('a', '\\r\\n b \\t'); appended.append('a', ''); appended.append('a', '\\u00ff\\u0001');
      return [[' a ', '\\t\\r\\na\\n', 'a\\tb', '', ' ', '\\u00a0a'].map(value), appended.get('a'),
        ['a\\nb', 'a\\rb', 'a\\0', '\\u0100'].map((text) => [errorName(() => value(text)), errorName(() => new Headers().set('a', text)), errorName(() => new Headers([['a', text]]))])];`),
  ).toEqual([
    ['a', 'a', 'a\tb', '', '', '\u00a0a'],
    'b, , \u00ff\u0001',
    Array(4).fill(Array(3).fill('TypeError')),
  ]);
});
