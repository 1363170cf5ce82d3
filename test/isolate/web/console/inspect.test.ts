/**
 * What the prelude does to a value that a script hands it is bounded by what is shown of it, and never by how big it is: a
 * built-in of the engine that walks the whole of a value cannot be interrupted.
 */
import { describe, expect, test } from 'vitest';
import { createWebIsolate } from '../../../support/web/web-isolate.ts';

/** Runs a body that counts the built-ins called on long values: `listed` are the lengths of the key lists that were made. */
async function run(body: string): Promise<unknown> {
  const isolate = await createWebIsolate({ memoryMib: 256 });
  try {
    return await isolate.run(body);
  } finally {
    isolate.dispose();
  }
}

/** A proxy in the place of a value: how often each of its traps was called while it was logged. */
const COUNTED = `
  const counted = (target) => {
    const calls = {};
    const handler = new Proxy({}, { get: (_, trap) => (...given) => {
      calls[trap] = (calls[trap] ?? 0) + 1;
      return Reflect[trap](...given);
    } });
    return { calls, value: new Proxy(target, handler) };
  };
  const logged = (target, log = (value) => console.log(value)) => {
    const { calls, value } = counted(target);
    log(value);
    return { keys: calls.ownKeys ?? 0, all: Object.values(calls).reduce((all, count) => all + count, 0) };
  };`;

const LONG: Readonly<Record<string, string>> = {
  bytes: 'new Uint8Array(LENGTH)',
  floats: 'new Float64Array(LENGTH)',
  'bytes without a prototype': 'Object.setPrototypeOf(new Uint8Array(LENGTH), null)',
  'an array': 'new Array(LENGTH).fill(1)',
  'a sparse array': 'Object.assign(new Array(LENGTH), { name: 1 })',
  'a text as an object': "new String('x'.repeat(LENGTH))",
  'an object of indexes': 'Object.assign({}, new Array(LENGTH).fill(1))',
};
const LOGS: Readonly<Record<string, string>> = {
  'console.log': '(value) => console.log(value)',
  'console.log within an object': '(value) => console.log({ value: [value] })',
  'console.table': '(value) => console.table(value)',
  'console.table of rows': '(value) => console.table([value, value])',
  'console.log with %o': "(value) => console.log('%o %s', value, value)",
  'a thrown value': '(value) => prelude.formatError(value)',
};

describe.each(Object.keys(LONG))('%s', (name) => {
  test.each(Object.keys(LOGS))('has no list of its keys made by %s, however long it is', async (log) => {
    const asked = (await run(`${COUNTED}
      return [2_000, 16_000].map((length) => logged(${LONG[name]?.replace('LENGTH', 'length')}, ${LOGS[log]}));`)) as {
      keys: number;
      all: number;
    }[];
    expect(asked.map(({ keys }) => keys)).toEqual([0, 0]);
    // Eight times the length, and no step more.
    expect(asked[1]?.all).toBe(asked[0]?.all);
  });
});

describe('a short value', () => {
  test('is shown with its other members, a long one without', async () => {
    const lines = await run(`
      for (const length of [3, 1_000, 1_001]) {
        const list = Object.assign(new Array(length).fill(1), { name: 'list' });
        console.log(list);
      }
      return prelude.lines.map(([, text]) => [text.slice(0, 10), text.includes("name: 'list'")]);`);
    expect(lines).toEqual([
      ['[ 1, 1, 1,', true],
      [expect.stringContaining('[\n  1, 1'), true],
      [expect.stringContaining('[\n  1, 1'), false],
    ]);
  });

  test('of indexes is shown by its first ones where it is long', async () => {
    const text = await run(`
      console.log(Object.assign({}, new Array(5_000).fill('x')));
      return prelude.lines[0][1];`);
    expect(text).toContain("'0': 'x'");
    expect(text).toContain("'99': 'x'");
    expect(text).toContain('...');
    expect(text).not.toContain("'100'");
  });

  test('tables have 100 rows of a long one', async () => {
    const text = await run(
      'console.table(new Uint8Array(1e6).fill(7)); return prelude.lines[0][1].slice(0, 200);',
    );
    expect(text).toContain('│ 0       │ 7');
  });
});

describe('texts', () => {
  test('are cut before they are read for specifiers and numbers', async () => {
    const lines = await run(`
      console.log('%d'.repeat(2 ** 22), '1'.repeat(2 ** 22), 'end');
      console.log('%d', '12');
      return prelude.lines.map(([, text]) => [text.length <= 8192, text.slice(0, 12)]);`);
    expect(lines).toEqual([
      [true, 'InfinityNaN%'],
      [true, '12'],
    ]);
  });

  test('queries and headers are shown by their first pairs', async () => {
    const lines = await run(`
      const query = new URLSearchParams();
      for (let i = 0; i < 20_000; i++) query.append('name' + i, 'x'.repeat(10));
      const headers = new Headers();
      for (let i = 0; i < 5_000; i++) headers.append('a-name' + i, 'x');
      console.log(query);
      console.log(headers);
      return prelude.lines.map(([, text]) => [text.length <= 8192, text.slice(0, 40)]);`);
    expect(lines).toEqual([
      [true, expect.stringContaining('name0=xxxxxxxxxx&name1=')],
      [true, expect.stringContaining("'a-name0': 'x'")],
    ]);
  });

  test('forms of nothing but separators make no list of them', async () => {
    const pairs = await run(`
      const before = String.prototype.split;
      let split = 0;
      String.prototype.split = function (...given) { split += 1; return before.apply(this, given); };
      const query = new URLSearchParams('&'.repeat(2 ** 20) + 'a=b' + '&'.repeat(2 ** 20));
      return [[...query], split];`);
    expect(pairs).toEqual([[['a', 'b']], 0]);
  });

  test('line breaks of a text become line feeds, as a replacement of all would have it', async () => {
    const text = await run(`return new Blob(['a\\r\\nb\\rc\\n\\rd\\r'], { endings: 'native' }).text();`);
    expect(text).toBe('a\nb\nc\n\nd\n');
  });

  test('blanks in a header of a form are cut off in one pass', async () => {
    const value = await run(`
      const form = (blanks) => '--b\\r\\ncontent-disposition: form-data; name=a\\r\\nx-other: x' + ' '.repeat(blanks) + 'y\\r\\n\\r\\nv\\r\\n--b--';
      const parsed = await new Response(form(2 ** 20), { headers: { 'content-type': 'multipart/form-data; boundary=b' } }).formData();
      return [...parsed];`);
    expect(value).toEqual([['a', 'v']]);
  });
});
