/**
 * The images of an integration: icons and previews, which its manifest names, and assets, which its
 * code shows (`docs/contract/manifest.md#icons-and-images`).
 *
 * The format follows from the bytes alone. Attack: a name or a declared type that makes a browser
 * read an image as a page.
 */

import { crc32 } from 'node:zlib';
import type { Manifest } from './manifest.ts';
import { isImagePath } from './manifest-page.ts';
import { staticPathIn } from './static-files.ts';
import type { YamlPath } from './yaml-source.ts';

/** An image that a manifest names. */
export interface ManifestImage {
  readonly kind: 'icon' | 'preview';
  /** Relative to the folder of the manifest. */
  readonly path: string;
  /** The member that names it. */
  readonly at: YamlPath;
}

export function imagesOf({ icon, blocks, contentSources = [], previewImages }: Manifest): ManifestImage[] {
  const iconOf = (path: string | undefined, at: YamlPath): ManifestImage[] =>
    path === undefined ? [] : [{ kind: 'icon', path, at }];
  return [
    ...iconOf(icon, ['icon']),
    ...blocks.flatMap((block, index) => iconOf(block.icon, ['blocks', index, 'icon'])),
    ...contentSources.flatMap((source, index) => iconOf(source.icon, ['contentSources', index, 'icon'])),
    ...previewImages.map(
      (path, index): ManifestImage => ({ kind: 'preview', path, at: ['previewImages', index] }),
    ),
  ];
}

/** Images of one version that its manifest does not name. */
export const ASSETS_MAX = 200;
/** Of such an image. */
export const ASSET_BYTES_MAX = 2 * 1024 * 1024;
/** The folder beside the manifest whose images are published, whatever the manifest names. */
const PUBLIC_FOLDER = 'public/';
const ASSET = /\.(?:png|jpe?g|gif|webp|svg)$/i;
const HIDDEN = /(?:^|\/)(?:\.|node_modules\/)/;

/**
 * Whether a file of an upload is published as an image: in `public/`, or in a folder of an image
 * that the manifest names. Other images of an upload stay with the code.
 */
export function assetsOf(manifest: Manifest): (path: string) => boolean {
  const named = imagesOf(manifest).map(({ path }) => path.slice(0, path.lastIndexOf('/') + 1));
  const folders = [...new Set([PUBLIC_FOLDER, ...named])].filter((folder) => folder !== '');
  const isStatic = staticPathIn(manifest);
  return (path) =>
    ASSET.test(path) &&
    isStatic(path) === undefined &&
    folders.some((folder) => path.startsWith(folder)) &&
    isImagePath(path) &&
    !HIDDEN.test(path);
}

/**
 * Checks a PNG or a JPEG. In steps, between which the caller can yield to the event loop.
 */
export const imageSteps = (content: Uint8Array): Generator<void, ImageReading, void> =>
  isJpeg(content) ? jpegSteps(content) : pngSteps(content);

/** The same for an asset, which may also be a GIF, a WebP or an SVG. */
export function assetSteps(content: Uint8Array): Generator<void, ImageReading, void> {
  const read = OTHERS.find(({ is }) => is.test(beginning(content)))?.size;
  return read === undefined ? imageSteps(content) : sized(read(Buffer.from(content)));
}

export const readImage = (content: Uint8Array): ImageReading => whole(imageSteps(content));
export const readAsset = (content: Uint8Array): ImageReading => whole(assetSteps(content));

