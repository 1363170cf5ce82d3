/**
 * Checks that bytes are exactly one PNG image, and reads its declared size (PNG, third edition,
 * sections 5 and 11.2).
 *
 * Checks the signature, the sizes and checksums of the chunks, and the required chunks. Decodes no
 * pixels, so the work is bounded by the bytes, not by their decompressed size. Nothing may follow
 * the last chunk. Attack: polyglots, files that are an image and also an archive or a page, which
 * pass checks of the beginning only.
 */
import { crc32 } from 'node:zlib';

/** Result of checking an image of any format. */
export type ImageReading =
  | { readonly ok: true; readonly width: number; readonly height: number }
  /** A clause that follows the name of the file. */
  | { readonly ok: false; readonly fault: string };

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Length, type and checksum of a chunk, around its data. */
const CHUNK_OVERHEAD_BYTES = 12;
const HEADER_BYTES = 13;
/** Chunks between two yields. Attack: two megabytes of empty chunks, which take 100 ms to check. */
const CHUNKS_PER_STEP = 4_096;
/** Colour type → allowed bit depths. */
const DEPTHS: ReadonlyMap<number, readonly number[]> = new Map([
  [0, [1, 2, 4, 8, 16]],
  [2, [8, 16]],
  [3, [1, 2, 4, 8]],
  [4, [8, 16]],
  [6, [8, 16]],
]);

/** Signatures of other image formats, for the error message. */
const OTHERS: readonly (readonly [name: string, beginning: RegExp])[] = [
  ['a GIF', /^GIF8/],
  ['a WebP', /^RIFF.{4}WEBP/s],
  ['an SVG', /^\s*<(\?xml|!--|svg|!DOCTYPE svg)/i],
  ['a PNG that was changed as if it were text', /^.PNG/s],
];

export function readPng(content: Uint8Array): ImageReading {
  const steps = pngSteps(content);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** The same in steps, between which the caller can yield to the event loop. */
export function* pngSteps(content: Uint8Array): Generator<void, ImageReading, void> {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  if (!bytes.subarray(0, SIGNATURE.length).equals(SIGNATURE)) {
    const beginning = bytes.toString('latin1', 0, 64);
    const other = OTHERS.find(([, pattern]) => pattern.test(beginning))?.[0];
    return fault(other === undefined ? 'is not a PNG image' : `is ${other}, not a PNG image`);
  }
  let size: Buffer | undefined;
  let hasPixels = false;
  let chunks = 0;
  for (let at = SIGNATURE.length; at < bytes.length; ) {
    chunks += 1;
    if (chunks % CHUNKS_PER_STEP === 0) yield;
    const length = at + CHUNK_OVERHEAD_BYTES <= bytes.length ? bytes.readUInt32BE(at) : bytes.length;
    const end = at + CHUNK_OVERHEAD_BYTES + length;
    if (end > bytes.length) return fault('is a PNG image that is cut off');
    const type = bytes.toString('latin1', at + 4, at + 8);
    if (crc32(bytes.subarray(at + 4, end - 4)) !== bytes.readUInt32BE(end - 4))
      return fault('is a damaged PNG image: a checksum is wrong');
    const data = bytes.subarray(at + 8, end - 4);
    if ((type === 'IHDR') !== (at === SIGNATURE.length))
      return fault('is a damaged PNG image: its header is not where it belongs');
    if (type === 'IHDR') {
      if (!isHeader(data)) return fault('is a damaged PNG image: its header makes no sense');
      size = data;
    }
    hasPixels ||= type === 'IDAT';
    if (type === 'IEND' && end < bytes.length) return fault('is a PNG image with something else behind it');
    if (type === 'IEND' && hasPixels && size !== undefined)
      return { ok: true, width: size.readUInt32BE(0), height: size.readUInt32BE(4) };
    at = end;
  }
  return fault('is a PNG image that is cut off');
}

function isHeader(data: Buffer): boolean {
  if (data.length !== HEADER_BYTES) return false;
  const [depth = 0, colour = 0, compression, filter, interlace = 2] = data.subarray(8);
  const isSize = [data.readInt32BE(0), data.readInt32BE(4)].every((side) => side > 0);
  const isKnown = DEPTHS.get(colour)?.includes(depth) === true;
  return isSize && isKnown && compression === 0 && filter === 0 && interlace <= 1;
}

const fault = (text: string): ImageReading => ({ ok: false, fault: text });
