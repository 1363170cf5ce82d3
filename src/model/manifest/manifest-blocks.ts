/**
 * Reads the blocks of a manifest: components in the quick insert menu
 * (`docs/contract/manifest.md#blocks`).
 *
 * Does not check that the code has a component for each; the inspection at publish does
 * (`publish/inspection.ts`).
 */
import { readImagePath } from './manifest-page.ts';
import { URL_UNFURL, URL_UNFURL_CHARS_MAX, unfurlPatternFault } from './unfurl-pattern.ts';
import type { YamlFields } from './yaml-fields.ts';

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
  const urlUnfurl = block.has('urlUnfurl')
    ? block.texts('urlUnfurl', {
        pattern: URL_UNFURL,
        wanted:
          'the beginning of a URL, such as "https://example.com/boards/*" or "https://*.example.com", with at most 8 wildcards',
        charsMax: URL_UNFURL_CHARS_MAX,
        fault: unfurlPatternFault,
        max: URL_UNFURLS_MAX,
        unique: true,
      })
    : undefined;
  return {
    id,
    title,
    ...(description !== undefined && { description }),
    ...(icon !== undefined && { icon }),
    ...(urlUnfurl && { urlUnfurl }),
    ...(markdown && { markdown: readMarkdown(markdown) }),
  };
}

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
