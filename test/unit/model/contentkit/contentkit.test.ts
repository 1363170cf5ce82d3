/**
 * ContentKit (`docs/contract/components.md#elements`): every element and attribute is accepted, and
 * each wrong one is refused or left out, with its path, by the host's check; the served JSON Schema
 * in an independent validator agrees.
 */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { CONTENTKIT_SCHEMA, ELEMENTS } from '../../../../src/model/contentkit/contentkit.ts';
import { readRendering } from '../../../../src/model/contentkit/contentkit-answer.ts';
import { type CheckedDrawing, checkDrawing } from '../../../../src/model/contentkit/contentkit-check.ts';
import { cpuMs } from '../../../support/measure/cpu-time.ts';

type Json = Record<string, unknown>;
/**
 * Attribute → a valid and an invalid value; `*` marks required attributes, `!` those whose invalid
 * value is over a bound.
 */
type Row = Readonly<Record<string, readonly [right: unknown, wrong: unknown]>>;

const press = { action: 'go', with: { a: [1] } };
const url = { url: 'https://example.com/a?b=c' };
const button = { type: 'button', onPress: press };
const text = { type: 'text', children: ['x'] };
const confirm = { title: 'Sure?', text: 'It is gone then.', confirm: 'Go on', style: 'danger' };
const bound = { $state: 'name' };
const onPress: Row[string] = [press, { act: 'go' }];
const state: Row[string] = ['name', {}];
const disabled: Row[string] = [bound, 'yes'];
const buttons: Row[string] = [[button], [text]];
const choice: Row = {
  onValueChange: [press, 'go'],
  'confirm!': [confirm, { ...confirm, title: 'x'.repeat(101) }],
  disabled,
};

const TABLE: Readonly<Record<string, Row>> = {
  block: {
    children: [[text], ['naked']],
    controls: [
      [{ label: 'Edit', icon: 'edit', onPress: press, confirm }],
      [{ icon: 'edit', onPress: press }],
    ],
  },
  modal: {
    children: [[text], [{ type: 'step', id: 'a' }]],
    title: ['Title', {}],
    subtitle: [{ type: 'hint', children: ['Below'] }, {}],
    size: ['xlarge', 'huge'],
    returnValue: [{ a: 1 }, 'a'],
    submit: [button, text],
  },
  configuration: {
    children: [[{ type: 'stepper', activeStep: 'a', onStepChange: press, onComplete: press }], [button, 'x']],
  },
  stepper: {
    'activeStep*': ['a', {}],
    'onStepChange*': onPress,
    'onComplete*': onPress,
    children: [[{ type: 'step', id: 'a' }], [text]],
  },
  step: {
    'id*': ['a', {}],
    'title!': ['x'.repeat(50), 'x'.repeat(51)],
    next: [button, 'Next'],
    children: [[text], ['x']],
  },
  vstack: { align: ['center', 'middle'], children: [[text], ['x']] },
  hstack: { align: ['end', 'right'], children: [[text], [{ type: 'modal', children: [] }]] },
  box: { grow: [1, 'much'], children: [[text], ['x']] },
  divider: { size: ['small', 'tiny'] },
  text: {
    style: ['strikethrough', 'underlined'],
    children: [['a', text, { type: 'link', target: url, children: ['b'] }], [button]],
  },
  link: { 'target*': [url, { url: 'javascript:alert(1)' }], children: [['a'], [button]] },
  hint: { children: [['a', text, { type: 'link', target: url, children: ['b'] }], [button]] },
  markdown: { 'content*': [bound, {}] },
  image: { 'source*': [url, { url: '/relative.png' }], 'aspectRatio*': [1.5, 0] },
  card: {
    title: ['Title', {}],
    hint: [['See ', text, { type: 'link', target: url }], button],
    icon: [{ type: 'image', source: url, aspectRatio: 1 }, 'unheard-of'],
    onPress,
    buttons,
    children: [[text], ['x']],
  },
  button: {
    'onPress*': onPress,
    label: [bound, {}],
    style: ['secondary', 'tertiary'],
    icon: ['check-circle', 'tick'],
    trailingIcon: ['link-external', {}],
    tooltip: ['Tip', {}],
    'confirm!': [confirm, { ...confirm, confirm: 'x'.repeat(31) }],
    disabled,
  },
  input: {
    'label*': ['Name', {}],
    hint: ['How', {}],
    error: ['Taken.', {}],
    'element*': [{ type: 'textinput', state: 'a' }, text],
  },
  textinput: {
    'state*': state,
    initialValue: ['a', {}],
    placeholder: ['a', {}],
    multiline: [true, 'true'],
    inputType: ['password', 'number'],
    disabled,
  },
  select: {
    'state*': state,
    'options*': [[{ id: 'a', label: 'A', icon: 'star' }], [{ id: 'a' }]],
    initialValue: [['a', 'b'], {}],
    onValueChange: [press, 'go'],
    placeholder: ['a', {}],
    multiple: [true, 1],
    acceptInput: [false, 'no'],
    disabled,
  },
  switch: { 'state*': state, initialValue: [true, 'on'], ...choice },
  radio: { 'state*': state, 'value*': ['a', true], initialValue: ['a', true], ...choice },
  checkbox: { 'state*': state, 'value*': [1, null], initialValue: [true, 'on'], ...choice },
  codeblock: {
    'content*': ['let a;', {}],
    syntax: ['js', {}],
    lineNumbers: [10, 'yes'],
    state,
    onContentChange: [press, 'go'],
    buttons,
    header: [[text], ['x']],
    footer: [[text], [5]],
  },
  webframe: {
    'source*': [url, { url: 'data:text/html,x' }],
    aspectRatio: [1, -1],
    data: [{ a: 'b', c: bound }, { a: {} }],
    buttons,
  },
};

