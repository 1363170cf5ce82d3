/**
 * Regular expressions of schemas, matched in linear time.
 *
 * Attack: a schema with the pattern `^(\w+\s?)*$`, for which one text of fifty characters keeps a
 * backtracking matcher, and with it the event loop, busy for years. So a pattern becomes a
 * nondeterministic automaton whose states are all followed at once (Thompson): a character costs at
 * most as many steps as the pattern has states. What needs a memory of the text is refused:
 * references to groups, and assertions other than `^` and `$`.
 */

/** Maximum states of a pattern, with repetitions written out. */
const STATES_MAX = 500;
/** Maximum nodes that are written out. */
const WRITES_MAX = 10_000;
/** Maximum nesting of groups: the parser is recursive. */
const DEPTH_MAX = 20;

/** A pattern that cannot be used; the message is a clause about it. */
export class PatternFault extends Error {}

export interface LinearPattern {
  /** Whether the text contains a match. */
  test(text: string): boolean;
  toString(): string;
}

type CharacterSet = (code: number) => boolean;

/** What a state does; `next` is the state that follows. */
type State =
  | { readonly kind: 'character'; readonly has: CharacterSet; next: number }
  | { readonly kind: 'fork'; next: number; other: number }
  | { readonly kind: 'start' | 'end'; next: number }
  | { readonly kind: 'match' };

type Node =
  | { readonly kind: 'character'; readonly has: CharacterSet }
  | { readonly kind: 'start' | 'end' }
  | { readonly kind: 'sequence' | 'choice'; readonly nodes: readonly Node[] }
  | { readonly kind: 'repeat'; readonly node: Node; readonly min: number; readonly max: number };

/**
 * Compiles a pattern.
 *
 * @param spend called with the steps of each character; what it throws ends the match
 * @throws PatternFault
 */
export function linearPattern(source: string, spend: (steps: number) => void = () => {}): LinearPattern {
  const states = statesOf(new Parser(source).parsed());
  return { test: (text) => hasMatch(states, text, spend), toString: () => source };
}

function hasMatch(states: readonly State[], text: string, spend: (steps: number) => void): boolean {
  const seen = new Int32Array(states.length).fill(-1);
  let current: number[] = [];
  let isMatch = false;
  /** Follows all that needs no character. */
  const enter = (list: number[], first: number, at: number): void => {
    const waiting = [first];
    for (let index = waiting.pop(); index !== undefined; index = waiting.pop()) {
      if (seen[index] === at) continue;
      seen[index] = at;
      const state = states[index];
      if (state === undefined) continue;
      if (state.kind === 'match') isMatch = true;
      else if (state.kind === 'character') list.push(index);
      else if (state.kind === 'fork') waiting.push(state.next, state.other);
      else if (state.kind === 'start' ? at === 0 : at === text.length) waiting.push(state.next);
    }
  };
  for (let at = 0; at <= text.length; ) {
    enter(current, 0, at);
    if (isMatch) return true;
    if (at === text.length) return false;
    spend(current.length + 1);
    const code = text.codePointAt(at) ?? 0;
    at += code > 0xffff ? 2 : 1;
    const following: number[] = [];
    for (const index of current) {
      const state = states[index];
      if (state?.kind === 'character' && state.has(code)) enter(following, state.next, at);
    }
    if (isMatch) return true;
    current = following;
  }
  return false;
}