function whole(steps: Generator<void, ImageReading, void>): ImageReading {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

export type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp' | 'image/svg+xml';

/** The media type of an image that was checked. */
export const imageType = (content: Uint8Array): ImageType =>
  isJpeg(content)
    ? 'image/jpeg'
    : (OTHERS.find(({ is }) => is.test(beginning(content)))?.type ?? 'image/png');

/** Characters in which an SVG has its first element. */
const PROLOGUE_CHARS = 2_048;

const beginning = (content: Uint8Array): string =>
  Buffer.from(content.buffer, content.byteOffset, Math.min(content.byteLength, PROLOGUE_CHARS)).toString(
    'latin1',
  );

type Size = readonly [width: number, height: number];

/** Formats of assets alone. An SVG has no pixels: browsers scale it. */
const OTHERS: readonly {
  readonly type: ImageType;
  readonly is: Pick<RegExp, 'test'>;
  size(bytes: Buffer): Size | undefined;
}[] = [
  {
    type: 'image/gif',
    is: /^GIF8[79]a/,
    size: (bytes) => (bytes.length < 14 ? undefined : [bytes.readUInt16LE(6), bytes.readUInt16LE(8)]),
  },
  { type: 'image/webp', is: /^RIFF[\s\S]{4}WEBPVP8[ LX]/, size: webpSize },
  {
    type: 'image/svg+xml',
    is: { test: isSvg },
    size: () => [1, 1],
  },
];

/** What may stand before the first element, and what ends it. */
const PROLOGUE: readonly (readonly [begins: RegExp, end: string])[] = [
  [/^<\?xml\s/, '?>'],
  [/^<!--/, '-->'],
  // Attack: a document type that declares entities which multiply.
  [/^<!DOCTYPE svg(?![^>]*\[)/i, '>'],
];

function isSvg(text: string): boolean {
  let rest = text.startsWith('\xef\xbb\xbf') ? text.slice(3) : text;
  for (;;) {
    rest = rest.trimStart();
    const [, end] = PROLOGUE.find(([begins]) => begins.test(rest)) ?? [];
    if (end === undefined) return /^<svg[\s>]/i.test(rest);
    const at = rest.indexOf(end);
    if (at === -1) return false;
    rest = rest.slice(at + end.length);
  }
}

/** Size of a WebP (RFC 9649, sections 2.5 to 2.7). */
function webpSize(bytes: Buffer): Size | undefined {
  if (bytes.length < 30) return undefined;
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8X':
      return [1 + bytes.readUIntLE(24, 3), 1 + bytes.readUIntLE(27, 3)];
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return [1 + (bits & 0x3fff), 1 + ((bits >>> 14) & 0x3fff)];
    }
    default:
      return [bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff];
  }
}

// biome-ignore lint/correctness/useYield: it takes no time, and has the form of the others
function* sized(size: Size | undefined): Generator<void, ImageReading, void> {
  const [width, height] = size ?? [0, 0];
  return width > 0 && height > 0 ? { ok: true, width, height } : { ok: false, fault: 'is cut off' };
}

/** Start and end of the image, and start of a scan. */
const [START, END, SCAN] = [0xd8, 0xd9, 0xda];
/** Bytes of entropy-coded data, or segments, between two yields. */
const BYTES_PER_STEP = 256 * 1024;
const SEGMENTS_PER_STEP = 4_096;
/** Precision, height, width and number of components of a frame header. */
const FRAME_BYTES = 6;

const isJpeg = (bytes: Uint8Array): boolean => bytes[0] === 0xff && bytes[1] === START && bytes[2] === 0xff;

/**
 * Checks that bytes are exactly one JPEG image, and reads its declared size (ITU-T T.81, annex B).
 *
 * Walks the segments and the scans between them. Decodes no pixels, so the work is bounded by the
 * bytes. Nothing may follow the last marker. Attack: polyglots, files that are an image and also an
 * archive or a page, which pass checks of the beginning only.
 *
 * Checks in steps, between which the caller can yield to the event loop.
 */
function* jpegSteps(content: Uint8Array): Generator<void, ImageReading, void> {
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

/** Result of checking an image of any format. */
type ImageReading =
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
const OTHER_FORMATS: readonly (readonly [name: string, beginning: RegExp])[] = [
  ['a GIF', /^GIF8/],
  ['a WebP', /^RIFF.{4}WEBP/s],
  ['an SVG', /^\s*<(\?xml|!--|svg|!DOCTYPE svg)/i],
  ['a PNG that was changed as if it were text', /^.PNG/s],
];

/**
 * Checks that bytes are exactly one PNG image, and reads its declared size (PNG, third edition,
 * sections 5 and 11.2).
 *
 * Checks the signature, the sizes and checksums of the chunks, and the required chunks. Decodes no
 * pixels, so the work is bounded by the bytes, not by their decompressed size. Nothing may follow
 * the last chunk. Attack: polyglots, files that are an image and also an archive or a page, which
 * pass checks of the beginning only.
 */
export function readPng(content: Uint8Array): ImageReading {
  const steps = pngSteps(content);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** The same in steps, between which the caller can yield to the event loop. */
function* pngSteps(content: Uint8Array): Generator<void, ImageReading, void> {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  if (!bytes.subarray(0, SIGNATURE.length).equals(SIGNATURE)) {
    const beginning = bytes.toString('latin1', 0, 64);
    const other = OTHER_FORMATS.find(([, pattern]) => pattern.test(beginning))?.[0];
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