const nameOf = (attribute: string): string => attribute.replace(/[*!]$/, '');

/** An element with every attribute of the table. */
const complete = (type: string): Json => ({
  type,
  ...Object.fromEntries(Object.entries(TABLE[type] ?? {}).map(([key, [right]]) => [nameOf(key), right])),
});

/** Wraps the element in its allowed parents; `path` is its path in the tree. */
function placed(element: Json): { root: Json; path: string } {
  const { type } = element;
  if (type === 'block' || type === 'modal' || type === 'configuration')
    return { root: element, path: 'element' };
  if (type === 'stepper')
    return { root: { type: 'configuration', children: [element] }, path: 'element.children[0]' };
  if (type === 'step') {
    const stepper = { type: 'stepper', activeStep: 'a', onStepChange: press, onComplete: press };
    return placedIn({ ...stepper, children: [element] });
  }
  return { root: { type: 'block', children: [element] }, path: 'element.children[0]' };
}
function placedIn(parent: Json): { root: Json; path: string } {
  const { root, path } = placed(parent);
  return { root, path: `${path}.children[0]` };
}

const matchesSchema = new Ajv2020({ strict: false }).compile(CONTENTKIT_SCHEMA);
/** Checks a drawing after a round trip through JSON, as a component sends it. */
const check = (root: unknown): CheckedDrawing => checkDrawing(JSON.parse(JSON.stringify(root)));
const problemsOf = (root: unknown) => {
  const checked = check(root);
  return checked.ok ? [] : checked.problems;
};
const warningsOf = (root: unknown) => {
  const checked = check(root);
  return checked.ok ? checked.warnings.listed : [];
};
/** What is accepted as this element, without a warning. */
const taken = (element: unknown) => ({ ok: true, element, warnings: { listed: [], count: 0 } });
const said = ({ message, hint }: { message: string; hint?: string }) =>
  `${message}${hint ? ` | ${hint}` : ''}`;
const warnings = (...children: unknown[]) => warningsOf({ type: 'block', children }).map(said);
const messages = (...children: unknown[]) => problemsOf({ type: 'block', children }).map(said);

test('the table has every element with every attribute', () => {
  expect(Object.keys(TABLE)).toEqual(Object.keys(ELEMENTS));
  for (const [name, { attributes, children }] of Object.entries(ELEMENTS)) {
    const known = [...Object.keys(attributes), ...(children ? ['children'] : [])];
    expect([
      name,
      ...Object.keys(TABLE[name] ?? {})
        .map(nameOf)
        .sort(),
    ]).toEqual([name, ...known.sort()]);
  }
});

