/** A stream of bytes as a stream of text, the result of `textStream()` of a blob or a body. */
import { textStreams } from '../lazy.ts';

/** Locks the stream. Uses public methods of streams, because the result stays with the tenant. */
export function decodedStream(stream: ReadableStream): ReadableStream<string> {
  const { TextDecoderStream } = textStreams();
  return stream.pipeThrough(new TextDecoderStream()) as ReadableStream<string>;
}
