/**
 * Makes the memory accounting of an isolate count memory that the engine allocates outside of it.
 *
 * Attack: holding a gigabyte that no limit counts. The engine counts its heap and the buffers of
 * its allocator, but not what libraries inside it allocate. So each object that holds such memory
 * carries a buffer of about the same size, which nothing reads or writes: its pages are never
 * touched, it counts, it is freed with the object, and if it does not fit, it is refused before the
 * real memory is allocated.
 */

import { arrayBufferByteLength } from '../primordials.ts';
import { noteRefusal } from './memory-refusals.ts';

/** Captured: the global one is replaced by the prelude, and possibly by the tenant. */
const ArrayBufferIntrinsic = ArrayBuffer;
const ArrayIntrinsic = Array;
const BYTES_PER_SLOT = 8;

/** A class that returns its argument, so that subclasses add private state to existing objects. */
class Given {
  constructor(object: object) {
    // biome-ignore lint/correctness/noConstructorReturn: `super` returns the object itself
    return object;
  }
}

/** One buffer that an object carries. */
interface Load {
  readonly held: object;
  readonly next: Load | undefined;
  /** Bytes of all of them. */
  readonly bytes: number;
}

/** Holds the buffers of an object, out of reach of scripts, until the object is collected. */
class Carrier extends Given {
  #load: Load;

  private constructor(object: object, load: Load) {
    super(object);
    this.#load = load;
  }

  static add(object: object, held: object, bytes: number): void {
    const next = #load in object ? (object as Carrier).#load : undefined;
    const load = { held, next, bytes: bytes + (next?.bytes ?? 0) };
    if (#load in object) (object as Carrier).#load = load;
    else new Carrier(object, load);
  }

  static bytesOf(object: unknown): number {
    if (typeof object !== 'object' || object === null || !(#load in object)) return 0;
    return (object as Carrier).#load.bytes;
  }
}

/**
 * Counts so many bytes until the buffer is collected.
 *
 * @throws RangeError if they do not fit the isolate
 */
export function ballast(bytes: number): ArrayBuffer {
  try {
    return new ArrayBufferIntrinsic(bytes);
  } catch (thrown) {
    noteRefusal(thrown);
    throw thrown;
  }
}

/** Counts bytes for the life of an object, in addition to those that it carries already. */
export function carry<T>(object: T, buffer: ArrayBuffer): T {
  if (typeof object === 'object' && object !== null)
    Carrier.add(object, buffer, arrayBufferByteLength(buffer));
  return object;
}

/** `carry` for few bytes, for which a buffer would cost more: they are allocated in the heap. */
export function carryInHeap(object: object, bytes: number): void {
  Carrier.add(object, new ArrayIntrinsic(bytes / BYTES_PER_SLOT), bytes);
}

/** Bytes that an object carries. */
export const carriedBy = (object: unknown): number => Carrier.bytesOf(object);
