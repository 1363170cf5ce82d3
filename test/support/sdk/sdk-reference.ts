/**
 * The reference page of the SDK, `docs/sdk-reference.md`, from the declarations that authors get
 * and the catalogue of ContentKit. A test compares the file with this text.
 */
import { ELEMENTS } from '../../../src/model/contentkit/contentkit.ts';
import { read } from '../repository/sources.ts';
import { elementExample } from './contentkit-examples.ts';
import { type Attribute, attributesOf, childrenWords } from './contentkit-types.ts';

const HEAD = `# SDK reference

Everything that \`@annex/sdk\` exports, and every JSX element with its attributes. Editors show the same at the name. The guides teach
how to use it: [components](components.md), [events](events.md), [webhooks](webhooks.md). Names of a manifest's own configurations and
secrets come from [\`annex types\`](manifest.md#types).

This page is generated from \`sandbox/sdk\` (\`npx vitest run test/unit/sdk/sdk-reference.test.ts -u\`).
`;

/** One export of the SDK. */
export interface SdkExport {
  readonly name: string;
  readonly kind: string;
  /** The lines of its doc comment. */
  readonly doc: readonly string[];
  /** Its declaration, with the comments of its members. */
  readonly declaration: string;
}

/** All exports, in the order of `index.ts`. @param declarations text of `annex-sdk.d.ts` */
export function sdkExports(declarations: string): readonly SdkExport[] {
  const index = read('sandbox/sdk/index.ts');
  const names = [...index.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list = '']) =>
    list.split(',').map((name) => name.trim().replace(/^type /, '')),
  );
  return names.filter(Boolean).map((name) => exportOf(name, declarations));
}

function exportOf(name: string, declarations: string): SdkExport {
  const start = new RegExp(
    `((?:^/\\*\\*(?:(?!\\*/)[^])*\\*/\\n)?)^export (?:abstract )?(function|class|interface|type|const) ${name}\\b`,
    'm',
  ).exec(declarations);
  if (start === null) throw new Error(`The declarations have no ${name}.`);
  const [, comment = '', kind = ''] = start;
  const doc = comment
    .split('\n')
    .slice(0, -1)
    .map((line) => line.replace(/^\/\*\*\s?|^ \*\/$|^ \* ?|\s*\*\/$/g, ''));
  return { name, kind, doc, declaration: declarationAt(declarations, start.index + comment.length) };
}

/** From a place to the end of the declaration: its first line, or a line that closes it. */
function declarationAt(text: string, from: number): string {
  const lines = text.slice(from).split('\n');
  const [first = ''] = lines;
  if (/[;}]$/.test(first)) return first;
  const end = lines.findIndex((line, at) => at > 0 && /^\S.*;$|^\}$/.test(line));
  return lines.slice(0, end + 1).join('\n');
}

/** The text of the page. */
export function sdkReference(declarations: string): string {
  const all = sdkExports(declarations);
  const isCode = ({ kind }: SdkExport): boolean => kind === 'function' || kind === 'class';
  return [
    HEAD,
    '## Functions and classes\n',
    ...all.filter(isCode).map(exportText),
    '## Types\n',
    ...all.filter((each) => !isCode(each)).map(exportText),
    '## JSX elements\n',
    '`*` marks a required attribute. What the host does with other attributes, and bounds of a drawing, say [the promises about elements](contract/components.md#elements).\n',
    ...Object.keys(ELEMENTS).map(elementText),
  ].join('\n');
}

function exportText({ name, doc, declaration }: SdkExport): string {
  const { text, notes, example } = parts(doc);
  return [
    `### \`${name}\`\n`,
    ...(text === '' ? [] : [`${linked(text)}\n`]),
    ...(notes.length > 0 ? [`${notes.map((note) => `- ${linked(note)}`).join('\n')}\n`] : []),
    `\`\`\`ts\n${declaration}\n\`\`\`\n`,
    ...(example === '' ? [] : [`For example:\n\n\`\`\`tsx\n${example}\n\`\`\`\n`]),
  ].join('\n');
}

/** A doc comment in parts: paragraphs and lists, what its tags say, the example. */
function parts(doc: readonly string[]): { text: string; notes: readonly string[]; example: string } {
  const tags: string[][] = [];
  for (const line of doc) {
    if (/^@\w+/.test(line) || tags.length === 0) tags.push([line]);
    else tags.at(-1)?.push(line);
  }
  const [text = [], ...tagged] = tags[0]?.[0]?.startsWith('@') ? [[], ...tags] : tags;
  const of = (name: string) => tagged.filter(([first = '']) => first.startsWith(`@${name}`));
  const notes = ['typeParam', 'param', 'returns', 'throws'].flatMap((name) =>
    of(name).map((lines) => noteText(name, lines.join(' ').replace(/^@\w+\s*/, ''))),
  );
  const example = of('example')
    .map((lines) => lines.join('\n').replace(/^@example\s?/, ''))
    .join('\n');
  return { text: joined(text), notes: notes.filter(Boolean), example: example.trim() };
}

/** Lines of a paragraph become one; those of a list stay. */
const joined = (lines: readonly string[]): string =>
  lines
    .join('\n')
    .trim()
    .replaceAll(/(?<!\n)\n(?![\n-])/g, ' ')
    .replaceAll(/(?<=[^\n])\n-/g, '\n-');

function noteText(tag: string, said: string): string {
  const text = said.replaceAll(/\s+/g, ' ').trim();
  if (tag === 'returns')
    return text === '' || /^\{[^}]*\}$/.test(text) ? '' : `returns: ${text.replace(/^\{[^}]*\} ?/, '')}`;
  if (tag === 'throws') return `throws: ${text.replace(/^\{(\w+)\}/, '$1')}`;
  const [, name = '', words = ''] = /^(?:\{[^}]*\}(?:\})? )?\[?([\w.]+)\]?\s*(.*)$/.exec(text) ?? [];
  return words === '' ? '' : `\`${name}\`: ${words}`;
}

/** A citation of a page becomes a link to it. */
const linked = (text: string): string =>
  text.replaceAll(/docs\/([\w/-]+\.md)(#[\w-]+)?/g, (_, page: string, anchor = '') => {
    const words = anchor.slice(1).replaceAll('-', ' ') || page.replace(/^.*\/|\.md$/g, '');
    return `[${words}](${page}${anchor})`;
  });

function elementText(tag: string): string {
  const kind = ELEMENTS[tag];
  const attributes = attributesOf(tag);
  return [
    `### \`<${tag}>\`\n`,
    `${[kind?.description, kind?.children && childrenWords(kind.children)].filter(Boolean).join(' ')}\n`,
    `\`\`\`tsx\n${elementExample(tag)}\n\`\`\`\n`,
    ...(attributes.length === 0 ? [] : [`${table(attributes)}\n`]),
  ].join('\n');
}

const table = (attributes: readonly Attribute[]): string =>
  [
    '| attribute | type | what it is | example |',
    '|---|---|---|---|',
    ...attributes.map(({ name, isRequired, type, description, example }) =>
      row([`\`${name}\`${isRequired ? '\\*' : ''}`, `\`${type}\``, description, `\`${example}\``]),
    ),
  ].join('\n');

const row = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
