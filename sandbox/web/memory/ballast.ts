/**
 * Makes an isolate's own account count memory that the engine takes beside it.
 *
 * The engine counts its heap, and the buffers that its allocator hands out; what a library inside it allocates, it does
 * not. So each object that holds such memory carries a buffer of about the same size, which nothing reads or writes: its
 * pages are never touched, it counts, it is freed with the object, and where it does not fit, it is refused before the
 * real memory is taken. Attack: an installation that holds a gigabyte which no limit sees.
 */

import { arrayBufferByteLength } from '../primordials.ts';
import { noteRefusal } from './memory-refusals.ts';

/** Ours replaces the global one, and is the tenant's to replace. */
const ArrayBufferIntrinsic = ArrayBuffer;
const ArrayIntrinsic = Array;
const BYTES_PER_SLOT = 8;

/** A class whose instances are whatever it is given: its subclasses add private state to objects of others. */
class Given {
  constructor(object: object) {
    // biome-ignore lint/correctness/noConstructorReturn: this is what makes `super` answer the object itself
    return object;
  }
}

/** One of the things that an object carries. */
interface Load {
  readonly held: object;
  readonly next: Load | undefined;
  /** Of all of them, bytes. */
  readonly bytes: number;
}

/** Holds what an object carries. Out of reach of any script, it goes with the object and not before. */
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
 * @throws RangeError where the isolate has no room for them
 */
export function ballast(bytes: number): ArrayBuffer {
  try {
    return new ArrayBufferIntrinsic(bytes);
  } catch (thrown) {
    noteRefusal(thrown);
    throw thrown;
  }
}

/** Counts so many bytes for as long as an object lives, beside those that it carries already. */
export function carry<T>(object: T, buffer: ArrayBuffer): T {
  if (typeof object === 'object' && object !== null)
    Carrier.add(object, buffer, arrayBufferByteLength(buffer));
  return object;
}

/** The same for an object of so few bytes that a buffer of its own would cost more: they are taken of the heap. */
export function carryInHeap(object: object, bytes: number): void {
  Carrier.add(object, new ArrayIntrinsic(bytes / BYTES_PER_SLOT), bytes);
}

/** What an object carries, bytes. */
export const carriedBy = (object: unknown): number => Carrier.bytesOf(object);
