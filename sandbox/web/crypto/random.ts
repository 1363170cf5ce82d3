/**
 * Random bytes of the cell's generator, which is the operating system's: a bare engine has none that is fit for secrets.
 */
import { charCodeAt, Uint8ArrayIntrinsic } from '../primordials.ts';

let askCell: ((count: number) => string) | undefined;

/** Hands in the cell's generator: so many bytes, each a character up to U+00FF; an empty string where it refuses. */
export function setRandomBytes(randomBytes: (count: number) => string): void {
  askCell = randomBytes;
}

/** @param count at most 65,536. @returns undefined where the call has asked for too many already */
export function randomBytes(count: number): Uint8Array<ArrayBuffer> | undefined {
  const text = askCell?.(count) ?? '';
  if (text.length !== count) return undefined;
  const bytes = new Uint8ArrayIntrinsic(count);
  for (let i = 0; i < count; i++) bytes[i] = charCodeAt(text, i);
  return bytes;
}
