/**
 * `AssertionError` of `node:assert`, with the messages of Node.js: the values, and in which lines
 * they differ.
 */
import { type Step, steps } from './diff.ts';
import { validateObject } from './errors.ts';
import { inspect } from './inspect.ts';

export interface AssertionDetails {
  readonly message?: unknown;
  readonly operator?: string;
  readonly diff?: string;
  readonly actual?: unknown;
  readonly expected?: unknown;
  readonly stackStartFn?: Function | undefined;
}

const READABLE: Readonly<Record<string, string>> = {
  deepStrictEqual: 'Expected values to be strictly deep-equal:',
  partialDeepStrictEqual: 'Expected values to be partially and strictly deep-equal:',
  strictEqual: 'Expected values to be strictly equal:',
  strictEqualObject: 'Expected "actual" to be reference-equal to "expected":',
  deepEqual: 'Expected values to be loosely deep-equal:',
  notDeepStrictEqual: 'Expected "actual" not to be strictly deep-equal to:',
  notStrictEqual: 'Expected "actual" to be strictly unequal to:',
  notStrictEqualObject: 'Expected "actual" not to be reference-equal to "expected":',
  notDeepEqual: 'Expected "actual" not to be loosely deep-equal to:',
  notIdentical: 'Values have same structure but are not reference-equal:',
  notDeepEqualUnequal: 'Expected values not to be loosely deep-equal:',
};
const WITH_DIFF = ['deepStrictEqual', 'strictEqual', 'partialDeepStrictEqual'];
/** Equal lines around a difference. */
const SAME_LINES_MAX = 5;
/** Lines of values that are shown whole. */
const LINES_MAX = 50;

export class AssertionError extends Error {
  generatedMessage: boolean;
  code = 'ERR_ASSERTION';
  actual: unknown;
  expected: unknown;
  operator: string | undefined;
  diff: string;

  constructor(options: AssertionDetails) {
    validateObject(options, 'options');
    const { message, operator = '', actual, expected, stackStartFn } = options;
    const own = message === undefined || message === null ? undefined : String(message);
    super(
      own !== undefined && !WITH_DIFF.includes(operator) ? own : messageOf(operator, actual, expected, own),
    );
    this.generatedMessage = !message;
    this.actual = actual;
    this.expected = expected;
    this.operator = options.operator;
    this.diff = options.diff ?? 'simple';
    const name = 'AssertionError [ERR_ASSERTION]';
    // The first line of the stack is made when it is captured: by the name of that time.
    const descriptor = { __proto__: null, value: name, configurable: true, writable: true };
    Object.defineProperty(this, 'name', descriptor as PropertyDescriptor);
    Error.captureStackTrace(this, stackStartFn);
    void this.stack;
    this.name = 'AssertionError';
  }

  override toString(): string {
    return `${this.name} [${this.code}]: ${this.message}`;
  }

  [Symbol.for('nodejs.util.inspect.custom')](_depth: number, options: object): string {
    return inspect(this, { ...options, customInspect: false, depth: 0 });
  }
}

/** @param own the message of the code, in the place of the first line */
function messageOf(operator: string, actual: unknown, expected: unknown, own?: string): string {
  if (WITH_DIFF.includes(operator)) return difference(operator, actual, expected, own);
  const [one, other] = [shown(actual), shown(expected)];
  if (operator === 'notDeepStrictEqual' || operator === 'notStrictEqual') {
    const object = (typeof actual === 'object' && actual !== null) || typeof actual === 'function';
    const base = READABLE[operator === 'notStrictEqual' && object ? 'notStrictEqualObject' : operator];
    const lines = one.split('\n');
    if (lines.length > LINES_MAX) lines.splice(46, lines.length, '...');
    if (lines.length > 1) return `${base}\n\n${lines.join('\n')}\n`;
    return `${base}${one.length > 5 ? '\n\n' : ' '}${one}`;
  }
  if (operator === 'notDeepEqual' && one === other)
    return cut(`${READABLE['notDeepEqual']}\n\n${one}`, 1_024);
  const [left, right] = [cut(one, 512), cut(other, 512)];
  if (operator === 'deepEqual') {
    return `${READABLE['deepEqual']}\n\n${left}\n\nshould loosely deep-equal\n\n${right}`;
  }
  if (operator === 'notDeepEqual') {
    return `${READABLE['notDeepEqualUnequal']}\n\n${left}\n\nshould not loosely deep-equal\n\n${right}`;
  }
  return `${left} ${operator} ${right}`;
}

const cut = (text: string, max: number): string =>
  text.length > max ? `${text.slice(0, max - 3)}...` : text;

const shown = (value: unknown): string =>
  inspect(value, {
    compact: false,
    customInspect: false,
    depth: 1_000,
    maxArrayLength: Number.POSITIVE_INFINITY,
    showHidden: false,
    showProxy: false,
    sorted: true,
    getters: true,
    breakLength: Number.POSITIVE_INFINITY,
  });

function difference(operator: string, actual: unknown, expected: unknown, own?: string): string {
  const [one, other] = [shown(actual), shown(expected)];
  const [left, right] = [one.split('\n'), other.split('\n')];
  const objects = [actual, expected].every(
    (value) => (typeof value === 'object' && value !== null) || typeof value === 'function',
  );
  const title = own ?? READABLE[operator === 'strictEqual' && objects ? 'strictEqualObject' : operator];
  if (left.length === 1 && right.length === 1 && one !== other && !objects) {
    const length = [actual, expected].reduce<number>(
      (sum, value) => sum - (typeof value === 'string' ? 2 : 0),
      one.length + other.length,
    );
    if (length <= 12 && (actual !== 0 || expected !== 0)) return `${title}\n\n${one} !== ${other}\n`;
    const strings = typeof actual === 'string' && typeof expected === 'string';
    const mark = strings ? marked(one, other) : '';
    return `${title}\n+ actual - expected\n\n+ ${one}\n- ${other}${mark}\n`;
  }
  if (one === other) {
    if (left.length > LINES_MAX) left.splice(46, left.length, '...}');
    return `${own ?? READABLE['notIdentical']}\n\n${left.join('\n')}\n`;
  }
  // A comma at the end of a line says only that another line follows.
  const plain = (line: string): string => (line.endsWith(',') ? line.slice(0, -1) : line);
  const complex = typeof actual === 'object' && actual !== null;
  const found = steps(left, right, complex ? (a, b) => plain(a) === plain(b) : undefined);
  const { text, skipped } = written(found);
  return `${title}\n+ actual - expected${skipped ? '\n... Skipped lines' : ''}\n\n${text}\n`;
}

/** A mark below the first character that differs. */
function marked(one: string, other: string): string {
  if (one.length + other.length > 80) return '';
  let at = 0;
  while (one[at] === other[at]) at++;
  return at >= 3 ? `\n${' '.repeat(at + 2)}^` : '';
}

function written(found: readonly Step[]): { text: string; skipped: boolean } {
  const lines: string[] = [];
  let same = 0;
  let skipped = false;
  found.forEach(([kind, text], at) => {
    if (kind === 0) {
      if (same++ < SAME_LINES_MAX) lines.push(`  ${text}`);
      return;
    }
    const more = same - SAME_LINES_MAX;
    if (more > 2) {
      lines.push('...');
      skipped = true;
    }
    if (more === 2) lines.push(`  ${found[at - 2]?.[1]}`);
    if (more > 0) lines.push(`  ${found[at - 1]?.[1]}`);
    same = 0;
    lines.push(`${kind === 1 ? '+' : '-'} ${text}`);
  });
  return { text: lines.join('\n').trimEnd(), skipped };
}
