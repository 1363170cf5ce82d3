/**
 * Blob and File (https://w3c.github.io/FileAPI/).
 *
 * A blob holds one sequence of bytes that never changes. A slice, and a blob made of one other,
 * share its memory. Blobs are in the isolate's heap, whose limit counts them.
 */

import { type Bytes, copyBytes, joinBytes, subBytes, viewBytes } from '../encoding/bytes.ts';
import { utf8Decode, utf8Encode } from '../encoding/utf8.ts';
import { List, push } from '../list.ts';
import {
  charCodeAt,
  indexOf,
  now,
  regExpExec,
  slice,
  toLowerCase,
  typedArrayBuffer,
  typedArrayByteLength,
} from '../primordials.ts';
import { streamOver } from '../streams/byte-source.ts';
import { decodedStream } from '../streams/decoded-stream.ts';
import {
  defineInterface,
  isObject,
  requireArguments,
  toDictionary,
  toDOMString,
  toUSVString,
} from '../web-idl.ts';
import { WholeSource } from './whole-source.ts';

const NOT_PRINTABLE = /[^\x20-\x7e]/;
const ENDING = /^(?:native|transparent)$/;

/** Marks a constructor call of the prelude, with bytes that no other code holds. */
class Owned {
  readonly #bytes: Bytes;

  constructor(bytes: Bytes) {
    this.#bytes = bytes;
  }

  /**
   * Undefined for any other value. Checks a brand, because `instanceof` would run the traps of a
   * proxy.
   */
  static bytesOf(value: unknown): Bytes | undefined {
    return isObject(value) && #bytes in value ? value.#bytes : undefined;
  }
}

/** The blob's memory; read-only. */
export let blobBytes: (blob: Blob) => Bytes;
export let blobType: (blob: Blob) => string;
/** A genuine Blob, whatever its prototype says. */
export let isBlob: (value: unknown) => value is Blob;
export let isFile: (value: unknown) => value is File;
export let fileName: (file: File) => string;
export let fileLastModified: (file: File) => number;

export class Blob {
  readonly #bytes: Bytes;
  readonly #type: string;

  static {
    blobBytes = (blob) => blob.#bytes;
    blobType = (blob) => blob.#type;
    isBlob = (value): value is Blob => isObject(value) && #bytes in value;
  }

  constructor(parts: unknown = undefined, options: unknown = undefined) {
    const owned = Owned.bytesOf(parts);
    if (owned !== undefined) {
      this.#bytes = owned;
      this.#type = options as string;
      return;
    }
    const sequence = parts === undefined ? new List<unknown>() : toSequence(parts, 'Blob');
    const { native, type } = toBlobOptions(toDictionary(options, 'Blob: parameter 2'));
    this.#type = normalizeType(type);
    this.#bytes = concatenate(sequence, native);
  }

