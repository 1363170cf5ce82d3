/**
 * Converts blocks to Markdown and back (`docs/contract/components.md#blocks-in-markdown`): a fenced
 * code block with the language of the manifest, whose text is one of the props. The other props
 * follow the language, each as `name=value`, the value in JSON:
 *
 *     ```mermaid theme="dark" wide=true
 *     graph TD
 *     ```
 *
 * Lossless: props are read back unchanged, also after a CommonMark parser has processed the text.
 * Only code blocks at the top level of a document are read, not those in lists and quotes. Does not
 * interpret props.
 */
import { DATA_DEPTH_MAX, isDeeper } from '../contentkit/contentkit-values-check.ts';
import type { BlockMarkdown } from './manifest-blocks.ts';

type Props = Readonly<Record<string, unknown>>;

/** A fenced code block that represents a block. */
export interface FencedBlock<Mapping extends BlockMarkdown> {
  readonly mapping: Mapping;
  readonly props: Props;
  /** Line of the document, from 1; the range includes the fences. */
  readonly firstLine: number;
  readonly lastLine: number;
}

const FENCE = '```';
/** Name of a prop that can be written without quotes. */
const BARE_NAME = /^[A-Za-z_][A-Za-z0-9_-]*$/;
/** Up to three spaces, a fence and the info string: CommonMark 0.31, section 4.5. */
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
  // Attack: a text that contains a fence, which would end the block, so that the rest is read as
  // Markdown.
  const runs = isText ? (text.match(/`+/g) ?? []) : [];
  const fence = '`'.repeat(runs.reduce((longest, { length }) => Math.max(longest, length + 1), FENCE.length));
  return [`${fence}${codeblock}${attributes.join('')}`, ...(isText ? [text] : []), fence].join('\n');
}

/**
 * Whether a text can be the text of a code block. Markdown parsers normalise line breaks and
 * replace invalid characters, so a text with these is written as an attribute.
 */
const isWritable = (text: string): boolean => !/[\r\0]/.test(text) && text.isWellFormed();

/**
 * JSON on one line without characters that Markdown interprets: backslash escapes, entities and
 * backticks are written as `\u` escapes.
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
 * Finds the blocks of a document, in order. A code block whose attributes do not have the form
 * above is not a block and stays as it is.
 *
 * @param mappings the first mapping of a language applies
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

/** Index of the line that ends the code block; the number of lines where none does. */
function closingLine(lines: readonly string[], first: number, fence: string): number {
  for (let at = first + 1; at < lines.length; at += 1) {
    const [, run = ''] = CLOSING.exec(lines[at] ?? '') ?? [];
    if (run.length >= fence.length && run.charAt(0) === fence.charAt(0)) return at;
  }
  return lines.length;
}

/**
 * Parts of a JSON value without white space outside of its strings: a string, or other characters
 * up to the next space.
 */
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/y;
const NAME = /[A-Za-z_][A-Za-z0-9_-]*/y;
const OTHER = /[^\s"]+/y;
const SPACE = /[ \t]+/y;

/** @returns undefined where the text has another form */
function readAttributes(info: string): Record<string, unknown> | undefined {
  const props: Record<string, unknown> = {};
  let at = 0;
  /** Consumes a match of `what` at the current position, if there is one. */
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
    // Attack: a value so deep that serialising it would overflow the stack.
    if (value === undefined || isDeeper(value, DATA_DEPTH_MAX)) return undefined;
    define(props, name, value);
  }
  return props;
}

/** Attack: a prop named `__proto__`, which an assignment would treat as the prototype. */
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
