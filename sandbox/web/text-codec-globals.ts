/**
 * `TextEncoder` and `TextDecoder` on the global object ahead of everything else: whatwg-url makes one of each while it
 * loads. `globals.ts` puts them there again in their final form.
 */
import { TextDecoder } from './text-decoder.ts';
import { TextEncoder } from './text-encoder.ts';

Object.assign(globalThis, { TextDecoder, TextEncoder });
