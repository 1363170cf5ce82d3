/**
 * Bytes of a BufferSource (Web IDL): the only way in which the prelude takes buffers of a tenant.
 *
 * Attack: a subclass, or an own property `buffer` or `byteLength`, that decides which memory is
 * read. Everything is read from internal slots. `copyBytes` returns memory that is not shared with
 * the tenant.
 */
import type { List } from '../list.ts';
import {
  arrayBufferByteLength,
  arrayBufferDetached,
  dataViewBuffer,
  dataViewByteLength,
  dataViewByteOffset,
  isView,
  typedArrayBuffer,
  typedArrayByteLength,
  typedArrayByteOffset,
  typedArrayName,
  typedArraySet,
  Uint8ArrayIntrinsic,
} from '../primordials.ts';
import { isObject } from '../web-idl.ts';

export type Bytes = Uint8Array<ArrayBuffer>;

/**
 * A view of the memory of a BufferSource; undefined for any other value. Detached buffers are
 * empty.
 */
export function viewBytes(value: unknown): Bytes | undefined {
  if (!isObject(value)) return undefined;
  if (isView(value)) {
    if (typedArrayName(value) !== undefined) {
      const buffer = typedArrayBuffer(value);
      if (arrayBufferDetached(buffer)) return new Uint8ArrayIntrinsic(0);
      return new Uint8ArrayIntrinsic(buffer, typedArrayByteOffset(value), typedArrayByteLength(value));
    }
    const buffer = dataViewBuffer(value);
    if (arrayBufferDetached(buffer)) return new Uint8ArrayIntrinsic(0);
    return new Uint8ArrayIntrinsic(buffer, dataViewByteOffset(value), dataViewByteLength(value));
  }
  if (!isArrayBuffer(value)) return undefined;
  return arrayBufferDetached(value) ? new Uint8ArrayIntrinsic(0) : new Uint8ArrayIntrinsic(value);
}

/**
 * A copy in a buffer of its exact size. A constructor call, because `slice` calls the tenant's
 * species.
 */
export const copyBytes = (bytes: Uint8Array): Bytes => new Uint8ArrayIntrinsic(bytes);

/** The part from `start` to `end`, sharing memory. */
export const subBytes = (bytes: Bytes, start: number, end: number): Bytes =>
  new Uint8ArrayIntrinsic(typedArrayBuffer(bytes), typedArrayByteOffset(bytes) + start, end - start);

/** Concatenates pieces. */
export function joinBytes(pieces: List<Bytes>): Bytes {
  let length = 0;
  for (let i = 0; i < pieces.length; i++) length += typedArrayByteLength(pieces[i]);
  const all = new Uint8ArrayIntrinsic(length);
  let at = 0;
  for (let i = 0; i < pieces.length; i++) {
    typedArraySet(all, pieces[i] as Bytes, at);
    at += typedArrayByteLength(pieces[i]);
  }
  return all;
}

function isArrayBuffer(value: object): value is ArrayBuffer {
  try {
    arrayBufferByteLength(value);
    return true;
  } catch {
    return false;
  }
}
