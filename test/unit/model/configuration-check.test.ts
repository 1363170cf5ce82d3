/**
 * Validity of a configuration: types, choices, required and unknown properties, and hostile names.
 */
import { describe, expect, test } from 'vitest';
import {
  configurationChecker,
  configurationFault,
  configurationSchema,
} from '../../../src/model/configuration-check.ts';
import type { Configuration } from '../../../src/model/manifest/manifest.ts';

const PROPERTIES = {
  region: { type: 'string', enum: ['eu', 'us'] },
  note: { type: 'string' },
  count: { type: 'number' },
  loud: { type: 'boolean' },
  oauth_credentials: { type: 'button', callback_url: '/oauth' },
  connect: { type: 'button', callback_url: '/connect' },
} as const;
const DECLARED: Configuration = { properties: PROPERTIES, required: ['region'] };

const problems = (configuration: Record<string, unknown>, declared: Configuration | undefined = DECLARED) =>
  configurationChecker(declared)(configuration);

describe('a configuration', () => {
  test.each([
    [{ region: 'eu' }],
    [{ region: 'us', note: '', count: -0.5, loud: false, oauth_credentials: { access_token: 'x' } }],
    [{ region: 'us', oauth_credentials: {} }],
    // What the code stores for itself.
    [{ region: 'eu', connect: { id: 7 } }],
    [{ region: 'eu', colour: 'red', toString: 1, nested: { any: ['thing', null] } }],
  ])('whose declared properties are right is valid: %j', (configuration) => {
    expect(problems(configuration)).toEqual([]);
  });

  test.each<[Record<string, unknown>, string, string]>([
    [{}, 'region', '"region" must be set.'],
    [{ region: 'asia' }, 'region', '"region" must be one of "eu", "us".'],
    [{ region: 7 }, 'region', '"region" must be one of "eu", "us".'],
    [{ region: 'eu', note: 7 }, 'note', '"note" must be a string.'],
    [{ region: 'eu', note: ['a'] }, 'note', '"note" must be a string.'],
    [{ region: 'eu', count: '7' }, 'count', '"count" must be a number.'],
    [{ region: 'eu', loud: 'true' }, 'loud', '"loud" must be true or false.'],
    [{ region: 'eu', loud: 1 }, 'loud', '"loud" must be true or false.'],
    [
      { region: 'eu', oauth_credentials: 'token' },
      'oauth_credentials',
      '"oauth_credentials" must be an object.',
    ],
    [{ region: 'eu', oauth_credentials: [] }, 'oauth_credentials', '"oauth_credentials" must be an object.'],
  ])('%j is not valid, and it is said why', (configuration, property, message) => {
    expect(problems(configuration)).toEqual([{ property, message }]);
  });

  test('has all its problems listed, one for each property, with a suggestion', () => {
    expect(problems({ regoin: 'eu', count: 'many' })).toEqual([
      {
        property: 'region',
        message: '"region" must be set.',
        hint: 'There is "regoin": did you mean "region"?',
      },
      { property: 'count', message: '"count" must be a number.' },
    ]);
  });

  test('of a component is any object', () => {
    const component: Configuration = { properties: {}, required: [], componentId: 'settings' };
    expect(problems({ anything: { at: ['all'] }, more: null }, component)).toEqual([]);
    expect(problems({ oauth_credentials: 1 }, component)).toMatchObject([{ property: 'oauth_credentials' }]);
  });

  test('that nothing is declared for is any object, with credentials that are one', () => {
    expect(configurationChecker(undefined)({ a: 1 })).toEqual([]);
    expect(configurationChecker(undefined)({ oauth_credentials: 'token' })).toMatchObject([
      { property: 'oauth_credentials' },
    ]);
  });

  test('no problem repeats a value', () => {
    const secret = 'hunter2-hunter2';
    const said = problems({ region: secret, count: secret, loud: secret, unknown: secret });
    expect(said).toHaveLength(3);
    expect(JSON.stringify(said)).not.toContain('hunter2');
  });

  test('attack: garbage of any size has a bounded list of problems, of a bounded length each', () => {
    const names = Array.from({ length: 100 }, (_, i) => `p${i}`);
    const many: Configuration = {
      properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
      required: [],
    };
    expect(problems(Object.fromEntries(names.map((name) => [name, 1])), many)).toHaveLength(50);
    expect(problems({ ['x'.repeat(60_000)]: 1, region: 'eu' })).toEqual([]);
    const choices = Array.from({ length: 500 }, (_, i) => `choice ${i}`);
    const wide: Configuration = {
      properties: { one: { type: 'string', enum: choices } },
      required: [],
    };
    expect(problems({ one: 'none' }, wide)[0]?.message).toMatch(/"choice 19" and 480 more\.$/);
  });
});

