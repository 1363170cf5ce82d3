/**
 * Parses YAML text to plain JSON values, and keeps the line and column of each.
 *
 * The text is untrusted. The `yaml` package parses it to nodes; this file turns nodes into values,
 * with a bounded number of values and a bounded depth. Attack: alias bombs ("billion laughs"),
 * aliases that contain themselves, and nesting that overflows the stack of later readers. Does not
 * interpret the values.
 */
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  type Pair,
  parseDocument,
  type Scalar,
  type YAMLParseError,
} from 'yaml';
import { type Problem, problem } from '../problem.ts';

/**
 * The parser takes up to 6 µs per byte on dense text, so this size blocks the host for less than
 * 0.5 s.
 */
export const YAML_BYTES_MAX = 64 * 1024;
export const YAML_NODES_MAX = 10_000;
export const YAML_DEPTH_MAX = 32;
/**
 * Maximum characters of all texts together, aliases expanded: four times the maximum file. Attack:
 * one text of 60 KB and 9,000 aliases of it are one string in memory, and half a gigabyte as JSON.
 */
export const YAML_TEXT_CHARS_MAX = 256 * 1024;
/** Characters of a key that a message shows. */
const KEY_CHARS_SHOWN = 80;
/** Maximum problems listed for one text. */
const PROBLEMS_MAX = 50;

export interface SourcePosition {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** Keys and indexes from the root to a value. */
export type YamlPath = readonly (string | number)[];

export interface YamlSource {
  /**
   * Strings, finite numbers, booleans, null, arrays and plain objects; undefined where `problems`
   * is not empty.
   */
  readonly value: unknown;
  readonly problems: readonly Problem[];
  /** Start of a value; for a missing value, the start of its nearest ancestor. */
  placeOf(path: YamlPath): SourcePosition;
  /** Start of the key of a value. */
  keyPlaceOf(path: YamlPath): SourcePosition;
  /**
   * Text of a number, `true` or `false` as it is written: `3.10`, which JSON has as 3.1. The value
   * holds the text from then on, for a process that checks the same value later.
   */
  asText(path: YamlPath): string | undefined;
}

/** Reads one YAML document. Never throws for invalid text: all problems are in the result. */
export function readYaml(text: string, file: string): YamlSource {
  if (Buffer.byteLength(text) > YAML_BYTES_MAX) {
    return new Walk(file, '').refused(`The file is over ${YAML_BYTES_MAX} bytes.`);
  }
  // The walk checks for duplicate keys: the parser's own check takes quadratic time.
  const options = { prettyErrors: false, uniqueKeys: false, merge: false, schema: 'core' } as const;
  try {
    const fault = structureFault(text, { depthMax: YAML_DEPTH_MAX, nodesMax: YAML_NODES_MAX });
    if (fault !== undefined) return new Walk(file, text).refused(fault.message, fault.offset);
    return new Walk(file, text).run(parseDocument(text, options));
  } catch (cause) {
    // Attack: a text that overflows the stack of the recursive parser, whose limit depends on the
    // caller's depth.
    if (!(cause instanceof RangeError)) throw cause;
    return new Walk(file, text).refused('Values are nested too deeply to be read.', 0);
  }
}

class Walk implements YamlSource {
  value: unknown;
  readonly problems: Problem[] = [];
  readonly #file: string;
  readonly #text: string;
  /** Offsets of the line starts. The parser's own line count is wrong after a syntax error. */
  readonly #lineStarts: readonly number[];
  readonly #values = new Map<string, number>();
  readonly #keys = new Map<string, number>();
  /** Texts of numbers that JSON writes otherwise. */
  readonly #written = new Map<string, string>();
  readonly #anchors = new Map<string, unknown>();
  #nodes = 0;
  #textChars = 0;

  constructor(file: string, text: string) {
    this.#file = file;
    this.#text = text;
    this.#lineStarts = [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)];
  }

  refused(message: string, offset = 0): this {
    this.#problem(message, offset);
    return this;
  }

