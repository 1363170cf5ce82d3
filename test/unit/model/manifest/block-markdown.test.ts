/**
 * Blocks in Markdown: a block that is written is read back unchanged, whatever its values are
 * (`docs/contract/components.md#blocks-in-markdown`).
 */
import { describe, expect, test } from 'vitest';
import { blocksInMarkdown, blockToMarkdown } from '../../../../src/model/manifest/block-markdown.ts';
import { Chance } from '../../../support/fuzz/fuzz.ts';

const MERMAID = { codeblock: 'mermaid', body: 'content' };
const read = (markdown: string) => [...blocksInMarkdown(markdown, [MERMAID])];
const propsIn = (markdown: string) => read(markdown).map(({ props }) => props);

describe('a block', () => {
  test('is a code block: its body is the text, and its other props follow the language', () => {
    const props = { content: 'graph TD\n  A --> B', theme: 'dark', wide: true, size: 2, tags: ['a b', null] };
    expect(blockToMarkdown(MERMAID, props)).toBe(
      '```mermaid theme="dark" wide=true size=2 tags=["a b",null]\ngraph TD\n  A --> B\n```',
    );
  });

  test.each([
    {},
    { content: '' },
    { content: '\n' },
    { content: '\n\n' },
    { content: ' ```' },
    { content: '```\n````\n~~~' },
    { content: 'a\r\nb\rc' },
    { content: 'a\0b' },
    { content: '\ud800' },
    { content: 7 },
    { content: { nested: ['"', { deep: '`' }] } },
    { content: null },
    { content: 'a', title: 'say "hi" & \\ ` ~ \n\r\t\u2028 &amp; \\" end\\' },
    { content: 'a', 'a name="b"': 1, '': 2, '`&\\"': 3 },
    { content: 'a', text: ' = ', list: [' ', '] ['], object: { 'a b': ' }' } },
    { content: 'a', __proto: 1, constructor: 'x', toString: null },
    JSON.parse('{"content":"a","__proto__":{"polluted":true}}') as object,
  ])('is read back as it was: %j', (props) => {
    const markdown = blockToMarkdown(MERMAID, { ...props });
    const found = read(`before\n\n${markdown}\n\nafter\n`);
    expect(found.map(({ props }) => JSON.stringify(props, Object.keys(props).sort()))).toEqual([
      JSON.stringify(props, Object.keys(props).sort()),
    ]);
    expect(found[0]?.props).toEqual({ ...props });
    expect(found[0]).toMatchObject({ firstLine: 3, lastLine: 2 + markdown.split('\n').length });
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });

  test('is read back with any content', () => {
    const parts = [
      '`',
      '```',
      '````',
      '~~~',
      '\n',
      ' ',
      '    ',
      '"',
      '\\',
      '\\"',
      '=',
      '&',
      '&quot;',
      '{',
      ']',
      'a',
    ];
    const more = [
      ...parts,
      '\r',
      '\0',
      '\t',
      '\u2028',
      '\u0085',
      '\u00a0',
      'é',
      '🙂',
      '\udc00',
      '<!--',
      '- ',
      '> ',
    ];
    const random = new Chance(2_026);
    const text = () => Array.from({ length: random.below(12) }, () => random.pick(more)).join('');
    const value = (depth = 0): unknown => {
      const kind = random.below(depth < 3 ? 7 : 5);
      if (kind === 5) return Array.from({ length: random.below(4) }, () => value(depth + 1));
      if (kind === 6)
        return Object.fromEntries(Array.from({ length: random.below(4) }, () => [text(), value(depth + 1)]));
      return [text(), random.below(1_000) / 7, true, null, -0.5][kind];
    };
    for (let at = 0; at < 3_000; at += 1) {
      const rest = Array.from({ length: random.below(5) }, () => [text(), value()] as const);
      const props = Object.fromEntries([...rest, ['content', random.once(5) ? value() : text()]]);
      const [found, ...others] = read(blockToMarkdown(MERMAID, props));
      expect(others).toEqual([]);
      expect(found?.props).toEqual(props);
    }
  });

  test('attack: a body with a closing fence stays inside the block', () => {
    const content = '```\n\n<script>alert(1)</script>\n\n```mermaid\nforged\n```';
    const markdown = blockToMarkdown(MERMAID, { content });
    expect(markdown.startsWith('````mermaid\n')).toBe(true);
    expect(propsIn(markdown)).toEqual([{ content }]);
  });

  test('attack: an attribute with a line break stays an attribute', () => {
    const markdown = blockToMarkdown(MERMAID, { content: 'a', title: 'x"\n```\n# Forged\n```mermaid' });
    expect(markdown.split('\n')).toHaveLength(3);
    // Markdown parsers interpret escapes and entities in an info string; a backtick would end it.
    expect(markdown.split('\n')[0]).not.toMatch(/\\[!-/:-@[-`{-~]|&|.```|`[^`]*`$/);
  });
});

describe('in a document', () => {
  test('blocks are found between other code', () => {
    const document = [
      '# Title',
      '~~~markdown',
      '```mermaid',
      'not a block: an example of one',
      '```',
      '~~~',
      '```js',
      '```mermaid',
      '```',
      '  ~~~mermaid size=1',
      'one',
      '~~~~',
      '    ```mermaid',
      '    indented',
      '````mermaid',
      '```',
      'open to the end',
    ].join('\n');
    expect(read(document).map(({ props, firstLine, lastLine }) => ({ props, firstLine, lastLine }))).toEqual([
      { props: { content: 'one', size: 1 }, firstLine: 10, lastLine: 12 },
      { props: { content: '```\nopen to the end' }, firstLine: 15, lastLine: 17 },
    ]);
  });

  test.each([
    'mermaidx',
    'mermaid theme=dark',
    'mermaid theme',
    'mermaid theme="dark"wide=true',
    'mermaid theme="dark',
    'mermaid a=1 a=2',
    'mermaid {1}',
    'mermaid =1',
    'mermaid a=',
    `mermaid a=${'['.repeat(100)}${']'.repeat(100)}`,
  ])('a code block in another notation is still found: %s', (info) => {
    expect(read(`\`\`\`${info}\ntext\n\`\`\``)).toEqual([]);
  });

  test('line ends of any kind end lines', () => {
    expect(propsIn('```mermaid\r\na\r\nb\r\n```\r\n')).toEqual([{ content: 'a\nb' }]);
  });

  test('of two blocks with one language the first has it', () => {
    const other = { codeblock: 'mermaid', body: 'text' };
    expect(
      [...blocksInMarkdown('```mermaid\na\n```', [MERMAID, other])].map(({ mapping }) => mapping),
    ).toEqual([MERMAID]);
  });

  test.each([
    ['fences', '```mermaid\n'.repeat(90_000)],
    ['closed fences', '```mermaid\n```\n'.repeat(60_000)],
    ['backticks', '`'.repeat(1_000_000)],
    ['blanks', `\`\`\`${' '.repeat(1_000_000)}x`],
    ['blanks between', `\`\`\`mermaid${'\t '.repeat(500_000)}a=1\n\`\`\``],
    ['a quote', `\`\`\`mermaid a="${'\\\\'.repeat(500_000)}`],
    ['quotes', `\`\`\`mermaid a=${'"" '.repeat(300_000)}`],
    ['brackets', `\`\`\`mermaid a=${'['.repeat(1_000_000)}`],
    ['attributes', `\`\`\`mermaid${Array.from({ length: 90_000 }, (_, at) => ` a${at}=1`).join('')}`],
    ['lines', '\n'.repeat(1_000_000)],
  ])('attack: a megabyte of %s is read in little time', (_, markdown) => {
    const began = process.cpuUsage();
    for (const { props } of blocksInMarkdown(markdown, [MERMAID])) expect(props).toBeDefined();
    expect(process.cpuUsage(began).user).toBeLessThan(5_000_000);
  });
});
