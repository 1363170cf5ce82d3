/**
 * Part: the streams of https://streams.spec.whatwg.org/, by web-streams-polyfill, with its
 * deviations corrected.
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
