/** Blob and File inside an isolate. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWebIsolate, type WebIsolate } from '../../../support/web/web-isolate.ts';

let isolate: WebIsolate;
beforeAll(async () => {
  isolate = await createWebIsolate();
});
afterAll(() => isolate.dispose());

const errorName = `const errorName = async (run) => { try { await run(); return 'none'; } catch (error) { return error?.name ?? error; } };`;

test('parts are any iterable object, converted one after the other and read afterwards', async () => {
  expect(
    await isolate.run(`${errorName}
      const log = [];
      const view = new Uint8Array([49]);
      const parts = { get [Symbol.iterator]() { log.push('iterator'); return function* () { yield view; yield { toString() { view[0] = 50; return 'x'; } }; yield null; yield [1, 2]; }; } };
      const options = { get type() { log.push('type'); }, get endings() { log.push('endings'); } };
      const text = await new Blob(parts, options).text();
      return [text, log, await new Blob(new Uint8Array([1, 2])).text(), await new Blob(new String('ab')).text(), await new Blob(undefined).text(),
        await Promise.all([null, 1, 'text', {}, new Date(), { [Symbol.iterator]: 1 }].map((parts) => errorName(() => new Blob(parts)))),
        await errorName(() => new Blob([{ toString() { throw 'mine'; } }], { get type() { throw 'other'; } })), await errorName(() => Blob([]))];`),
  ).toEqual([
    '2xnull1,2',
    ['iterator', 'endings', 'type'],
    '12',
    'ab',
    '',
    Array(6).fill('TypeError'),
    'mine',
    'TypeError',
  ]);
});

test('options are checked: endings by enumeration, a type that holds odd characters is none', async () => {
  expect(
    await isolate.run(`${errorName}
      const type = (type) => new Blob([], { type }).type;
      return [await Promise.all([{ endings: 'Native' }, { endings: null }, 1, 'x'].map((options) => errorName(() => new Blob([], options)))),
        ['TEXT/Plain;A=b', ' a/b ', '\\ta/b', 'a/b\\u007f', 'å', null].map(type), await new Blob(['a\\rb\\r\\nc\\nd'], { endings: 'native' }).text(),
        await new Blob([new Blob(['a\\r'])], { endings: 'native' }).text()];`),
  ).toEqual([
    ['TypeError', 'TypeError', 'TypeError', 'TypeError'],
    ['text/plain;a=b', ' a/b ', '', '', '', 'null'],
    'a\nb\nc\nd',
    'a\r',
  ]);
});

test('a slice clamps its ends, rounds them to even, and has a type of its own', async () => {
  expect(
    await isolate.run(`${errorName}
      const blob = new Blob(['0123456789'], { type: 'a/b' });
      const ends = [[], [3], [-3], [2, -2], [0.5, 2.5], [1.5, 3.5], [-0.6], [NaN, Infinity], [-Infinity, 2 ** 53], [8, 2], [undefined, null], ['1', { valueOf: () => 3 }]];
      const file = new File(['abc'], 'n', { type: 'a/b' }).slice(1);
      return [await Promise.all(ends.map((args) => blob.slice(...args).text())), blob.slice(0, 1).type, blob.slice(0, 1, 'C/D').type, blob.slice(0, 1, null).type,
        blob.slice(0, 1, '\\0').type, file instanceof File, await file.text(), await blob.slice(2, 8).slice(-3, -1).text(), await errorName(() => blob.slice(1n)),
        await errorName(() => blob.slice(Symbol()))];`),
  ).toEqual([
    ['0123456789', '3456789', '789', '234567', '01', '23', '9', '0123456789', '0123456789', '', '', '12'],
    '',
    'c/d',
    'null',
    '',
    false,
    'bc',
    '56',
    'TypeError',
    'TypeError',
  ]);
});

test('a blob can be streamed any number of times, also into a buffer of the reader', async () => {
  expect(
    await isolate.run(`${errorName}
      const blob = new Blob(['x'.repeat(100000), new Uint8Array([0, 255])]);
      const sizes = [];
      for await (const chunk of blob.stream()) sizes.push(chunk.length);
      const reader = blob.slice(-3).stream().getReader({ mode: 'byob' });
      const first = await reader.read(new Uint8Array(2));
      const second = await reader.read(new Uint8Array(2));
      const end = await reader.read(new Uint8Array(2));
      const cancelled = blob.stream();
      await cancelled.cancel();
      return [sizes.length > 1, sizes.reduce((sum, size) => sum + size), blob.stream() !== blob.stream(), [...first.value], [...second.value], end.done,
        (await new Blob().stream().getReader().read()).done, (await cancelled.getReader().read()).done, (await blob.bytes()).length, await errorName(() => Blob.prototype.stream.call({}))];`),
  ).toEqual([true, 100_002, true, [120, 0], [255], true, true, true, 100_002, 'TypeError']);
});

test('bytes read from a blob belong to the reader, and a blob made of another blob shares no mutable memory with it', async () => {
  expect(
    await isolate.run(`
      const blob = new Blob([new Blob([new Uint8Array([1, 2, 3])])]);
      (await blob.bytes())[0] = 9;
      new Uint8Array(await blob.arrayBuffer())[1] = 9;
      (await blob.stream().getReader().read()).value[2] = 9;
      (await new Response(blob).bytes())[0] = 9;
      return [...await blob.bytes()];`),
  ).toEqual([1, 2, 3]);
});

test('a file has a name and a date, taken after its parts', async () => {
  expect(
    await isolate.run(`${errorName}
      const log = [];
      const name = { toString() { log.push('name'); return 'n'; } };
      const options = { get endings() { log.push('endings'); }, get type() { log.push('type'); }, get lastModified() { log.push('lastModified'); return 7.9; } };
      const file = new File([{ toString() { log.push('part'); return 'p'; } }], name, options);
      const date = (lastModified) => new File([], '', { lastModified }).lastModified;
      const before = Date.now();
      return [log, file.lastModified, file.name, file.size, String(file), [-1.5, NaN, Infinity, true, '12', new Date(5), null, 2 ** 64 + 4096].map(date),
        date(undefined) >= before, new File([], 'a/b\\ud800').name, File.length, file instanceof Blob,
        await Promise.all([() => new File(), () => new File([]), () => new File('x', 'n'), () => new File(undefined, 'n'), () => new File([], 'n', 1),
          () => new File([], 'n', { lastModified: 1n })].map(errorName))];`),
  ).toEqual([
    ['part', 'name', 'endings', 'type', 'lastModified'],
    7,
    'n',
    1,
    '[object File]',
    [-1, 0, 0, 1, 12, 5, 0, 4096],
    true,
    'a/b\ufffd',
    2,
    true,
    Array(6).fill('TypeError'),
  ]);
});