describe.each(Object.entries(TABLE))('<%s>', (type, row) => {
  test('is accepted unchanged with every attribute', () => {
    const { root } = placed(complete(type));
    expect(check(root)).toEqual(taken(root));
    expect(matchesSchema(root), JSON.stringify(matchesSchema.errors)).toBe(true);
  });

  test('needs the required attributes, and no others', () => {
    const needed = Object.entries(row).filter(([key]) => key.endsWith('*'));
    const least: Json = { type, ...Object.fromEntries(needed.map(([key, [right]]) => [nameOf(key), right])) };
    const checked = check(placed(least).root);
    expect(checked).toMatchObject({ ok: true, warnings: { count: 0 } });
    expect(checked.ok && matchesSchema(checked.element)).toBe(true);
    for (const key of needed.map(([name]) => nameOf(name))) {
      const { [key]: _, ...without } = least;
      const { root, path } = placed(without);
      expect(problemsOf(root)).toEqual([
        { path: `${path}.${key}`, message: `${path} <${type}>: ${key} is required` },
      ]);
      expect(matchesSchema(root)).toBe(false);
    }
  });

  test.each(Object.entries(row).map(([key, values]) => [key, ...values] as const))(
    'refuses an invalid %s, or leaves it out, and names its place',
    (key, _right, wrong) => {
      const { root, path } = placed({ ...complete(type), [nameOf(key)]: wrong });
      const isRefused = /[*!]$/.test(key);
      const checked = check(root);
      expect(checked.ok).toBe(!isRefused);
      const found = checked.ok ? checked.warnings.listed : checked.problems;
      expect(found.length).toBeGreaterThan(0);
      for (const problem of found) {
        expect(problem.path.startsWith(`${path}.${nameOf(key)}`), problem.path).toBe(true);
        expect(problem.message.startsWith(`${path}`), problem.message).toBe(true);
      }
      expect(matchesSchema(root)).toBe(false);
      if (checked.ok) {
        expect(matchesSchema(checked.element), JSON.stringify(matchesSchema.errors)).toBe(true);
        expect(check(checked.element)).toEqual(taken(checked.element));
      }
    },
  );

  test('leaves out an unknown attribute', () => {
    const { root, path } = placed({ ...complete(type), nonsense: 1 });
    expect(check(root)).toMatchObject({ ok: true, element: placed(complete(type)).root });
    expect(JSON.stringify(check(root))).not.toContain('"nonsense":');
    expect(warningsOf(root)).toMatchObject([{ path: `${path}.nonsense` }]);
    expect(warningsOf(root)[0]?.message).toContain(`${path} <${type}>: nonsense is unknown`);
    expect(matchesSchema(root)).toBe(false);
  });

  test('reads null as an absent attribute', () => {
    const given = Object.fromEntries(Object.keys(TABLE[type] ?? {}).map((key) => [nameOf(key), null]));
    const absent = Object.keys(row)
      .filter((key) => key.endsWith('*'))
      .map((key) => `${nameOf(key)} is required`);
    const problems = problemsOf(placed({ type, ...given }).root).map(({ message }) => message);
    expect(problems.map((message) => message.replace(/.*: /, '')).sort()).toEqual(absent.sort());
    expect(warningsOf(placed({ type, ...given }).root)).toEqual([]);
  });
});

