/** Schemas of event types: what they may use, and that no data keeps a check busy. */
import { describe, expect, test } from 'vitest';
import { compileSchema, type DataCheck } from '../../../src/model/event-schema.ts';

function checkOf(schema: object): DataCheck {
  const compiled = compileSchema(schema);
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.problems));
  return compiled.check;
}
const pointersOf = (schema: object, data: unknown): readonly string[] =>
  checkOf(schema)(data).map(({ pointer }) => pointer);

test('each problem has a pointer, and no value that was sent', () => {
  const schema = {
    type: 'object',
    required: ['id'],
    properties: { 'a/b~c': { type: 'number' }, lines: { items: { $ref: '#/$defs/line' } } },
    additionalProperties: false,
    $defs: { line: { type: 'object', required: ['count'], properties: { count: { type: 'integer' } } } },
  };
  const problems = checkOf(schema)({ 'a/b~c': 'secret', lines: [{ count: 1 }, {}, { count: 1.5 }], more: 1 });
  expect(problems.map(({ pointer }) => pointer).sort()).toEqual(
    ['/a~1b~0c', '/id', '/lines/1/count', '/lines/2/count', '/more'].sort(),
  );
  expect(JSON.stringify(problems)).not.toContain('secret');
});

test('members of Object.prototype are no members of data', () => {
  expect(pointersOf({ type: 'object', required: ['toString'] }, {})).toEqual(['/toString']);
});

test.each<[format: string, good: string, bad: string]>([
  ['date-time', '2026-01-31T09:00:00Z', '2026-01-31 09:00'],
  ['date', '2026-02-28', '2026-02-30'],
  ['time', '09:00:00Z', '25:00:00Z'],
  ['email', 'ada@example.com', 'ada@'],
  ['uri', 'https://example.com/a', '/a'],
  ['uuid', 'b0c6f1a2-7d1e-4b7c-9d3e-2f5a8c1e6d40', 'b0c6f1a2'],
  ['hostname', 'docs.example.com', '-'],
  ['ipv4', '192.0.2.1', '192.0.2.256'],
  ['ipv6', '2001:db8::1', '192.0.2.1'],
])('the format %s is checked', (format, good, bad) => {
  expect(pointersOf({ format }, good)).toEqual([]);
  expect(pointersOf({ format }, bad)).toEqual(['']);
});

test.each<[what: string, schema: unknown, pointer: string]>([
  ['no object', true, ''],
  ['an unknown keyword', { properties: { a: { patern: 'x' } } }, '/properties/a/patern'],
  ['a remote reference', { $ref: 'https://example.com/schema' }, '/$ref'],
  ['a reference to a file', { $ref: 'file:///etc/passwd' }, '/$ref'],
  ['a reference to nothing', { $ref: '#/$defs/none' }, '/$ref'],
  ['an id of its own', { $id: 'x' }, '/$id'],
  ['another dialect', { $schema: 'http://json-schema.org/draft-04/schema#' }, '/$schema'],
  ['an unknown format', { format: 'regex' }, '/format'],
  ['a pattern of names that looks ahead', { patternProperties: { '(?=a)': {} } }, '/patternProperties/(?=a)'],
  ['a value that the draft does not allow', { required: 'id' }, '/required'],
  ['more bytes than allowed', { description: 'x'.repeat(33 * 1024) }, ''],
  ['more subschemas than allowed', { allOf: Array.from({ length: 301 }, () => ({})) }, ''],
])('a schema with %s is refused', (_what, schema, pointer) => {
  const compiled = compileSchema(schema);
  expect(compiled).toMatchObject({ ok: false, problems: [{ pointer }] });
});

test('a schema that is nested too deeply is refused', () => {
  let schema: object = {};
  for (let depth = 0; depth < 20; depth += 1) schema = { items: schema };
  expect(compileSchema(schema).ok).toBe(false);
});

describe('data is refused, and does not keep the check busy:', () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => index);
  const doubled = Object.fromEntries(
    many(40).map((at) => [
      `d${at}`,
      { allOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] },
    ]),
  );

  test.each<[what: string, schema: object, data: unknown]>([
    ['definitions that contain each other twice', { $ref: '#/$defs/d0', $defs: { ...doubled, d40: {} } }, {}],
    ['a schema that is itself', { $ref: '#' }, {}],
    [
      'many subschemas for many items',
      { items: { allOf: many(60).map(() => ({ anyOf: [{ type: 'number' }, { type: 'string' }] })) } },
      many(60_000),
    ],
    [
      'long choices for many members',
      { additionalProperties: { enum: many(3_000).map((at) => `x${at}`) } },
      Object.fromEntries(many(20_000).map((at) => [`k${at}`, 'x2999'])),
    ],
    [
      'a long text for many subschemas',
      { items: { allOf: many(250).map(() => ({ maxLength: 300_000 })) } },
      ['x'.repeat(250_000)],
    ],
    [
      'a long text for a wide pattern',
      { items: { pattern: '(?:a|b|ab)*(?:c|a)*(?:a|d)*x$' } },
      ['a'.repeat(250_000)],
    ],
  ])('%s', (_what, schema, data) => {
    expect(checkOf(schema)(data)).toEqual([
      { pointer: '', message: 'is too large, or too deep, to be checked against the schema of its type' },
    ]);
  });

  test('uniqueItems compares each item once', () => {
    expect(
      pointersOf(
        { uniqueItems: true },
        many(30_000).map((at) => [at]),
      ),
    ).toEqual([]);
    expect(
      pointersOf({ uniqueItems: true }, [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ]),
    ).toEqual(['']);
  });

  test('a hundred thousand wrong items are one problem, or a few', () => {
    const problems = checkOf({ items: { type: 'string' } })(many(100_000));
    expect(problems).toEqual([{ pointer: '/0', message: 'must be a string' }]);
  });

  test('many small values within 256 KiB are not refused', () => {
    expect(pointersOf({ items: { type: 'number' } }, many(60_000))).toEqual([]);
  });
});
