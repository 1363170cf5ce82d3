/**
 * Streams as the rest of the sandbox uses them: made, read, teed and cancelled without a look at any property that a
 * tenant can replace.
 *
 * The library itself is a part, evaluated at the first stream (`../../parts/streams.ts`); what is asked of a value before
 * that is answered without it. `stream-internals.ts` captures its methods before the tenant sees its classes. Attack:
 * `ReadableStream.prototype.getReader = () => hostile`. The library keeps its state in ordinary properties, though, and
 * runs after the tenant's script, so a tenant can confuse a stream it holds: what a reader hands out, the promises of
 * `cancel` included, is to be treated as hostile, and the callbacks of a source do no harm at the wrong time.
 */

import { describeStreams } from '../console/inspect-stream.ts';
import { type Bytes, copyBytes, joinBytes } from '../encoding/bytes.ts';
import { abort, streamInternals, streamTee, structuredClone } from '../lazy.ts';
import { List, push } from '../list.ts';
import { part } from '../parts.ts';
import { isView, PromiseIntrinsic, typedArrayName } from '../primordials.ts';
import { isObject } from '../web-idl.ts';

/** What a source tells its stream by. */
export interface SourceController {
  /** What the queue still wants; 0 or less where it is full, null where the stream has failed. */
  readonly desiredSize: number | null;
  /** Adds a chunk. A stream of bytes takes the chunk's buffer away (it is transferred). Ignored once the stream has ended. */
  enqueue(chunk: unknown): void;
  /** Ends the stream behind what is queued. Ignored once the stream has ended. */
  close(): void;
  /** Fails the stream at once. Ignored once the stream has ended. */
  error(reason: unknown): void;
}

/** Where a stream's chunks come from. Either function may throw, which fails the stream. */
export interface StreamSource {
  /** Called once, before the stream is returned: the place to keep the controller. */
  start?(controller: SourceController): void;
  /** Called when a chunk is wanted, and not again before the promise it returned is fulfilled. */
  pull?(controller: SourceController): undefined | Promise<unknown>;
  /** Called when the reader has lost interest. */
  cancel?(reason: unknown): undefined | Promise<unknown>;
}

/**
 * What becomes of one read; exactly one of them is called, once, possibly before `read` returns. None may throw; each may
 * read on.
 */
export interface ReadSteps {
  chunk(value: unknown): void;
  close(): void;
  error(reason: unknown): void;
}

/** A lock on a stream. */
export interface StreamReader {
  /** Asks for the next chunk. Reads are answered in their order. */
  read(steps: ReadSteps): void;
  /** The next chunk as a promise; for code that serves the tenant alone. */
  next(): Promise<StreamChunk>;
  cancel(reason: unknown): Promise<unknown>;
  /** Tells once when the stream fails, whether or not somebody reads. */
  onError(listener: (reason: unknown) => void): void;
  /** Gives the lock back; reads that are still open fail. */
  release(): void;
}

export interface StreamChunk {
  readonly done: boolean;
  readonly value: unknown;
}

/** What a transform makes of its chunks. Either function may throw or reject, which fails both sides. */
export interface TransformSteps {
  transform(chunk: unknown, output: TransformOutput): undefined | Promise<unknown>;
  /** The writer has closed its side. */
  flush(output: TransformOutput): undefined | Promise<unknown>;
}

export interface TransformOutput {
  enqueue(chunk: unknown): void;
  /** Settles when the reader asks for more, or never will; undefined where it asks already. */
  drained(): Promise<unknown> | undefined;
  /** False once either side has failed or was cancelled. */
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

/** A genuine ReadableStream, whatever its prototype says. Never loads the library: without it there is no stream. */
export const isReadableStream = (value: unknown): value is ReadableStream =>
  loaded !== undefined && isObject(value) && loaded.isReadableStream(value);

/** A stream of any values. @param highWaterMark how many chunks it asks for ahead of its reader */
export const newReadableStream = (source: StreamSource, highWaterMark = 1): ReadableStream =>
  internals().newReadableStream(source, highWaterMark);

/** A stream of bytes that can also be read into the reader's own buffers; asks its source only when somebody reads. */
export const newByteStream = (source: StreamSource, highWaterMark = 0): ReadableStream =>
  internals().newByteStream(source, highWaterMark);

/** Somebody holds a reader of it. */
export const isLocked = (stream: ReadableStream): boolean => internals().isLocked(stream);

/** It was read from or cancelled once (https://streams.spec.whatwg.org/#is-readable-stream-disturbed). */
export const isDisturbed = (stream: ReadableStream): boolean => internals().isDisturbed(stream);

export const streamState = (stream: ReadableStream): 'readable' | 'closed' | 'errored' =>
  internals().stateOf(stream);

/** What an errored stream failed with. */
export const streamError = (stream: ReadableStream): unknown => internals().errorOf(stream);

/** @throws TypeError where the stream is locked */
export const acquireReader = (stream: ReadableStream): StreamReader => internals().acquireReader(stream);

/**
 * Two streams that give what this one would have given. Locks and disturbs it.
 *
 * @param clone the second stream's chunks are copies, as the fetch standard asks of a body; else both get the same values
 * @throws TypeError where the stream is locked
 */
export const teeStream = (stream: ReadableStream, clone = false): StreamPair =>
  streamTee().teeStream(stream, clone ? cloneChunk : undefined);

const cloneChunk = (chunk: unknown): unknown => structuredClone().structuredClone(chunk);

/** The two sides of a transform of our own. */
export const newTransform = (steps: TransformSteps): TransformPair => internals().newTransform(steps);

/** Cancels an unlocked stream; rejects with a TypeError where it is locked. */
export const cancelStream = (stream: ReadableStream, reason: unknown): Promise<unknown> =>
  internals().cancelStream(stream, reason);

/** What a chunk of a body must be (https://fetch.spec.whatwg.org/#incrementally-read-loop): undefined for anything else. */
export const chunkBytes = (chunk: unknown): Bytes | undefined =>
  isView(chunk) && typedArrayName(chunk) === 'Uint8Array' ? copyBytes(chunk as Uint8Array) : undefined;

/** What a chunk is that is no `Uint8Array`, told without asking it: what an object says of itself is the tenant's code. */
export function notBytes(what: 'body' | 'stream', chunk: unknown): TypeError {
  const type = typeof chunk;
  let kind = type === 'undefined' ? type : `a ${type}`;
  if (chunk === null) kind = 'null';
  else if (type === 'object') kind = isView(chunk) ? `a ${typedArrayName(chunk) ?? 'DataView'}` : 'an object';
  return new TypeError(`A chunk of the ${what} is not a Uint8Array but ${kind}`);
}

/**
 * Everything the reader still gives, as one run of bytes (https://streams.spec.whatwg.org/#read-loop). Does not release.
 * For the tenant: its `Object.prototype.then` can put something else in the place of the bytes.
 *
 * @throws (rejects with) TypeError for a chunk that is no Uint8Array, or with what the stream fails with
 */
export function readAllBytes(reader: StreamReader): Promise<Bytes> {
  const pieces = new List<Bytes>();
  return new PromiseIntrinsic((resolve, reject) => {
    const steps: ReadSteps = {
      chunk: (value) => {
        const bytes = chunkBytes(value);
        if (bytes === undefined) {
          reject(notBytes('stream', value));
          return;
        }
        push(pieces, bytes);
        reader.read(steps);
      },
      close: () => resolve(joinBytes(pieces)),
      error: reject,
    };
    reader.read(steps);
  });
}
