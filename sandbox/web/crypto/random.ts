/**
 * Random bytes of the operating system, through the cell: a bare engine has no cryptographic
 * generator.
 */
import { charCodeAt, Uint8ArrayIntrinsic } from '../primordials.ts';

let askCell: ((count: number) => string) | undefined;

/** Sets the cell's generator: bytes as characters up to U+00FF; an empty string if it refuses. */
export function setRandomBytes(randomBytes: (count: number) => string): void {
  askCell = randomBytes;
}

/** @param count at most 65,536. @returns undefined if the entry has used up its questions */
export function randomBytes(count: number): Uint8Array<ArrayBuffer> | undefined {
  const text = askCell?.(count) ?? '';
  if (text.length !== count) return undefined;
  const bytes = new Uint8ArrayIntrinsic(count);
  for (let i = 0; i < count; i++) bytes[i] = charCodeAt(text, i);
  return bytes;
}
