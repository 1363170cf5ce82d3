/**
 * Part: decoders of the East Asian encodings of https://encoding.spec.whatwg.org/, with their
 * tables.
 */
export { createMultibyteDecoder } from '@exodus/bytes/multi-byte.js';
