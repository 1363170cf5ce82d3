/** A drawing as data, before anything is drawn: bounds, URLs, bindings, messages of frames. */
import MarkdownIt from 'markdown-it';
import { describe, expect, test } from 'vitest';
import { DataTooLarge, resolveBindings } from '../../../packages/components/src/drawing/bindings.ts';
import { nodesOf, readTree } from '../../../packages/components/src/drawing/drawn-tree.ts';
import {
  readFrameMessage,
  readPlace,
  readSize,
} from '../../../packages/components/src/drawing/frame-message.ts';
import { addressUrl, choicesUrl, linkUrl, webUrl } from '../../../packages/components/src/drawing/urls.ts';
import { LIMITS } from '../../../packages/components/src/limits.ts';
import { matching } from '../../../packages/ui/src/choices.ts';
import { readChoicePage, readChoices } from '../../../src/model/contentkit/choice-page.ts';
import { DEFINITIONS, ELEMENTS } from '../../../src/model/contentkit/contentkit.ts';
import { checkDrawing } from '../../../src/model/contentkit/contentkit-check.ts';
import { referred } from '../../../src/model/contentkit/contentkit-values.ts';
import {
  hasPiledMarks,
  MARKDOWN_ELEMENTS_MAX,
  MARKS_MAX,
  markdownElements,
  withoutPiledMarks,
} from '../../../src/model/contentkit/drawing-bounds.ts';

const block = (...children: unknown[]) => ({ type: 'block', children });
const types = (element: unknown): string[] => {
  const tree = readTree(element);
  return tree === undefined ? [] : [...nodesOf(tree.root)].map(({ type }) => type);
};

describe('a tree', () => {
  test('has the elements of the catalogue and texts, and nothing else', () => {
    const inner = [
      { type: 'text', children: ['a'] },
      'b',
      3,
      null,
      true,
      { type: 'script' },
      { type: 'toString' },
    ];
    expect(types(block(...inner)).sort()).toEqual(['#text', '#text', '#text', 'block', 'text']);
  });

  test.each(Object.keys(ELEMENTS))('knows the element %s', (type) => {
    const element = ['block', 'modal', 'configuration'].includes(type) ? { type } : block({ type });
    expect(types(element)).toContain(type);
  });

  test('reads elements in attributes, of every attribute of the catalogue that holds some', () => {
    const holdsElements = (schema: object): boolean =>
      Object.hasOwn(ELEMENTS, referred(schema) ?? '') ||
      Object.values(schema).some(
        (value) => typeof value === 'object' && value !== null && holdsElements(value),
      );
    for (const [type, { attributes }] of Object.entries(ELEMENTS))
      for (const [name, schema] of Object.entries(attributes))
        if (holdsElements(schema)) {
          const element = { type, [name]: [{ type: 'divider' }] };
          expect([type, name, types(type === 'modal' ? element : block(element))]).toEqual([
            type,
            name,
            expect.arrayContaining(['divider']),
          ]);
        }
    expect(Object.keys(DEFINITIONS)).toContain('button');
  });

  test('is as large as the service lets it be, and no larger', () => {
    const wide = (length: number) => readTree(block(...Array.from({ length }, () => 'x')));
    expect(wide(LIMITS.nodes - 1)).toMatchObject({ nodes: LIMITS.nodes, cut: false });
    expect(wide(LIMITS.nodes)).toMatchObject({ nodes: LIMITS.nodes, cut: true });
  });

  test('is as deep as the service lets it be, and no deeper', () => {
    const deep = (levels: number) =>
      readTree(Array.from({ length: levels }).reduce((inner) => block(inner), block()));
    expect(deep(LIMITS.depth - 1)?.cut).toBe(false);
    expect(deep(LIMITS.depth + 1)?.cut).toBe(true);
    expect(deep(100_000)?.cut).toBe(true);
  });

  test('ends after a number of characters', () => {
    const text = 'x'.repeat(LIMITS.drawingChars / 2);
    expect(readTree(block(text, text))?.cut).toBe(false);
    expect(readTree(block(text, text, 'x'))?.cut).toBe(true);
  });

  test('gives an element the same path in the next drawing', () => {
    const paths = (element: unknown) => [...(readTree(element)?.paths ?? [])];
    const card = { type: 'card', buttons: [{ type: 'button' }] };
    expect(paths(block(card))).toEqual(['', '/0', '/0.buttons/0']);
    expect(paths(block(card, { type: 'divider' }))).toEqual(['', '/0', '/0.buttons/0', '/1']);
  });
});

