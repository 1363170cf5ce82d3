/** The streams among the globals of an isolate, for the type checker: a part of `globals.d.ts`. */

/** How much a stream queues before its source or writer waits. */
interface QueuingStrategy<T = unknown> {
  highWaterMark?: number;
  size?: (chunk: T) => number;
}

declare class ByteLengthQueuingStrategy implements QueuingStrategy<ArrayBufferView> {
  constructor(init: { highWaterMark: number });
  readonly highWaterMark: number;
  readonly size: (chunk: ArrayBufferView) => number;
}

declare class CountQueuingStrategy implements QueuingStrategy {
  constructor(init: { highWaterMark: number });
  readonly highWaterMark: number;
  readonly size: (chunk: unknown) => number;
}

interface UnderlyingSource<R = unknown> {
  start?(controller: ReadableStreamDefaultController<R>): unknown;
  pull?(controller: ReadableStreamDefaultController<R>): unknown;
  cancel?(reason: unknown): unknown;
  type?: undefined;
}

interface UnderlyingByteSource {
  start?(controller: ReadableByteStreamController): unknown;
  pull?(controller: ReadableByteStreamController): unknown;
  cancel?(reason: unknown): unknown;
  autoAllocateChunkSize?: number;
  type: 'bytes';
}

interface UnderlyingSink<W = unknown> {
  start?(controller: WritableStreamDefaultController): unknown;
  write?(chunk: W, controller: WritableStreamDefaultController): unknown;
  close?(): unknown;
  abort?(reason: unknown): unknown;
}

interface Transformer<I = unknown, O = unknown> {
  start?(controller: TransformStreamDefaultController<O>): unknown;
  transform?(chunk: I, controller: TransformStreamDefaultController<O>): unknown;
  flush?(controller: TransformStreamDefaultController<O>): unknown;
  cancel?(reason: unknown): unknown;
}

interface StreamPipeOptions {
  preventAbort?: boolean;
  preventCancel?: boolean;
  preventClose?: boolean;
  signal?: AbortSignal;
}

interface ReadableWritablePair<R = unknown, W = unknown> {
  readonly readable: ReadableStream<R>;
  readonly writable: WritableStream<W>;
}

type ReadResult<R> = { done: false; value: R } | { done: true; value: undefined };

declare class ReadableStream<R = unknown> {
  constructor(source: UnderlyingByteSource, strategy?: { highWaterMark?: number });
  constructor(source?: UnderlyingSource<R>, strategy?: QueuingStrategy<R>);
  static from<R>(iterable: AsyncIterable<R> | Iterable<R | Promise<R>>): ReadableStream<R>;
  readonly locked: boolean;
  cancel(reason?: unknown): Promise<void>;
  getReader(options: { mode: 'byob' }): ReadableStreamBYOBReader;
  getReader(): ReadableStreamDefaultReader<R>;
  pipeThrough<T>(pair: ReadableWritablePair<T, R>, options?: StreamPipeOptions): ReadableStream<T>;
  pipeTo(destination: WritableStream<R>, options?: StreamPipeOptions): Promise<void>;
  tee(): [ReadableStream<R>, ReadableStream<R>];
  values(options?: { preventCancel?: boolean }): AsyncIterableIterator<R, undefined>;
  [Symbol.asyncIterator](options?: { preventCancel?: boolean }): AsyncIterableIterator<R, undefined>;
}

declare class ReadableStreamDefaultReader<R = unknown> {
  constructor(stream: ReadableStream<R>);
  readonly closed: Promise<undefined>;
  cancel(reason?: unknown): Promise<void>;
  read(): Promise<ReadResult<R>>;
  releaseLock(): void;
}

declare class ReadableStreamBYOBReader {
  constructor(stream: ReadableStream);
  readonly closed: Promise<undefined>;
  cancel(reason?: unknown): Promise<void>;
  read<V extends ArrayBufferView>(
    view: V,
    options?: { min?: number },
  ): Promise<{ done: false; value: V } | { done: true; value: V | undefined }>;
  releaseLock(): void;
}

declare class ReadableStreamDefaultController<R = unknown> {
  private constructor();
  readonly desiredSize: number | null;
  close(): void;
  enqueue(chunk?: R): void;
  error(reason?: unknown): void;
}

declare class ReadableByteStreamController {
  private constructor();
  readonly byobRequest: ReadableStreamBYOBRequest | null;
  readonly desiredSize: number | null;
  close(): void;
  enqueue(chunk: ArrayBufferView): void;
  error(reason?: unknown): void;
}

declare class ReadableStreamBYOBRequest {
  private constructor();
  readonly view: ArrayBufferView<ArrayBuffer> | null;
  respond(bytesWritten: number): void;
  respondWithNewView(view: ArrayBufferView): void;
}

declare class WritableStream<W = unknown> {
  constructor(sink?: UnderlyingSink<W>, strategy?: QueuingStrategy<W>);
  readonly locked: boolean;
  abort(reason?: unknown): Promise<void>;
  close(): Promise<void>;
  getWriter(): WritableStreamDefaultWriter<W>;
}

declare class WritableStreamDefaultWriter<W = unknown> {
  constructor(stream: WritableStream<W>);
  readonly closed: Promise<undefined>;
  readonly desiredSize: number | null;
  readonly ready: Promise<undefined>;
  abort(reason?: unknown): Promise<void>;
  close(): Promise<void>;
  releaseLock(): void;
  write(chunk?: W): Promise<void>;
}

declare class WritableStreamDefaultController {
  private constructor();
  readonly signal: AbortSignal;
  error(reason?: unknown): void;
}

declare class TransformStream<I = unknown, O = unknown> {
  constructor(
    transformer?: Transformer<I, O>,
    writableStrategy?: QueuingStrategy<I>,
    readableStrategy?: QueuingStrategy<O>,
  );
  readonly readable: ReadableStream<O>;
  readonly writable: WritableStream<I>;
}

declare class TransformStreamDefaultController<O = unknown> {
  private constructor();
  readonly desiredSize: number | null;
  enqueue(chunk?: O): void;
  error(reason?: unknown): void;
  terminate(): void;
}

declare class TextEncoderStream {
  readonly encoding: 'utf-8';
  readonly readable: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly writable: WritableStream<string>;
}

declare class TextDecoderStream {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  readonly encoding: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  readonly readable: ReadableStream<string>;
  readonly writable: WritableStream<BufferSource>;
}

type CompressionFormat = 'deflate' | 'deflate-raw' | 'gzip';

declare class CompressionStream {
  constructor(format: CompressionFormat);
  readonly readable: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly writable: WritableStream<BufferSource>;
}

/** Output is made as the reader takes it, at most 256 MiB; beyond that the stream fails. */
declare class DecompressionStream {
  constructor(format: CompressionFormat);
  readonly readable: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly writable: WritableStream<BufferSource>;
}
