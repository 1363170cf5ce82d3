/**
 * One message between the host and the process of an upload: a name, a JSON value, and bytes beside it.
 *
 * Travels as a frame. The head names the message and how the body is cut; the first piece of the body is the JSON, the
 * others are files, scripts and images as they are. What the process sends is opened with bounds, because native code that
 * an upload has taken over may send anything.
 */
import { hasFewValues } from './json-values.ts';

export interface Parcel {
  readonly name: string;
  readonly value: unknown;
  readonly blobs: readonly Buffer[];
}

/** What goes into a frame: its head, then the parts of its body. */
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
 * @param jsonBytesMax most that is parsed as JSON
 * @returns undefined where the frame is no parcel within the bounds
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