describe('a part that is left out is reported', () => {
  test.each([
    [{ type: 'buton' }, 'element.children[0] <buton>: there is no such element | Did you mean <button>?'],
    [
      { ...button, onpress: press },
      'element.children[0] <button>: onpress is unknown; there are onPress, label, style, icon, trailingIcon, tooltip, confirm, disabled | Did you mean "onPress"?',
    ],
    ['naked', 'element <block>: children[0] is text: "naked" | Put text into <text>, as it is drawn now.'],
    [
      { type: 'step', id: 'a' },
      'element.children[0] <step>: may not stand here | <step> stands in <stepper>.',
    ],
    [
      { type: 'modal', children: [] },
      'element.children[0] <modal>: may not stand here | <modal> is never inside of another element.',
    ],
    [
      { type: 'text', children: [button] },
      'element.children[0].children[0] <button>: may not stand here, only <text>, <link> or <image> may',
    ],
    [
      { type: 'divider', children: ['a'] },
      'element.children[0] <divider>: children is left out: the element is always empty',
    ],
    [{ type: 'constructor' }, 'element.children[0] <constructor>: there is no such element'],
    [
      { ...button, icon: 'strar' },
      'element.children[0] <button>: icon must be one of close, edit, github, gitlab, maximize, email, settings, search, delete, star, warning, link, link-external, eye, eye-off, lock, check, check-circle | Did you mean "star"?',
    ],
    [
      { type: 'link', target: { ...url, relation: 'me' } },
      'element.children[0] <link>: target.relation is unknown; there are url',
    ],
    [
      { type: 'card', buttons: [{ type: 'button' }] },
      'element.children[0].buttons[0] <button>: onPress is required',
    ],
  ])('%j', (child, message) => {
    expect(messages(child)).toEqual([]);
    expect(warnings(child)).toEqual([message]);
  });

  test('ten at the most, and how many there are', () => {
    const children = Array.from({ length: 100 }, () => ({ type: 'buton' }));
    const checked = check({ type: 'block', children });
    expect(checked).toMatchObject({ ok: true, element: { children: [] }, warnings: { count: 100 } });
    expect(checked.ok && checked.warnings.listed).toHaveLength(10);
  });

  test('in few words, however long or strange a name is', () => {
    const [message = ''] = warnings({ type: 'x'.repeat(100_000), [`a${'b'.repeat(100_000)}`]: 1 });
    expect(message.length).toBeLessThan(300);
  });
});

describe('a problem is reported', () => {
  test.each([
    [{ no: 'type' }, 'element <block>: children[0] must be an element: an object with a `type`'],
    [
      { ...button, onPress: { action: '@ui.modal.opn' } },
      'element.children[0] <button>: onPress is wrong: "@ui.modal.opn" is not an action of the platform; there are @ui.modal.open, @ui.modal.close, @ui.url.open, @link.unfurl, @editor.node.updateProps | Did you mean "@ui.modal.open"?',
    ],
    [
      { ...button, confirm: { ...confirm, text: 'é'.repeat(301) } },
      'element.children[0] <button>: confirm.text must have at most 300 characters, not 301',
    ],
  ])('%j', (child, message) => {
    expect(messages(child)).toEqual([message]);
  });

  test.each([[null], ['text'], [[]], [5], [{ type: 'text' }]])('an invalid root: %j', (root) => {
    expect(problemsOf(root)).toMatchObject([{ path: 'element' }]);
  });

  test('up to a maximum of twenty problems', () => {
    const many = Array.from({ length: 100 }, () => ({ type: 'button' }));
    expect(messages(...many)).toHaveLength(20);
  });
});

describe('actions of the platform', () => {
  test.each([
    [{ action: '@ui.modal.open', componentId: 'a', props: { deep: [bound] } }, undefined],
    [{ action: '@ui.modal.open', componentId: 'a' }, 'props is required'],
    [{ action: '@ui.modal.close', returnValue: {} }, undefined],
    [{ action: '@ui.modal.close' }, undefined],
    [{ action: '@ui.modal.close', more: { a: null } }, undefined],
    [{ action: '@ui.url.open', url: 'https://example.com' }, undefined],
    [{ action: '@ui.url.open', url: 'mailto:a@example.com' }, undefined],
    [{ action: '@ui.url.open', url: bound }, undefined],
    [{ action: '@ui.url.open' }, 'url is required'],
    [{ action: '@link.unfurl', url: 'https://example.com' }, undefined],
    [{ action: '@link.unfurl', url: 'ftp://example.com' }, 'url must be an absolute URL with http or https'],
    [{ action: '@editor.node.updateProps', props: {} }, undefined],
    [{ action: '@editor.node.updateProps', props: {}, more: 1 }, undefined],
  ])('%j', (action, complaint) => {
    const drawing = { type: 'block', children: [{ type: 'button', onPress: action }] };
    const expected = complaint === undefined ? [] : [`element.children[0] <button>: onPress.${complaint}`];
    expect(problemsOf(drawing).map(({ message }) => message)).toEqual(expected);
    expect(matchesSchema(drawing)).toBe(complaint === undefined);
    if (complaint === undefined) expect(check(drawing)).toEqual(taken(drawing));
  });
});

