/**
 * One message between the host and the process of an upload: a name, a JSON value, and binary parts
 * (`blobs`).
 *
 * It is sent as one frame. The head has the name and the sizes of the body's pieces; the first
 * piece is the JSON, the others are files, scripts and images as raw bytes. Messages from the
 * process are opened with limits. Attack: an upload takes over native code of the process and sends
 * arbitrary bytes.
 */
import { hasFewValues } from './json-values.ts';

export interface Parcel {
  readonly name: string;
  readonly value: unknown;
  readonly blobs: readonly Buffer[];
}

/** Returns the contents of a frame: its head, then the pieces of its body. */
export function packParcel(
  name: string,
  value: unknown,
  blobs: readonly Uint8Array[] = [],
): [head: object, ...body: Uint8Array[]] {
  const json = Buffer.from(JSON.stringify(value));
  const body = [json, ...blobs];
  return [{ name, sizes: body.map(({ byteLength }) => byteLength) }, ...body];
}

/**
 * Reads a parcel from a frame.
 *
 * @param jsonBytesMax most bytes that are parsed as JSON
 * @returns undefined where the frame is not a parcel within the limits
 */
export function openParcel(head: unknown, body: Buffer, jsonBytesMax: number): Parcel | undefined {
  if (typeof head !== 'object' || head === null || !('name' in head) || !('sizes' in head)) return undefined;
  const { name, sizes } = head;
  if (typeof name !== 'string' || !Array.isArray(sizes) || sizes.length === 0) return undefined;
  const pieces: Buffer[] = [];
  let at = 0;
  for (const size of sizes) {
    if (!Number.isSafeInteger(size) || size < 0 || size > body.byteLength - at) return undefined;
    pieces.push(body.subarray(at, at + size));
    at += size;
  }
  const [json, ...blobs] = pieces;
  if (at !== body.byteLength || json === undefined || json.byteLength > jsonBytesMax) return undefined;
  if (!hasFewValues(json)) return undefined;
  try {
    return { name, value: JSON.parse(json.toString('utf8')), blobs };
  } catch {
    return undefined;
  }
}
