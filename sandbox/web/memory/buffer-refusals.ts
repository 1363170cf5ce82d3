/**
 * Wraps every built-in that allocates a buffer, so that a refusal is noted (`memory-refusals.ts`):
 * the constructors of typed arrays, and methods that copy, grow or decode into a new buffer.
 * Otherwise they behave as the engine's.
 */

import {
  construct,
  defineProperty,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  ownKeys,
  setPrototypeOf,
} from '../primordials.ts';
import { calling, named, noteRefusal, wrapMethod } from './memory-refusals.ts';

const KINDS = [
  'BigInt64Array',
  'BigUint64Array',
  'Float16Array',
  'Float32Array',
  'Float64Array',
  'Int16Array',
  'Int32Array',
  'Int8Array',
  'Uint16Array',
  'Uint32Array',
  'Uint8Array',
  'Uint8ClampedArray',
] as const;

/** Wraps the built-ins of one global object. */
export function tellRefusals(target: object): void {
  const shared = getPrototypeOf(Uint8Array.prototype) as object;
  for (const key of ['slice', 'toReversed', 'toSorted', 'with', 'map', 'filter'])
    wrapMethod(shared, key, calling);
  for (const key of ['slice', 'transfer', 'transferToFixedLength'])
    wrapMethod(ArrayBuffer.prototype, key, calling);
  for (const key of ['fromBase64', 'fromHex']) wrapMethod(Uint8Array, key, calling);
  for (let i = 0; i < KINDS.length; i++) {
    const kind = KINDS[i] as (typeof KINDS)[number];
    const Intrinsic = (target as Record<string, unknown>)[kind];
    if (typeof Intrinsic === 'function') replace(target, kind, Intrinsic as Uint8ArrayConstructor);
  }
}

function replace(target: object, kind: string, Intrinsic: Uint8ArrayConstructor): void {
  // A function, not a class that extends the engine's: its objects are the same, and as fast to
  // make.
  const Made = function (first: number, offset?: number, length?: number): Uint8Array {
    if (new.target === undefined) throw new TypeError(`Constructor ${kind} requires 'new'`);
    try {
      if ((new.target as unknown) === Made) return new Intrinsic(first as never, offset, length);
      return construct(Intrinsic, [first, offset, length], new.target) as Uint8Array;
    } catch (thrown) {
      noteRefusal(thrown);
      throw thrown;
    }
  };
  named(Made, Intrinsic);
  setPrototypeOf(Made, getPrototypeOf(Intrinsic));
  for (const key of ownKeys(Intrinsic)) {
    const descriptor = getOwnPropertyDescriptor(Intrinsic, key);
    if (descriptor !== undefined && key !== 'name' && key !== 'length') defineProperty(Made, key, descriptor);
  }
  defineProperty(Intrinsic.prototype, 'constructor', { value: Made, writable: true, configurable: true });
  defineProperty(target, kind, { value: Made, writable: true, configurable: true });
}
