/**
 * Bytes as text of characters with the same codes: for `atob`, and for UTF-8 that is ASCII.
 *
 * A bare engine has only `String.fromCharCode` for it, with each byte as an argument. Passing an
 * array of numbers is more than twice as fast as passing the bytes, once V8 has compiled the loop
 * that fills it; interpreted, that loop takes seven times as long as the rest. `latin1Slice` on the
 * cell's main thread would be faster, but its texts are outside of the heap, and V8 collects them
 * only beyond 64 MiB.
 */
import {
  apply,
  COMPILES,
  fromCharCode,
  objectValues,
  typedArrayBuffer,
  typedArrayByteOffset,
  Uint8ArrayIntrinsic,
  Uint32ArrayIntrinsic,
} from './primordials.ts';

/** Bytes converted at once: below the engine's limit of arguments, and fastest by measurement. */
export const LATIN1_BYTES_MAX = 4_096;
/** Beyond this many bytes, compiling the loop costs less than it gains. */
const WARM_BYTES = 512 * 1_024;

/** Bytes that this isolate has converted without the array. */
let coldBytes = 0;
/** Made at first use. Each index has an own value, so no setter of `Array.prototype` runs. */
let codes: number[] | undefined;

/** @param count at most `LATIN1_BYTES_MAX` */
export function latin1(bytes: Uint8Array, start: number, count: number): string {
  const buffer = typedArrayBuffer(bytes);
  const offset = typedArrayByteOffset(bytes) + start;
  if (COMPILES && count === LATIN1_BYTES_MAX && offset % 4 === 0) {
    if (coldBytes >= WARM_BYTES) {
      codes ??= objectValues(new Uint8ArrayIntrinsic(LATIN1_BYTES_MAX)) as number[];
      fill(codes, new Uint32ArrayIntrinsic(buffer, offset, LATIN1_BYTES_MAX / 4));
      return apply(fromCharCode, undefined, codes);
    }
    coldBytes += count;
  }
  return apply(fromCharCode, undefined, new Uint8ArrayIntrinsic(buffer, offset, count) as never);
}

/** Four bytes at a time, little-endian as all supported processors. */
function fill(codes: number[], words: Uint32Array): void {
  for (let to = 0, from = 0; to < LATIN1_BYTES_MAX; to += 4, from++) {
    const word = words[from] as number;
    codes[to] = word & 0xff;
    codes[to + 1] = (word >>> 8) & 0xff;
    codes[to + 2] = (word >>> 16) & 0xff;
    codes[to + 3] = word >>> 24;
  }
}
