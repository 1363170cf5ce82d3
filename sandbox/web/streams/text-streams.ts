/** The text codec streams as one lazy module. */
export { TextDecoderStream } from './text-decoder-stream.ts';
export { TextEncoderStream } from './text-encoder-stream.ts';
