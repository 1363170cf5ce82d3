/**
 * Memory that built-ins allocate outside of the heap: the bound of the isolate holds for it.
 *
 * Each case has a process of its own, whose growth is measured. Without the counting, it grows by
 * five to fifty times the bound.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import ivm from 'isolated-vm';
import { describe, expect, test } from 'vitest';
import { createWebIsolate } from '../../support/web/web-isolate.ts';

const PROGRAM = fileURLToPath(new URL('../../support/web/native-memory-process.ts', import.meta.url));
const HEAP_MIB = 48;
/**
 * Counted memory exists twice at worst: itself, and the buffer that counts it. The rest is the
 * allocator's.
 */
const GROWTH_MIB_MAX = 3 * HEAP_MIB + 32;

const TEXT = `const text = 'ab cd '.repeat(1 << 16);`;
const CASES = {
  'results of segment, kept': `${TEXT} const s = new Intl.Segmenter(), kept = []; for (let i = 0; i < 800; i++) kept.push(s.segment(text));`,
  'results of segment, dropped': `${TEXT} const s = new Intl.Segmenter(); for (let i = 0; i < 1000; i++) s.segment(text);`,
  'iterators over segments, kept': `${TEXT} const s = new Intl.Segmenter().segment(text), kept = []; for (let i = 0; i < 800; i++) kept.push(s[Symbol.iterator]());`,
  'iterators over segments, dropped': `${TEXT} const s = new Intl.Segmenter().segment(text); for (let i = 0; i < 1000; i++) s[Symbol.iterator]();`,
  'one list of one long text': `new Intl.ListFormat('de').format(Array(200).fill('x'.repeat(1 << 20)));`,
  'formatters of dates, kept': `const kept = []; for (let i = 0; i < 20000; i++) { const f = new Intl.DateTimeFormat('de', { dateStyle: 'full', timeStyle: 'long', timeZone: 'Asia/Tokyo' }); f.format(i); kept.push(f); }`,
  'formatters of ranges, kept': `const kept = []; for (let i = 0; i < 2000; i++) { const f = new Intl.DateTimeFormat('ja-u-ca-japanese', { dateStyle: 'full', timeStyle: 'long' }); f.formatRangeToParts(i, i * 3e10); kept.push(f); }`,
  'formatters of names, kept': `const kept = []; for (let i = 0; i < 12000; i++) kept.push(new Intl.DisplayNames('de', { type: 'dateTimeField' }));`,
  'formatters that were made without new, kept': `const kept = []; for (let i = 0; i < 20000; i++) kept.push(Intl.DateTimeFormat('de', { dateStyle: 'full' }));`,
  'formatters that were found through an object, kept': `const { constructor: Found } = Object.getPrototypeOf(new Intl.DisplayNames('de', { type: 'region' })), kept = []; for (let i = 0; i < 12000; i++) kept.push(new Found('de', { type: 'dateTimeField' }));`,
  'dates of Temporal, kept': `const kept = []; const day = Temporal.PlainDate.from('2026-01-01'); for (let i = 0; i < 900000; i++) kept.push(day.add({ days: i % 1000 }));`,
  'instants that were found through a date, kept': `const kept = []; const date = new Date(); for (let i = 0; i < 900000; i++) kept.push(date.toTemporalInstant());`,
  'long texts in normal form': `const text = '\\u00e9\\u4e2d'.repeat(1 << 21); const kept = []; for (let i = 0; i < 40; i++) kept.push(text.normalize('NFKD'));`,
  'a text that is eighteen times as long in normal form': `'\\ufdfa'.repeat(12e6).normalize('NFKD');`,
  'code of blocks that is made of a text': `Function('{}'.repeat(5e6));`,
  'code that is made through a function of another kind': `const { constructor: Found } = async () => {}; Found('{}'.repeat(5e6));`,
  'code that is made through what such a kind inherits from': `Object.getPrototypeOf(Object.getPrototypeOf(function* () {}).constructor)('{}'.repeat(5e6));`,
  'code whose text is another one when it is compiled': `let reads = 0; Function({ toString: () => (reads++ === 0 ? '' : '{}'.repeat(5e6)) }, { toString: () => '{}'.repeat(5e6) });`,
  'code that is evaluated': `eval('{}'.repeat(5e6));`,
};

async function grown(code: string): Promise<{ grewMib: number; thrown: string }> {
  const args = ['--no-node-snapshot', PROGRAM, String(HEAP_MIB), code];
  // The engine's teardown sometimes fails an assertion. A cell never gets there: it is killed, and
  // so is this process.
  const { stdout } = await promisify(execFile)(process.execPath, args).catch(
    (cause: { stdout: string }) => cause,
  );
  return JSON.parse(stdout) as { grewMib: number; thrown: string };
}

describe('attack: memory that the engine does not count stays within a small multiple of the bound', () => {
  test.each(Object.entries(CASES))('%s', async (_name, code) => {
    const { grewMib, thrown } = await grown(code);
    expect(grewMib, thrown).toBeLessThan(GROWTH_MIB_MAX);
  });
});

