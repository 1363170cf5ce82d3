/**
 * Part: deflate, zlib and gzip in both directions (RFC 1950 to 1952), as pako, a port of zlib,
 * implements them.
 */
export {
  ZStream,
  zlibDeflate,
  zlibDeflateInit2,
  zlibInflate,
  zlibInflateInit2,
} from 'pako';
