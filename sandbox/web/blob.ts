/**
 * Blob and File (https://w3c.github.io/FileAPI/).
 *
 * A blob holds one run of bytes that never changes; a slice is a view of the same memory. There are no streams here
 * yet, hence no `stream()`; no blob lives outside the isolate's heap, whose limit counts it.
 */
import { type Bytes, copyBytes, joinBytes, subBytes, viewBytes } from './bytes.ts';
import { List, push } from './list.ts';
import { now, regExpExec, toLowerCase, typedArrayBuffer, typedArrayByteLength } from './primordials.ts';
import { utf8Decode, utf8Encode } from './utf8.ts';
import {
  defineInterface,
  isObject,
  requireArguments,
  toDictionary,
  toDOMString,
  toUSVString,
} from './web-idl.ts';

const NOT_PRINTABLE = /[^\x20-\x7e]/;

/** Marks a call of a constructor from inside, with bytes that nobody else holds. */
class Owned {
  readonly bytes: Bytes;
  constructor(bytes: Bytes) {
    this.bytes = bytes;
  }
}

/** The blob's memory, to be read only. */
export let blobBytes: (blob: Blob) => Bytes;
/** A genuine Blob, whatever its prototype says. */
export let isBlob: (value: unknown) => value is Blob;

export class Blob {
  readonly #bytes: Bytes;
  readonly #type: string;

  static {
    blobBytes = (blob) => blob.#bytes;
    isBlob = (value): value is Blob => isObject(value) && #bytes in value;
  }

  constructor(parts: unknown = undefined, options: unknown = undefined) {
    if (parts instanceof Owned) {
      this.#bytes = parts.bytes;
      this.#type = normalizeType(options as string);
      return;
    }
    const sequence = parts === undefined ? [] : toSequence(parts);
    const members = toDictionary(options, 'Blob: parameter 2');
    const { endings = 'transparent', type = '' } = members;
    const ending = toDOMString(endings);
    if (ending !== 'transparent' && ending !== 'native') {
      throw new TypeError(`Blob: "${ending}" is not a valid value of "endings"`);
    }
    this.#type = normalizeType(toDOMString(type));
    this.#bytes = joinBytes(toPieces(sequence, ending === 'native'));
  }

  get size(): number {
    return typedArrayByteLength(this.#bytes);
  }

  get type(): string {
    return this.#type;
  }

  slice(start: unknown = undefined, end: unknown = undefined, contentType: unknown = ''): Blob {
    const size = this.size;
    const from = position(start, 0, size);
    const to = position(end, size, size);
    const type = normalizeType(toDOMString(contentType));
    return blobOver(subBytes(this.#bytes, from, Math.max(from, to)), type);
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
}
defineInterface(Blob, 'Blob');

export class File extends Blob {
  readonly #name: string;
  readonly #lastModified: number;

  constructor(parts: unknown, name: unknown, options: unknown = undefined) {
    if (!(parts instanceof Owned)) requireArguments(arguments.length, 2, 'File');
    if (parts === undefined) throw new TypeError('File: parameter 1 is not a sequence');
    super(parts, options);
    this.#name = toUSVString(name);
    const { lastModified } = isObject(options)
      ? (options as { lastModified?: unknown })
      : { lastModified: undefined };
    this.#lastModified = lastModified === undefined ? now() : Math.trunc(Number(lastModified)) || 0;
  }

  get name(): string {
    return this.#name;
  }

  get lastModified(): number {
    return this.#lastModified;
  }
}
defineInterface(File, 'File');

/** A blob over bytes that nobody will change. */
export const blobOver = (bytes: Bytes, type: string): Blob => new Blob(new Owned(bytes), type);

/** A file over bytes that nobody will change. */
export const fileOver = (bytes: Bytes, name: string, type: string): File =>
  new File(new Owned(bytes), name, type);

function toSequence(parts: unknown): unknown[] {
  if (!isObject(parts) || typeof (parts as Partial<Iterable<unknown>>)[Symbol.iterator] !== 'function') {
    throw new TypeError('Blob: parameter 1 is not a sequence');
  }
  const sequence: unknown[] = [];
  for (const part of parts as Iterable<unknown>) {
    const bytesOrBlob = isBlob(part) || viewBytes(part) !== undefined;
    sequence.push(bytesOrBlob ? part : toUSVString(part));
  }
  return sequence;
}

function toPieces(sequence: unknown[], nativeEndings: boolean): List<Bytes> {
  const pieces = new List<Bytes>();
  for (const part of sequence) {
    if (typeof part === 'string')
      push(pieces, utf8Encode(nativeEndings ? part.replace(/\r\n?/g, '\n') : part));
    else push(pieces, isBlob(part) ? blobBytes(part) : (viewBytes(part) as Bytes));
  }
  return pieces;
}

/** An argument of `slice`: `[Clamp] long long`, counted from the end where negative. */
function position(value: unknown, fallback: number, size: number): number {
  if (value === undefined) return fallback;
  const number = Math.trunc(Number(value)) || 0;
  return number < 0 ? Math.max(size + number, 0) : Math.min(number, size);
}

const normalizeType = (type: string): string =>
  regExpExec(NOT_PRINTABLE, type) === null ? toLowerCase(type) : '';
