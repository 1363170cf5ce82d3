/**
 * The images of an integration: icons and previews, which its manifest names, and assets, which its
 * code shows (`docs/contract/manifest.md#icons-and-images`).
 *
 * The format follows from the bytes alone. Attack: a name or a declared type that makes a browser
 * read an image as a page.
 */
import { isJpeg, jpegSteps } from './jpeg.ts';
import type { Manifest } from './manifest.ts';
import { isImagePath } from './manifest-page.ts';
import { type ImageReading, pngSteps } from './png.ts';
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
  return (path) =>
    ASSET.test(path) &&
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
