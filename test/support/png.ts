/**
 * PNG images for tests: valid ones of any size, and their parts, of which tests make broken ones.
 */
import { crc32, deflateSync } from 'node:zlib';

export const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** One chunk, with its length and checksum. */
export function pngChunk(type: string, data: Uint8Array = Buffer.alloc(0)): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const chunk = Buffer.alloc(body.length + 8);
  chunk.writeUInt32BE(data.length, 0);
  body.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(body), body.length + 4);
  return chunk;
}

/** Header of an image with one bit of grey for each pixel. */
export function pngHeader(width: number, height: number): Buffer {
  const data = Buffer.alloc(13);
  data.writeUInt32BE(width, 0);
  data.writeUInt32BE(height, 4);
  data[8] = 1;
  return pngChunk('IHDR', data);
}

/** A black image. @param padding bytes of a comment, to make it larger */
export function png(width: number, height: number, padding = 0): Buffer<ArrayBuffer> {
  const pixels = deflateSync(Buffer.alloc((Math.ceil(width / 8) + 1) * height));
  const comment = padding === 0 ? [] : [pngChunk('tEXt', Buffer.alloc(padding, 'x'))];
  return Buffer.concat([
    PNG_SIGNATURE,
    pngHeader(width, height),
    ...comment,
    pngChunk('IDAT', pixels),
    pngChunk('IEND'),
  ]);
}
