/**
 * Bytes taken from a BufferSource (Web IDL): the only way in which buffers of a tenant become ours.
 *
 * Everything is read from internal slots, so that neither a subclass nor an own `buffer` or `byteLength` property
 * decides which memory is read; the answer of `copyBytes` shares no memory with the tenant.
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

/** The memory of a BufferSource as a view, or undefined where `value` is none. Detached buffers are empty. */
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

/** A copy over a buffer of its exact size; a constructor call, because `slice` asks the tenant's species. */
export const copyBytes = (bytes: Uint8Array): Bytes => new Uint8ArrayIntrinsic(bytes);

/** The part from `start` to `end`, sharing memory. */
export const subBytes = (bytes: Bytes, start: number, end: number): Bytes =>
  new Uint8ArrayIntrinsic(typedArrayBuffer(bytes), typedArrayByteOffset(bytes) + start, end - start);

/** All pieces one after the other. */
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
