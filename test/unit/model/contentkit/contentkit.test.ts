/**
 * ContentKit (`docs/contract/components.md#elements`): every element and attribute is accepted, and
 * each wrong one is refused with its path, by the host's check and by the served JSON Schema in an
 * independent validator.
 */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { CONTENTKIT_SCHEMA, ELEMENTS } from '../../../../src/model/contentkit/contentkit.ts';
import { type CheckedDrawing, checkDrawing } from '../../../../src/model/contentkit/contentkit-check.ts';
import { cpuMs } from '../../../support/measure/cpu-time.ts';

type Json = Record<string, unknown>;
/** Attribute → a valid and an invalid value; `*` marks required attributes. */
type Row = Readonly<Record<string, readonly [right: unknown, wrong: unknown]>>;

const press = { action: 'go', with: { a: [1] } };
const url = { url: 'https://example.com/a?b=c' };
const button = { type: 'button', onPress: press };
const text = { type: 'text', children: ['x'] };
const confirm = { title: 'Sure?', text: 'It is gone then.', confirm: 'Go on', style: 'danger' };
const bound = { $state: 'name' };
const onPress: Row[string] = [press, { act: 'go' }];
const state: Row[string] = ['name', 5];
const disabled: Row[string] = [bound, 'yes'];
const buttons: Row[string] = [[button], [text]];
const choice: Row = {
  onValueChange: [press, 'go'],
  confirm: [confirm, { ...confirm, title: 'x'.repeat(101) }],
  disabled,
};

const TABLE: Readonly<Record<string, Row>> = {
  block: {
    'children*': [[text], ['naked']],
    controls: [
      [{ label: 'Edit', icon: 'edit', onPress: press, confirm }],
      [{ icon: 'edit', onPress: press }],
    ],
  },
  modal: {
    'children*': [[text], [{ type: 'step', id: 'a' }]],
    title: ['Title', 5],
    subtitle: ['Below', {}],
    size: ['xlarge', 'huge'],
    returnValue: [{ a: 1 }, 'a'],
    submit: [button, text],
  },
  configuration: {
    children: [[{ type: 'stepper', activeStep: 'a', onStepChange: press, onComplete: press }], [button, 5]],
  },
  stepper: {
    'activeStep*': ['a', 1],
    'onStepChange*': onPress,
    'onComplete*': onPress,
    children: [[{ type: 'step', id: 'a' }], [text]],
  },
  step: {
    'id*': ['a', 1],
    title: ['x'.repeat(50), 'x'.repeat(51)],
    next: [button, 'Next'],
    children: [[text], ['x']],
  },
  vstack: { align: ['center', 'middle'], children: [[text], ['x']] },
  hstack: { align: ['end', 'right'], children: [[text], [{ type: 'modal', children: [] }]] },
  box: { grow: [1, 'much'], children: [[text], ['x']] },
  divider: { size: ['small', 'tiny'] },
  text: { style: ['strikethrough', 'underlined'], children: [['a', text], [button]] },
  link: { 'target*': [url, { url: 'javascript:alert(1)' }], children: [['a'], [button]] },
  hint: { children: [['a', text, { type: 'link', target: url, children: ['b'] }], [button]] },
  markdown: { 'content*': [bound, 5] },
  image: { 'source*': [url, { url: '/relative.png' }], 'aspectRatio*': [1.5, 0] },
  card: {
    title: ['Title', 5],
    hint: [text, button],
    icon: [{ type: 'image', source: url, aspectRatio: 1 }, 'unheard-of'],
    onPress,
    buttons,
    children: [[text], ['x']],
  },
  button: {
    'onPress*': onPress,
    label: [bound, 5],
    style: ['secondary', 'tertiary'],
    icon: ['check-circle', 'tick'],
    trailingIcon: ['link-external', 5],
    tooltip: ['Tip', 5],
    confirm: [confirm, { ...confirm, confirm: 'x'.repeat(31) }],
    disabled,
  },
  input: { 'label*': ['Name', 5], hint: ['How', 5], 'element*': [{ type: 'textinput', state: 'a' }, text] },
  textinput: {
    'state*': state,
    initialValue: ['a', 5],
    placeholder: ['a', 5],
    multiline: [true, 'true'],
    inputType: ['password', 'number'],
    disabled,
  },
  select: {
    'state*': state,
    'options*': [[{ id: 'a', label: 'A', icon: 'star' }], [{ id: 'a' }]],
    initialValue: [['a', 'b'], 5],
    onValueChange: [press, 'go'],
    placeholder: ['a', 5],
    multiple: [true, 1],
    acceptInput: [false, 'no'],
    disabled,
  },
  switch: { 'state*': state, initialValue: [true, 'on'], ...choice },
  radio: { 'state*': state, 'value*': ['a', true], initialValue: ['a', true], ...choice },
  checkbox: { 'state*': state, 'value*': [1, null], initialValue: [true, 'on'], ...choice },
  codeblock: {
    'content*': ['let a;', 5],
    syntax: ['js', 5],
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
    data: [{ a: 'b', c: bound }, { a: 5 }],
    buttons,
  },
};

