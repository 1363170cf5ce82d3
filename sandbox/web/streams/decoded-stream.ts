/** A stream of bytes as a stream of text, which is what `textStream()` of a blob or a body answers. */
import { textStreams } from '../lazy.ts';

/** Locks the stream. By public methods of streams: what comes of it stays with the tenant. */
export function decodedStream(stream: ReadableStream): ReadableStream<string> {
  const { TextDecoderStream } = textStreams();
  return stream.pipeThrough(new TextDecoderStream()) as ReadableStream<string>;
}
