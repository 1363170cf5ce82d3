/**
 * Checks that bytes are exactly one JPEG image, and reads its declared size (ITU-T T.81, annex B).
 *
 * Walks the segments and the scans between them. Decodes no pixels, so the work is bounded by the
 * bytes. Nothing may follow the last marker. Attack: polyglots, files that are an image and also an
 * archive or a page, which pass checks of the beginning only.
 */
import type { ImageReading } from './png.ts';

/** Start and end of the image, and start of a scan. */
const [START, END, SCAN] = [0xd8, 0xd9, 0xda];
/** Bytes of entropy-coded data, or segments, between two yields. */
const BYTES_PER_STEP = 256 * 1024;
const SEGMENTS_PER_STEP = 4_096;
/** Precision, height, width and number of components of a frame header. */
const FRAME_BYTES = 6;

export const isJpeg = (bytes: Uint8Array): boolean =>
  bytes[0] === 0xff && bytes[1] === START && bytes[2] === 0xff;

/** Checks in steps, between which the caller can yield to the event loop. */
export function* jpegSteps(content: Uint8Array): Generator<void, ImageReading, void> {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  let size: { readonly width: number; readonly height: number } | undefined;
  let hasPixels = false;
  let segments = 0;
  for (let at = 2; ; ) {
    segments += 1;
    if (segments % SEGMENTS_PER_STEP === 0) yield;
    if (bytes[at] !== 0xff) return fault(at >= bytes.length ? CUT_OFF : DAMAGED);
    const marker = bytes[at + 1];
    at += 2;
    // Any number of these may stand before a marker.
    if (marker === 0xff) at -= 1;
    else if (marker === END) {
      if (size === undefined || !hasPixels) return fault(CUT_OFF);
      if (at < bytes.length) return fault('is a JPEG image with something else behind it');
      return { ok: true, ...size };
    } else if (!isAlone(marker)) {
      if (at + 2 > bytes.length) return fault(CUT_OFF);
      const length = bytes.readUInt16BE(at);
      const data = bytes.subarray(at + 2, at + length);
      at += length;
      if (length < 2 || at > bytes.length) return fault(length < 2 ? DAMAGED : CUT_OFF);
      if (isFrame(marker)) {
        // Attack: a small frame, and behind it a huge one that a lenient decoder shows.
        if (size !== undefined) return fault(DAMAGED);
        size = sizeOf(data);
        if (size === undefined) return fault(DAMAGED);
      }
      if (marker === SCAN) {
        hasPixels = true;
        at = yield* endOfScan(bytes, at);
      }
    } else if (marker === undefined) return fault(CUT_OFF);
  }
}

/** The next marker behind the entropy-coded data of a scan. */
function* endOfScan(bytes: Buffer, from: number): Generator<void, number, void> {
  let step = from;
  for (let at = bytes.indexOf(0xff, from); at >= 0; at = bytes.indexOf(0xff, at + 1)) {
    if (at - step > BYTES_PER_STEP) {
      step = at;
      yield;
    }
    const next = bytes[at + 1];
    // A stuffed byte, and markers at which a decoder may start again, are part of the data.
    if (next !== 0 && !(next !== undefined && next >= 0xd0 && next <= 0xd7)) return at;
  }
  return bytes.length;
}

/** Markers without a length: restarts, `TEM`, a repeated start; and the end of the bytes. */
const isAlone = (marker: number | undefined): boolean =>
  marker === undefined || marker <= 0x01 || (marker >= 0xd0 && marker <= START);

/** Frame headers; C4, C8 and CC have other meanings. */
const isFrame = (marker: number | undefined): boolean =>
  marker !== undefined && marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

function sizeOf(data: Buffer): { readonly width: number; readonly height: number } | undefined {
  if (data.length < FRAME_BYTES) return undefined;
  const [height, width] = [data.readUInt16BE(1), data.readUInt16BE(3)];
  return height > 0 && width > 0 ? { width, height } : undefined;
}

const CUT_OFF = 'is a JPEG image that is cut off';
const DAMAGED = 'is a damaged JPEG image';

const fault = (text: string): ImageReading => ({ ok: false, fault: text });