test.each([
  ...['javascript:alert(1)', ' javascript:alert(1)', 'JAVASCRIPT:alert(1)', 'java\nscript:alert(1)'],
  ...[
    '\u0001javascript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    'blob:https://a/b',
  ],
  ...['//example.com', '/path', 'https:example', 'http://', 'https://a b', 'https://a\tb', ''],
])('attack: %j as a URL that a browser would follow', (target) => {
  for (const [attributes, member] of [
    [{ type: 'link', target: { url: target } }, 'target.url'],
    [{ type: 'image', source: { url: target }, aspectRatio: 1 }, 'source.url'],
    [{ type: 'webframe', source: { url: target } }, 'source.url'],
    [{ type: 'select', state: 'a', options: { url: target } }, 'options.url'],
    [{ type: 'button', onPress: { action: '@ui.url.open', url: target } }, 'onPress.url'],
  ] as const)
    expect(problemsOf({ type: 'block', children: [attributes] })).toMatchObject([
      { path: `element.children[0].${member}` },
    ]);
});

describe('empty values are removed', () => {
  test.each<[children: unknown, normal: unknown[]]>([
    [[null, false, true, [[text], null]], [text]],
    [text, [text]],
    [null, []],
    [' \n ', []],
    [
      [{ type: 'text', children: [0, ['a', [1.5]], false, ''] }],
      [{ type: 'text', children: ['0', 'a', '1.5', ''] }],
    ],
    [[{ type: 'text', children: 5 }], [{ type: 'text', children: ['5'] }]],
    [[{ type: 'divider', children: [null, []] }], [{ type: 'divider' }]],
    [[{ type: 'card', buttons: button }], [{ type: 'card', buttons: [button] }]],
    [[{ type: 'card', buttons: [false, [button]] }], [{ type: 'card', buttons: [button] }]],
  ])('of %j', (children, normal) => {
    expect(check({ type: 'block', children })).toEqual(taken({ type: 'block', children: normal }));
  });

  test('and a stepper is the only child afterwards', () => {
    const stepper = { type: 'stepper', activeStep: 'a', onStepChange: press, onComplete: press };
    expect(problemsOf({ type: 'configuration', children: [null, [stepper], false] })).toEqual([]);
    expect(problemsOf({ type: 'configuration', children: [stepper, text] })).toEqual([
      {
        path: 'element.children',
        message:
          'element <configuration>: children must be one <stepper> and nothing beside it, or have none',
      },
    ]);
  });
});

