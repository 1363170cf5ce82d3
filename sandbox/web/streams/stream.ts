/**
 * Streams for the rest of the sandbox: made, read, teed and cancelled without reading any property
 * that a tenant can replace.
 *
 * The library is a part, evaluated at the first stream (`../../parts/streams.ts`); before that, no
 * value is a stream. `stream-internals.ts` captures its methods before the tenant sees its classes.
 * Attack: `ReadableStream.prototype.getReader = () => hostile`. But the library keeps its state in
 * ordinary properties, and runs after the tenant's script, so a tenant can corrupt a stream that it
 * holds. So everything from a reader is hostile, the promises of `cancel` included, and callbacks
 * of a source must be harmless at any time.
 */

import { describeStreams } from '../console/inspect-stream.ts';
import { type Bytes, copyBytes } from '../encoding/bytes.ts';
import { abort, streamInternals, streamTee, structuredClone } from '../lazy.ts';
import { part } from '../parts.ts';
import { isView, typedArrayName } from '../primordials.ts';
import { isObject } from '../web-idl.ts';

/** Controls the stream of a source. */
export interface SourceController {
  /** Free capacity of the queue; 0 or less if it is full, null if the stream has failed. */
  readonly desiredSize: number | null;
  /**
   * Adds a chunk. A byte stream transfers the chunk's buffer. Ignored once the stream has ended.
   */
  enqueue(chunk: unknown): void;
  /** Ends the stream after the queued chunks. Ignored once the stream has ended. */
  close(): void;
  /** Fails the stream at once. Ignored once the stream has ended. */
  error(reason: unknown): void;
}

/** Source of a stream. If a function throws, the stream fails. */
export interface StreamSource {
  /** Called once, before the stream is returned, with its controller. */
  start?(controller: SourceController): void;
  /** Called when the queue has room, and not again before its promise is fulfilled. */
  pull?(controller: SourceController): undefined | Promise<unknown>;
  /** Called when the reader cancels. */
  cancel?(reason: unknown): undefined | Promise<unknown>;
}

/**
 * Callbacks of one read: exactly one is called, once, possibly before `read` returns. Each may read
 * again. What `chunk` or `close` throws, for instance where there is no memory for a copy, is given
 * to `error`, which must not throw.
 */
export interface ReadSteps {
  chunk(value: unknown): void;
  close(): void;
  error(reason: unknown): void;
}

/** A lock on a stream. */
export interface StreamReader {
  /** Reads the next chunk. Reads are answered in order. */
  read(steps: ReadSteps): void;
  /** The next chunk as a promise; for code that serves the tenant only. */
  next(): Promise<StreamChunk>;
  cancel(reason: unknown): Promise<unknown>;
  /** Calls back once when the stream fails, even without a pending read. */
  onError(listener: (reason: unknown) => void): void;
  /** Releases the lock; pending reads fail. */
  release(): void;
}

export interface StreamChunk {
  readonly done: boolean;
  readonly value: unknown;
}

/** Steps of a transform. If a function throws or rejects, both sides fail. */
export interface TransformSteps {
  transform(chunk: unknown, output: TransformOutput): undefined | Promise<unknown>;
  /** Called when the writer has closed its side. */
  flush(output: TransformOutput): undefined | Promise<unknown>;
}

export interface TransformOutput {
  enqueue(chunk: unknown): void;
  /** Settles when the reader wants more, or never will; undefined if it wants more now. */
  drained(): Promise<unknown> | undefined;
  /** Whether both sides are intact: false once either has failed or was cancelled. */
  wanted(): boolean;
}

export interface TransformPair {
  readonly readable: ReadableStream;
  readonly writable: WritableStream;
}

/** The two halves of `tee`. */
export interface StreamPair {
  readonly first: ReadableStream;
  readonly second: ReadableStream;
}

type Streams = ReturnType<typeof part<'streams'>>;
type Internals = ReturnType<typeof streamInternals>;
let loaded: Internals | undefined;

/** The classes that become globals. */
export function streams(): Streams {
  internals();
  return part('streams');
}

