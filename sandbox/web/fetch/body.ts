/**
 * The body of a Request or Response (https://fetch.spec.whatwg.org/#concept-body), kept in the form
 * from which it was made.
 *
 * A string stays a string until bytes are read: the host encodes an answer faster than the isolate.
 * A form becomes multipart bytes only when they are needed. A ReadableStream exists only if code
 * reads `body` or gave one: most bodies are read whole, without the streams library.
 */

import { type Bytes, copyBytes, joinBytes, viewBytes } from '../encoding/bytes.ts';
import { List, push } from '../list.ts';
import { isView, PromiseIntrinsic, typedArrayBuffer, uncurryThis } from '../primordials.ts';
import { Box } from '../promise-box.ts';
import {
  type ByteSource,
  collectBytes,
  isByteSource,
  ReaderSource,
  streamOver,
} from '../streams/byte-source.ts';
import {
  acquireReader,
  chunkBytes,
  isDisturbed,
  isLocked,
  isReadableStream,
  newByteStream,
  newReadableStream,
  notBytes,
  type ReadSteps,
  type StreamReader,
  teeStream,
} from '../streams/stream.ts';
import { isURLSearchParams, URLSearchParams } from '../url/url-search-params.ts';
import { toUSVString } from '../web-idl.ts';
import { type Blob, blobBytes, blobType, isBlob } from './blob.ts';
import { type FormData, formEntries, formOf, isFormData } from './form-data.ts';
import { appendHeader, appendTrusted, type HeaderList, hasHeader } from './header-list.ts';
import { encodeMultipart, makeBoundary } from './multipart.ts';
import { WholeSource } from './whole-source.ts';

const TEXT = 'text/plain;charset=UTF-8';
const URLENCODED = 'application/x-www-form-urlencoded;charset=UTF-8';

/** The text of parameters, also if a script has replaced their `toString`. */
const paramsText = uncurryThis(URLSearchParams.prototype.toString);

/** A form that is not encoded yet. Clones of a body share it. */
export class FormSource {
  readonly boundary = makeBoundary();
  readonly #make: () => FormData | Promise<FormData>;
  #made: FormData | Promise<FormData> | undefined;
  /** Whether `formData()` returns the form as it is, without encoding and parsing. */
  readonly direct: boolean;

  /** @param make called once, when the form is first needed */
  constructor(make: () => FormData | Promise<FormData>, direct: boolean) {
    this.#make = make;
    this.direct = direct;
  }

  /** The form; a copy that belongs to the caller. */
  form(): FormData | Promise<FormData> {
    const form = this.#once();
    return isFormData(form) ? formOf(formEntries(form)) : this.#copyLater(form);
  }

  contentType(): string {
    return `multipart/form-data; boundary=${this.boundary}`;
  }

  encode(): Bytes | Promise<Box> {
    const form = this.#once();
    return isFormData(form) ? this.#encode(form) : this.#encodeLater(form);
  }

  #once(): FormData | Promise<FormData> {
    this.#made ??= this.#make();
    return this.#made;
  }

  async #copyLater(form: Promise<FormData>): Promise<FormData> {
    return formOf(formEntries(await form));
  }

  async #encodeLater(form: Promise<FormData>): Promise<Box> {
    return new Box(this.#encode(await form));
  }

  #encode(form: FormData): Bytes {
    return encodeMultipart(formEntries(form), this.boundary);
  }
}

/** Bytes are always a private copy, covering their whole buffer. */
export type BodySource = string | Bytes | Blob | FormSource | ByteSource;

export class Body {
  /** Undefined for a body that is a stream, and after it was read. */
  source: BodySource | undefined;
  /**
   * Given by the tenant, or made when it read `body`. Until it is read, a `source` beside it is
   * unread too.
   */
  stream: ReadableStream | undefined;
  /** Read or moved, other than through the stream. */
  spent = false;
  /** A clone has the same source, so bytes are copied before they are handed out. */
  shared = false;

