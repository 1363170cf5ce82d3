/**
 * Work on a value that a script logs is bounded by what is shown of it, not by its size: a built-in
 * of the engine that walks a whole value cannot be interrupted.
 */
import { describe, expect, test } from 'vitest';
import { createWebIsolate } from '../../../support/web/web-isolate.ts';

/**
 * Runs a body that counts the built-ins called on long values: `listed` are the lengths of the key
 * lists that were made.
 */
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
  test.each(Object.keys(LOGS))('of any length is listed in part only by %s', async (log) => {
    const asked = (await run(`${COUNTED}
      return [2_000, 16_000].map((length) => logged(${LONG[name]?.replace('LENGTH', 'length')}, ${LOGS[log]}));`)) as {
      keys: number;
      all: number;
    }[];
    expect(asked.map(({ keys }) => keys)).toEqual([0, 0]);
    // Eight times the length, and the same number of steps.
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

  test('of indexes is shown by its first ones if it is long', async () => {
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

describe('an object of very many names', () => {
  const MANY = `const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => ['name' + i, i]));`;

  test.each([
    ['a line', '(value) => console.log(value)'],
    ['a table', '(value) => console.table(value)'],
    ['each row of a table', '(value) => console.table(new Array(50).fill(value))'],
    [
      'each member of an object',
      '(value) => console.log(Object.fromEntries([...new Array(50).keys()].map((i) => ["a" + i, [value]])))',
    ],
  ])('is listed once, however often it is shown in %s', async (_, log) => {
    const listed = await run(`${COUNTED} ${MANY}
      const { calls, value } = counted(many);
      const keys = () => calls.ownKeys ?? 0;
      const log = ${log};
      log(value);
      const first = keys();
      for (let i = 0; i < 20; i++) log(value);
      return [first, keys()];`);
    const [first, all] = listed as [number, number];
    // Once for its names and once for its symbols, at most.
    expect(first).toBeGreaterThanOrEqual(1);
    expect(first).toBeLessThanOrEqual(2);
    expect(all).toBe(first);
  });

  test('is shown by its first names with their present values, without deleted ones', async () => {
    const lines = await run(`${MANY}
      console.log(many);
      many.name1 = 'changed';
      delete many.name2;
      console.log(many);
      return prelude.lines.map(([, text]) => [text.slice(0, 60), text.endsWith('...\\n}')]);`);
    expect(lines).toEqual([
      ['{\n  name0: 0,\n  name1: 1,\n  name2: 2,\n  name3: 3,\n  name4: 4', true],
      [expect.stringContaining("{\n  name0: 0,\n  name1: 'changed',\n  name3: 3,"), true],
    ]);
  });

  test('that is also a list is shown with its first names after its elements', async () => {
    const text = await run(`${MANY}
      const list = Object.assign([1, 2, 3], many);
      console.log(list); console.log(list);
      return prelude.lines[1][1];`);
    expect(text).toContain('1, 2, 3');
    expect(text).toContain('name0: 0');
    expect(text).toContain('name90: 90');
  });

  test('that is made of symbols is shown by the first of them', async () => {
    const text = await run(`
      const many = { a: 1 };
      for (let i = 0; i < 20_000; i++) many[Symbol('s' + i)] = i;
      console.log(many); console.log(many); console.table([many]);
      return prelude.lines.map(([, text]) => text.slice(0, 40));`);
    expect(text).toEqual([
      expect.stringContaining('a: 1,\n  [Symbol(s0)]: 0,'),
      expect.stringContaining('a: 1,\n  [Symbol(s0)]: 0,'),
      expect.stringContaining('(index)'),
    ]);
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

  test('forms that consist of separators do not make a long list', async () => {
    const pairs = await run(`
      const before = String.prototype.split;
      let split = 0;
      String.prototype.split = function (...given) { split += 1; return before.apply(this, given); };
      const query = new URLSearchParams('&'.repeat(2 ** 20) + 'a=b' + '&'.repeat(2 ** 20));
      return [[...query], split];`);
    expect(pairs).toEqual([[['a', 'b']], 0]);
  });

  test('line breaks of a text become line feeds', async () => {
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
