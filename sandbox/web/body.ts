/**
 * The body of a Request or Response (https://fetch.spec.whatwg.org/#body-mixin), held as what it was made from.
 *
 * A string stays a string until somebody asks for bytes: the host encodes an answer faster than this isolate could. A
 * form becomes multipart bytes only when they are needed. There are no streams yet, hence no `body` property, and
 * every source is known whole.
 */
import { type Blob, blobBytes, blobOver, isBlob } from './blob.ts';
import { type Bytes, copyBytes, viewBytes } from './bytes.ts';
import { type FormData, type FormEntry, formEntries, formOf, isFormData } from './form-data.ts';
import { appendHeader, appendTrusted, getHeader, type HeaderList, hasHeader } from './header-list.ts';
import { extractMimeType, serializeMimeType } from './mime-type.ts';
import { encodeMultipart, makeBoundary, parseMultipart } from './multipart.ts';
import { charCodeAt, jsonParse, slice, typedArrayBuffer } from './primordials.ts';
import { isURLSearchParams } from './url-search-params.ts';
import { parseUrlencoded } from './urlencoded.ts';
import { utf8Decode, utf8Encode } from './utf8.ts';
import { toUSVString } from './web-idl.ts';

/** A form that is not bytes yet. */
export class FormSource {
  readonly boundary = makeBoundary();
  readonly #make: () => FormData;
  /** The form is handed to `formData()` as it is, without a way through multipart. */
  readonly direct: boolean;

  constructor(make: () => FormData, direct: boolean) {
    this.#make = make;
    this.direct = direct;
  }

  form(): FormData {
    return this.#make();
  }

  contentType(): string {
    return `multipart/form-data; boundary=${this.boundary}`;
  }

  encode(): Bytes {
    return encodeMultipart(formEntries(this.#make()), this.boundary);
  }
}

/** Bytes are always a private copy, covering their whole buffer. */
export type BodySource = string | Bytes | Blob | FormSource;

export class Body {
  readonly source: BodySource;
  used = false;
  /** A clone holds the same source, so bytes must be copied before they are given away. */
  shared = false;

  constructor(source: BodySource) {
    this.source = source;
  }
}

/** "Extract a body" of a BodyInit, in the order of the Web IDL union. */
export function extractBody(init: unknown): Body {
  if (typeof init === 'string') return new Body(toUSVString(init));
  if (isBlob(init)) return new Body(init);
  const bytes = viewBytes(init);
  if (bytes !== undefined) return new Body(copyBytes(bytes));
  if (isFormData(init)) {
    const snapshot = formOf(formEntries(init));
    return new Body(new FormSource(() => snapshot, false));
  }
  return new Body(toUSVString(init));
}

/** Adds the content type that a BodyInit brings along, unless the headers name one; `body` was made from `init`. */
export function addContentType(headers: HeaderList, init: unknown, body: Body): void {
  if (hasHeader(headers, 'content-type')) return;
  const { source } = body;
  if (isBlob(source)) {
    if (source.type !== '') appendHeader(headers, 'content-type', source.type);
  } else if (source instanceof FormSource) {
    appendTrusted(headers, 'content-type', source.contentType());
  } else if (typeof source === 'string') {
    const form = typeof init !== 'string' && isURLSearchParams(init);
    appendTrusted(headers, 'content-type', form ? URLENCODED : TEXT);
  }
}
const TEXT = 'text/plain;charset=UTF-8';
const URLENCODED = 'application/x-www-form-urlencoded;charset=UTF-8';

/** A body over the same source; both may be read. */
export function cloneBody(body: Body): Body {
  const clone = new Body(body.source);
  body.shared = clone.shared = true;
  return clone;
}

/** Moves the source into a new body; the old one counts as used. */
export function transferBody(body: Body): Body {
  const moved = new Body(body.source);
  moved.shared = body.shared;
  body.used = true;
  return moved;
}

/** Marks the body as used. @throws TypeError where it was used before. */
export function useBody(body: Body): void {
  if (body.used) throw new TypeError('The body has already been used');
  body.used = true;
}

/** The source as a string, where it was made from one, or as bytes that belong to the caller. */
export function ownedSource(body: Body): string | Bytes {
  const { source } = body;
  if (typeof source === 'string') return source;
  if (isBlob(source)) return copyBytes(blobBytes(source));
  if (source instanceof FormSource) return source.encode();
  return body.shared ? copyBytes(source) : source;
}

export function readBytes(body: Body | undefined): Bytes {
  if (body === undefined) return new Uint8Array();
  useBody(body);
  const source = ownedSource(body);
  return typeof source === 'string' ? utf8Encode(source) : source;
}

export const readArrayBuffer = (body: Body | undefined): ArrayBuffer => typedArrayBuffer(readBytes(body));

export function readText(body: Body | undefined): string {
  if (body === undefined) return '';
  useBody(body);
  const source = isBlob(body.source) ? blobBytes(body.source) : body.source;
  if (source instanceof FormSource) return utf8Decode(source.encode());
  if (typeof source !== 'string') return utf8Decode(source);
  return charCodeAt(source, 0) === 0xfeff ? slice(source, 1) : source;
}

export const readJson = (body: Body | undefined): unknown => jsonParse(readText(body));

export function readBlob(body: Body | undefined, headers: HeaderList): Blob {
  const type = extractMimeType(getHeader(headers, 'content-type'));
  return blobOver(readBytes(body), type === undefined ? '' : serializeMimeType(type));
}

export function readFormData(body: Body | undefined, headers: HeaderList): FormData {
  if (body?.source instanceof FormSource && body.source.direct) {
    useBody(body);
    return body.source.form();
  }
  const type = extractMimeType(getHeader(headers, 'content-type'));
  const bytes = readBytes(body);
  return formOf(parseForm(bytes, type?.essence, type?.parameters.get('boundary')));
}

function parseForm(
  bytes: Bytes,
  essence: string | undefined,
  boundary: string | undefined,
): readonly FormEntry[] {
  if (essence === 'multipart/form-data') {
    if (boundary === undefined) throw new TypeError('The Content-Type multipart/form-data names no boundary');
    return parseMultipart(bytes, boundary);
  }
  if (essence === 'application/x-www-form-urlencoded') return parseUrlencoded(utf8Decode(bytes));
  throw new TypeError(`A body of type ${essence ?? '(none)'} is no form`);
}