  constructor(source: BodySource | undefined, stream: ReadableStream | undefined = undefined) {
    this.source = source;
    this.stream = stream;
  }
}

/** Whether the body was read from. */
export const isUsed = (body: Body): boolean =>
  body.spent || (body.stream !== undefined && isDisturbed(body.stream));

/** "Unusable": used, or locked by a reader. */
export const isUnusable = (body: Body): boolean =>
  isUsed(body) || (body.stream !== undefined && isLocked(body.stream));

/**
 * "Extract a body" (https://fetch.spec.whatwg.org/#concept-bodyinit-extract) of a BodyInit, in the
 * order of the Web IDL union. `requireFreshStream` checks a stream, after all conversions.
 */
export function extractBody(init: unknown): Body {
  if (typeof init === 'string') return new Body(toUSVString(init));
  if (isBlob(init)) return new Body(init);
  const bytes = viewBytes(init);
  if (bytes !== undefined) return new Body(copyBytes(bytes));
  if (isFormData(init)) {
    const snapshot = formOf(formEntries(init));
    return new Body(new FormSource(() => snapshot, false));
  }
  if (isURLSearchParams(init)) return new Body(paramsText(init));
  if (isReadableStream(init)) return new Body(undefined, init);
  return new Body(toUSVString(init));
}

/** @throws TypeError if the body is a stream that is locked or was read */
export function requireFreshStream(body: Body): void {
  if (body.source === undefined && isUnusable(body)) {
    throw new TypeError('The stream given as a body is locked or has already been read from');
  }
}

/**
 * Adds the content type of a BodyInit, unless the headers have one; `body` was made from `init`.
 */
export function addContentType(headers: HeaderList, init: unknown, body: Body): void {
  if (hasHeader(headers, 'content-type')) return;
  const { source } = body;
  if (typeof source === 'string') {
    const form = typeof init !== 'string' && isURLSearchParams(init);
    appendTrusted(headers, 'content-type', form ? URLENCODED : TEXT);
  } else if (source instanceof FormSource) {
    appendTrusted(headers, 'content-type', source.contentType());
  } else if (isBlob(source) && blobType(source) !== '') {
    appendHeader(headers, 'content-type', blobType(source));
  }
}

/**
 * The whole body; a string if it was made from one. The body counts as used then.
 *
 * @param owned whether the caller hands the bytes to code that may change them
 * @throws TypeError if the body is unusable
 */
export function drainBody(body: Body, owned: boolean): string | Bytes | Promise<Box> {
  const { source, stream } = body;
  spend(body);
  if (typeof source === 'string') return source;
  if (isBytes(source)) return owned && body.shared ? copyBytes(source) : source;
  if (source === undefined) return readAll(acquireReader(stream as ReadableStream));
  if (isBlob(source)) return owned ? copyBytes(blobBytes(source)) : blobBytes(source);
  return source instanceof FormSource ? source.encode() : collectBytes(source);
}

/**
 * "Read all bytes" (https://streams.spec.whatwg.org/#read-loop): rejects for a chunk that is not a
 * Uint8Array.
 */
function readAll(reader: StreamReader): Promise<Box> {
  const pieces = new List<Bytes>();
  return new PromiseIntrinsic((resolve, reject) => {
    let asked = 0;
    let reading = false;
    // Queued chunks come before `read` returns: a loop, because recursion would overflow the stack.
    const read = (): void => {
      asked++;
      if (reading) return;
      reading = true;
      for (; asked > 0; asked--) reader.read(steps);
      reading = false;
    };
    const steps: ReadSteps = {
      chunk: (value) => {
        const bytes = chunkBytes(value);
        if (bytes === undefined) {
          reject(notBytes('body', value));
          return;
        }
        push(pieces, bytes);
        read();
      },
      close: () => resolve(new Box(pieces.length === 1 ? (pieces[0] as Bytes) : joinBytes(pieces))),
      error: reject,
    };
    read();
  });
}

/**
 * The body as it leaves the isolate. It counts as used then. The caller has checked that it is
 * usable.
 */
