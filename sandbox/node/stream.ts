/**
 * `node:stream`: the streams of `readable-stream`, with what they leave to Node.js: conversions
 * from and to streams of the web platform, and `duplexPair`.
 *
 * No queue outlives a call: all that a stream does later are microtasks (`process.nextTick`), which
 * end before the entry that asked for them.
 */
import Stream from 'readable-stream/lib/stream.js';
import { validateObject } from './errors.ts';
import {
  duplexFromWeb,
  duplexToWeb,
  readableFromWeb,
  readableToWeb,
  writableFromWeb,
  writableToWeb,
} from './stream-conversion.ts';

const { Duplex, PassThrough, Readable, Transform, Writable } = Stream;
Readable.fromWeb = readableFromWeb;
Readable.toWeb = readableToWeb;
Writable.fromWeb = writableFromWeb;
Writable.toWeb = writableToWeb;
Duplex.fromWeb = duplexFromWeb;
Duplex.toWeb = duplexToWeb;

type Done = (error?: Error | null) => void;
type End = InstanceType<typeof Duplex> & { other: End | undefined; arrived: Done | undefined };

/** One end of a pair: what is written here is read at the other end, which says when to go on. */
class PairEnd extends (Duplex as unknown as new (options: object) => End) {
  _read(): void {
    const { arrived } = this;
    this.arrived = undefined;
    arrived?.();
  }

  _write(chunk: Uint8Array, _encoding: string, done: Done): void {
    if (chunk.length === 0) return queueMicrotask(done);
    if (this.other === undefined) return;
    this.other.push(chunk);
    this.other.arrived = done;
  }

  _final(done: Done): void {
    this.other?.on('end', done);
    this.other?.push(null);
  }
}

/** Two duplex streams: what is written to one is read from the other. */
export function duplexPair(options: object = {}): [object, object] {
  validateObject(options, 'options');
  const pair = [new PairEnd(options), new PairEnd(options)] as const;
  pair[0].other = pair[1];
  pair[1].other = pair[0];
  return [...pair];
}
const isArrayBufferView = (value: unknown): boolean => ArrayBuffer.isView(value);

Object.assign(Stream, { _isArrayBufferView: isArrayBufferView, duplexPair });

export const { addAbortSignal, compose, destroy, finished, isDestroyed, isDisturbed, isErrored } = Stream;
export const { isReadable, isWritable, pipeline, promises } = Stream;
export const { getDefaultHighWaterMark, setDefaultHighWaterMark } = Stream;
export const { _isUint8Array, _uint8ArrayToBuffer } = Stream;
export {
  Duplex,
  isArrayBufferView as _isArrayBufferView,
  PassThrough,
  Readable,
  Stream,
  Transform,
  Writable,
};
export default Stream;