describe('forms of other JSX runtimes are accepted', () => {
  const parts = {
    host: 'example.com:8443',
    pathname: '/a b',
    query: { q: 'text', bound },
  };
  const select = (options: unknown) => ({ type: 'select', state: 'a', options });
  test.each<[child: Json, normal: Json]>([
    [select({ url: parts }), select({ url: parts })],
    [
      select({ url: { host: 'example.com', query: { page: 5, none: null } } }),
      select({ url: { host: 'example.com', query: { page: '5' } } }),
    ],
    [select([{ id: 5, label: 6 }, null, false]), select([{ id: '5', label: '6' }])],
    [
      { type: 'card', hint: [['a', 5, null], text] },
      { type: 'card', hint: ['a', '5', text] },
    ],
    [
      { type: 'card', icon: 'star' },
      { type: 'card', icon: 'star' },
    ],
    [
      { type: 'card', title: 5, icon: null, onPress: undefined },
      { type: 'card', title: '5' },
    ],
    [
      { type: 'vstack', children: ['a'] },
      { type: 'vstack', children: [{ type: 'text', children: ['a'] }] },
    ],
    [
      { type: 'vstack', children: 0 },
      { type: 'vstack', children: [{ type: 'text', children: ['0'] }] },
    ],
    [{ type: 'block' }, { type: 'block', children: [] }],
    [
      { type: 'image', source: url, aspectRatio: '1.5' },
      { type: 'image', source: url, aspectRatio: 1.5 },
    ],
    [
      { type: 'input', label: 'a', element: [{ type: 'switch', state: 'b' }] },
      { type: 'input', label: 'a', element: { type: 'switch', state: 'b' } },
    ],
    [
      { type: 'webframe', source: url, data: { a: 5, b: bound, c: [] } },
      { type: 'webframe', source: url, data: { a: '5', b: bound } },
    ],
    [
      { type: 'radio', state: 'a', value: 5 },
      { type: 'radio', state: 'a', value: 5 },
    ],
  ])('%j', (child, normal) => {
    const checked = check({ type: 'block', children: [child] });
    expect(checked).toMatchObject({ ok: true, element: { type: 'block', children: [normal] } });
    expect(checked.ok && matchesSchema(checked.element), JSON.stringify(matchesSchema.errors)).toBe(true);
  });

  test.each([
    { ...parts, host: 'user@example.com' },
    { ...parts, host: 'example.com/path' },
    { ...parts, host: 'example.com?' },
    { ...parts, host: '' },
    { pathname: '/a' },
  ])('attack: parts of a URL that would be another one: %j', (address) => {
    expect(messages(select({ url: address }))).toHaveLength(1);
  });

  test('attack: a path that would continue the host', () => {
    const [, ...rest] = warnings(select({ url: { host: 'example.com', pathname: '.evil.com' } }));
    expect(rest).toEqual([]);
    expect(
      JSON.stringify(check({ type: 'block', children: [select({ url: { host: 'a', pathname: '.b' } })] })),
    ).not.toContain('"pathname":".b"');
  });
});