export function takeBody(body: Body): string | ArrayBuffer | ByteSource {
  const { source, stream } = body;
  if (isByteSource(source)) {
    spend(body);
    return source;
  }
  if (source === undefined) {
    spend(body);
    return new ReaderSource(acquireReader(stream as ReadableStream));
  }
  const all = drainBody(body, true);
  if (typeof all === 'string') return all;
  return isBytes(all) ? typedArrayBuffer(all) : new WholeSource(() => all);
}

/** The form of a body that need not be parsed; the body counts as used then. */
export function takeForm(body: Body | undefined): FormData | Promise<FormData> | undefined {
  const source = body?.source;
  if (body === undefined || !(source instanceof FormSource) || !source.direct) return undefined;
  spend(body);
  return source.form();
}

/** The stream of the member `body`, made at the first read. */
export function streamOf(body: Body): ReadableStream {
  body.stream ??= makeStream(body);
  return body.stream;
}

function makeStream(body: Body): ReadableStream {
  const { source } = body;
  if (body.spent) {
    const stream = newByteStream({});
    close(acquireReader(stream));
    return stream;
  }
  if (isByteSource(source)) {
    // From now on the source is read through the stream.
    body.source = undefined;
    return streamOver(source);
  }
  return streamOver(
    new WholeSource(() => {
      const all = drainCopy(source as Exclude<BodySource, ByteSource>);
      body.source = undefined;
      return all;
    }),
  );
}

const drainCopy = (source: Exclude<BodySource, ByteSource>): string | Bytes | Promise<Box> => {
  if (typeof source === 'string') return source;
  if (isBlob(source)) return blobBytes(source);
  return source instanceof FormSource ? source.encode() : source;
};

/**
 * "Clone" (https://fetch.spec.whatwg.org/#concept-body-clone): both may be read. The caller has
 * checked that the body is usable.
 */
export function cloneBody(body: Body): Body {
  if (isByteSource(body.source)) streamOf(body);
  if (body.source === undefined) {
    const { first, second } = teeStream(body.stream as ReadableStream, true);
    body.stream = first;
    return new Body(undefined, second);
  }
  if (body.stream !== undefined) {
    // As after a tee: the old stream stays locked, and the body gets another when `body` is read.
    acquireReader(body.stream);
    body.stream = undefined;
  }
  const clone = new Body(body.source);
  body.shared = clone.shared = true;
  return clone;
}

/**
 * "Create a proxy": moves the source into a new body; the old one counts as used. The caller has
 * checked that it is usable.
 */
export function transferBody(body: Body): Body {
  const { source, stream, shared } = body;
  spend(body);
  const moved = new Body(source);
  moved.shared = shared;
  if (source === undefined) moved.stream = proxy(acquireReader(stream as ReadableStream));
  return moved;
}

/** A stream of the reader's chunks. */
function proxy(reader: StreamReader): ReadableStream {
  return newReadableStream(
    {
      pull: (controller) =>
        new PromiseIntrinsic<void>((resolve) => {
          reader.read({
            chunk: (value) => {
              controller.enqueue(value);
              resolve();
            },
            close: () => {
              controller.close();
              resolve();
            },
            error: (reason) => {
              controller.error(reason);
              resolve();
            },
          });
        }),
      cancel: (reason) => reader.cancel(reason),
    },
    0,
  );
}

/** Marks a body as used and releases its source; a stream over the source ends. */
function spend(body: Body): void {
  if (isUnusable(body)) throw new TypeError('The body has already been used, or is locked by a reader');
  body.spent = true;
  if (body.source === undefined) return;
  body.source = undefined;
  if (body.stream !== undefined) close(acquireReader(body.stream));
}

/** Leaves a stream closed, disturbed and locked, like one that was read to its end. */
function close(reader: StreamReader): void {
  void reader.cancel(undefined);
}

/** Whether a body source is bytes: no other source is a view. */
export const isBytes = (value: unknown): value is Bytes => isView(value);