function describe(made: Streams, { states }: Internals): void {
  describeStreams(
    {
      ReadableStream: made.ReadableStream.prototype,
      WritableStream: made.WritableStream.prototype,
      TransformStream: made.TransformStream.prototype,
      others: [
        made.ReadableStreamDefaultReader.prototype,
        made.ReadableStreamBYOBReader.prototype,
        made.ReadableStreamDefaultController.prototype,
        made.ReadableByteStreamController.prototype,
        made.ReadableStreamBYOBRequest.prototype,
        made.WritableStreamDefaultWriter.prototype,
        made.WritableStreamDefaultController.prototype,
        made.TransformStreamDefaultController.prototype,
        made.ByteLengthQueuingStrategy.prototype,
        made.CountQueuingStrategy.prototype,
      ],
    },
    states,
  );
}

function internals(): Internals {
  if (loaded === undefined) {
    const made = part('streams');
    made.setSignals(abort);
    loaded = streamInternals();
    describe(made, loaded);
  }
  return loaded;
}

/**
 * A genuine ReadableStream, whatever its prototype says. Never evaluates the library: without it
 * there is no stream.
 */
export const isReadableStream = (value: unknown): value is ReadableStream =>
  loaded !== undefined && isObject(value) && loaded.isReadableStream(value);

/** A stream of any values. @param highWaterMark how many chunks it queues ahead of its reader */
export const newReadableStream = (source: StreamSource, highWaterMark = 1): ReadableStream =>
  internals().newReadableStream(source, highWaterMark);

/** A byte stream; pulls its source only for a pending read. */
export const newByteStream = (source: StreamSource, highWaterMark = 0): ReadableStream =>
  internals().newByteStream(source, highWaterMark);

/** Whether a reader locks it. */
export const isLocked = (stream: ReadableStream): boolean => internals().isLocked(stream);

/**
 * Whether it was read from or cancelled
 * (https://streams.spec.whatwg.org/#is-readable-stream-disturbed).
 */
export const isDisturbed = (stream: ReadableStream): boolean => internals().isDisturbed(stream);

/** @throws TypeError if the stream is locked */
export const acquireReader = (stream: ReadableStream): StreamReader => internals().acquireReader(stream);

/**
 * Splits a stream into two with the same chunks. Locks and disturbs it.
 *
 * @param clone whether the second stream gets copies of the chunks, as the fetch standard requires
 *   of a body
 */
export const teeStream = (stream: ReadableStream, clone = false): StreamPair =>
  streamTee().teeStream(stream, clone ? cloneChunk : undefined);

const cloneChunk = (chunk: unknown): unknown => structuredClone().structuredClone(chunk);

/** The two sides of a transform of the prelude. */
export const newTransform = (steps: TransformSteps): TransformPair => internals().newTransform(steps);

/** Cancels an unlocked stream; rejects with a TypeError if it is locked. */
export const cancelStream = (stream: ReadableStream, reason: unknown): Promise<unknown> =>
  internals().cancelStream(stream, reason);

/**
 * The bytes of a chunk of a body (https://fetch.spec.whatwg.org/#incrementally-read-loop):
 * undefined unless it is a Uint8Array.
 */
export const chunkBytes = (chunk: unknown): Bytes | undefined =>
  isView(chunk) && typedArrayName(chunk) === 'Uint8Array' ? copyBytes(chunk as Uint8Array) : undefined;

/**
 * Describes a chunk that is not a `Uint8Array`, without reading it: its members may be the tenant's
 * code.
 */
export function notBytes(what: 'body' | 'stream', chunk: unknown): TypeError {
  const type = typeof chunk;
  let kind = type === 'undefined' ? type : `a ${type}`;
  if (chunk === null) kind = 'null';
  else if (type === 'object') kind = isView(chunk) ? `a ${typedArrayName(chunk) ?? 'DataView'}` : 'an object';
  return new TypeError(`A chunk of the ${what} is not a Uint8Array but ${kind}`);
}
