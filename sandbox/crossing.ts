/**
 * The gate of the isolate: all that leaves goes through here, and only strings, numbers, booleans and bytes leave.
 *
 * Attack: a value of the tenant's in the place of one of ours (by a `then` on `Object.prototype`, a getter, a replaced
 * built-in). isolated-vm copies an object on its way out: two megabytes of it can come to gigabytes on the cell's main
 * thread. The cell checks again what arrives, but an object has been copied by then. So every value is looked at here,
 * and every text has a bound before it is copied. It knows no calls and no limits of a call.
 */
import type { Emit } from '../src/protocol/bridge.ts';
import { apply, arrayBufferByteLength, slice } from './web/primordials.ts';

/** Longest text that crosses, beside bodies. The cell refuses one of this length: a cut text never passes for a whole one. */
const TEXT_CHARS_MAX = 64 * 1024 + 1;
/** Where a body stands in an emission that has one. Its sender has measured it. */
const RESPOND_BODY_AT = 4;
const FETCH_BODY_AT = 7;

/** @returns an `emit` that throws a TypeError for what may not cross */
export function guardedEmit(emit: Emit): Emit {
  return (...emission) => {
    const values: unknown[] = emission;
    const bodyAt = bodyIndex(values[0]);
    for (let i = 0; i < values.length; i++) {
      const value = values[i];
      if (i !== bodyAt && typeof value === 'string') values[i] = boundedText(value, TEXT_CHARS_MAX);
      else requireCrossable(value);
    }
    // Not by a spread, which would ask the tenant's iterator.
    apply(emit, undefined, values);
  };
}

/** A synchronous question of one text. @returns a function that answers nothing for any other value */
export const guardedTextQuestion =
  (ask: (text: string) => string) =>
  (text: unknown): string =>
    typeof text === 'string' ? ask(boundedText(text, TEXT_CHARS_MAX)) : '';

/** A synchronous question of one number. @returns a function that answers nothing for any other value */
export const guardedNumberQuestion =
  (ask: (count: number) => string) =>
  (count: unknown): string =>
    typeof count === 'number' ? ask(count) : '';

function bodyIndex(kind: unknown): number {
  if (kind === 'respond') return RESPOND_BODY_AT;
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
      // Throws for all that is no buffer: the slot is asked, and no prototype.
      arrayBufferByteLength(value);
  }
}
