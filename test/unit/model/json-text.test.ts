/** What is JSON is so for `JSON.parse`, too; megabytes of it are checked in many turns. */
import { expect, test } from 'vitest';
import { JSON_DEPTH_MAX } from '../../../src/model/json-depth.ts';
import { BYTES_PER_STEP, type JsonForm, jsonForm, jsonSteps } from '../../../src/model/json-text.ts';
import { Chance } from '../../support/fuzz/chance.ts';

function checked(text: string | Buffer): { readonly form: JsonForm; readonly turns: number } {
  const steps = jsonSteps(Buffer.from(text as string));
  for (let turns = 0; ; turns += 1) {
    const { done, value } = steps.next();
    if (done) return { form: value, turns };
  }
}

function isParsed(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const WHOLE = [
  ...['0', '-0', '10', '-1.50e+07', '1E5', 'true', 'false', 'null', '""', '[]', '{}', ' [ ]\r\n\t'],
  ...['"\\u00e9\\n\\"\\\\\\/"', '"é\u2028\u{1f600}"', '[1,[2,{"c":"d"}],"é"]', '{"a":[{},[]],"":{"":null}}'],
];

test.each(WHOLE)('%j is JSON', (text) => {
  expect([isParsed(text), checked(text).form]).toEqual([true, 'json']);
});

test.each([
  ...['', ' ', '01', '1.', '.5', '-', '+1', '1e', '0x1', 'NaN', 'nul', 'nulll', 'true1', '{} {}', '1 2'],
  ...[
    '[',
    ']',
    '[1,]',
    '[,1]',
    '[1 2]',
    '[}',
    '{]',
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    '{a:1}',
    '{1:2}',
    '[1:2]',
  ],
  ...['"a', '"\\x"', '"\\u00g0"', '"\\u00e', '"a\nb"', '"\u0000"', "'a'", '\ufeff{}', '"a"b'],
])('%j is not', (text) => {
  expect([isParsed(text), checked(text).form]).toEqual([false, 'broken']);
});

test('bytes that are not UTF-8 are none', () => {
  expect(checked(Buffer.from([0x22, 0xff, 0x22])).form).toBe('broken');
});

test('a changed text is JSON where `JSON.parse` takes it, and nowhere else', () => {
  const random = new Chance(7);
  const letters = [...'{}[],:"\\ \n0123456789.-+eEutrnflsa\u0000é'];
  let whole = 0;
  for (let count = 0; count < 20_000; count += 1) {
    const text = [...random.pick(WHOLE)];
    for (let changes = random.below(4); changes > 0; changes -= 1)
      text.splice(
        random.below(text.length + 1),
        random.below(2),
        ...(random.below(3) > 0 ? [random.pick(letters)] : []),
      );
    const expected = isParsed(text.join('')) ? 'json' : 'broken';
    if (expected === 'json') whole += 1;
    expect([text.join(''), checked(text.join('')).form]).toEqual([text.join(''), expected]);
  }
  expect(whole).toBeGreaterThan(1_000);
});

test('lists in lists are JSON to the bound, and not beyond', async () => {
  const nested = (depth: number) => Buffer.from(`${'['.repeat(depth)}${']'.repeat(depth)}`);
  expect(await jsonForm(nested(JSON_DEPTH_MAX))).toBe('json');
  expect(await jsonForm(nested(JSON_DEPTH_MAX + 1))).toBe('tooDeep');
});

test('objects and lists are counted to a bound', async () => {
  const text = Buffer.from('[{},[],{"a":{}},"{[",1]');
  expect([await jsonForm(text, 5), await jsonForm(text, 4)]).toEqual(['json', 'tooMany']);
});

// Attack: millions of empty objects, which take half a second to parse, in one turn.
test.each(['{}', '[]', '0', '{"a":1}', 'null'])('megabytes of %s are checked in turns', (value) => {
  const bytes = 8 * 1024 * 1024;
  const text = Buffer.from(
    `[${Array(Math.floor(bytes / (value.length + 1)) - 1)
      .fill(value)
      .join()}]`,
  );
  const { form, turns } = checked(text);
  expect(form).toBe('json');
  expect(turns).toBeGreaterThan(bytes / BYTES_PER_STEP - 2);
});
