/**
 * What functions of Node.js take for bytes.
 */
import { Buffer, type Bytes } from './buffer.ts';
import { isArrayBuffer } from './buffer-methods.ts';

/** The bytes of a buffer or a view of one, not copied; undefined for other values. */
export function bytesOf(value: unknown): Bytes | undefined {
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return isArrayBuffer(value) ? Buffer.from(value) : undefined;
}
