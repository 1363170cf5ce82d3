/**
 * Part: the streams of https://streams.spec.whatwg.org/, as web-streams-polyfill implements them,
 * mended where it falls short.
 */
export {
  ByteLengthQueuingStrategy,
  CountQueuingStrategy,
  genuine,
  isGenuine,
  libraryTee,
  ReadableByteStreamController,
  ReadableStream,
  ReadableStreamBYOBReader,
  ReadableStreamBYOBRequest,
  ReadableStreamDefaultController,
  ReadableStreamDefaultReader,
  setSignals,
  TransformStream,
  TransformStreamDefaultController,
  WritableStream,
  WritableStreamDefaultController,
  WritableStreamDefaultWriter,
} from '../web/streams/stream-classes.ts';
