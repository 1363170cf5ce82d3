/** Canonical JSON: equal values have equal texts, and different values have different texts. */
import { expect, test } from 'vitest';
import { canonicalJson, unpassable } from '../../../src/model/canonical-json.ts';

const canonical = (text: string): string => canonicalJson(JSON.parse(text));

test.each([
  ['{"a":1,"b":{"c":[1,{"d":2,"e":3}]}}', '{ "b": {"c": [1, {"e": 3, "d": 2}]}, "a": 1.0 }'],
  ['{"1":"x","0":"y","z":null}', '{"z":null,"0":"y","1":"x"}'],
  ['{"ü":"\\u00fc"}', '{"\\u00fc":"ü"}'],
  ['[]', ' [ ] '],
  ['"x"', '"\\u0078"'],
])('%s is %s', (one, other) => {
  expect(canonical(one)).toBe(canonical(other));
  expect(JSON.parse(canonical(one))).toEqual(JSON.parse(one));
});

test.each([
  ['{"a":1}', '{"a":"1"}'],
  ['[1,2]', '[2,1]'],
  ['{"a":null}', '{}'],
  ['{"a":{}}', '{"a":[]}'],
  ['{"a":"b\\",\\"c"}', '{"a":"b","c":""}'],
  ['{"__proto__":{"a":1}}', '{}'],
  ['{"__proto__":{"a":1}}', '{"__proto__":{"a":2}}'],
])('%s is not %s', (one, other) => {
  expect(canonical(one)).not.toBe(canonical(other));
});

test('a value that cannot be passed on unchanged is reported', () => {
  const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
  expect(unpassable(nested(32))).toBeUndefined();
  expect(unpassable(nested(33))).toBe('is nested more than 32 levels deep');
  expect(unpassable(nested(100_000))).toBe('is nested more than 32 levels deep');
  expect(unpassable(JSON.parse('{"a":[1e308]}'))).toBeUndefined();
  expect(unpassable(JSON.parse('{"a":[1e309]}'))).toBe('holds a number that is too large');
  expect(unpassable(JSON.parse('{"a":[-1e309]}'))).toBe('holds a number that is too large');
});
