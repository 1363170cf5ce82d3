/**
 * Part: the labels of all encodings of https://encoding.spec.whatwg.org/, and the decoders of the
 * single-byte ones.
 */
export { normalizeEncoding } from '@exodus/bytes/encoding-lite.js';
export { createSinglebyteDecoder } from '@exodus/bytes/single-byte.js';