describe('a URL', () => {
  test.each([
    ['http://example.com', 'http://example.com/'],
    ['HTTPS://EXAMPLE.com/a?b#c', 'https://example.com/a?b#c'],
  ])('%s may be shown', (url, normal) => {
    expect(webUrl(url)).toBe(normal);
    expect(linkUrl(url)).toBe(normal);
  });

  test('may be mailto in a link alone', () => {
    expect(linkUrl('mailto:a@example.com')).toBe('mailto:a@example.com');
    expect(webUrl('mailto:a@example.com')).toBeUndefined();
  });

  test.each([
    ['javascript:alert(1)'],
    [' javascript:alert(1)'],
    ['java\nscript:alert(1)'],
    ['\u0000https://example.com'],
    ['https://example.com/a b'],
    ['data:text/html,x'],
    ['/path'],
    ['//example.com'],
    [''],
    [7],
    [null],
    [`https://example.com/${'x'.repeat(10_000)}`],
  ])('%j is refused', (url) => {
    expect(linkUrl(url)).toBeUndefined();
    expect(webUrl(url)).toBeUndefined();
  });

  test('may be in parts', () => {
    const query = { q: 'a b', n: 7 };
    expect(addressUrl({ host: 'example.com:8080', pathname: '/a', query })).toBe(
      'https://example.com:8080/a?q=a+b&n=7',
    );
    expect(addressUrl({ host: 'user@example.com' })).toBeUndefined();
    expect(addressUrl({ host: 'example.com', pathname: '.other.example' })).toBeUndefined();
    expect(addressUrl({ host: 'example.com/x' })).toBeUndefined();
  });
});

describe('bindings', () => {
  const values: Record<string, unknown> = { name: 'Ada', list: ['a'] };
  const valueOfKey = (key: string) => (Object.hasOwn(values, key) ? values[key] : undefined);

  test('are replaced at any depth; one without a value is left out', () => {
    const data = {
      a: { $state: 'name' },
      b: [{ $state: 'list' }, { $state: 'none' }],
      c: { $state: 'none' },
      d: 1,
    };
    expect(resolveBindings(data, valueOfKey)).toEqual({ a: 'Ada', b: [['a'], null], d: 1 });
  });

  test('are objects with that member alone', () => {
    expect(resolveBindings({ $state: 'name', more: 1 }, valueOfKey)).toEqual({ $state: 'name', more: 1 });
  });

  test('do not reach prototypes', () => {
    const data = JSON.parse('{"__proto__": {"polluted": 1}, "a": {"$state": "__proto__"}}') as object;
    const copy = resolveBindings(data, valueOfKey) as Record<string, unknown>;
    expect(copy['polluted']).toBeUndefined();
    expect(Object.hasOwn(copy, '__proto__')).toBe(true);
    expect('a' in copy).toBe(false);
  });

  test('are not looked for beyond a depth and a number of values', () => {
    const deep = Array.from({ length: LIMITS.dataDepth + 1 }).reduce((inner) => [inner], 1);
    expect(() => resolveBindings(deep, valueOfKey)).toThrow(DataTooLarge);
    expect(() => resolveBindings(Array(LIMITS.dataValues + 1).fill(1), valueOfKey)).toThrow(DataTooLarge);
    const long = 'x'.repeat(LIMITS.textChars);
    expect(() => resolveBindings(Array(1_000).fill({ $state: 's' }), () => long)).toThrow(DataTooLarge);
    expect(() => resolveBindings(Array(9_000).fill({ $state: 's' }), () => [1, 2])).toThrow(DataTooLarge);
  });
});

