/**
 * Counts memory that internationalization built-ins allocate outside of the heap, and bounds their
 * copies.
 *
 * Measured, none of it in any of the engine's figures: `segment(text)` and each iterator over its
 * result copy the text (a gigabyte in one call, kept between calls), a `DateTimeFormat` has 30 to
 * 300 KB, a `DisplayNames` 40 KB, and a `ListFormat` copies its texts four times. The weights below
 * are what the survey in `native-memory.test.ts` measures, rounded up. Beyond the isolate's memory
 * they throw the `RangeError` of a buffer that does not fit; otherwise they behave as in the
 * standard.
 */

import { temporal } from '../lazy.ts';
import {
  apply,
  construct,
  defineProperty,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  objectCreate,
  objectKeys,
  weakMapGet,
  weakMapSet,
} from '../primordials.ts';
import { named, wrapMethod } from './memory-refusals.ts';
import { ballast, carriedBy, carry } from './native-memory-accounting.ts';

const KIB = 1024;
/** Bytes of one object of each kind. */
const WEIGHTS = {
  Collator: 4 * KIB,
  DateTimeFormat: 64 * KIB,
  DisplayNames: 48 * KIB,
  DurationFormat: 4 * KIB,
  ListFormat: 2 * KIB,
  Locale: 1 * KIB,
  NumberFormat: 12 * KIB,
  PluralRules: 8 * KIB,
  RelativeTimeFormat: 16 * KIB,
  Segmenter: 8 * KIB,
};
/** Additional bytes of a `DateTimeFormat` that has formatted a range. */
const RANGE_BYTES = 320 * KIB;
/** Bytes for each character of a copied text, and of the iterator over it. */
const BYTES_PER_CHAR = 2;
const WALKER_BYTES = 4 * KIB;
/** Bytes for each character of a list: the library copies each text, and the list twice. */
const LIST_BYTES_PER_CHAR = 8;
const LIST_BYTES_PER_TEXT = 128;
/** Length from which temporary copies of texts count. */
const LONG_CHARS = 64 * KIB;
/** Growth of a text by canonical (U+0390) and by compatible (U+FDFA) normalization (UAX 15). */
const CANONICAL_GROWTH = 4;
const COMPATIBLE_GROWTH = 18;

/** Wraps the built-ins of one global object. */
export function countNativeMemory(target: { readonly Intl: typeof Intl }): void {
  const intl = target.Intl;
  const kinds = objectKeys(WEIGHTS);
  for (let i = 0; i < kinds.length; i++) countObjects(intl, kinds[i] as keyof typeof WEIGHTS);
  countSegments(intl.Segmenter.prototype);
  countRanges(intl.DateTimeFormat.prototype);
  countLists(intl.ListFormat.prototype);
  countComparing(intl.Collator.prototype);
  countNormalizing();
  for (const key of ['localeCompare', 'toLocaleUpperCase', 'toLocaleLowerCase'])
    countCopies(String.prototype, key);
  for (const key of ['toLocaleString', 'toLocaleDateString', 'toLocaleTimeString'])
    wrapMethod(Date.prototype, key, (native, self, args) => {
      ballast(WEIGHTS.DateTimeFormat);
      return apply(native, self, args);
    });
  // A date reaches the engine's `Temporal` without the global.
  wrapMethod(Date.prototype, 'toTemporalInstant', (native, self, args) =>
    temporal().weighed(apply(native, self, args)),
  );
}

/** Makes each object of one kind carry its bytes. */
function countObjects(intl: typeof Intl, kind: keyof typeof WEIGHTS): void {
  const Intrinsic = intl[kind];
  const weight = WEIGHTS[kind];
  const counted = new Proxy(Intrinsic, {
    __proto__: null,
    construct(target: Function, args: unknown[], newTarget: Function): object {
      const bytes = ballast(weight);
      return carry(construct(target, args, newTarget) as object, bytes);
    },
    apply(target: Function, self: unknown, args: unknown[]): unknown {
      const bytes = ballast(weight);
      return carry(apply(target, self, args), bytes);
    },
  } as ProxyHandler<Function>);
  defineProperty(intl, kind, { value: counted, writable: true, configurable: true });
  // Otherwise every object of the kind leads to the engine's constructor.
  defineProperty(Intrinsic.prototype, 'constructor', { value: counted, writable: true, configurable: true });
}