  run(document: Document): this {
    for (const { message, offset, hint } of syntaxFaults(document.errors, this.#text))
      this.#problem(message, offset, hint);
    if (this.problems.length > 0) return this;
    const value = this.#valueOf(document.contents, []);
    if (this.problems.length === 0) this.value = value;
    return this;
  }

  placeOf(path: YamlPath): SourcePosition {
    for (let length = path.length; length > 0; length -= 1) {
      const offset = this.#values.get(pointer(path.slice(0, length)));
      if (offset !== undefined) return this.#place(offset);
    }
    return this.#place(this.#values.get(pointer([])) ?? 0);
  }

  keyPlaceOf(path: YamlPath): SourcePosition {
    const offset = this.#keys.get(pointer(path));
    return offset === undefined ? this.placeOf(path) : this.#place(offset);
  }

  asText(path: YamlPath): string | undefined {
    const text = this.#written.get(pointer(path));
    const at = path.at(-1);
    if (text === undefined || at === undefined) return undefined;
    let parent = this.value as Record<string | number, unknown>;
    for (const part of path.slice(0, -1)) parent = parent[part] as typeof parent;
    parent[at] = text;
    return text;
  }

  #valueOf(node: unknown, path: YamlPath, keyOffset?: number): unknown {
    const offset = offsetOf(node) ?? keyOffset ?? 0;
    this.#values.set(pointer(path), offset);
    this.#nodes += 1;
    if (this.#nodes > YAML_NODES_MAX || path.length > YAML_DEPTH_MAX) {
      if (this.#nodes <= YAML_NODES_MAX)
        this.#problem(`Values are nested more than ${YAML_DEPTH_MAX} deep.`, offset);
      else if (this.#nodes === YAML_NODES_MAX + 1)
        this.#problem(`The file has more than ${YAML_NODES_MAX} values.`, offset);
      return undefined;
    }
    if (isAlias(node)) {
      if (this.#anchors.has(node.source)) return this.#valueOf(this.#anchors.get(node.source), path, offset);
      return this.#problem(`The alias "*${node.source}" has no anchor before it.`, offset);
    }
    if (isScalar(node) || isMap(node) || isSeq(node)) {
      if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    }
    if (isMap(node)) return this.#objectOf(node.items, path);
    if (isSeq(node)) return node.items.map((item, index) => this.#valueOf(item, [...path, index], offset));
    if (!isScalar(node)) return null;
    const { value } = node;
    if (typeof value === 'number' && !Number.isFinite(value)) {
      return this.#problem('Not a number that JSON can hold.', offset);
    }
    if (typeof value === 'string') return this.#counted(value, offset);
    const { source } = node;
    // Counted like a text: aliases repeat it.
    if (value !== null && source !== undefined && source !== String(value) && this.#counted(source, offset))
      this.#written.set(pointer(path), source);
    return value;
  }

  /** Counts a text. @returns the text, or undefined where all texts together are too long */
  #counted(text: string, offset: number): string | undefined {
    const within = this.#textChars <= YAML_TEXT_CHARS_MAX;
    this.#textChars += text.length;
    if (this.#textChars <= YAML_TEXT_CHARS_MAX) return text;
    if (within) {
      const message = `The texts of the file come to more than ${YAML_TEXT_CHARS_MAX} characters, each alias written out.`;
      this.#problem(message, offset);
    }
    return undefined;
  }

  #objectOf(pairs: readonly Pair[], path: YamlPath): Record<string, unknown> {
    const entries = new Map<string, unknown>();
    for (const { key, value } of pairs) {
      const offset = offsetOf(key) ?? 0;
      const name = isScalar(key) ? keyName(key) : undefined;
      if (name === undefined) this.#problem('A key must be plain text.', offset);
      else if (name === '<<') this.#problem('Merge keys ("<<") are not read.', offset, WRITE_OUT);
      else if (INVISIBLE.test(name)) this.#problem(...invisible(name, offset));
      // Attack: prototype pollution. A copy of such a member by assignment would set a prototype.
      else if (name === '__proto__') this.#problem('"__proto__" cannot be a key.', offset);
      else if (entries.has(name)) this.#problem(`The key "${name}" is there twice.`, offset);
      else {
        this.#counted(name, offset);
        this.#keys.set(pointer([...path, name]), offset);
        entries.set(name, this.#valueOf(value, [...path, name], offset));
      }
    }
    return Object.fromEntries(entries);
  }

  #place(offset: number): SourcePosition {
    let line = 0;
    // Binary search for the last line that begins at or before the offset.
    for (let beyond = this.#lineStarts.length; beyond - line > 1; ) {
      const middle = (line + beyond) >> 1;
      if ((this.#lineStarts[middle] ?? 0) <= offset) line = middle;
      else beyond = middle;
    }
    return { file: this.#file, line: line + 1, column: offset - (this.#lineStarts[line] ?? 0) + 1 };
  }

  #problem(message: string, offset: number, hint?: string): undefined {
    if (this.problems.length >= PROBLEMS_MAX) return;
    this.problems.push(problem(message, { ...this.#place(offset), ...(hint !== undefined && { hint }) }));
  }
}

const WRITE_OUT = 'Write the members out, or give the whole map as an alias: *name.';

/** A number is a key as it is written. */
const keyName = ({ value, source }: Scalar): string =>
  typeof value === 'string' || value === null ? String(value) : (source ?? String(value));

/** Characters that a key cannot show: of formatting, of control, and spaces other than U+0020. */
const INVISIBLE = /[\p{Cf}\p{Cc}\p{Zl}\p{Zp}\u3164\u2800]|(?! )\p{Zs}/u;

function invisible(name: string, offset: number): [string, number, string] {
  const at = name.search(INVISIBLE);
  const code = (name.codePointAt(at) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  const shown = [...name.slice(0, KEY_CHARS_SHOWN)].filter((character) => !INVISIBLE.test(character));
  const message = `The key "${shown.join('')}" has an invisible character in it: U+${code}.`;
  return [message, offset + at, 'Delete the line and type it again; such characters come with copied text.'];
}

const offsetOf = (node: unknown): number | undefined =>
  isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? node.range?.[0] : undefined;

/** A path as one string (RFC 6901). */
const pointer = (path: YamlPath): string =>
  path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

interface StructureBounds {
  /** Nested collections. */
  readonly depthMax: number;
  readonly nodesMax: number;
}

interface StructureFault {
  readonly message: string;
  /** Offset in the text. */
  readonly offset: number;
}

/** Control tokens of the lexer, which are not part of the text. */
const DOCUMENT = '\x02';
const FLOW_END = '\x18';
const SCALAR = '\x1f';

/**
 * Checks nesting and size of a YAML text before the parser builds nodes from it.
 *
 * The parser is recursive and allocates an object for each token. Attack: 64 KiB of text with
 * 65,000 brackets, which overflow its stack, or with 32,000 values, which take most of a second.
 * The lexer alone is a loop, so its tokens are counted here: open collections, and values. Refuses
 * only texts that would be refused later.
 *
 * @returns the first place at which the text exceeds a bound; undefined where it exceeds none
 */
function structureFault(text: string, bounds: StructureBounds): StructureFault | undefined {
  const nesting = new Nesting();
  let [offset, lineStart, nodes] = [0, 0, 0];
  let isContent = false;
  for (const lexeme of new Lexer().lex(text)) {
    if (!isContent && isNode(lexeme)) nodes += 1;
    // Every value has at most one key, and both are counted.
    if (nodes > 2 * bounds.nodesMax) {
      return { message: `The file has more than ${bounds.nodesMax} values.`, offset };
    }
    if (lexeme === SCALAR || lexeme === DOCUMENT || lexeme === FLOW_END) {
      isContent = lexeme === SCALAR;
      continue;
    }
    // The content of a scalar has no structure.
    nesting.take(isContent ? 'text' : lexeme, offset - lineStart);
    isContent = false;
    // The innermost of `depthMax` nested values may itself be a collection.
    if (nesting.depth > bounds.depthMax + 1) {
      return { message: `Values are nested more than ${bounds.depthMax} deep.`, offset };
    }
    offset += lexeme.length;
    const lineBreak = lexeme.lastIndexOf('\n');
    if (lineBreak >= 0) {
      lineStart = offset - (lexeme.length - lineBreak - 1);
      nesting.endLine();
    }
  }
  return undefined;
}

/** Whether a token begins a value: a scalar, a list, a map or an alias. */
const isNode = (lexeme: string): boolean =>
  lexeme === SCALAR || lexeme === '[' || lexeme === '{' || (lexeme.startsWith('*') && lexeme.length > 1);

/**
 * Counts open collections. Maps nested by indentation alone are not counted: each needs a line
 * longer than the last, so there are too few to overflow a stack.
 */
class Nesting {
  #flow = 0;
  /** Columns of open `-` and `?` indicators, ascending. */
  readonly #indicators: number[] = [];
  /** Colons in the current line; a valid line has few. */
  #colons = 0;
  #lineBegun = false;

  get depth(): number {
    return this.#flow + Math.max(this.#indicators.length, this.#colons);
  }

  take(lexeme: string, column: number): void {
    if (/^\s*$/.test(lexeme) || lexeme.startsWith('#')) return;
    const isIndicator = this.#flow === 0 && (lexeme === '-' || lexeme === '?');
    if (!this.#lineBegun && this.#flow === 0) this.#closeFrom(column);
    this.#lineBegun = true;
    if (isIndicator) this.#indicators.push(column);
    else if (lexeme === '[' || lexeme === '{') this.#flow += 1;
    else if (lexeme === ']' || lexeme === '}') this.#flow = Math.max(0, this.#flow - 1);
    else if (lexeme === ':' && this.#flow === 0) this.#colons += 1;
  }

  endLine(): void {
    this.#lineBegun = false;
    this.#colons = 0;
  }

  /** A token at the start of a line closes all indicators at its column or to the right. */
  #closeFrom(column: number): void {
    while ((this.#indicators.at(-1) ?? -1) >= column) this.#indicators.pop();
  }
}

interface SyntaxFault {
  readonly message: string;
  /** Offset in the text. */
  readonly offset: number;
  readonly hint?: string;
}

type ParserError = Pick<YAMLParseError, 'code' | 'message' | 'pos'>;

const QUOTE_IT = 'Put the value in quotes.';

/**
 * Faults of YAML syntax in words of an author: what is meant by the parser's error, and where it
 * begins. The parser reports an open quote where the text ends, and speaks of its own functions.
 *
 * No message has text of the manifest: a value may be a secret.
 *
 * @returns one fault for each cause: an open quote explains all errors behind it
 */
function syntaxFaults(errors: readonly ParserError[], text: string): readonly SyntaxFault[] {
  if (errors.length === 0) return [];
  const offsets = errors.map(({ pos }) => pos[0]).sort((one, other) => one - other);
  const quote = openQuote(text, offsets);
  const seen = new Set<number>();
  const found: SyntaxFault[] = [];
  for (const error of errors) {
    const [offset] = error.pos;
    if (seen.has(offset) || (quote !== undefined && offset >= quote)) continue;
    seen.add(offset);
    found.push(faultOf(error, text));
  }
  if (quote === undefined) return found;
  const message = `The quote that opens here (${text[quote]}) is not closed on its line.`;
  const hint = 'Close it, or put the whole value in the other kind of quotes.';
  return [...found, { message, offset: quote, hint }];
}

function faultOf({ code, message, pos }: ParserError, text: string): SyntaxFault {
  const [offset] = pos;
  switch (code) {
    case 'MULTIPLE_DOCS':
      return {
        message: 'A second document begins here; a manifest is one.',
        offset,
        hint: 'Remove the line "---" or "..." and what follows, or put it in a file of its own.',
      };
    case 'BLOCK_AS_IMPLICIT_KEY':
    case 'BLOCK_IN_FLOW':
      return nestedKey(offset, text);
    case 'MULTILINE_IMPLICIT_KEY':
      return { message: 'A key has a colon and a space behind it, in the same line.', offset };
    case 'BAD_SCALAR_START':
      return { message: sentence(message), offset, hint: QUOTE_IT };
    default:
      return message.startsWith('Implicit map keys')
        ? { message: 'A key has a colon and a space behind it, in the same line.', offset }
        : { message: sentence(message), offset };
  }
}

/** `a: b: c`, or a line that is indented below a value. */
function nestedKey(offset: number, text: string): SyntaxFault {
  const end = text.indexOf('\n', offset);
  const line = text.slice(offset, end < 0 ? undefined : end);
  if (/:(?:\s|$)/.test(line)) {
    const message = 'The value has a colon and a space in it, which would make it a key.';
    return { message, offset, hint: QUOTE_IT };
  }
  const next = text.slice(end + 1);
  return {
    message: 'This line is indented below a key that has a value already.',
    offset: end + 1 + next.search(/\S|$/),
    hint: 'Begin it in the same column as the key above.',
  };
}

const CONTROL = [DOCUMENT, FLOW_END, SCALAR];

const CLOSED = { '"': /^"(?:[^"\\]|\\[\s\S])*"$/, "'": /^'(?:[^']|'')*'$/ } as const;

/**
 * Offset of a quote that is not closed on its line: one without an end, or one that a later quote
 * ends on another line, so that an error is just behind that one.
 *
 * @param errors offsets of errors, ascending
 */
function openQuote(text: string, errors: readonly number[]): number | undefined {
  let offset = 0;
  let before = '';
  let next = 0;
  for (const lexeme of new Lexer().lex(text)) {
    const isText = before === SCALAR;
    before = lexeme;
    if (CONTROL.includes(lexeme)) continue;
    const [quote] = lexeme;
    if (!isText && (quote === '"' || quote === "'")) {
      const end = offset + lexeme.length;
      while ((errors[next] ?? end) < end) next += 1;
      const isBehind = errors[next] !== undefined && text.slice(end, errors[next]).trim() === '';
      if (!CLOSED[quote].test(lexeme) || (lexeme.includes('\n') && isBehind)) return offset;
    }
    offset += lexeme.length;
  }
  return undefined;
}

const sentence = (message: string): string => (/[.!?]$/.test(message) ? message : `${message}.`);