/** Writes a tree as states; the first is the start, the last is the match. */
function statesOf(root: Node): readonly State[] {
  const states: State[] = [];
  const add = (state: State): number => {
    if (states.length === STATES_MAX)
      throw new PatternFault(`is too large: repetitions written out, it has more than ${STATES_MAX} states`);
    return states.push(state) - 1;
  };
  let writes = 0;
  const write = (node: Node): void => {
    writes += 1;
    // Attack: `((){500}){500}`, whose repetitions of nothing need no state.
    if (writes > WRITES_MAX) throw new PatternFault('has too many repetitions of repetitions');
    switch (node.kind) {
      case 'sequence':
        for (const part of node.nodes) write(part);
        return;
      case 'choice':
        return writeChoice(node.nodes);
      case 'repeat':
        return writeRepeat(node);
      default: {
        const at = add({ ...node, next: 0 });
        (states[at] as { next: number }).next = at + 1;
      }
    }
  };
  const writeChoice = ([first, ...rest]: readonly Node[]): void => {
    if (first === undefined) return;
    if (rest.length === 0) return write(first);
    const fork = add({ kind: 'fork', next: 0, other: 0 });
    (states[fork] as { next: number }).next = states.length;
    write(first);
    const leave = add({ kind: 'fork', next: 0, other: 0 });
    (states[fork] as { other: number }).other = states.length;
    writeChoice(rest);
    Object.assign(states[leave] ?? {}, { next: states.length, other: states.length });
  };
  const writeRepeat = ({ node, min, max }: Extract<Node, { kind: 'repeat' }>): void => {
    for (let count = 0; count < min; count += 1) write(node);
    if (max === Number.POSITIVE_INFINITY) {
      const fork = add({ kind: 'fork', next: states.length + 1, other: 0 });
      write(node);
      add({ kind: 'fork', next: fork, other: fork });
      (states[fork] as { other: number }).other = states.length;
      return;
    }
    const forks: number[] = [];
    for (let count = min; count < max; count += 1) {
      forks.push(add({ kind: 'fork', next: states.length + 1, other: 0 }));
      write(node);
    }
    for (const fork of forks) (states[fork] as { other: number }).other = states.length;
  };
  write(root);
  add({ kind: 'match' });
  return states;
}

const inRange =
  (from: number, to: number): CharacterSet =>
  (code) =>
    code >= from && code <= to;
const only = (code: number): CharacterSet => inRange(code, code);
const anyOf =
  (sets: readonly CharacterSet[]): CharacterSet =>
  (code) =>
    sets.some((has) => has(code));
const not =
  (has: CharacterSet): CharacterSet =>
  (code) =>
    !has(code);
/** What one character of V8's own class is. */
const asClass = (written: string): CharacterSet => {
  const one = new RegExp(`^${written}$`, 'u');
  return (code) => one.test(String.fromCodePoint(code));
};

const LINE_ENDS: readonly number[] = [0x0a, 0x0d, 0x2028, 0x2029];
const DIGIT = inRange(0x30, 0x39);
const WORD = anyOf([DIGIT, inRange(0x41, 0x5a), inRange(0x61, 0x7a), only(0x5f)]);
const SPACE = asClass('\\s');
const CLASSES: ReadonlyMap<string, CharacterSet> = new Map([
  ['d', DIGIT],
  ['D', not(DIGIT)],
  ['w', WORD],
  ['W', not(WORD)],
  ['s', SPACE],
  ['S', not(SPACE)],
]);
const CONTROLS: ReadonlyMap<string, number> = new Map([
  ['t', 0x09],
  ['n', 0x0a],
  ['v', 0x0b],
  ['f', 0x0c],
  ['r', 0x0d],
  ['0', 0x00],
]);
const SYNTAX = '^$\\.*+?()[]{}|/-';

class Parser {
  readonly #characters: readonly string[];
  #at = 0;

  constructor(source: string) {
    try {
      // V8 decides what is a regular expression; this file decides which of them are used.
      new RegExp(source, 'u');
    } catch {
      throw new PatternFault('is no regular expression');
    }
    this.#characters = [...source];
  }

  parsed(): Node {
    return this.#choice(0);
  }