describe('a list of choices', () => {
  const offered = ['site_view', 'page_feedback'];
  const property = { type: 'string', enum: offered, multiple: true } as const;
  const optional: Configuration = { properties: { event_types: property }, required: [] };
  const required: Configuration = { ...optional, required: ['event_types'] };
  const CHOOSE = 'choose from "site_view", "page_feedback".';

  test.each([
    [{ event_types: ['site_view'] }, required],
    [{ event_types: ['page_feedback', 'site_view'] }, required],
    [{ event_types: [] }, optional],
    [{}, optional],
  ])('%j is valid', (configuration, declared) => {
    expect(problems(configuration, declared)).toEqual([]);
  });

  test.each<[unknown, string]>([
    ['site_view', `"event_types" must be a list: ${CHOOSE}`],
    [{ 0: 'site_view' }, `"event_types" must be a list: ${CHOOSE}`],
    [[], `"event_types" must have at least one choice: ${CHOOSE}`],
    [
      ['site_view', 'space_content_updated'],
      `"event_types" does not offer "space_content_updated": ${CHOOSE}`,
    ],
    [['site_view', 7], `"event_types" does not offer entry 2: ${CHOOSE}`],
    [['site_view', null], `"event_types" does not offer entry 2: ${CHOOSE}`],
    [[['site_view']], `"event_types" does not offer entry 1: ${CHOOSE}`],
    [['site_view', 'site_view'], '"event_types" must have each choice once; "site_view" is there again.'],
  ])('%j is not, and the problem names an entry that is not a choice', (event_types, message) => {
    expect(problems({ event_types }, required)).toEqual([{ property: 'event_types', message }]);
  });

  test('that is required must be set', () => {
    expect(problems({}, required)).toEqual([
      { property: 'event_types', message: '"event_types" must be set.' },
    ]);
  });

  test('attack: an entry that is not a plain word is named by its index, and not repeated', () => {
    const secrets = ['https://a.example/?token=x', 'Hunter2!', 'x'.repeat(400), 'a\u202eb', 'two words', ''];
    for (const secret of secrets) {
      const [found] = problems({ event_types: [secret] }, required);
      expect(found?.message).toBe(`"event_types" does not offer entry 1: ${CHOOSE}`);
    }
  });

  test('attack: a list of thousands of entries has one problem', () => {
    for (const entry of ['site_view', 'none', 7]) {
      const found = problems({ event_types: Array.from({ length: 20_000 }, () => entry) }, required);
      expect(found).toHaveLength(1);
    }
  });
});

describe('attack: a manifest with names of code', () => {
  const breakout = '"];globalThis.broken=true;//';
  const names = [
    ...[
      breakout,
      `'];globalThis.broken=true;//`,
      `\`+(globalThis.broken=true)+\``,
      '\u0024{globalThis.broken=1}',
    ],
    ...['constructor', 'toString', 'hasOwnProperty', 'valueOf', '\\', '\u2028', '*/', '/~', '~1', ''],
  ];

  test.each(names.map((name) => [name]))('a property named %j is a property like others', (name) => {
    const declared: Configuration = { properties: { [name]: { type: 'string' } }, required: [name] };
    expect(problems({}, declared)).toMatchObject([
      { property: name, message: expect.stringContaining('must be set') },
    ]);
    expect(problems({}, { ...declared, required: [] })).toEqual([]);
    expect(problems({ [name]: 'text' }, declared)).toEqual([]);
    expect(problems({ [name]: 1 }, declared)).toMatchObject([{ property: name }]);
    expect('broken' in globalThis).toBe(false);
  });

  test.each(names.map((name) => [name]))('a choice %j is a choice like others', (name) => {
    const one = { type: 'string', enum: [name] } as const;
    const declared: Configuration = {
      properties: { one, list: { ...one, multiple: true } },
      required: [],
    };
    expect(problems({ one: name, list: [name] }, declared)).toEqual([]);
    expect(problems({ one: `${name}x` }, declared)).toMatchObject([{ property: 'one' }]);
    expect(problems({ list: [`${name}x`] }, declared)).toMatchObject([{ property: 'list' }]);
    expect('broken' in globalThis).toBe(false);
  });

  test('a property named __proto__ sets no prototype', () => {
    const properties = JSON.parse('{"__proto__": {"type": "string"}}');
    const declared: Configuration = { properties, required: [] };
    const schema = configurationSchema(declared);
    expect(Object.getPrototypeOf(schema['properties'])).toBe(Object.prototype);
    expect(configurationFault(JSON.parse('{"__proto__": "x"}'))).toMatch(/cannot be named/);
    expect(problems({}, declared)).toEqual([]);
  });

  test('duplicate choices and duplicate required properties are accepted', () => {
    const declared: Configuration = {
      properties: { one: { type: 'string', enum: ['a', 'a'] } },
      required: ['one', 'one'],
    };
    expect(problems({ one: 'a' }, declared)).toEqual([]);
  });
});

describe('a patch', () => {
  const nested = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);

  test.each<[string, Record<string, unknown>]>([
    ['text, numbers, null', { a: 'x', b: 1, c: null, d: { e: [true] } }],
    ['32 levels', { a: nested(32) }],
  ])('of %s can be stored', (_what, patch) => {
    expect(configurationFault(patch)).toBeUndefined();
  });

  test.each<[string, Record<string, unknown>, RegExp]>([
    ['U+0000 in a value', { a: 'x\0' }, /"a" must not hold U\+0000/],
    ['U+0000 within a value', { a: { b: ['\0'] } }, /"a" must not hold U\+0000/],
    ['U+0000 in a name', { a: { '\0': 1 } }, /"a" must not hold U\+0000/],
    // JSON parses it as Infinity, which would be stored as `null`.
    ['a number beyond all', { a: [JSON.parse('-1e999')] }, /"a" must not hold a number beyond/],
    ['33 levels', { a: nested(33) }, /"a" must not be nested deeper than 32 levels/],
    ['30,000 levels', { a: nested(30_000) }, /"a" must not be nested deeper than 32 levels/],
    ['a prototype', JSON.parse('{"__proto__": {"admin": true}}'), /cannot be named "__proto__"/],
  ])('of %s cannot', (_what, patch, fault) => {
    expect(configurationFault(patch)).toMatch(fault);
  });
});