  get size(): number {
    return typedArrayByteLength(this.#bytes);
  }

  get type(): string {
    return this.#type;
  }

  slice(start: unknown = undefined, end: unknown = undefined, contentType: unknown = ''): Blob {
    const bytes = this.#bytes;
    const size = typedArrayByteLength(bytes);
    const from = position(start, 0, size);
    const to = position(end, size, size);
    return blobOver(subBytes(bytes, from, Math.max(from, to)), normalizeType(toDOMString(contentType)));
  }

  stream(): ReadableStream {
    return this.#stream();
  }

  textStream(): ReadableStream {
    return decodedStream(this.#stream());
  }

  async text(): Promise<string> {
    return utf8Decode(this.#bytes);
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return typedArrayBuffer(copyBytes(this.#bytes));
  }

  async bytes(): Promise<Bytes> {
    return copyBytes(this.#bytes);
  }

  #stream(): ReadableStream {
    const bytes = this.#bytes;
    return streamOver(new WholeSource(() => bytes));
  }
}
defineInterface(Blob, 'Blob');

export class File extends Blob {
  readonly #name: string;
  readonly #lastModified: number;

  static {
    isFile = (value): value is File => isObject(value) && #name in value;
    fileName = (file) => file.#name;
    fileLastModified = (file) => file.#lastModified;
  }

  constructor(parts: unknown, name: unknown, options: unknown = undefined) {
    if (Owned.bytesOf(parts) !== undefined) {
      const { type, lastModified } = options as { type: string; lastModified: number };
      super(parts, type);
      this.#name = name as string;
      this.#lastModified = lastModified;
      return;
    }
    requireArguments(arguments.length, 2, 'File');
    const sequence = toSequence(parts, 'File');
    const text = toUSVString(name);
    const members = toDictionary(options, 'File: parameter 3');
    const { native, type } = toBlobOptions(members);
    const { lastModified } = members;
    const modified = lastModified === undefined ? now() : toLongLong(lastModified);
    super(new Owned(concatenate(sequence, native)), normalizeType(type));
    this.#name = text;
    this.#lastModified = modified;
  }

  get name(): string {
    return this.#name;
  }

  get lastModified(): number {
    return this.#lastModified;
  }
}
defineInterface(File, 'File');

/**
 * A blob over bytes that never change. The type is kept as given: that of a body is a serialised
 * MIME type with case-sensitive parameters, such as the boundary of a form.
 */
export const blobOver = (bytes: Bytes, type: string): Blob => new Blob(new Owned(bytes), type);

/** A file over bytes that never change; the type is kept as given. */
export const fileOver = (bytes: Bytes, name: string, type: string, lastModified: number = now()): File =>
  new File(new Owned(bytes), name, { type, lastModified });

/** `sequence<BlobPart>`. Their content is read after all of them are converted. */
function toSequence(parts: unknown, what: string): List<unknown> {
  if (!isObject(parts)) throw new TypeError(`${what}: parameter 1 is not a sequence`);
  const sequence = new List<unknown>();
  for (const part of parts as Iterable<unknown>) {
    push(sequence, isBlob(part) || viewBytes(part) !== undefined ? part : toUSVString(part));
  }
  return sequence;
}

/** The members of BlobPropertyBag, in the order of their names. */
function toBlobOptions(members: Record<string, unknown>): { native: boolean; type: string } {
  const { endings } = members;
  const ending = endings === undefined ? 'transparent' : toDOMString(endings);
  if (regExpExec(ENDING, ending) === null) {
    throw new TypeError(`"${ending.slice(0, 64)}" is not a valid value of "endings"`);
  }
  const { type } = members;
  return { native: ending === 'native', type: type === undefined ? '' : toDOMString(type) };
}

/**
 * Every line break as a line feed, piece by piece: a `replace` of a long text cannot be
 * interrupted.
 */
function toLineFeeds(text: string): string {
  let out = '';
  let start = 0;
  for (let at = indexOf(text, '\r'); at >= 0; at = indexOf(text, '\r', start)) {
    out += `${slice(text, start, at)}\n`;
    start = at + (charCodeAt(text, at + 1) === 0x0a ? 2 : 1);
  }
  return out + slice(text, start);
}

/** "Process blob parts". A single blob is not copied. */
function concatenate(sequence: List<unknown>, nativeEndings: boolean): Bytes {
  const pieces = new List<Bytes>();
  let ours = true;
  for (let i = 0; i < sequence.length; i++) {
    const part = sequence[i];
    if (typeof part === 'string') {
      push(pieces, utf8Encode(nativeEndings ? toLineFeeds(part) : part));
    } else if (isBlob(part)) {
      push(pieces, blobBytes(part));
    } else {
      push(pieces, viewBytes(part) as Bytes);
      ours = false;
    }
  }
  return ours && pieces.length === 1 ? (pieces[0] as Bytes) : joinBytes(pieces);
}

/**
 * An argument of `slice`: `[Clamp] long long`, which rounds halves to even; a negative one counts
 * from the end.
 */
function position(value: unknown, fallback: number, size: number): number {
  if (value === undefined) return fallback;
  const number = Math.min(Math.max(toNumber(value) || 0, -size), size);
  const below = Math.floor(number);
  const rest = number - below;
  const whole = rest > 0.5 || (rest === 0.5 && below % 2 !== 0) ? below + 1 : below;
  return whole < 0 ? size + whole : whole;
}

/** Web IDL `long long`: modulo 2^64. */
function toLongLong(value: unknown): number {
  const number = Math.trunc(toNumber(value));
  if (Number.isSafeInteger(number)) return number + 0;
  return Number.isFinite(number) ? Number(BigInt.asIntN(64, BigInt(number))) : 0;
}

/** ToNumber; unlike `Number`, it takes no BigInt. */
const toNumber = (value: unknown): number => +(value as number);

const normalizeType = (type: string): string =>
  regExpExec(NOT_PRINTABLE, type) === null ? toLowerCase(type) : '';