  #choice(depth: number): Node {
    if (depth > DEPTH_MAX) throw new PatternFault(`has groups nested more than ${DEPTH_MAX} deep`);
    const nodes: Node[] = [this.#sequence(depth)];
    while (this.#take('|')) nodes.push(this.#sequence(depth));
    return { kind: 'choice', nodes };
  }

  #sequence(depth: number): Node {
    const nodes: Node[] = [];
    for (let next = this.#next; next !== undefined && next !== '|' && next !== ')'; next = this.#next)
      nodes.push(this.#repeated(this.#atom(depth)));
    return { kind: 'sequence', nodes };
  }

  #atom(depth: number): Node {
    const character = this.#characters[this.#at++] ?? '';
    if (character === '(') return this.#group(depth);
    if (character === '^') return { kind: 'start' };
    if (character === '$') return { kind: 'end' };
    if (character === '.') return { kind: 'character', has: (code) => !LINE_ENDS.includes(code) };
    if (character === '[') return { kind: 'character', has: this.#class() };
    if (character === '\\') return { kind: 'character', has: this.#escape() };
    return { kind: 'character', has: only(character.codePointAt(0) ?? 0) };
  }

  #group(depth: number): Node {
    if (this.#take('?') && !this.#take(':')) {
      if (!this.#take('<') || this.#next === '=' || this.#next === '!')
        throw new PatternFault('looks ahead or behind, which is not supported');
      while (this.#characters[this.#at++] !== '>');
    }
    const node = this.#choice(depth + 1);
    this.#at += 1;
    return node;
  }

  #repeated(node: Node): Node {
    const bounds = this.#bounds();
    if (bounds === undefined) return node;
    // Lazy or not: only whether there is a match counts.
    this.#take('?');
    return { kind: 'repeat', node, ...bounds };
  }

  #bounds(): { readonly min: number; readonly max: number } | undefined {
    if (this.#take('*')) return { min: 0, max: Number.POSITIVE_INFINITY };
    if (this.#take('+')) return { min: 1, max: Number.POSITIVE_INFINITY };
    if (this.#take('?')) return { min: 0, max: 1 };
    if (!this.#take('{')) return undefined;
    const min = this.#number();
    const max = this.#take(',') ? (this.#next === '}' ? Number.POSITIVE_INFINITY : this.#number()) : min;
    this.#at += 1;
    if (min > STATES_MAX || (max !== Number.POSITIVE_INFINITY && max > STATES_MAX))
      throw new PatternFault(`repeats more than ${STATES_MAX} times`);
    return { min, max };
  }

  #number(): number {
    let digits = '';
    for (let next = this.#next; next !== undefined && next >= '0' && next <= '9'; next = this.#next) {
      digits += next;
      this.#at += 1;
    }
    return Number(digits);
  }

  #class(): CharacterSet {
    const isNegated = this.#take('^');
    const sets: CharacterSet[] = [];
    while (!this.#take(']')) {
      const first = this.#classPart();
      if (typeof first !== 'number' || this.#next !== '-' || this.#characters[this.#at + 1] === ']') {
        sets.push(typeof first === 'number' ? only(first) : first);
        continue;
      }
      this.#at += 1;
      const last = this.#classPart();
      sets.push(inRange(first, typeof last === 'number' ? last : first));
    }
    const has = anyOf(sets);
    return isNegated ? not(has) : has;
  }

  /** One character, or a class such as `\d`. */
  #classPart(): number | CharacterSet {
    const character = this.#characters[this.#at++] ?? '';
    if (character !== '\\') return character.codePointAt(0) ?? 0;
    if (this.#take('b')) return 0x08;
    return this.#escaped();
  }

  #escape(): CharacterSet {
    const escaped = this.#escaped();
    return typeof escaped === 'number' ? only(escaped) : escaped;
  }

  #escaped(): number | CharacterSet {
    const letter = this.#characters[this.#at++] ?? '';
    const known = CLASSES.get(letter) ?? CONTROLS.get(letter);
    if (known !== undefined) return known;
    if (SYNTAX.includes(letter)) return letter.codePointAt(0) ?? 0;
    if (letter === 'x') return this.#hex(2);
    if (letter === 'u') return this.#take('{') ? this.#hexUntilBrace() : this.#hex(4);
    if (letter === 'c') return (this.#characters[this.#at++]?.codePointAt(0) ?? 0) % 32;
    if (letter === 'p' || letter === 'P') return this.#property(letter);
    const what = letter === 'b' || letter === 'B' ? 'word boundaries are' : 'references to groups are';
    throw new PatternFault(`has \\${letter}: ${what} not supported`);
  }

  #property(letter: string): CharacterSet {
    const end = this.#characters.indexOf('}', this.#at);
    const written = this.#characters.slice(this.#at, end + 1).join('');
    this.#at = end + 1;
    return asClass(`\\${letter}${written}`);
  }

  #hex(digits: number): number {
    const text = this.#characters.slice(this.#at, this.#at + digits).join('');
    this.#at += digits;
    return Number.parseInt(text, 16);
  }

  #hexUntilBrace(): number {
    const end = this.#characters.indexOf('}', this.#at);
    const text = this.#characters.slice(this.#at, end).join('');
    this.#at = end + 1;
    return Number.parseInt(text, 16);
  }

  #take(character: string): boolean {
    if (this.#next !== character) return false;
    this.#at += 1;
    return true;
  }

  get #next(): string | undefined {
    return this.#characters[this.#at];
  }
}
