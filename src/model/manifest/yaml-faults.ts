/**
 * Faults of YAML syntax in words of an author: what is meant by the parser's error, and where it
 * begins. The parser reports an open quote where the text ends, and speaks of its own functions.
 *
 * No message has text of the manifest: a value may be a secret.
 */
import { Lexer, type YAMLParseError } from 'yaml';

export interface SyntaxFault {
  readonly message: string;
  /** Offset in the text. */
  readonly offset: number;
  readonly hint?: string;
}

type ParserError = Pick<YAMLParseError, 'code' | 'message' | 'pos'>;

const QUOTE_IT = 'Put the value in quotes.';

/** @returns one fault for each cause: an open quote explains all errors behind it */
export function syntaxFaults(errors: readonly ParserError[], text: string): readonly SyntaxFault[] {
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

/** Control tokens of the lexer, which are not part of the text. */
const SCALAR = '\x1f';
const CONTROL = ['\x02', '\x18', SCALAR];

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
