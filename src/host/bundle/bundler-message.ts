/**
 * One message between the host and the process of an upload: a name, a JSON value, and binary parts
 * (`blobs`).
 *
 * It is sent as one frame. The head has the name and the sizes of the body's pieces; the first
 * piece is the JSON, the others are files, scripts and images as raw bytes. Messages from the
 * process are opened with limits. Attack: an upload takes over native code of the process and sends
 * arbitrary bytes.
 */

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

/**
 * Most values in one message: a manifest of 10,000, its positions, 500 problems, secrets and image
 * names.
 */
const VALUES_MAX = 60_000;
/** A text this short cannot have more values, so it is not counted. */
const UNCOUNTED_BYTES = VALUES_MAX;

const [QUOTE, BACKSLASH, COMMA, BRACKET, BRACE] = [0x22, 0x5c, 0x2c, 0x5b, 0x7b];

/**
 * Counts the values of a JSON text before it is parsed.
 *
 * Attack: an upload takes over its process and sends four megabytes of brackets. That is within the
 * limit on bytes, but parsing it blocks the host's event loop for most of a second, in one native
 * call. The cost is the number of values; an honest message of that size is mostly text. So the
 * values are counted first, in time linear in the bytes.
 *
 * @param json may be invalid JSON; the parser rejects it later
 * @returns whether it has at most `VALUES_MAX` values
 */
function hasFewValues(json: Buffer): boolean {
  if (json.byteLength <= UNCOUNTED_BYTES) return true;
  let values = 1;
  for (let at = 0; at < json.byteLength; at += 1) {
    const byte = json[at];
    if (byte === QUOTE) {
      at = endOfText(json, at);
      continue;
    }
    if (byte !== COMMA && byte !== BRACKET && byte !== BRACE) continue;
    values += 1;
    if (values > VALUES_MAX) return false;
  }
  return true;
}

/**
 * Index of the closing quote of the string that starts at `start`; the length of the bytes where
 * there is none.
 */
function endOfText(json: Buffer, start: number): number {
  for (let at = start + 1; ; at += 1) {
    at = json.indexOf(QUOTE, at);
    if (at < 0) return json.byteLength;
    let backslashes = 0;
    while (json[at - 1 - backslashes] === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
}