test('memory that does not fit is refused like a buffer that does not fit', async () => {
  for (const name of [
    'results of segment, kept',
    'one list of one long text',
    'code that is evaluated',
  ] as const)
    expect((await grown(CASES[name])).thrown).toBe('RangeError: Array buffer allocation failed');
});

test('a method without a receiver fails as the engine’s does', async () => {
  expect((await grown('String.prototype.normalize.call(null)')).thrown).toContain('TypeError');
});

/** Shapes and some results of `Intl` and the other counted built-ins. */
const SHAPE = `(() => {
  const shape = (target) => Reflect.ownKeys(target).map((key) => {
    const { value, get, enumerable, configurable, writable } = Object.getOwnPropertyDescriptor(target, key);
    const f = value ?? get;
    return [String(key), typeof value, typeof f === 'function' ? [f.name, f.length] : '', enumerable, configurable, writable];
  });
  const kinds = ['Collator', 'DateTimeFormat', 'DisplayNames', 'DurationFormat', 'ListFormat', 'Locale', 'NumberFormat', 'PluralRules', 'RelativeTimeFormat', 'Segmenter'];
  const arrays = ['ArrayBuffer', 'Uint8Array', 'Float64Array', 'BigInt64Array'].map((name) => globalThis[name]);
  const makers = [Function, (async () => {}).constructor, (function* () {}).constructor, (async function* () {}).constructor];
  const attempt = (run) => { try { return run(); } catch (error) { return error.name; } };
  class Own extends Intl.NumberFormat { twice(n) { return this.format(2 * n); } }
  class Bytes extends Uint8Array {}
  const segments = new Intl.Segmenter('en', { granularity: 'word' }).segment('one two');
  const { compare } = new Intl.Collator('de');
  return JSON.stringify([
    shape(Intl), kinds.map((kind) => [shape(Intl[kind]), shape(Intl[kind].prototype), Intl[kind].prototype.constructor === Intl[kind]]),
    shape(Object.getPrototypeOf(segments)), shape(String.prototype), shape(Date.prototype),
    ['Uint8Array', 'Float64Array', 'BigInt64Array'].map((name) => [shape(globalThis[name]), shape(globalThis[name].prototype), globalThis[name].prototype.constructor === globalThis[name]]),
    [...segments].map(({ segment }) => segment), segments.containing(4).segment, new Own('de').twice(1.25), Intl.NumberFormat('de').format(1.5), new Own() instanceof Intl.NumberFormat,
    new Intl.ListFormat('en').format(new Set(['a', 'b'])), new Intl.ListFormat('en').format('xyz'), attempt(() => new Intl.ListFormat('en').format([1])), attempt(() => Intl.Segmenter()), attempt(() => new Intl.Segmenter().segment(Symbol())),
    ['b', 'a'].sort(compare), new Intl.Collator().compare === undefined, 'a'.localeCompare('b'), String.prototype.normalize.call(12), attempt(() => 'a'.normalize('x')),
    new Intl.DateTimeFormat('en', { timeZone: 'UTC' }).formatRange(0, 1e11), attempt(() => Intl.DateTimeFormat.prototype.formatRange.call({}, 0, 1)), new Date(0).toLocaleDateString('en', { timeZone: 'UTC' }),
    new Bytes(3).slice(1) instanceof Bytes, Bytes.from([1, 2]).length, attempt(() => Uint8Array(1)), attempt(() => new Uint8Array(-1)), [...new Uint8Array(new Uint8Array([1, 2, 3]).buffer, 1)], [...Uint8Array.of(7)], Object.getPrototypeOf(Uint8Array) === Object.getPrototypeOf(Int8Array),
    makers.map((kind) => [shape(kind), shape(kind.prototype), kind.prototype.constructor === kind, Object.getPrototypeOf(kind) === Function]),
    Function('a', 'b', 'return a + b')(1, 2), new Function('return 3')(), Function() instanceof Function, (() => {}) instanceof Function, attempt(() => Function('(')), attempt(() => Function(Symbol())), Reflect.construct(Function, ['return 4'], Map) instanceof Map, new (class extends Function {})('return 5')(),
    (0, eval)('1 + 1'), eval(7), eval.name, eval.length, attempt(() => eval('(')), attempt(() => new eval('1')),
    'e\\u0301'.normalize(), '\\ufb01'.normalize('NFKC'), attempt(() => 'a'.normalize(null)), String.prototype.normalize.length,
    new Uint8Array(2).constructor === Uint8Array, new Uint8Array(new Set([4, 5])).join(), new Float64Array(2).map((n) => n + 1).join(), [...Uint8Array.fromHex('0aff')], Reflect.construct(Uint8Array, [2], Bytes) instanceof Bytes,
  ]);
})()`;

test('counted built-ins have the shape and the results of the engine’s', async () => {
  const bare = new ivm.Isolate();
  const expected: unknown = JSON.parse(String(await (await bare.createContext()).eval(SHAPE)));
  bare.dispose();
  const isolate = await createWebIsolate();
  const answered: unknown = JSON.parse(String(await isolate.run(`return ${SHAPE};`)));
  isolate.dispose();
  expect(answered).toEqual(expected);
});