/** The result of `segment`, and each iterator over it, holds a copy of the whole text. */
function countSegments(segmenter: object): void {
  let known: object | undefined;
  wrapMethod(segmenter, 'segment', (native, self, args) => {
    const text = `${args[0] as string}`;
    const bytes = ballast(WALKER_BYTES + BYTES_PER_CHAR * text.length);
    const segments = apply(native, self, [text]) as object;
    // The only way to their prototype; no script can have changed it yet.
    if (known === undefined) {
      known = getPrototypeOf(segments) as object;
      countIterators(known);
    }
    return carry(segments, bytes);
  });
}

function countIterators(segments: object): void {
  wrapMethod(segments, Symbol.iterator, (native, self, args) => {
    const bytes = ballast(WALKER_BYTES + carriedBy(self));
    return carry(apply(native, self, args), bytes);
  });
}

/** The first range makes a second formatter, which lives as long as the first. */
function countRanges(format: object): void {
  for (const key of ['formatRange', 'formatRangeToParts'])
    wrapMethod(format, key, (native, self, args) => {
      if (carriedBy(self) >= RANGE_BYTES) return apply(native, self, args);
      const bytes = ballast(RANGE_BYTES);
      const range = apply(native, self, args);
      // Any other receiver has thrown by now.
      carry(self, bytes);
      return range;
    });
}

/** The texts of a list are read once, so that exactly the counted texts are copied. */
function countLists(format: object): void {
  for (const key of ['format', 'formatToParts'])
    wrapMethod(format, key, (native, self, [list]) => {
      if (list === undefined) return apply(native, self, [list]);
      const texts = objectCreate(null) as Record<number, string>;
      let count = 0;
      let bytes = 0;
      for (const text of list as Iterable<unknown>) {
        if (typeof text !== 'string') throw new TypeError('A list to be formatted has texts only');
        texts[count++] = text;
        bytes += LIST_BYTES_PER_TEXT + LIST_BYTES_PER_CHAR * text.length;
      }
      ballast(bytes);
      return apply(native, self, [{ __proto__: null, [Symbol.iterator]: () => iteratorOf(texts, count) }]);
    });
}

function iteratorOf(texts: Record<number, string>, count: number): object {
  let at = 0;
  return {
    __proto__: null,
    next: () => ({ __proto__: null, done: at >= count, value: texts[at++] }),
  };
}

/** Comparing copies two long texts. */
function countComparing(collator: object): void {
  const descriptor = getOwnPropertyDescriptor(collator, 'compare');
  const getter = descriptor?.get;
  if (getter === undefined) return;
  const made = new WeakMap<Function, Function>();
  const counted = {
    get compare(): unknown {
      // The same function each time, like the engine's.
      const native = apply(getter, this, []) as Function;
      const last = weakMapGet(made, native);
      if (last !== undefined) return last;
      const compare = named((one: unknown, other: unknown) => {
        const [left, right] = [`${one as string}`, `${other as string}`];
        countCopy(left.length + right.length);
        return apply(native, undefined, [left, right]) as unknown;
      }, native);
      weakMapSet(made, native, compare);
      return compare;
    },
  };
  const get = getOwnPropertyDescriptor(counted, 'compare')?.get as Function;
  defineProperty(collator, 'compare', { ...descriptor, get: named(get, getter) as () => unknown });
}

/** Normalizing: the result may be many times as long, and is copied twice. */
function countNormalizing(): void {
  wrapMethod(String.prototype, 'normalize', (native, self, [form]) => {
    if (self === undefined || self === null) return apply(native, self, [form]);
    const text = typeof self === 'string' ? self : `${self as string}`;
    const name = form === undefined ? 'NFC' : `${form as string}`;
    if (text.length >= LONG_CHARS)
      ballast(text.length * BYTES_PER_CHAR * (name[2] === 'K' ? COMPATIBLE_GROWTH : CANONICAL_GROWTH));
    return apply(native, text, [name]);
  });
}

/** Counts the copies of a method of texts. */
function countCopies(prototype: object, key: string): void {
  wrapMethod(prototype, key, (native, self, args) => {
    if (self === undefined || self === null) return apply(native, self, args);
    const text = typeof self === 'string' ? self : `${self as string}`;
    const [other] = args;
    countCopy(text.length + (typeof other === 'string' ? other.length : 0));
    return apply(native, text, args);
  });
}

/** Counts the copies of a text until they are collected. */
function countCopy(chars: number): void {
  if (chars >= LONG_CHARS) ballast(2 * BYTES_PER_CHAR * chars);
}
