/**
 * Removes built-ins that use memory or time that no limit counts, before any tenant code runs.
 *
 * - `new ArrayBuffer(1, { maxByteLength: 1 << 30 }).resize(…)` grows outside the accounting (0.6–2
 *   GB measured), so no resizable buffer can come into being: every way to the engine's own
 *   constructor leads to ours, which drops the option, as an engine older than resizable buffers
 *   does.
 * - `SharedArrayBuffer` grows in the same way, and `Atomics.wait` on one blocks a thread.
 * - A `FinalizationRegistry` runs its callbacks during any garbage collection: outside of every
 *   entry, charged to no call, and on the cell's main thread if that reads heap statistics. `for
 *   (;;)` in one stopped the cell.
 * - The built-ins of `Intl` hold memory outside of the heap; `native-memory.ts` counts it.
 * - The parser allocates memory outside of the heap while it compiles a text; `compiled-text.ts`
 *   counts it.
 * - The engine's `WebAssembly` is not counted at all; `webassembly/` puts one that is in its place.
 */

import { apply, construct, defineProperty, getOwnPropertyDescriptor } from '../primordials.ts';
import { tellRefusals } from './buffer-refusals.ts';
import { countCompiledText } from './compiled-text.ts';
import { noteRefusal } from './memory-refusals.ts';
import { countNativeMemory } from './native-memory.ts';

/**
 * In a cell this is V8's collector (`--expose-gc-as`). Attack: occupying a thread with collections.
 */
const { Atomics: gc } = globalThis as { Atomics?: unknown };

/** Collects garbage. Called while no tenant code runs. */
export function collectGarbage(): void {
  if (typeof gc === 'function')
    apply(gc, undefined, [{ __proto__: null, type: 'major', execution: 'sync', flavor: 'last-resort' }]);
}

/** Removes or replaces the built-ins of one global object. */
export function closeMemoryEscapes(target: object): void {
  for (const name of ['SharedArrayBuffer', 'Atomics', 'WebAssembly', 'FinalizationRegistry'])
    Reflect.deleteProperty(target, name);
  Reflect.deleteProperty(ArrayBuffer.prototype, 'resize');
  defineProperty(target, 'ArrayBuffer', {
    value: fixedArrayBuffer(),
    writable: true,
    configurable: true,
  });
  tellRefusals(target);
  countNativeMemory(target as typeof globalThis);
  countCompiledText(target as typeof globalThis);
}

/** A constructor of fixed-length buffers in the shape of the engine's. */
function fixedArrayBuffer(): Function {
  const Intrinsic = ArrayBuffer;
  // A function, not a class that extends the engine's: its prototype would lead to the engine's.
  const Fixed = function (length: unknown): ArrayBuffer {
    if (new.target === undefined) throw new TypeError("Constructor ArrayBuffer requires 'new'");
    // Only the length is passed on, whatever `new.target` is: `Reflect.construct` and subclasses
    // gain nothing.
    try {
      return construct(Intrinsic, [length], new.target) as ArrayBuffer;
    } catch (thrown) {
      noteRefusal(thrown);
      throw thrown;
    }
  };
  for (const key of ['isView', Symbol.species] as const) {
    const descriptor = getOwnPropertyDescriptor(Intrinsic, key);
    if (descriptor !== undefined) defineProperty(Fixed, key, descriptor);
  }
  defineProperty(Fixed, 'name', { value: 'ArrayBuffer', configurable: true });
  defineProperty(Fixed, 'prototype', { value: Intrinsic.prototype, writable: false });
  // `buffer.constructor` of any buffer, and the species of `slice`, are read from here.
  defineProperty(Intrinsic.prototype, 'constructor', {
    value: Fixed,
    writable: true,
    configurable: true,
  });
  return Fixed;
}
