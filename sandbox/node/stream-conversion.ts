/**
 * Streams of Node.js from streams of the web platform, and back: `fromWeb` and `toWeb` of
 * `Readable`, `Writable` and `Duplex` (https://nodejs.org/api/stream.html).
 *
 * Each waits for the other: a full queue at one side stops the reading at the other.
 */
import Stream, {
  type NodeDuplex,
  type NodeReadable,
  type NodeStream,
  type NodeWritable,
} from 'readable-stream/lib/stream.js';
import { Buffer } from './buffer.ts';
import { AbortError, invalidArgType, validateObject } from './errors.ts';

const { Duplex, destroy, finished, isReadable, isWritable, Readable, Writable } = Stream;

type Done = (error?: unknown) => void;
interface Options {
  readonly encoding?: string;
  readonly decodeStrings?: boolean;
  readonly objectMode?: boolean;
}
interface Side {
  readonly methods: object;
  /** Ends the stream of the platform where the other one is destroyed. */
  readonly end: (error: unknown) => Promise<unknown> | undefined;
}

/** Calls back with the error, or without where the promise is fulfilled. */
function settle(promise: Promise<unknown> | undefined, done: Done): void {
  const tell = (error?: unknown) => queueMicrotask(() => done(error));
  if (promise === undefined) done();
  else promise.then(() => tell(), tell);
}

/** @param owner the stream of Node.js that reads */
function readingSide(stream: ReadableStream, owner: () => NodeReadable): Side {
  const reader = stream.getReader();
  let closed = false;
  const failed = (error: unknown): void => {
    closed = true;
    destroy(owner(), error);
  };
  reader.closed.then(() => {
    closed = true;
  }, failed);
  return {
    methods: {
      read() {
        reader.read().then(({ done, value }) => owner().push(done ? null : value), failed);
      },
    },
    end: (error) => (closed ? undefined : reader.cancel(error)),
  };
}

/** @param owner the stream of Node.js that is written to */
function writingSide(
  stream: WritableStream,
  { decodeStrings = true, objectMode = false }: Options,
  owner: () => NodeWritable,
): Side {
  const writer = stream.getWriter();
  let closed = false;
  writer.closed.then(
    () => {
      closed = true;
      // The platform's side was closed by somebody else.
      if (!owner().writableEnded) destroy(owner(), prematureClose());
    },
    (error) => {
      closed = true;
      destroy(owner(), error);
    },
  );
  const chunkOf = (chunk: unknown, encoding: string): unknown =>
    typeof chunk === 'string' && decodeStrings && !objectMode
      ? Uint8Array.from(Buffer.from(chunk, encoding))
      : chunk;
  const write = (chunk: unknown) => writer.ready.then(() => writer.write(chunk));
  return {
    methods: {
      write(chunk: unknown, encoding: string, done: Done) {
        settle(write(chunkOf(chunk, encoding)), done);
      },
      writev(chunks: { chunk: unknown; encoding: string }[], done: Done) {
        settle(Promise.all(chunks.map(({ chunk, encoding }) => write(chunkOf(chunk, encoding)))), done);
      },
      final(done: Done) {
        settle(closed ? undefined : writer.close(), done);
      },
    },
    end: (error) => {
      if (closed) return undefined;
      return error === null || error === undefined ? writer.close() : writer.abort(error);
    },
  };
}

/** Ends the sides of a stream that is destroyed. */
const destroying = (...sides: readonly Side[]) => ({
  destroy(error: unknown, done: Done) {
    const ends = sides.map((side) => side.end(error)?.catch(() => undefined));
    settle(Promise.all(ends), () => done(error));
  },
});

const prematureClose = (): Error =>
  Object.assign(new Error('Premature close'), { code: 'ERR_STREAM_PREMATURE_CLOSE' });

function isStream<T>(value: unknown, Class: new (...parts: never[]) => T, name: string): asserts value is T {
  if (!(value instanceof Class)) throw invalidArgType(name, Class.name, value);
}

export function readableFromWeb(stream: ReadableStream, options: Options = {}): NodeReadable {
  isStream(stream, ReadableStream, 'readableStream');
  validateObject(options, 'options');
  const side = readingSide(stream, () => readable);
  const readable = new Readable({ ...options, ...side.methods, ...destroying(side) });
  return readable;
}

export function writableFromWeb(stream: WritableStream, options: Options = {}): NodeWritable {
  isStream(stream, WritableStream, 'writableStream');
  validateObject(options, 'options');
  const side = writingSide(stream, options, () => writable);
  const writable = new Writable({ ...options, ...side.methods, ...destroying(side) });
  return writable;
}

