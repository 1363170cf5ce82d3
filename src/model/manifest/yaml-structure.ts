/**
 * Checks nesting and size of a YAML text before the parser builds nodes from it.
 *
 * The parser is recursive and allocates an object for each token. Attack: 64 KiB of text with
 * 65,000 brackets, which overflow its stack, or with 32,000 values, which take most of a second.
 * The lexer alone is a loop, so its tokens are counted here: open collections, and values. Refuses
 * only texts that would be refused later.
 */
import { Lexer } from 'yaml';

export interface StructureBounds {
  /** Nested collections. */
  readonly depthMax: number;
  readonly nodesMax: number;
}

export interface StructureFault {
  readonly message: string;
  /** Offset in the text. */
  readonly offset: number;
}

/** Control tokens of the lexer, which are not part of the text. */
const DOCUMENT = '\x02';
const FLOW_END = '\x18';
const SCALAR = '\x1f';

/** @returns the first place at which the text exceeds a bound; undefined where it exceeds none */
export function structureFault(text: string, bounds: StructureBounds): StructureFault | undefined {
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
