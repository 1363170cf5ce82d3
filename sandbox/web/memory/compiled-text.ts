/**
 * Counts memory that the engine allocates outside of the heap while it compiles code from texts.
 *
 * Attack: `Function('{}'.repeat(5_000_000))` needs 20 MB of heap and 1.8 GB of parser memory, which
 * no limit counts, in one call that nothing interrupts. So a long text counts beforehand as much as
 * compiling it takes at most, and is refused where that does not fit the isolate.
 *
 * Regular expressions are not counted: a replaced `RegExp.prototype.constructor`, without which the
 * engine's own one stays in reach, would make each use of every expression ten to a hundred times
 * as slow. A class with a property of strings (`[\p{RGI_Emoji}]`) needs 900 KiB. An expression that
 * needs a gigabyte compiles for a second or two; the cell's size is watched meanwhile.
 *
 * `eval` evaluates in the global scope only: the engine has no way to look at the text of a direct
 * `eval`, which is the one that is called by its own name.
 */

import {
  apply,
  construct,
  defineProperty,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  setPrototypeOf,
} from '../primordials.ts';
import { named } from './memory-refusals.ts';
import { ballast } from './native-memory-accounting.ts';

/** Bytes of the parser for one character: the measured maximum is 310, for classes in a list. */
const BYTES_PER_CHAR = 320;
/**
 * Texts below this length are not counted: they take at most 5 MiB, and most programs have no
 * longer ones.
 */
const LONG_CHARS = 16 * 1024;

/** Wraps the constructors of one global object. */
export function countCompiledText(target: typeof globalThis): void {
  const FunctionIntrinsic = target.Function;
  const counted = countFunctions(FunctionIntrinsic);
  expose(target, 'Function', counted);
  for (const made of [async () => undefined, function* () {}, async function* () {}]) {
    const Intrinsic = (getPrototypeOf(made) as { constructor: Function }).constructor;
    countFunctions(Intrinsic);
    // Otherwise the prototype of each leads to the engine's constructor.
    setPrototypeOf(Intrinsic, counted);
  }
  countEval(target);
}

/** Wraps one of the four constructors that compile functions from texts. */
function countFunctions(Intrinsic: Function): Function {
  const counted = new Proxy(Intrinsic, {
    __proto__: null,
    construct: (native: Function, args: unknown[], newTarget: Function): object =>
      construct(native, texts(args), newTarget) as object,
    apply: (native: Function, self: unknown, args: unknown[]): unknown => apply(native, self, texts(args)),
  } as ProxyHandler<Function>);
  const prototype = Intrinsic.prototype as object;
  defineProperty(prototype, 'constructor', {
    ...getOwnPropertyDescriptor(prototype, 'constructor'),
    value: counted,
  });
  return counted;
}

/** The parameters and the body, read once, so that exactly the counted texts are compiled. */
function texts(args: unknown[]): unknown[] {
  let chars = 0;
  for (let i = 0; i < args.length; i++) {
    const text = `${args[i] as string}`;
    args[i] = text;
    chars += text.length;
  }
  count(chars);
  return args;
}

function countEval(target: typeof globalThis): void {
  const native = target.eval;
  const { evaluate } = {
    evaluate(code: unknown): unknown {
      if (typeof code !== 'string') return code;
      count(code.length);
      return apply(native, undefined, [code]);
    },
  };
  expose(target, 'eval', named(evaluate, native));
}

/** @throws RangeError if compiling a text of this length does not fit the isolate */
function count(chars: number): void {
  if (chars >= LONG_CHARS) ballast(BYTES_PER_CHAR * chars);
}

const expose = (target: object, key: string, value: unknown): unknown =>
  defineProperty(target, key, { value, writable: true, enumerable: false, configurable: true });