describe('attack:', () => {
  const nested = (depth: number): Json =>
    depth === 1 ? { type: 'block', children: [] } : { type: 'block', children: [nested(depth - 1)] };

  test('elements inside of elements, 64 deep and no deeper', () => {
    expect(problemsOf(nested(64))).toEqual([]);
    expect(problemsOf(nested(65)).map(({ message }) => message)).toEqual([
      expect.stringMatching(/<block>: is nested deeper than 64$/),
    ]);
    expect(problemsOf(nested(3_000))).toHaveLength(1);
  });

  test('lists inside of lists', () => {
    const lists = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`) as unknown;
    expect(checkDrawing({ type: 'block', children: lists })).toMatchObject({ ok: false });
    expect(checkDrawing({ type: 'modal', children: [], returnValue: { a: lists } })).toMatchObject({
      ok: false,
    });
  });

  /** `dividers` elements inside `boxes` nested boxes, with `lists` nested lists in each. */
  const crowded = (dividers: number, boxes: number, lists: number, tag = 'divider'): Json => {
    let children: unknown[] = Array.from({ length: dividers }, () => ({ type: tag }));
    for (let box = 0; box < boxes; box += 1) {
      children = [{ type: 'box', children }];
      for (let list = 1; list < lists; list += 1) children = [children];
    }
    return { type: 'block', children };
  };

  test('elements in lists in elements in lists cost no more than their number', () => {
    const leastMs = (drawing: Json): number => {
      const runs = Array.from({ length: 5 }, () => cpuMs(() => expect(problemsOf(drawing)).toEqual([])));
      return Math.min(...runs);
    };
    const flat = leastMs(crowded(9_000, 1, 1));
    expect(leastMs(crowded(9_000, 60, 60))).toBeLessThan(4 * flat + 5);
  });

  test('and a problem of a nested one is reported with the end of its path, of bounded length', () => {
    const problems = problemsOf(crowded(20, 60, 60, 'button'));
    expect(problems).toHaveLength(20);
    for (const { path, message } of problems) {
      expect(path.startsWith('…')).toBe(true);
      expect(path.length + message.length).toBeLessThan(8_000);
    }
    expect(problems.at(-1)?.path).toMatch(/\.children\[19\]\.onPress$/);
  });

  test('ten thousand elements and texts, and one more', () => {
    const block = (children: number) => ({
      type: 'block',
      children: Array.from({ length: children }, () => ({ type: 'divider' })),
    });
    expect(problemsOf(block(9_999))).toEqual([]);
    expect(problemsOf(block(10_000))).toHaveLength(1);
    expect(problemsOf(block(100_000))).toHaveLength(1);
    const words = { type: 'text', children: Array.from({ length: 100_000 }, () => 'a') };
    expect(problemsOf({ type: 'block', children: [words] })).toHaveLength(1);
  });

  test('a dangerous URL in a value that could be left out', () => {
    const dangerous = { url: 'java\nscript:alert(1)' };
    for (const attributes of [
      { icon: { type: 'image', source: dangerous, aspectRatio: 1 } },
      { onPress: { action: '@ui.url.open', ...dangerous } },
      { hint: [{ type: 'link', target: dangerous }] },
    ])
      expect(problemsOf({ type: 'block', children: [{ type: 'card', ...attributes }] })).toHaveLength(1);
    const relative = { type: 'card', icon: { type: 'image', source: { url: '/a.png' }, aspectRatio: 1 } };
    expect(check({ type: 'block', children: [relative] })).toMatchObject({
      element: { children: [{ type: 'card' }] },
      warnings: { count: 1 },
    });
  });

  test('a bound that is passed inside of a value that could be left out', () => {
    const card = (attributes: Json) =>
      problemsOf({ type: 'block', children: [{ type: 'card', ...attributes }] });
    const many = Array.from({ length: 20_000 }, () => button);
    expect(card({ buttons: many })).toHaveLength(1);
    expect(card({ hint: nested(70) })).toEqual([]);
    expect(
      card({ onPress: { action: 'a', deep: JSON.parse(`${'['.repeat(99)}${']'.repeat(99)}`) } }),
    ).toHaveLength(1);
  });

  test('as many parts to leave out as fit into an answer', () => {
    const attributes = Object.fromEntries(
      Array.from({ length: 60_000 }, (_, index) => [`onPres${index}`, 1]),
    );
    const wrong = Array.from({ length: 9_000 }, () => ({ type: 'box', grow: 'x', onpress: 1 }));
    const root = { type: 'block', ...attributes, children: wrong };
    expect(
      cpuMs(() => expect(checkDrawing(root)).toMatchObject({ warnings: { count: 78_000 } })),
    ).toBeLessThan(1_000);
    const unknown = Array.from({ length: 20_000 }, () => ({ type: 'nope' }));
    expect(problemsOf({ type: 'block', children: [...unknown, text] })).toHaveLength(1);
  });

  test('members named as prototypes are unknown attributes', () => {
    const drawing = JSON.parse('{"type":"block","children":[{"type":"box","__proto__":{"grow":1}}]}');
    expect(checkDrawing(drawing)).toMatchObject({
      ok: true,
      element: { children: [{ type: 'box' }] },
      warnings: { listed: [{ path: 'element.children[0].__proto__' }] },
    });
    const data = JSON.parse(
      '{"type":"webframe","source":{"url":"https://a.example"},"data":{"__proto__":"x","toString":"y"}}',
    );
    const checked = checkDrawing({ type: 'block', children: [data] });
    expect(JSON.stringify(checked)).toContain('"__proto__":"x"');
  });
});

describe('a field that no code reads', () => {
  const field = { type: 'input', label: 'Note', element: { type: 'textinput', state: 'note' } };
  const press = (action: string) => ({
    type: 'button',
    label: 'Go',
    onPress: { action, url: 'https://a.b/' },
  });
  const bound = { type: 'markdown', content: { $state: 'note' } };
  const unread = async (...children: object[]) => {
    const answer = { type: 'element', element: { type: 'block', children } };
    const read = await readRendering(Buffer.from(JSON.stringify(answer)));
    return read.ok ? read.unread : read.problems;
  };

  test('is named, unless something dispatches an action or is bound to it', async () => {
    expect(await unread(field)).toEqual(['note']);
    expect(await unread(field, press('@ui.url.open'))).toEqual(['note']);
    expect(await unread(field, press('save'))).toEqual([]);
    expect(await unread(field, bound)).toEqual([]);
    expect(await unread(bound)).toEqual([]);
  });
});
