/**
 * Counts the steps that a backtracking engine takes for a regular expression, and finds inputs for
 * which they grow faster than the text.
 *
 * Time on a shared machine is noisy; a count is not. This is the textbook matcher: greedy first,
 * one step for every character, class or position that it checks. V8 skips some of these steps and
 * never takes more, so a pattern that is linear here is linear there. Syntax that no pattern of
 * this repository uses (back references, modifiers) is an error, so that nothing is measured
 * wrongly.
 */

type Node =
  | { readonly kind: 'set'; readonly has: (text: string) => boolean }
  | { readonly kind: 'at'; readonly holds: (text: string, at: number) => boolean }
  | { readonly kind: 'look'; readonly of: Node; readonly ahead: boolean; readonly negated: boolean }
  | { readonly kind: 'all'; readonly of: readonly Node[] }
  | { readonly kind: 'any'; readonly of: readonly Node[] }
  | {
      readonly kind: 'times';
      readonly of: Node;
      readonly min: number;
      readonly max: number;
      readonly lazy: boolean;
    };

/** An engine that takes this many steps for a few hundred characters grows exponentially. */
const STEPS_MAX = 3_000_000;
/** Longest look-behind of any pattern here. */
const BEHIND_MAX = 32;
/** Pumps of two characters, for alternatives that contain each other. */
const PAIRS_MAX = 24;
const WORD = /\w/;

class Parser {
  readonly #source: string;
  readonly #flags: string;
  #at = 0;

  constructor({ source, flags }: RegExp) {
    this.#source = source;
    this.#flags = flags;
  }

