/**
 * Bounds the structure of a YAML text before the parser builds anything of it.
 *
 * The parser is recursive and makes an object of every token: a text of 64 KiB can be 65,000 brackets, which overflow its
 * stack, or 32,000 values, which take it most of a second. The lexer alone is a loop, so what it says is counted here:
 * collections that are open at once, and values. Finds only what would be refused later; what a text means it does not know.
 */
import { Lexer } from 'yaml';

export interface StructureBounds {
  /** Nested collections. */
  readonly depthMax: number;
  readonly nodesMax: number;
}

export interface StructureFault {
  readonly message: string;
  /** Where in the text. */
  readonly offset: number;
}

/** Marks of the lexer, which are no part of the text. */
const DOCUMENT = '\x02';
const FLOW_END = '\x18';
const SCALAR = '\x1f';

/** @returns the first place at which the text passes a bound; undefined where it passes none */
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
    // What is inside of a text is no structure.
    nesting.take(isContent ? 'text' : lexeme, offset - lineStart);
    isContent = false;
    // The innermost of `depthMax` values that contain each other may be a collection itself.
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

/** A text, the beginning of a list or a map, or an alias. */
const isNode = (lexeme: string): boolean =>
  lexeme === SCALAR || lexeme === '[' || lexeme === '{' || (lexeme.startsWith('*') && lexeme.length > 1);

/**
 * Counts collections that are open at once. Maps that are nested by indentation alone are not counted: each costs a line that
 * is longer than the last, so there cannot be enough of them to overflow a stack.
 */
class Nesting {
  #flow = 0;
  /** Columns of the `-` and `?` that are open, in rising order. */
  readonly #indicators: number[] = [];
  /** Of the line: only a broken one has more than a few. */
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

  /** What begins a line ends all that began at its column or behind it. */
  #closeFrom(column: number): void {
    while ((this.#indicators.at(-1) ?? -1) >= column) this.#indicators.pop();
  }
}
