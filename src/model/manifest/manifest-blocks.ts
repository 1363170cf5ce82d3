/**
 * The blocks of a manifest: components in the quick insert menu
 * (`docs/contract/manifest.md#blocks`).
 *
 * Does not check that the code has a component for each; the check of the probe at publish does
 * (`publish/probe-check.ts`).
 */
import { byDefault, checked, type Field, map, maps, optional, type ReadOf, text } from './field.ts';
import { ICON } from './manifest-page.ts';
import { URL_UNFURL, URL_UNFURL_CHARS_MAX, unfurlPatternFault } from './unfurl-pattern.ts';
import { excerpt, type YamlFields } from './yaml-fields.ts';

const URL_UNFURLS_MAX = 50;
/** Language after the fence of a code block. */
const CODEBLOCK_SYNTAX = /^[A-Za-z0-9][A-Za-z0-9_+#.-]{0,63}$/;
/** Name of a member of a component's props. */
const BODY_PROPERTY = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

const URL_PATTERNS: Field<readonly string[]> = {
  schema: {
    type: 'array',
    description: 'URLs that become this block when they are pasted.',
    items: text('A URL, or a pattern.', { pattern: URL_UNFURL, charsMax: URL_UNFURL_CHARS_MAX }).schema,
    maxItems: URL_UNFURLS_MAX,
  },
  read: readUrlUnfurl,
};

const BLOCK = {
  id: text('`componentId` of the component; each once.'),
  title: text('Shown in the quick insert menu.'),
  description: optional(text('Shown below the title.')),
  icon: ICON,
  /** Patterns of URLs that become this block when pasted. */
  urlUnfurl: optional(URL_PATTERNS),
  markdown: optional(
    map(
      {
        codeblock: text('The language after the fence of the code block.', {
          pattern: CODEBLOCK_SYNTAX,
          wanted: 'the language of a code block, such as "mermaid", at most 64 characters',
        }),
        body: text('The member of the props that holds the text of the code block.', {
          pattern: BODY_PROPERTY,
          wanted: 'the name of a member of the props, such as "content", at most 64 characters',
        }),
      },
      'How the block is written in Markdown: a fenced code block.',
    ),
  ),
};

/** A component in the quick insert menu. */
export type Block = ReadOf<typeof BLOCK>;
/** How a block is written in Markdown. */
export type BlockMarkdown = NonNullable<Block['markdown']>;

export const BLOCKS = byDefault(
  checked(
    maps(BLOCK, {
      item: 'A component in the quick insert menu.',
      description: 'Components in the quick insert menu.',
    }),
    (blocks, fields, key) => {
      const seen = new Set<string>();
      for (const [index, { id }] of blocks.entries()) {
        if (id !== '' && seen.has(id)) fields.error([key, index, 'id'], `The block "${id}" is there twice.`);
        seen.add(id);
      }
    },
  ),
);

/**
 * Reads the patterns of URLs. One that is not a pattern here covers nothing, so it is left out with
 * a warning. `**` is read as `*`, which stands for any characters already.
 */
function readUrlUnfurl(block: YamlFields, key: string): readonly string[] {
  const patterns = new Set<string>();
  for (const [index, written] of block.list(key, URL_UNFURLS_MAX).entries()) {
    const at = [key, index];
    const pattern = block.textAt(at, written, { charsMax: URL_UNFURL_CHARS_MAX })?.replaceAll(/\*{2,}/g, '*');
    if (pattern === undefined) continue;
    const isPattern = URL_UNFURL.test(pattern) && unfurlPatternFault(pattern) === undefined;
    const name = block.nameOf(at);
    if (!isPattern) {
      const hint = `It must be ${PATTERN_WANTED}.`;
      block.warning(at, `${name} "${excerpt(pattern)}" is not the beginning of a URL and is ignored.`, hint);
    } else if (patterns.has(pattern)) {
      block.warning(at, `${name} repeats "${excerpt(pattern)}" and is ignored.`);
    } else patterns.add(pattern);
  }
  return [...patterns];
}

const PATTERN_WANTED =
  'the beginning of a URL, such as "https://example.com/boards/*" or "https://*.example.com", with at most 8 wildcards';
