/**
 * Guards everything that leaves the isolate: only strings, numbers, booleans and buffers cross
 * (docs/decisions/bridge-values.md).
 *
 * Attack: a value of the tenant in the place of one of the prelude's, by a `then` on
 * `Object.prototype`, a getter or a replaced built-in. isolated-vm copies an object that leaves:
 * two megabytes can become gigabytes on the cell's main thread. The cell checks what arrives too,
 * but the copy has been made by then. So every value is checked here, and every text is bounded
 * before it is copied. This file knows no calls and no limits of a call.
 */
import type { Emit } from '../src/protocol/bridge.ts';
import { apply, arrayBufferByteLength, slice } from './web/primordials.ts';

/**
 * Longest text that crosses, except bodies. The cell refuses this length, so no cut text is taken
 * for a whole one.
 */
const TEXT_CHARS_MAX = 64 * 1024 + 1;
/** Index of the body in an emission that has one. Its sender has checked its length. */
const RESPOND_BODY_AT = 4;
const FETCH_BODY_AT = 7;
const STORED_VALUE_AT = 4;

/** @returns an `emit` that throws a TypeError for a value that may not cross */
export function guardedEmit(emit: Emit): Emit {
  return (...emission) => {
    const values: unknown[] = emission;
    const bodyAt = bodyIndex(values[0]);
    for (let i = 0; i < values.length; i++) {
      const value = values[i];
      if (i !== bodyAt && typeof value === 'string') values[i] = boundedText(value, TEXT_CHARS_MAX);
      else requireCrossable(value);
    }
    // No spread: it would run the tenant's iterator.
    apply(emit, undefined, values);
  };
}

/** A synchronous question with a text. @returns a function that answers '' for any other value */
export const guardedTextQuestion =
  (ask: (text: string) => string) =>
  (text: unknown): string =>
    typeof text === 'string' ? ask(boundedText(text, TEXT_CHARS_MAX)) : '';

/** A synchronous question with a number. @returns a function that answers '' for any other value */
export const guardedNumberQuestion =
  (ask: (count: number) => string) =>
  (count: unknown): string =>
    typeof count === 'number' ? ask(count) : '';

function bodyIndex(kind: unknown): number {
  if (kind === 'respond') return RESPOND_BODY_AT;
  if (kind === 'store') return STORED_VALUE_AT;
  return kind === 'fetch' ? FETCH_BODY_AT : -1;
}

const boundedText = (text: string, charsMax: number): string =>
  text.length > charsMax ? slice(text, 0, charsMax) : text;

function requireCrossable(value: unknown): void {
  switch (typeof value) {
    case 'string':
    case 'number':
    case 'boolean':
    case 'undefined':
      return;
    default:
      // Throws unless the value is a buffer: reads the internal slot, not the prototype.
      arrayBufferByteLength(value);
  }
}
