/** Where a text stops being JSON: a report has the position, and never quotes the text. */
import { expect, test } from 'vitest';
import { jsonFault } from '../../../src/model/json-fault.ts';

test.each([
  ['', '1:1 a value'],
  ['{"a":}', '1:6 a value'],
  ['{"a" 1}', '1:6 ":"'],
  ['{"a":1,}', '1:8 a name in double quotes'],
  ["{'a':1}", '1:2 a name in double quotes or "}"'],
  ['{"a":1', '1:7 "," or "}"'],
  ['{\n  "a": [1, 2\n  "b": 3\n}', '3:3 "," or "]"'],
  ['[1,]', '1:4 a value'],
  ['[01]', '1:3 "," or "]"'],
  ['[1.]', '1:3 "," or "]"'],
  ['nul', '1:1 a value'],
  ['{} {}', '1:4 the end'],
  ['"a', '1:1 a value'],
  ['["\\x"]', '1:2 a value or "]"'],
  ['["a\nb"]', '1:2 a value or "]"'],
  ['\ufeff{}', '1:1 a value'],
])('%j', (text, reported) => {
  expect(() => JSON.parse(text)).toThrow();
  const fault = jsonFault(text);
  expect(fault && `${fault.line}:${fault.column} ${fault.expected}`).toBe(reported);
});

test.each(['0', ' [ ] ', '{"a":[{},[],"\\u00e9\\n",-1.5e+3,true,false,null]}\r\n', '"\u2028"'])(
  'finds nothing in %j',
  (text) => {
    JSON.parse(text);
    expect(jsonFault(text)).toBeUndefined();
  },
);

test('megabytes of one string, of white space, of digits or of brackets are searched in little time', () => {
  const letters = 4_000_000;
  expect(jsonFault(`["${'\\n'.repeat(letters)}"`)?.expected).toBe('"," or "]"');
  expect(jsonFault(`["${'\\n'.repeat(letters)}`)?.column).toBe(2);
  expect(jsonFault(`${' '.repeat(letters)}x`)?.column).toBe(letters + 1);
  expect(jsonFault('1'.repeat(letters))).toBeUndefined();
  expect(jsonFault('['.repeat(letters))?.column).toBe(letters + 1);
});
