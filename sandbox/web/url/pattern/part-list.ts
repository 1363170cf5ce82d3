/**
 * The parts of a pattern string, in the order in which they must match
 * (https://urlpattern.spec.whatwg.org/#parsing).
 */
import { type Token, type TokenType, tokenize } from './tokens.ts';

/** Modifiers by their characters in a pattern. */
export type Modifier = '' | '?' | '*' | '+';

export interface Part {
  readonly type: 'fixed-text' | 'regexp' | 'segment-wildcard' | 'full-wildcard';
  /** Fixed text, or expression; empty for wildcards. */
  readonly value: string;
  readonly modifier: Modifier;
  /** Name of a matching group; empty for fixed text. */
  readonly name: string;
  readonly prefix: string;
  readonly suffix: string;
}

export interface PatternOptions {
  /** Code point at which `:name` stops matching; empty for none. */
  readonly delimiter: '' | '.' | '/';
  /** Code point that belongs to the group after it; empty for none. */
  readonly prefix: '' | '/';
  readonly ignoreCase: boolean;
}

/** Encodes a piece of fixed text as the URL parser would, or throws a TypeError. */
export type Encode = (text: string) => string;

export const FULL_WILDCARD = '.*';

/** "Generate a segment wildcard regexp". */
export const segmentWildcard = ({ delimiter }: PatternOptions): string =>
  delimiter === '' ? '[^]+?' : `[^\\${delimiter}]+?`;

/** "Parse a pattern string". @throws TypeError */
export function parsePattern(input: string, options: PatternOptions, encode: Encode): Part[] {
  return new PatternParser(input, options, encode).parse();
}

class PatternParser {
  readonly #input: string;
  readonly #tokens: readonly Token[];
  readonly #options: PatternOptions;
  readonly #encode: Encode;
  readonly #parts: Part[] = [];
  readonly #names = new Set<string>();
  #pendingText = '';
  #next = 0;
  #nextNumericName = 0;

  constructor(input: string, options: PatternOptions, encode: Encode) {
    this.#input = input;
    this.#tokens = tokenize(input, 'strict');
    this.#options = options;
    this.#encode = encode;
  }

  parse(): Part[] {
    while (this.#next < this.#tokens.length) {
      const char = this.#take('char');
      const name = this.#take('name');
      const matcher = this.#takeMatcher(name);
      if (name !== undefined || matcher !== undefined) {
        let prefix = char?.value ?? '';
        if (prefix !== this.#options.prefix) {
          this.#pendingText += prefix;
          prefix = '';
        }
        this.#flushText();
        this.#addGroup(prefix, name, matcher, '');
        continue;
      }
      const fixed = char ?? this.#take('escaped-char');
      if (fixed !== undefined) {
        this.#pendingText += fixed.value;
      } else if (this.#take('open') !== undefined) {
        this.#parseBraces();
      } else {
        this.#flushText();
        this.#require('end');
      }
    }
    return this.#parts;
  }

  #parseBraces(): void {
    const prefix = this.#takeText();
    const name = this.#take('name');
    const matcher = this.#takeMatcher(name);
    const suffix = this.#takeText();
    this.#require('close');
    this.#addGroup(prefix, name, matcher, suffix);
  }

  /** "Add a part", with the modifier that follows. */
  #addGroup(prefix: string, nameToken: Token | undefined, matcher: Token | undefined, suffix: string): void {
    const modifier = this.#takeModifier();
    if (nameToken === undefined && matcher === undefined) {
      if (modifier === '') {
        this.#pendingText += prefix;
        return;
      }
      this.#flushText();
      if (prefix !== '') this.#parts.push({ ...FIXED_TEXT, value: this.#encode(prefix), modifier });
      return;
    }
    this.#flushText();
    let expression = matcher?.type === 'asterisk' ? FULL_WILDCARD : matcher?.value;
    let type: Part['type'] = 'regexp';
    if (expression === undefined || expression === segmentWildcard(this.#options)) type = 'segment-wildcard';
    else if (expression === FULL_WILDCARD) type = 'full-wildcard';
    if (type !== 'regexp') expression = '';
    const name = nameToken?.value ?? `${this.#nextNumericName++}`;
    if (this.#names.has(name)) throw new TypeError(`Two groups of a pattern are named ${name.slice(0, 64)}`);
    this.#names.add(name);
    this.#parts.push({
      type,
      value: expression as string,
      modifier,
      name,
      prefix: this.#encode(prefix),
      suffix: this.#encode(suffix),
    });
  }

  #flushText(): void {
    if (this.#pendingText === '') return;
    const value = this.#encode(this.#pendingText);
    this.#pendingText = '';
    this.#parts.push({ ...FIXED_TEXT, value });
  }

  #take(type: TokenType): Token | undefined {
    const token = this.#tokens[this.#next];
    if (token?.type !== type) return undefined;
    this.#next++;
    return token;
  }

  #takeMatcher(name: Token | undefined): Token | undefined {
    return this.#take('regexp') ?? (name === undefined ? this.#take('asterisk') : undefined);
  }

  #takeModifier(): Modifier {
    return ((this.#take('other-modifier') ?? this.#take('asterisk'))?.value ?? '') as Modifier;
  }

  #takeText(): string {
    let text = '';
    for (;;) {
      const token = this.#take('char') ?? this.#take('escaped-char');
      if (token === undefined) return text;
      text += token.value;
    }
  }

  #require(type: TokenType): void {
    if (this.#take(type) === undefined) throw new TypeError(`Invalid pattern: ${this.#input.slice(0, 128)}`);
  }
}

const FIXED_TEXT = { type: 'fixed-text', value: '', modifier: '', name: '', prefix: '', suffix: '' } as const;