describe('a message of a frame', () => {
  const action = { action: 'own', value: 1 };
  test('is an action, of version 1 or without a version', () => {
    expect(readFrameMessage({ version: 1, action })).toEqual(action);
    expect(readFrameMessage({ action })).toEqual(action);
  });

  test.each([
    ['another version', { version: 2, action }],
    ['no action', { version: 1 }],
    ['an action without a name', { action: { value: 1 } }],
    ['a text', 'action'],
    ['nothing', undefined],
    ['a value that is not JSON', { action: { action: 'a', value: 1n } }],
    ['too much', { action: { action: 'a', text: 'x'.repeat(LIMITS.messageChars) } }],
  ])('is nothing where it has %s', (_name, message) => {
    expect(readFrameMessage(message)).toBeUndefined();
  });

  test('binds no client state', () => {
    expect(readFrameMessage({ action: { action: 'a', stolen: { $state: 'secret' } } })).toEqual({
      action: 'a',
    });
  });
});

describe('what a frame asks of the page around it', () => {
  test.each([
    ['guides/start', 'setup', { path: 'guides/start', anchor: 'setup' }],
    ['/guides/start/', '#setup', { path: 'guides/start/', anchor: 'setup' }],
    ['a/../b', undefined, { path: 'b' }],
    ['a b/ü', undefined, { path: 'a%20b/%C3%BC' }],
    ['', 'top', { path: '', anchor: 'top' }],
    ['//attacker.example', undefined, undefined],
    ['/\\attacker.example', undefined, undefined],
    ['\\\\attacker.example', undefined, undefined],
    ['///attacker.example', undefined, undefined],
    ['https://attacker.example', undefined, undefined],
    ['javascript:alert(1)', undefined, undefined],
    ['/javascript:alert(1)', undefined, undefined],
    ['java\nscript:alert(1)', undefined, undefined],
    ['../admin', undefined, undefined],
    ['a/../../admin', undefined, undefined],
    ['%2e%2e/admin', undefined, undefined],
    ['a?b=c', undefined, undefined],
    ['a#b', undefined, undefined],
    ['x'.repeat(3_000), undefined, undefined],
    ['a', 'x'.repeat(300), undefined],
    [7, undefined, undefined],
  ])('the page %j with the anchor %j is %j', (path, anchor, place) => {
    expect(readPlace({ action: '@webframe.navigate', path, anchor })).toEqual(place);
  });

  test.each([
    [{ aspectRatio: 2 }, { aspectRatio: 2 }],
    [{ height: 300 }, { height: 300 }],
    [{ height: '300' }, { height: 300 }],
    [
      { maxHeight: 300, aspectRatio: 1 },
      { height: 300, aspectRatio: 1 },
    ],
    [{ height: 1 }, { height: 32 }],
    [{ height: 1e9 }, { height: 4_000 }],
    [{ height: -1 }, undefined],
    [{ height: Number.NaN }, undefined],
    [{ height: '1e999' }, undefined],
    [{ height: '' }, undefined],
    [undefined, undefined],
  ])('the size %j is %j', (size, read) => {
    expect(readSize({ action: '@webframe.resize', size })).toEqual(read);
  });
});

