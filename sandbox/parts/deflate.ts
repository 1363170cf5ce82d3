/**
 * Part: deflate, zlib and gzip in both directions (RFC 1950 to 1952), by pako, a port of zlib.
 */
export {
  ZStream,
  zlibDeflate,
  zlibDeflateInit2,
  zlibInflate,
  zlibInflateInit2,
} from 'pako';
