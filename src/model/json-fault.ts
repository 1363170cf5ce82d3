/**
 * Locates the first syntax error of a JSON text and names what is expected there (RFC 8259).
 *
 * V8's own messages quote the text, which may hold a secret, and do not always give a position. For
 * texts that `JSON.parse` has refused; builds no values.
 */

export interface JsonFault {
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 code units. */
  readonly column: number;
  /** What is expected at the position, for example `a value`. */
  readonly expected: string;
}

/** A token that is neither a string nor white space. */
const TOKEN = /[{}[\],:]|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const SPACE = '\t\n\r ';

type Expected = keyof typeof WORDS;

const WORDS = {
  value: 'a value',
  valueOrEnd: 'a value or "]"',
  name: 'a name in double quotes',
  nameOrEnd: 'a name in double quotes or "}"',
  colon: '":"',
  commaInList: '"," or "]"',
  commaInObject: '"," or "}"',
  end: 'the end',
} as const;

/** @returns undefined where the text is JSON */
export function jsonFault(text: string): JsonFault | undefined {
  const open: ('[' | '{')[] = [];
  let expected: Expected = 'value';
  for (let at = 0; ; ) {
    while (at < text.length && SPACE.includes(text.charAt(at))) at += 1;
    if (at === text.length && expected === 'end') return undefined;
    const end = text.charAt(at) === '"' ? endOfString(text, at) : endOf(TOKEN, text, at);
    const next: Expected | undefined = end === undefined ? undefined : after(expected, text.charAt(at), open);
    if (end === undefined || next === undefined) return { ...placeOf(text, at), expected: WORDS[expected] };
    expected = next;
    at = end;
  }
}

/**
 * A loop, not a regular expression. Attack: megabytes of escapes that overflow the stack of the
 * expression engine and turn a refusal into a 500.
 */
function endOfString(text: string, from: number): number | undefined {
  let at = from + 1;
  while (at < text.length && text.charCodeAt(at) >= 0x20) {
    const letter = text.charAt(at);
    if (letter === '"') return at + 1;
    const next = letter === '\\' ? endOf(ESCAPE, text, at) : at + 1;
    if (next === undefined) return undefined;
    at = next;
  }
  return undefined;
}

function endOf(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

/**
 * What is expected after a token that begins with `first`; undefined where that token is not
 * allowed.
 */
function after(expected: Expected, first: string, open: ('[' | '{')[]): Expected | undefined {
  switch (expected) {
    case 'value':
    case 'valueOrEnd':
      if (first === '[' || first === '{') {
        open.push(first);
        return first === '[' ? 'valueOrEnd' : 'nameOrEnd';
      }
      if (first === ']' && expected === 'valueOrEnd') return closed(open);
      return '{}[],:'.includes(first) ? undefined : afterValue(open);
    case 'name':
    case 'nameOrEnd':
      if (first === '}' && expected === 'nameOrEnd') return closed(open);
      return first === '"' ? 'colon' : undefined;
    case 'colon':
      return first === ':' ? 'value' : undefined;
    case 'commaInList':
      return first === ',' ? 'value' : first === ']' ? closed(open) : undefined;
    case 'commaInObject':
      return first === ',' ? 'name' : first === '}' ? closed(open) : undefined;
    case 'end':
      return undefined;
  }
}

function closed(open: ('[' | '{')[]): Expected {
  open.pop();
  return afterValue(open);
}

function afterValue(open: readonly ('[' | '{')[]): Expected {
  const inside = open.at(-1);
  if (inside === undefined) return 'end';
  return inside === '[' ? 'commaInList' : 'commaInObject';
}

function placeOf(text: string, at: number): { line: number; column: number } {
  let line = 1;
  let start = 0;
  for (let end = text.indexOf('\n'); end >= 0 && end < at; end = text.indexOf('\n', start)) {
    line += 1;
    start = end + 1;
  }
  return { line, column: at - start + 1 };
}