describe('choices', () => {
  const red = { id: 'red', label: 'Red' };
  const URL = 'https://example.com/a/list?kind=all';
  const page = (answer: unknown) => readChoicePage(answer, URL);

  test('are a list, or a page of one', () => {
    expect(page([{ id: 'red', label: 'Red' }])).toEqual({ items: [red] });
    expect(page({ items: [red], next: '2', selected: [red] })).toEqual({
      items: [red],
      next: '2',
      selected: [red],
    });
    expect(page({})).toBeUndefined();
    expect(page(null)).toBeUndefined();
  });

  test.each([
    [
      'an absolute URL',
      { nextPage: 'https://example.com/b?page=2' },
      { nextPage: 'https://example.com/b?page=2' },
    ],
    ['a path', { nextPage: '/b?page=2' }, { nextPage: 'https://example.com/b?page=2' }],
    ['a query', { nextPage: '?page=2' }, { nextPage: 'https://example.com/a/list?page=2' }],
    ['a relative URL', { nextPage: 'list?page=2' }, { nextPage: 'https://example.com/a/list?page=2' }],
    ['a number', { nextPage: 2 }, { next: '2' }],
    ['a mark', { nextPage: 'abc=' }, { next: 'abc=' }],
    ['a mark, as lists of the API have it', { next: { page: 'abc' } }, { next: 'abc' }],
    ['nothing', { nextPage: null, next: '' }, {}],
    ['a script', { nextPage: 'javascript:alert(1)/?' }, {}],
    ['a file', { nextPage: 'file:///etc/passwd' }, {}],
    ['a URL without an end', { nextPage: `/${'x'.repeat(10_000)}` }, {}],
    ['a mark without an end', { next: 'x'.repeat(10_000) }, {}],
  ])('name the next page by %s', (_name, named, next) => {
    expect(page({ items: [], ...named })).toEqual({ items: [], ...next });
  });

  test('of another form are left out, and those beyond the bound', () => {
    expect(readChoices([null, 7, {}, { id: {} }, { id: 'red', label: 'Red' }])).toEqual([red]);
    const many = Array.from({ length: LIMITS.choices + 1 }, (_, index) => ({ id: `${index}` }));
    expect(readChoices(many)).toHaveLength(LIMITS.choices);
  });

  test('are asked for by search and page, by both of their names, beside the query of the URL', () => {
    const url = (page: Parameters<typeof choicesUrl>[1]) =>
      choicesUrl('https://example.com/a?kind=all', page);
    expect(url({ search: '' })).toBe('https://example.com/a?kind=all');
    expect(url({ search: 'a&b', next: '2' })).toBe(
      'https://example.com/a?kind=all&search=a%26b&q=a%26b&next=2&page=2',
    );
    // A page that the endpoint has named has its own query.
    expect(url({ search: 'a', nextPage: 'https://example.com/b?q=of+its+own' })).toBe(
      'https://example.com/b?q=of+its+own&search=a',
    );
    expect(choicesUrl('javascript:alert(1)', { search: '' })).toBeUndefined();
    expect(choicesUrl({ host: 'a.example', query: { n: 1, b: true, l: [] } }, { search: '' })).toBe(
      'https://a.example/?n=1&b=true',
    );
  });

  test('are found by their label', () => {
    expect(matching([red], 'RE')).toEqual([red]);
    expect(matching([red], 'blue')).toEqual([]);
  });
});