  parse(): Node {
    const node = this.#alternatives();
    if (this.#at < this.#source.length) throw new Error(`unread: ${this.#source.slice(this.#at)}`);
    return node;
  }

  #takes(text: string): boolean {
    if (!this.#source.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #alternatives(): Node {
    const of = [this.#sequence()];
    while (this.#takes('|')) of.push(this.#sequence());
    return of.length === 1 && of[0] ? of[0] : { kind: 'any', of };
  }

  #sequence(): Node {
    const of: Node[] = [];
    while (this.#at < this.#source.length && !'|)'.includes(this.#source[this.#at] ?? ''))
      of.push(this.#quantified(this.#atom()));
    return { kind: 'all', of };
  }

  #quantified(of: Node): Node {
    const match = /^(?:[*+?]|\{(\d+)(,(\d*))?\})\??/.exec(this.#source.slice(this.#at));
    if (match === null) return of;
    const [whole, low, upTo, high] = match;
    this.#at += whole.length;
    const lazy = whole.length > 1 && whole.endsWith('?');
    const [min, max] = {
      '*': [0, Number.POSITIVE_INFINITY],
      '+': [1, Number.POSITIVE_INFINITY],
      '?': [0, 1],
    }[whole.charAt(0)] ?? [
      Number(low),
      upTo === undefined ? Number(low) : Number(high || Number.POSITIVE_INFINITY),
    ];
    return { kind: 'times', of, min: min ?? 0, max: max ?? 0, lazy };
  }

  #atom(): Node {
    if (this.#takes('(?:') || this.#takes('(?=') || this.#takes('(?!')) return this.#group(3);
    if (this.#takes('(?<=') || this.#takes('(?<!')) return this.#group(4);
    const named = /^\(\?<\w+>/.exec(this.#source.slice(this.#at));
    if (named) this.#at += named[0].length - 1;
    if (named || this.#takes('(')) {
      if (named) this.#at += 1;
      if (!named && this.#source[this.#at] === '?') throw new Error(`unknown group: ${this.#source}`);
      const of = this.#alternatives();
      if (!this.#takes(')')) throw new Error(`no end of a group: ${this.#source}`);
      return of;
    }
    const isMultiline = this.#flags.includes('m');
    if (this.#takes('^')) return position((text, at) => at === 0 || (isMultiline && text[at - 1] === '\n'));
    if (this.#takes('$'))
      return position((text, at) => at === text.length || (isMultiline && text[at] === '\n'));
    if (this.#takes('\\b')) return position(isBorder);
    if (this.#takes('\\B')) return position((text, at) => !isBorder(text, at));
    return this.#set();
  }

  #group(opening: number): Node {
    const sign = this.#source.slice(this.#at - opening, this.#at);
    const of = this.#alternatives();
    if (!this.#takes(')')) throw new Error(`no end of a group: ${this.#source}`);
    if (sign === '(?:') return of;
    return { kind: 'look', of, ahead: opening === 3, negated: sign.endsWith('!') };
  }

  #set(): Node {
    const rest = this.#source.slice(this.#at);
    const text = rest.startsWith('[')
      ? bracketed(rest)
      : (/^(?:\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[0-9a-f]{4}|x[0-9a-f]{2}|.)|[\s\S])/iu.exec(rest)?.[0] ?? '');
    if (/^\\[1-9k]/.test(text)) throw new Error(`a back reference: ${this.#source}`);
    this.#at += text.length;
    const flags = this.#flags.replace(/[^iusv]/g, '');
    const pattern = new RegExp(`^${text}$`, flags);
    const known = new Map<string, boolean>();
    const has = (character: string): boolean => {
      const found = known.get(character) ?? pattern.test(character);
      known.set(character, found);
      return found;
    };
    return { kind: 'set', has };
  }
}

const position = (holds: (text: string, at: number) => boolean): Node => ({ kind: 'at', holds });
const isBorder = (text: string, at: number): boolean =>
  WORD.test(text[at - 1] ?? '') !== WORD.test(text[at] ?? '');

/** A class with its brackets; with the flag `v` they may be nested. */
function bracketed(text: string): string {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '[' && (depth === 0 || text[at - 1] !== '\\')) depth += depth === 0 ? 1 : 0;
    else if (text[at] === ']') {
      depth -= 1;
      if (depth === 0) return text.slice(0, at + 1);
    }
  }
  throw new Error(`no end of a class: ${text}`);
}

type Instruction =
  | { readonly op: 'set'; readonly has: (text: string) => boolean }
  | { readonly op: 'at'; readonly holds: (text: string, at: number) => boolean }
  | {
      readonly op: 'look';
      readonly program: Instruction[];
      readonly ahead: boolean;
      readonly negated: boolean;
    }
  | { readonly op: 'split'; first: number; second: number }
  | { readonly op: 'jump'; to: number };

/** The node as instructions. Bounded repetitions are written out. */
function compile(node: Node, into: Instruction[] = []): Instruction[] {
  switch (node.kind) {
    case 'set':
      into.push({ op: 'set', has: node.has });
      break;
    case 'at':
      into.push({ op: 'at', holds: node.holds });
      break;
    case 'look':
      into.push({ op: 'look', program: compile(node.of), ahead: node.ahead, negated: node.negated });
      break;
    case 'all':
      for (const part of node.of) compile(part, into);
      break;
    case 'any':
      compileAlternatives(node.of, into);
      break;
    case 'times':
      compileRepetition(node, into);
  }
  return into;
}

function compileAlternatives(parts: readonly Node[], into: Instruction[]): void {
  const jumps: { op: 'jump'; to: number }[] = [];
  for (const [index, part] of parts.entries()) {
    if (index === parts.length - 1) {
      compile(part, into);
      break;
    }
    const split = { op: 'split' as const, first: into.length + 1, second: 0 };
    into.push(split);
    compile(part, into);
    const jump = { op: 'jump' as const, to: 0 };
    jumps.push(jump);
    into.push(jump);
    split.second = into.length;
  }
  for (const jump of jumps) jump.to = into.length;
}

function compileRepetition({ of, min, max, lazy }: Node & { kind: 'times' }, into: Instruction[]): void {
  for (let done = 0; done < min; done += 1) compile(of, into);
  const isEndless = max === Number.POSITIVE_INFINITY;
  if (isEndless && isNullable(of)) throw new Error('an endless repetition of what may be empty');
  const splits: { op: 'split'; first: number; second: number }[] = [];
  for (let done = min; done < (isEndless ? min + 1 : max); done += 1) {
    const split = { op: 'split' as const, first: into.length + 1, second: into.length + 1 };
    splits.push(split);
    into.push(split);
    const begin = into.length - 1;
    compile(of, into);
    if (isEndless) into.push({ op: 'jump', to: begin });
  }
  for (const split of splits) split[lazy ? 'first' : 'second'] = into.length;
}

function isNullable(node: Node): boolean {
  if (node.kind === 'set') return false;
  if (node.kind === 'all') return node.of.every(isNullable);
  if (node.kind === 'any') return node.of.some(isNullable);
  return node.kind !== 'times' || node.min === 0 || isNullable(node.of);
}

/** Runs one pattern over texts and counts. */
class PatternSteps {
  readonly #root: Node;
  readonly #program: Instruction[];
  readonly #isSticky: boolean;
  readonly #characters: readonly string[];
  #steps = 0;

  constructor(pattern: RegExp) {
    this.#root = new Parser(pattern).parse();
    this.#program = compile(this.#root);
    this.#isSticky = pattern.sticky;
    this.#characters = charactersOf(this.#root);
  }

  /**
   * @returns steps to find every match in the text, as `matchAll`, `replaceAll` and `split` do;
   * Infinity for too many
   */
  count(text: string): number {
    this.#steps = 0;
    for (let at = 0; at <= text.length; ) {
      const end = this.#run(this.#program, text, at);
      if (this.#steps > STEPS_MAX) return Number.POSITIVE_INFINITY;
      if (this.#isSticky) break;
      at = end === undefined ? at + 1 : Math.max(end, at + 1);
    }
    return this.#steps;
  }

  /** Texts that the repetitions of the pattern could be made to go through again and again. */
  attacks(): { readonly prefix: string; readonly pump: string; readonly suffix: string }[] {
    const attacks = new Map<string, { prefix: string; pump: string; suffix: string }>();
    const add = (prefix: string, repeated: Node): void => {
      const program = compile(repeated);
      program.push({ op: 'at', holds: (text, at) => at === text.length });
      const whole = (one: string): boolean => this.#run(program, one, 0) !== undefined;
      const pairs = this.#characters.flatMap((one) => this.#characters.map((other) => one + other));
      const first = sample(repeated, this.#characters);
      const words = new Set([
        ...[first, ...this.#characters.filter(whole), ...pairs.filter(whole).slice(0, PAIRS_MAX)],
        // What leads to the repetition, again and again, where the repetition goes on over it.
        ...[prefix + first, `\n${prefix}${first}`],
      ]);
      for (const pump of words) {
        if (pump === '') continue;
        for (const before of new Set(['', prefix]))
          for (const suffix of ['\0', '', `${pump}\n`])
            attacks.set(JSON.stringify([before, pump, suffix]), { prefix: before, pump, suffix });
      }
    };
    this.#walk(this.#root, '', add);
    return [...attacks.values()];
  }

  /** Every repetition, with a text that leads to it. */
  #walk(node: Node, prefix: string, found: (prefix: string, repeated: Node) => void): void {
    if (node.kind === 'all') {
      let before = prefix;
      for (const part of node.of) {
        this.#walk(part, before, found);
        before += sample(part, this.#characters);
      }
    } else if (node.kind === 'any') {
      for (const part of node.of) this.#walk(part, prefix, found);
    } else if (node.kind === 'look') {
      this.#walk(node.of, prefix, found);
    } else if (node.kind === 'times') {
      if (node.max > 1) found(prefix, node.of);
      this.#walk(node.of, prefix, found);
    }
  }

  /** @returns where the first match from here ends */
  #run(program: readonly Instruction[], text: string, from: number): number | undefined {
    /** Places to go back to: an instruction, a position, … */
    const back: number[] = [0, from];
    while (back.length > 0) {
      let at = back.pop() ?? 0;
      let pc: number | undefined = back.pop() ?? 0;
      while (pc !== undefined) {
        const instruction: Instruction | undefined = program[pc];
        if (instruction === undefined) return at;
        this.#steps += 1;
        if (this.#steps > STEPS_MAX) return undefined;
        if (instruction.op === 'jump') {
          pc = instruction.to;
        } else if (instruction.op === 'split') {
          back.push(instruction.second, at);
          pc = instruction.first;
        } else if (instruction.op === 'set') {
          const one: string = at < text.length ? String.fromCodePoint(text.codePointAt(at) ?? 0) : '';
          pc = one !== '' && instruction.has(one) ? pc + 1 : undefined;
          at += one.length;
        } else {
          pc = this.#holds(instruction, text, at) ? pc + 1 : undefined;
        }
      }
    }
    return undefined;
  }

  #holds(instruction: Instruction & { op: 'at' | 'look' }, text: string, at: number): boolean {
    if (instruction.op === 'at') return instruction.holds(text, at);
    const { program, ahead, negated } = instruction;
    if (ahead) return (this.#run(program, text, at) === undefined) === negated;
    for (let from = at; from >= Math.max(0, at - BEHIND_MAX); from -= 1)
      if (this.#run(program, text, from) === at) return !negated;
    return negated;
  }
}

/** One of each kind, among them every character that the pattern tells from its neighbours. */
function charactersOf(root: Node): string[] {
  const sets: (Node & { kind: 'set' })[] = [];
  const collect = (node: Node): void => {
    if (node.kind === 'set') sets.push(node);
    else if (node.kind === 'all' || node.kind === 'any') node.of.forEach(collect);
    else if (node.kind !== 'at') collect(node.of);
  };
  collect(root);
  const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
  const kinds = new Map<string, string>();
  for (const one of ['a', 'A', '0', ' ', '\t', '\n', ...ascii, '\xff', '\u2028', '\u{1f511}']) {
    const kind = sets.map((set) => (set.has(one) ? '1' : '0')).join('');
    if (!kinds.has(kind)) kinds.set(kind, one);
  }
  return [...kinds.values()];
}

/** A short text that the node matches. */
function sample(node: Node, characters: readonly string[]): string {
  switch (node.kind) {
    case 'set':
      return characters.find((one) => node.has(one)) ?? '';
    case 'all':
      return node.of.map((part) => sample(part, characters)).join('');
    case 'any':
      return node.of[0] ? sample(node.of[0], characters) : '';
    case 'times':
      return sample(node.of, characters).repeat(node.min);
    default:
      return '';
  }
}

/**
 * How much faster than the text the steps grow, for the input that makes it worst.
 *
 * @returns `ratio` of the steps for four times the text; about 4 where they grow with the text, 16
 * with its square
 */
export function worstGrowth(pattern: RegExp): { readonly ratio: number; readonly attack: string } {
  const steps = new PatternSteps(pattern);
  let worst = { ratio: 0, attack: '' };
  for (const { prefix, pump, suffix } of steps.attacks()) {
    const text = (times: number): string => prefix + pump.repeat(times) + suffix;
    const long = steps.count(text(4 * SHORT));
    const ratio = Number.isFinite(long) ? long / steps.count(text(SHORT)) : long;
    if (ratio > worst.ratio) worst = { ratio, attack: JSON.stringify([prefix, pump, suffix]) };
  }
  return worst;
}
/** Longer than any bounded repetition of ours is wide, or its bound would look like growth. */
const SHORT = 300;
