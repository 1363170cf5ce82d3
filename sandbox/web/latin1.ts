/**
 * Bytes as the text whose characters have the same numbers: the last step of `atob`, and the first of UTF-8 that is ASCII.
 *
 * A bare engine has no function for it but `String.fromCharCode`, which takes each byte as an argument. It takes the bytes
 * themselves as its list of arguments, but reading them from an array of numbers is more than twice as quick. Filling
 * that array pays where V8 has compiled the loop that fills it; interpreted, that loop takes seven times as long as all else.
 * The cell's main thread could do it faster still, in a buffer's `latin1Slice`, but its answer would lie beside the heap,
 * where V8 looks for dead texts only when 64 MiB of them have come together.
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

/** The most bytes that become text at once: below the engine's limit of arguments, and where it is quickest. */
export const LATIN1_BYTES_MAX = 4_096;
/** After so many bytes, compiling the loop has cost less than it gains. */
const WARM_BYTES = 512 * 1_024;

/** How many bytes this isolate has turned into text without the array. */
let coldBytes = 0;
/** Made once it is needed. Each index has a value of its own, so no setter of a script's `Array.prototype` is asked. */
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

/** Four bytes at a time, the lowest first as all processors have them that Node is built for here. */
function fill(codes: number[], words: Uint32Array): void {
  for (let to = 0, from = 0; to < LATIN1_BYTES_MAX; to += 4, from++) {
    const word = words[from] as number;
    codes[to] = word & 0xff;
    codes[to + 1] = (word >>> 8) & 0xff;
    codes[to + 2] = (word >>> 16) & 0xff;
    codes[to + 3] = word >>> 24;
  }
}
