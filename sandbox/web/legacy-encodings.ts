/** What TextDecoder takes from @exodus/bytes: the labels of all encodings, and the single-byte tables. */
export { normalizeEncoding } from '@exodus/bytes/encoding-lite.js';
export { createSinglebyteDecoder } from '@exodus/bytes/single-byte.js';