const nameOf = (attribute: string): string => attribute.replace('*', '');

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
const messages = (...children: unknown[]) =>
  problemsOf({ type: 'block', children }).map(({ message, hint }) => `${message}${hint ? ` | ${hint}` : ''}`);

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
    expect(check(root)).toEqual({ ok: true, element: root });
    expect(matchesSchema(root), JSON.stringify(matchesSchema.errors)).toBe(true);
  });

  test('needs the required attributes, and no others', () => {
    const needed = Object.entries(row).filter(([key]) => key.endsWith('*'));
    const least: Json = { type, ...Object.fromEntries(needed.map(([key, [right]]) => [nameOf(key), right])) };
    expect(problemsOf(placed(least).root)).toEqual([]);
    expect(matchesSchema(placed(least).root)).toBe(true);
    for (const key of needed.map(([name]) => nameOf(name))) {
      const { [key]: _, ...without } = least;
      const { root, path } = placed(without);
      expect(problemsOf(root)).toEqual([
        { path: `${path}.${key}`, message: `${path} <${type}>: ${key} is required` },
      ]);
      expect(matchesSchema(root)).toBe(false);
    }
  });

  test.each(Object.entries(row).map(([key, values]) => [nameOf(key), ...values] as const))(
    'refuses an invalid %s, and names its place',
    (key, _right, wrong) => {
      const { root, path } = placed({ ...complete(type), [key]: wrong });
      const problems = problemsOf(root);
      expect(problems.length).toBeGreaterThan(0);
      for (const problem of problems) {
        expect(problem.path.startsWith(`${path}.${key}`), problem.path).toBe(true);
        expect(problem.message.startsWith(`${path}`), problem.message).toBe(true);
      }
      expect(matchesSchema(root)).toBe(false);
    },
  );

  test('refuses an unknown attribute', () => {
    const { root, path } = placed({ ...complete(type), nonsense: 1 });
    expect(problemsOf(root)).toMatchObject([{ path: `${path}.nonsense` }]);
    expect(problemsOf(root)[0]?.message).toContain(`${path} <${type}>: nonsense is unknown`);
    expect(matchesSchema(root)).toBe(false);
  });
});

describe('a problem is reported', () => {
  test.each([
    [{ type: 'buton' }, 'element.children[0] <buton>: there is no such element | Did you mean <button>?'],
    [
      { ...button, onpress: press },
      'element.children[0] <button>: onpress is unknown; there are onPress, label, style, icon, trailingIcon, tooltip, confirm, disabled | Did you mean "onPress"?',
    ],
    ['naked', 'element <block>: children[0] is text: "naked" | Put text into <text>.'],
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
      'element.children[0].children[0] <button>: may not stand here, only <text> may',
    ],
    [{ no: 'type' }, 'element <block>: children[0] must be an element: an object with a `type`'],
    [
      { ...button, onPress: { action: '@ui.modal.opn' } },
      'element.children[0] <button>: onPress is wrong: "@ui.modal.opn" is not an action of the platform; there are @ui.modal.open, @ui.modal.close, @ui.url.open, @link.unfurl, @editor.node.updateProps | Did you mean "@ui.modal.open"?',
    ],
    [
      { ...button, confirm: { ...confirm, text: 'é'.repeat(301) } },
      'element.children[0] <button>: confirm.text must have at most 300 characters, not 301',
    ],
    [
      { type: 'divider', children: ['a'] },
      'element.children[0] <divider>: children must not be there: the element is always empty',
    ],
    [{ type: 'constructor' }, 'element.children[0] <constructor>: there is no such element'],
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

  test('in few words, however long or strange a name is', () => {
    const [message = ''] = messages({ type: 'x'.repeat(100_000), [`a${'b'.repeat(100_000)}`]: 1 });
    expect(message.length).toBeLessThan(300);
  });
});

describe('actions of the platform', () => {
  test.each([
    [{ action: '@ui.modal.open', componentId: 'a', props: { deep: [bound] } }, undefined],
    [{ action: '@ui.modal.open', componentId: 'a' }, 'props is required'],
    [{ action: '@ui.modal.close', returnValue: {} }, undefined],
    [{ action: '@ui.modal.close' }, 'returnValue is required'],
    [{ action: '@ui.url.open', url: 'https://example.com' }, undefined],
    [{ action: '@ui.url.open', url: 'mailto:a@example.com' }, undefined],
    [{ action: '@ui.url.open', url: bound }, undefined],
    [{ action: '@ui.url.open' }, 'url is required'],
    [{ action: '@link.unfurl', url: 'https://example.com' }, undefined],
    [{ action: '@link.unfurl', url: 'ftp://example.com' }, 'url must be an absolute URL with http or https'],
    [{ action: '@editor.node.updateProps', props: {} }, undefined],
    [{ action: '@editor.node.updateProps', props: {}, more: 1 }, 'more is unknown; there are action, props'],
  ])('%j', (action, complaint) => {
    const drawing = { type: 'block', children: [{ type: 'button', onPress: action }] };
    const expected = complaint === undefined ? [] : [`element.children[0] <button>: onPress.${complaint}`];
    expect(problemsOf(drawing).map(({ message }) => message)).toEqual(expected);
    expect(matchesSchema(drawing)).toBe(complaint === undefined);
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
    expect(check({ type: 'block', children })).toEqual({
      ok: true,
      element: { type: 'block', children: normal },
    });
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
    const problems = problemsOf(crowded(20, 60, 60, 'nope'));
    expect(problems).toHaveLength(20);
    for (const { path, message } of problems) {
      expect(path.startsWith('…')).toBe(true);
      expect(path.length + message.length).toBeLessThan(8_000);
    }
    expect(problems.at(-1)?.path).toMatch(/\.children\[19\]$/);
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

  test('members named as prototypes are unknown attributes', () => {
    const drawing = JSON.parse('{"type":"block","children":[{"type":"box","__proto__":{"grow":1}}]}');
    expect(checkDrawing(drawing)).toMatchObject({
      ok: false,
      problems: [{ path: 'element.children[0].__proto__' }],
    });
    const data = JSON.parse(
      '{"type":"webframe","source":{"url":"https://a.example"},"data":{"__proto__":"x","toString":"y"}}',
    );
    const checked = checkDrawing({ type: 'block', children: [data] });
    expect(JSON.stringify(checked)).toContain('"__proto__":"x"');
  });
});
