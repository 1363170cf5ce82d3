/**
 * Reads the blocks of a manifest: components in the quick insert menu
 * (`docs/contract/manifest.md#blocks`).
 *
 * Does not check that the code has a component for each; the check of the probe at publish does
 * (`publish/probe-check.ts`).
 */
import { readImagePath } from './manifest-page.ts';
import { URL_UNFURL, URL_UNFURL_CHARS_MAX, unfurlPatternFault } from './unfurl-pattern.ts';
import { excerpt, type YamlFields } from './yaml-fields.ts';

export const URL_UNFURLS_MAX = 50;
/** Language after the fence of a code block. */
export const CODEBLOCK_SYNTAX = /^[A-Za-z0-9][A-Za-z0-9_+#.-]{0,63}$/;
/** Name of a member of a component's props. */
export const BODY_PROPERTY = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/**
 * How a block is written in Markdown: a fenced code block of a language, whose text is one of the
 * component's props.
 */
export interface BlockMarkdown {
  /** The language after the fence. */
  readonly codeblock: string;
  /** Name of the member of the props that holds the text of the code block. */
  readonly body: string;
}

/** A component in the quick insert menu. */
export interface Block {
  /** `componentId` of its component. */
  readonly id: string;
  readonly title: string;
  readonly description?: string;
  /** Path of a PNG inside the upload. */
  readonly icon?: string;
  /** Patterns of URLs that become this block when pasted. */
  readonly urlUnfurl?: readonly string[];
  readonly markdown?: BlockMarkdown;
}

export function readBlocks(fields: YamlFields): Block[] {
  const seen = new Set<string>();
  return fields.maps('blocks').map((block) => {
    const read = readBlock(block);
    if (read.id !== '' && seen.has(read.id)) block.error('id', `The block "${read.id}" is there twice.`);
    seen.add(read.id);
    return read;
  });
}

function readBlock(block: YamlFields): Block {
  block.warnUnknown(['id', 'title', 'description', 'icon', 'urlUnfurl', 'markdown']);
  const id = block.text('id');
  const title = block.text('title');
  const description = block.optionalText('description');
  const icon = readImagePath(block, 'icon');
  const markdown = block.map('markdown');
  const urlUnfurl = block.has('urlUnfurl') ? readUrlUnfurl(block) : undefined;
  return {
    id,
    title,
    ...(description !== undefined && { description }),
    ...(icon !== undefined && { icon }),
    ...(urlUnfurl && { urlUnfurl }),
    ...(markdown && { markdown: readMarkdown(markdown) }),
  };
}

/**
 * Reads the patterns of URLs. One that is not a pattern here covers nothing, so it is left out with
 * a warning. `**` is read as `*`, which stands for any characters already.
 */
function readUrlUnfurl(block: YamlFields): readonly string[] {
  const patterns = new Set<string>();
  for (const [index, written] of block.list('urlUnfurl', { max: URL_UNFURLS_MAX }).entries()) {
    const at = ['urlUnfurl', index];
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

function readMarkdown(fields: YamlFields): BlockMarkdown {
  fields.warnUnknown(['codeblock', 'body']);
  return {
    codeblock: fields.text('codeblock', {
      pattern: CODEBLOCK_SYNTAX,
      wanted: 'the language of a code block, such as "mermaid", at most 64 characters',
    }),
    body: fields.text('body', {
      pattern: BODY_PROPERTY,
      wanted: 'the name of a member of the props, such as "content", at most 64 characters',
    }),
  };
}