describe('the bounds of service and renderer', () => {
  const markdown = (content: unknown) => ({ type: 'markdown', content });
  const reader = new MarkdownIt({ html: false, maxNesting: 20 });

  /** Elements that markdown-it opens in a text. */
  const openedIn = (text: string): number => {
    const tokens = reader.parse(text, {}).flatMap((token) => [token, ...(token.children ?? [])]);
    return tokens.filter(({ nesting, tag }) => nesting >= 0 && tag !== '').length;
  };

  test.each([
    ['a table in a quote', `> ${'|a'.repeat(100)}\n> ${'|-'.repeat(100)}\n${'> |\n'.repeat(5_000)}`],
    ['a table in a list', `- ${'|a'.repeat(100)}\n  ${'|-'.repeat(100)}\n${'  |\n'.repeat(3_000)}`],
    ['empty list items', '-\n'.repeat(10_000)],
    ['lists that begin anew', '-\n+\n'.repeat(5_000)],
    ['headings', '#\n'.repeat(10_000)],
    ['quotes in quotes', `${'> '.repeat(18)}a\n\n`.repeat(500)],
    ['paragraphs of what looks empty', '\f\n\n'.repeat(6_000)],
    ['a table of one column', `|a\n:-\n${'a\n'.repeat(3_000)}`],
  ])('refuse %s, which opens more than it reads', (_name, text) => {
    expect(openedIn(text)).toBeGreaterThan(MARKDOWN_ELEMENTS_MAX);
    expect(markdownElements(text)).toBeGreaterThanOrEqual(openedIn(text));
    expect(checkDrawing(block(markdown(text)))).toMatchObject({ ok: false });
  });

  test('count no less than a reader of Markdown opens, whatever the text', () => {
    const parts = [
      '|',
      '-',
      ':',
      '>',
      '*',
      '_',
      '~~',
      '`',
      '[a](b)',
      '![',
      '<http://a>',
      '# ',
      '1. ',
      '+ ',
      '\n',
    ];
    parts.push('\n', '\n\n', ' ', '    ', 'a', '\\', '|-|-|\n', '| a | b |\n', '```\n', '> ', '- ', '  \n');
    parts.push('\f', '\v', '\u00a0', '|a\n:-\n', '--');
    // A generator of its own, so that a failure is found again.
    let seed = 1;
    const next = (below: number): number => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
      return (seed >>> 8) % below;
    };
    for (let round = 0; round < 3_000; round += 1) {
      const text = Array.from({ length: 1 + next(60) }, () => parts[next(parts.length)]).join('');
      if (markdownElements(text) < openedIn(text)) expect(text).toBe('counted');
    }
  });

  test('leave room for a long document', () => {
    const chapter = `## Title\n\nSome *text* with \`code\`, [links](https://example.com/) and **more** of it.\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n`;
    const text = chapter.repeat(Math.floor(20_000 / chapter.length));
    expect(checkDrawing(block(markdown(text)))).toMatchObject({ ok: true });
    expect(readTree(block(markdown(text)))?.cut).toBe(false);
  });

  const select = { type: 'select', state: 's', options: Array(900).fill({ id: 'a', label: 'a' }) };
  const frame = { type: 'webframe', source: { url: 'https://example.com/' } };
  test.each([
    [
      'texts',
      'x'
        .repeat(9_998)
        .split('')
        .map((text) => ({ type: 'text', children: [text] })),
    ],
    ['Markdown', Array(200).fill(markdown('-\n'.repeat(100)))],
    ['Markdown of a field', Array(50).fill(markdown({ $state: 's' }))],
    ['choices', Array(30).fill(select)],
    ['frames', Array(30).fill(frame)],
  ])('are the same for both: %s', (_name, children) => {
    for (let count = 0; count <= children.length; count += Math.ceil(children.length / 25)) {
      const drawing = block(...children.slice(0, count));
      expect(checkDrawing(drawing).ok, `${count}`).toBe(readTree(drawing)?.cut === false);
    }
    expect(checkDrawing(block(...children)).ok).toBe(false);
  });

  test.each([
    ['choices', block({ ...select, options: Array(LIMITS.choices + 1).fill({ id: 'a', label: 'a' }) })],
    [
      'entries of a menu',
      { ...block(), controls: Array(LIMITS.controls + 1).fill({ label: 'a', onPress: { action: 'a' } }) },
    ],
  ])('refuse too many %s', (_name, drawing) => {
    expect(checkDrawing(drawing)).toMatchObject({ ok: false });
  });

  test('have a number of marks on a character', () => {
    const text = (marks: number) => `a${'\u0301'.repeat(marks)}b`;
    expect(hasPiledMarks(text(MARKS_MAX))).toBe(false);
    expect(withoutPiledMarks(text(MARKS_MAX))).toBe(text(MARKS_MAX));
    expect(withoutPiledMarks(text(20_000))).toBe(text(MARKS_MAX));
    for (const [marks, ok] of [
      [MARKS_MAX, true],
      [MARKS_MAX + 1, false],
    ] as const) {
      expect(checkDrawing(block({ type: 'text', children: [text(marks)] })).ok).toBe(ok);
      expect(checkDrawing(block(markdown(text(marks)))).ok).toBe(ok);
    }
  });
});
