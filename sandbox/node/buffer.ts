/**
 * `node:buffer`: `Buffer` of `@jspm/core`, with the encoding `base64url`, which it does not know.
 * `Buffer` is a class of the bundle: each bundle that uses it has its own, and it is not a global.
 */
import {
  type BufferClass,
  type Bytes,
  Buffer as Core,
  INSPECT_MAX_BYTES,
  kMaxLength,
} from '@jspm/core/nodelibs/buffer';

const isBase64url = (encoding: unknown): boolean =>
  typeof encoding === 'string' && /^base64url$/i.test(encoding);
/** Base64 is read with both alphabets; only writing needs the other one. */
const readable = (encoding: unknown): unknown => (isBase64url(encoding) ? 'base64' : encoding);

function withBase64url(buffer: BufferClass): BufferClass {
  const { from, byteLength, isEncoding, prototype } = buffer;
  const { toString: textOf, write } = prototype;
  buffer.isEncoding = (encoding) => isBase64url(encoding) || isEncoding.call(buffer, encoding);
  buffer.from = (value, encoding, length) => from.call(buffer, value, readable(encoding), length);
  buffer.byteLength = (value, encoding) => byteLength.call(buffer, value, readable(encoding));
  prototype.toString = function (this: Bytes, ...place) {
    if (!isBase64url(place[0])) return textOf.apply(this, place);
    const text = textOf.call(this, 'base64', place[1], place[2]);
    return text.replace(/\+/g, '-').replace(/\//g, '_').replace(/=/g, '');
  };
  prototype.write = function (this: Bytes, text, ...place) {
    return write.call(this, text, ...(place.map(readable) as typeof place));
  };
  return buffer;
}

const Buffer = /* @__PURE__ */ withBase64url(Core);

const isUtf8 = (bytes: BufferSource): boolean => {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
};
const isAscii = (bytes: Uint8Array): boolean => bytes.every((byte) => byte < 128);
const transcode = (bytes: Bytes, from: string, to: string): Bytes =>
  Buffer.from(Buffer.from(bytes).toString(from), to);
/** The longest text of V8. */
const kStringMaxLength = 2 ** 29 - 24;
const constants = { MAX_LENGTH: kMaxLength, MAX_STRING_LENGTH: kStringMaxLength };
const { Blob, File } = globalThis as unknown as Record<string, unknown>;
const { atob, btoa } = globalThis;

export {
  atob,
  Blob,
  Buffer,
  btoa,
  constants,
  File,
  INSPECT_MAX_BYTES,
  isAscii,
  isUtf8,
  kMaxLength,
  kStringMaxLength,
  transcode,
};
export default {
  Buffer,
  Blob,
  File,
  atob,
  btoa,
  constants,
  INSPECT_MAX_BYTES,
  isAscii,
  isUtf8,
  kMaxLength,
  kStringMaxLength,
  transcode,
};
