/**
 * Blocks in Markdown, both ways (`docs/contract/components.md#blocks-in-markdown`): a fenced code
 * block of the language that the manifest names, whose text is one of the props. The others stand
 * behind the language, each as `name=value`, the value in JSON:
 *
 *     ```mermaid theme="dark" wide=true
 *     graph TD
 *     ```
 *
 * What is written is read back as it was, also where a parser of CommonMark has read it in between.
 * Code blocks in lists and quotes are code: only what stands at the edge of a document is looked
 * at. Knows no components, and not what props mean.
 */
import { DATA_DEPTH_MAX, isDeeper } from '../contentkit/contentkit-values-check.ts';
import type { BlockMarkdown } from './manifest-blocks.ts';

type Props = Readonly<Record<string, unknown>>;

/** A fenced code block that is one of a block's. */
export interface FencedBlock<Mapping extends BlockMarkdown> {
  readonly mapping: Mapping;
  readonly props: Props;
  /** Lines of the document, from 1, the fences among them. */
  readonly firstLine: number;
  readonly lastLine: number;
}

const FENCE = '```';
/** Name of a prop that can be written without quotes. */
const BARE_NAME = /^[A-Za-z_][A-Za-z0-9_-]*$/;
/** Up to three spaces, a fence, and what is behind it: CommonMark 0.31, section 4.5. */
const OPENING = /^ {0,3}(`{3,}|~{3,})([\s\S]*)$/;
const CLOSING = /^ {0,3}(`{3,}|~{3,})[ \t]*$/;

/**
 * @param props JSON
 * @returns the lines of the code block, without a line break at the end
 */
export function blockToMarkdown({ codeblock, body }: BlockMarkdown, props: Props): string {
  const text = props[body];
  const isText = typeof text === 'string' && isWritable(text);
  const attributes = Object.entries(props)
    .filter(([name, value]) => value !== undefined && !(isText && name === body))
    .map(([name, value]) => ` ${BARE_NAME.test(name) ? name : quoted(name)}=${quoted(value)}`);
  // Attack: a text with a fence in it, which would end the block and have the rest be read as a
  // document.
  const runs = isText ? (text.match(/`+/g) ?? []) : [];
  const fence = '`'.repeat(runs.reduce((longest, { length }) => Math.max(longest, length + 1), FENCE.length));
  return [`${fence}${codeblock}${attributes.join('')}`, ...(isText ? [text] : []), fence].join('\n');
}

/**
 * Parsers of Markdown take all line breaks for one, and replace what is no character; such a text
 * stands among the attributes.
 */
const isWritable = (text: string): boolean => !/[\r\0]/.test(text) && text.isWellFormed();

/**
 * JSON on one line, without what Markdown reads: it takes `\"` and `&amp;` for characters of the
 * text, a backtick for the end of the fence.
 */
function quoted(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll('\\\\', '\\u005c')
    .replaceAll('\\"', '\\u0022')
    .replace(
      /[&`\u007f-\u009f\u2028\u2029]/g,
      (at) => `\\u${at.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
}

/**
 * The blocks of a document, in their order. A code block of a block's language whose attributes are
 * not in the form above stays a code block: nothing of it is lost.
 *
 * @param mappings by language; of several for one the first counts
 */
export function* blocksInMarkdown<Mapping extends BlockMarkdown>(
  markdown: string,
  mappings: readonly Mapping[],
): Generator<FencedBlock<Mapping>> {
  const byLanguage = new Map(mappings.toReversed().map((mapping) => [mapping.codeblock, mapping]));
  const lines = markdown.split(/\r\n|\n|\r/);
  for (let at = 0; at < lines.length; at += 1) {
    const [, fence = '', behind = ''] = OPENING.exec(lines[at] ?? '') ?? [];
    const info = behind.trim();
    if (fence === '' || (fence.startsWith('`') && info.includes('`'))) continue;
    const first = at;
    at = closingLine(lines, first, fence);
    const [language = ''] = /^\S*/.exec(info) ?? [];
    const mapping = byLanguage.get(language);
    const props = mapping && readAttributes(info.slice(language.length));
    if (props === undefined || mapping === undefined) continue;
    const text = lines.slice(first + 1, at);
    if (text.length > 0 && !Object.hasOwn(props, mapping.body)) define(props, mapping.body, text.join('\n'));
    yield { mapping, props, firstLine: first + 1, lastLine: Math.min(at + 1, lines.length) };
  }
}

/** Index of the line that ends the code block; that after the last where none does. */
function closingLine(lines: readonly string[], first: number, fence: string): number {
  for (let at = first + 1; at < lines.length; at += 1) {
    const [, run = ''] = CLOSING.exec(lines[at] ?? '') ?? [];
    if (run.length >= fence.length && run.charAt(0) === fence.charAt(0)) return at;
  }
  return lines.length;
}

/**
 * A value of JSON without white space outside of its texts: a text, or whatever else up to the next
 * space.
 */
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/y;
const NAME = /[A-Za-z_][A-Za-z0-9_-]*/y;
const OTHER = /[^\s"]+/y;
const SPACE = /[ \t]+/y;

/** @returns undefined where there is anything else than attributes */
function readAttributes(info: string): Record<string, unknown> | undefined {
  const props: Record<string, unknown> = {};
  let at = 0;
  /** What stands here, if it is that; the next is looked for behind it. */
  const take = (what: RegExp): string | undefined => {
    what.lastIndex = at;
    const [text] = what.exec(info) ?? [];
    at += text?.length ?? 0;
    return text;
  };
  while (at < info.length) {
    if (take(SPACE) === undefined) return undefined;
    if (at === info.length) break;
    const name = take(NAME) ?? parsed(take(STRING));
    if (typeof name !== 'string' || Object.hasOwn(props, name) || info.charAt(at) !== '=') return undefined;
    at += 1;
    let json = '';
    for (let part = take(STRING) ?? take(OTHER); part !== undefined; part = take(STRING) ?? take(OTHER))
      json += part;
    const value = parsed(json);
    // Attack: a value so deep that writing it as JSON again would exhaust the stack.
    if (value === undefined || isDeeper(value, DATA_DEPTH_MAX)) return undefined;
    define(props, name, value);
  }
  return props;
}

/** Attack: a prop named as prototypes are, which an assignment would not make one of. */
const define = (props: object, name: string, value: unknown): void => {
  Object.defineProperty(props, name, { value, enumerable: true, configurable: true, writable: true });
};

function parsed(json: string | undefined): unknown {
  try {
    return json === undefined ? undefined : JSON.parse(json);
  } catch {
    return undefined;
  }
}