export function duplexFromWeb(
  pair: { readable: ReadableStream; writable: WritableStream },
  options: Options = {},
): NodeDuplex {
  validateObject(pair, 'pair');
  isStream(pair.readable, ReadableStream, 'pair.readable');
  isStream(pair.writable, WritableStream, 'pair.writable');
  validateObject(options, 'options');
  const sides = [
    readingSide(pair.readable, () => duplex),
    writingSide(pair.writable, options, () => duplex),
  ] as const;
  const duplex = new Duplex({
    ...options,
    ...sides[0].methods,
    ...sides[1].methods,
    ...destroying(...sides),
  });
  return duplex;
}

/** @param options of Node.js: `strategy`, the queue of the new stream */
export function readableToWeb(
  readable: NodeReadable,
  { strategy }: { strategy?: QueuingStrategy } = {},
): ReadableStream {
  if (typeof readable?._readableState !== 'object')
    throw invalidArgType('streamReadable', 'stream.Readable', readable);
  if (readable.destroyed || !isReadable(readable)) {
    const ended = new ReadableStream();
    void ended.cancel();
    return ended;
  }
  const { readableHighWaterMark: highWaterMark, readableObjectMode: objectMode } = readable;
  const source: UnderlyingSource = {
    start(controller) {
      readable.pause();
      const stop = finished(readable, (error) => {
        stop();
        // An error that comes later has nobody to go to.
        readable.on('error', () => undefined);
        if (error) controller.error(ended(error));
        else controller.close();
      });
      readable.on('data', (chunk: unknown) => {
        const isBytes = chunk instanceof Uint8Array && !objectMode;
        controller.enqueue(isBytes ? new Uint8Array(chunk) : chunk);
        if ((controller.desiredSize ?? 0) <= 0) readable.pause();
      });
    },
    pull: () => void readable.resume(),
    cancel: (reason) => void destroy(readable, reason),
  };
  return new ReadableStream(source, strategy ?? queueOf(objectMode, highWaterMark));
}

export function writableToWeb(writable: NodeWritable): WritableStream {
  if (typeof writable?._writableState !== 'object')
    throw invalidArgType('streamWritable', 'stream.Writable', writable);
  if (writable.destroyed || !isWritable(writable)) {
    const ended = new WritableStream();
    void ended.close();
    return ended;
  }
  const { writableHighWaterMark: highWaterMark, writableObjectMode: objectMode } = writable;
  let draining: PromiseWithResolvers<void> | undefined;
  let closing: PromiseWithResolvers<void> | undefined;
  const sink: UnderlyingSink = {
    start(controller) {
      const stop = finished(writable, (error) => {
        stop();
        writable.on('error', () => undefined);
        const cause = error && ended(error);
        if (cause) draining?.reject(cause);
        else draining?.resolve();
        if (closing !== undefined) {
          if (cause) closing.reject(cause);
          else closing.resolve();
        } else controller.error(cause ?? new AbortError());
      });
      writable.on('drain', () => draining?.resolve());
    },
    write(chunk) {
      if (!writable.writableNeedDrain && writable.write(chunk)) return undefined;
      draining = Promise.withResolvers();
      return draining.promise.finally(() => {
        draining = undefined;
      });
    },
    abort: (reason) => void destroy(writable, reason),
    close() {
      closing = Promise.withResolvers();
      writable.end();
      return closing.promise;
    },
  };
  return new WritableStream(sink, queueOf(objectMode, highWaterMark));
}

export function duplexToWeb(duplex: NodeDuplex): { readable: ReadableStream; writable: WritableStream } {
  if (typeof (duplex as Partial<NodeStream>)?._writableState !== 'object')
    throw invalidArgType('duplex', 'stream.Duplex', duplex);
  return { readable: readableToWeb(duplex), writable: writableToWeb(duplex) };
}

/** As long a queue as that of a stream of Node.js. */
const queueOf = (objectMode: boolean, highWaterMark: number): QueuingStrategy =>
  (objectMode
    ? new CountQueuingStrategy({ highWaterMark })
    : new ByteLengthQueuingStrategy({ highWaterMark })) as QueuingStrategy;

/** The error of a stream of the platform that ends before it is complete. */
const ended = (error: Error & { code?: string }): Error =>
  error.code === 'ERR_STREAM_PREMATURE_CLOSE' ? new AbortError(undefined, { cause: error }) : error;
