/** The two text codecs as streams, which are evaluated together. */
export { TextDecoderStream } from './text-decoder-stream.ts';
export { TextEncoderStream } from './text-encoder-stream.ts';
