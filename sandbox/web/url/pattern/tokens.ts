/**
 * The tokens of a pattern string (https://urlpattern.spec.whatwg.org/#tokenizing).
 *
 * Positions count code points, as in the standard: a token may begin after an astral character.
 */

export type TokenType =
  | 'open'
  | 'close'
  | 'regexp'
  | 'name'
  | 'char'
  | 'escaped-char'
  | 'other-modifier'
  | 'asterisk'
  | 'end'
  | 'invalid-char';

export interface Token {
  readonly type: TokenType;
  /** Start of the token, in code points. */
  readonly index: number;
  readonly value: string;
}

/** Policy for invalid text: throw, or make an `invalid-char` token. */
export type TokenizePolicy = 'strict' | 'lenient';

const NAME_START = /[$_\p{ID_Start}]/u;
const NAME_PART = /[$_\p{ID_Continue}]|\u200c|\u200d/u;
const NOT_ASCII = /[^\0-\x7f]/u;

const SINGLE: Readonly<Record<string, TokenType | undefined>> = {
  '*': 'asterisk',
  '+': 'other-modifier',
  '?': 'other-modifier',
  '{': 'open',
  '}': 'close',
};

/** "Is a valid name code point", past the first place. */
export const isNamePart = (char: string): boolean => NAME_PART.test(char);

/** @throws TypeError for an invalid pattern, with the strict policy */
export function tokenize(input: string, policy: TokenizePolicy): Token[] {
  const chars = [...input];
  const tokens: Token[] = [];
  let index = 0;

  /** Adds a token for the text from `valueStart` to `valueEnd`, and continues at `next`. */
  function add(type: TokenType, next: number, valueStart: number, valueEnd: number): void {
    tokens.push({ type, index, value: chars.slice(valueStart, valueEnd).join('') });
    index = next;
  }
  function fail(next: number, valueStart: number): void {
    if (policy === 'strict') throw new TypeError(`Invalid pattern: ${input.slice(0, 128)}`);
    add('invalid-char', next, valueStart, next);
  }

  while (index < chars.length) {
    const char = chars[index] as string;
    const next = index + 1;
    if (char === '\\') {
      if (next === chars.length) fail(next, index);
      else add('escaped-char', next + 1, next, next + 1);
    } else if (char === ':') {
      const end = nameEnd(chars, next);
      if (end === next) fail(next, index);
      else add('name', end, next, end);
    } else if (char === '(') {
      const end = regExpEnd(chars, next);
      if (end === undefined) fail(next, index);
      else add('regexp', end + 1, next, end);
    } else {
      add(SINGLE[char] ?? 'char', next, index, next);
    }
  }
  add('end', index, index, index);
  return tokens;
}

function nameEnd(chars: readonly string[], start: number): number {
  let end = start;
  while (end < chars.length && (end === start ? NAME_START : NAME_PART).test(chars[end] as string)) end++;
  return end;
}

/** Position of the closing bracket of an expression; undefined if the expression is not allowed. */
function regExpEnd(chars: readonly string[], start: number): number | undefined {
  let depth = 1;
  for (let at = start; at < chars.length; at++) {
    const char = chars[at] as string;
    if (NOT_ASCII.test(char) || (at === start && char === '?')) return undefined;
    if (char === '\\') {
      at++;
      if (at === chars.length || NOT_ASCII.test(chars[at] as string)) return undefined;
    } else if (char === ')') {
      depth--;
      if (depth === 0) return at === start ? undefined : at;
    } else if (char === '(') {
      depth++;
      // Only groups that capture nothing: the numbers of the others would shift.
      if (chars[at + 1] !== '?') return undefined;
    }
  }
  return undefined;
}
