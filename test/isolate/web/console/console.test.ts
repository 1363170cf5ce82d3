/** The console and the text of errors inside an isolate. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWebIsolate, type WebIsolate } from '../../../support/web/web-isolate.ts';

let isolate: WebIsolate;
beforeAll(async () => {
  isolate = await createWebIsolate();
});
afterAll(() => isolate.dispose());

const logged = async (code: string): Promise<unknown> =>
  isolate.run(`prelude.lines.length = 0; ${code}; return prelude.lines.slice();`);
const text = async (code: string): Promise<unknown> => isolate.run(`return prelude.inspect(${code})`);

test('each method writes at its level', async () => {
  expect(
    await logged(`console.log('l'); console.info('i'); console.debug('d'); console.warn('w'); console.error('e');
      console.assert(true, 'no'); console.assert(false, 'a', 1); console.count(); console.count(); console.count('x'); console.dir({ a: 1 })`),
  ).toEqual([
    ['info', 'l'],
    ['info', 'i'],
    ['debug', 'd'],
    ['warn', 'w'],
    ['error', 'e'],
    ['error', 'Assertion failed: a 1'],
    ['info', 'default: 1'],
    ['info', 'default: 2'],
    ['info', 'x: 1'],
    ['info', '{ a: 1 }'],
  ]);
});

test('format specifiers consume their arguments, the rest follows', async () => {
  expect(
    await logged(`console.log('%s|%d|%i|%f|%j|%o|%O|%c|%%|%x', 'a', '4.5', 4.9, '1.5', { b: 1 }, [1], { c: 2 }, 'color: red', 'rest', 5);
      console.log('100%', 1); console.log('%s'); console.log('%%'); console.log(1, '%s', 2); console.log()`),
  ).toEqual([
    ['info', 'a|4.5|4|1.5|{ b: 1 }|[ 1 ]|{ c: 2 }||%|%x rest 5'],
    ['info', '100% 1'],
    ['info', '%s'],
    ['info', '%%'],
    ['info', '1 %s 2'],
    ['info', ''],
  ]);
});

test('groups indent every line, and end', async () => {
  expect(
    await logged(
      `console.group('g'); console.log('a\\nb'); console.group(); console.log('c'); console.groupEnd(); console.groupEnd(); console.groupEnd(); console.log('d')`,
    ),
  ).toEqual([
    ['info', 'g'],
    ['info', '  a\n  b'],
    ['info', '    c'],
    ['info', 'd'],
  ]);
});

test('objects of each kind have a readable form', async () => {
  expect(
    await text(
      `{ a: 1, 'b-c': 'x', [Symbol('s')]: null, n: undefined, f() {}, k: class K {}, l: -0, m: 10n }`,
    ),
  ).toBe(
    "{\n  a: 1,\n  'b-c': 'x',\n  n: undefined,\n  f: [Function: f],\n  k: [class K],\n  l: -0,\n  m: 10n,\n  [Symbol(s)]: null\n}",
  );
  expect(
    await text(
      `[new Map([['a', { b: 1 }]]), new Set([1]), new Date(0), /a/gi, new Uint8Array(2), Object.create(null), [, 1]]`,
    ),
  ).toBe(
    "[\n  Map(1) { 'a' => { b: 1 } }, Set(1) { 1 }, 1970-01-01T00:00:00.000Z, /a/gi,\n  Uint8Array(2) [ 0, 0 ], [Object: null prototype] {}, [ <empty>, 1 ]\n]",
  );
  expect(
    await text(
      `[new Headers({ a: 'b' }), new URL('https://a.example'), new URLSearchParams('a=b'), new Blob(['x'])]`,
    ),
  ).toBe(
    "[\n  Headers { a: 'b' }, URL 'https://a.example/', URLSearchParams 'a=b',\n  Blob { size: 1, type: '' }\n]",
  );
});

test('cycles, depth, entries and length are bounded', async () => {
  expect(await isolate.run(`const a = { b: {} }; a.b.c = a; return prelude.inspect(a)`)).toBe(
    '{ b: { c: [Circular] } }',
  );
  expect(await text(`{ a: { b: { c: { d: { e: { f: 1 } } } } } }`)).toBe(
    '{ a: { b: { c: { d: { e: [Object] } } } } }',
  );
  expect(await text('Array.from({ length: 101 }, () => 0)')).toMatch(/0, \.\.\. 1 more\n\]$/);
  expect(await text('Array.from({ length: 100 }, () => 0)')).not.toMatch(/more/);
  const lines =
    (await logged(`console.log('x'.repeat(8192)); console.log('x'.repeat(8193)); console.log({ a: 'y'.repeat(1e6) });
    console.log(Object.fromEntries(Array.from({ length: 1e5 }, (_, i) => ['k' + i, 'v'.repeat(1000)])))`)) as string[][];
  expect(lines.map(([, line]) => line?.length)).toEqual([8192, 8192, expect.any(Number), expect.any(Number)]);
  for (const [, line] of lines) expect(line?.length).toBeLessThanOrEqual(8192);
});

test('no getter runs, and errors of a proxy are swallowed', async () => {
  expect(
    await isolate.run(`
      let ran = 0;
      const value = { get a() { ran++; }, set b(v) {}, get c() { return 1; }, set c(v) {} };
      const error = new Error('e'); Object.defineProperty(error, 'cause', { get() { throw 1; } });
      const proxy = new Proxy({}, { ownKeys() { throw new Error('trap'); } });
      const liar = Object.create(Map.prototype);
      console.log({ get stack() { ran++; } }, new Proxy({}, { getOwnPropertyDescriptor() { throw 1; } }));
      const tagged = { get [Symbol.toStringTag]() { ran++; return 'x'; } };
      return [prelude.inspect(value), prelude.inspect([proxy]), prelude.inspect(liar), prelude.inspect(new Proxy([1], {})), ran, prelude.inspect(tagged)];`),
  ).toEqual([
    '{ a: [Getter], b: [Setter], c: [Getter/Setter] }',
    '[ [cannot be shown] ]',
    'Map {}',
    '[ 1 ]',
    0,
    '{ [Symbol(Symbol.toStringTag)]: [Getter] }',
  ]);
});

test('an error shows its stack and its causes', async () => {
  const shown = await isolate.run(
    `return prelude.formatError(new TypeError('outer', { cause: new RangeError('inner', { cause: { code: 7 } }) }))`,
  );
  expect(shown).toMatch(
    /^TypeError: outer\n {4}at [\s\S]*\[cause\]: RangeError: inner\n {4}at [\s\S]*\[cause\]: \{ code: 7 \}$/,
  );
  expect(
    await isolate.run(`return prelude.formatError(new AggregateError([new Error('one'), 2], 'both'))`),
  ).toMatch(/^AggregateError: both\n[\s\S]*\[errors\]: Error: one\n[\s\S]*\[errors\]: 2$/);
});

test('a DOMException, and an object with an own stack, are shown as errors', async () => {
  expect(
    await isolate.run(`return [prelude.formatError(new DOMException('m', 'AbortError')).split('\\n')[0],
      prelude.formatError({ stack: 'Foreign: m\\n    at x' })]`),
  ).toEqual(['AbortError: m', 'Foreign: m\n    at x']);
});

test('any thrown value becomes a bounded text', async () => {
  expect(
    await isolate.run(`
      const hostile = (members) => Object.defineProperties(new Error('m'), members);
      const chain = Array.from({ length: 50 }).reduce((cause, _, i) => new Error('e' + i, { cause }), undefined);
      const circle = new Error('c'); circle.cause = circle;
      const values = [
        'text', undefined, null, 42, Symbol('s'), { a: 1 }, () => {}, Object.create(null),
        hostile({ stack: { get() { throw 1; } } }), hostile({ stack: { value: { toString() { throw 1; } } } }),
        hostile({ stack: { value: undefined }, message: { get() { throw 1; } } }), hostile({ stack: { value: 'x'.repeat(1e6) } }),
        new Proxy(new Error('p'), { get() { throw 1; }, getOwnPropertyDescriptor() { throw 1; }, ownKeys() { throw 1; }, getPrototypeOf() { throw 1; } }),
        chain, circle,
      ];
      const texts = values.map(prelude.formatError);
      Error.prepareStackTrace = () => ({ evil: true });
      texts.push(prelude.formatError(new Error('prepared')));
      delete Error.prepareStackTrace;
      return [texts.every((text) => typeof text === 'string' && text.length > 0 && text.length <= 8192), texts.slice(0, 6), texts[8], texts[10], texts.at(-1),
        texts[13].split('[cause]').length];`),
  ).toEqual([
    true,
    ["'text'", 'undefined', 'null', '42', 'Symbol(s)', '{ a: 1 }'],
    'Error: m',
    'Error',
    'Error: prepared',
    5,
  ]);
});

test('the console is a namespace with all its operations', async () => {
  expect(
    await isolate.run(`
      const names = ['assert', 'clear', 'count', 'countReset', 'debug', 'dir', 'dirxml', 'error', 'group', 'groupCollapsed', 'groupEnd', 'info', 'log',
        'table', 'time', 'timeEnd', 'timeLog', 'trace', 'warn'];
      const between = Object.getPrototypeOf(console);
      return [Object.keys(console).toSorted().join() === names.join(), names.filter((name) => console[name].name !== name || console[name].length !== 0),
        new Set(names.map((name) => console[name])).size === names.length, String(console), Reflect.ownKeys(between), Object.getPrototypeOf(between) === Object.prototype,
        typeof Console];`),
  ).toEqual([true, [], true, '[object console]', [], true, 'undefined']);
});

test('labels are converted to text, and a missing counter or timer is a warning', async () => {
  expect(
    await logged(`
      console.count({ toString: () => 'own' }); console.count('own'); console.countReset('own'); console.countReset('gone'); console.countReset(); console.count(undefined);
      console.time('t'); console.time('t'); console.timeEnd('t'); console.timeEnd('t'); console.timeLog('t');
      for (const name of ['count', 'countReset', 'time', 'timeLog', 'timeEnd']) try { console[name]({ toString() { throw new Error(name); } }); } catch (error) { console.log(error.message); }`),
  ).toEqual([
    ['info', 'own: 1'],
    ['info', 'own: 2'],
    ['warn', "Count for 'gone' does not exist"],
    ['info', 'default: 1'],
    ['warn', "Timer 't' already exists"],
    ['info', expect.stringMatching(/^t: \d+ms$/)],
    ['warn', "Timer 't' does not exist"],
    ['warn', "Timer 't' does not exist"],
    ...['count', 'countReset', 'time', 'timeLog', 'timeEnd'].map((name) => ['info', name]),
  ]);
});
