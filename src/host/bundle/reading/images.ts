/**
 * Checks the images that a manifest names: each must be uploaded, be PNG or JPEG, and be within
 * size limits (`docs/contract/manifest.md#icons-and-images`). Finds the other images that are
 * published; one of these that is no image is left out.
 *
 * A product that trusts Annex shows them on its installation pages, so only valid images are
 * stored. Attack: 2 MiB of PNG that a browser decodes to a gigabyte of pixels; bytes and pixels are
 * both limited. The pixels are not decoded here.
 */

import type { Limits } from '../../../limits.ts';
import { absentHint } from '../../../model/manifest/absent-file.ts';
import {
  ASSET_BYTES_MAX,
  ASSETS_MAX,
  assetsOf,
  imagesOf,
  imageType,
  type ManifestImage,
  readAsset,
  readImage,
} from '../../../model/manifest/image.ts';
import type { Manifest, PlaceOf } from '../../../model/manifest/manifest.ts';
import { parseHeaderRules, parseRedirects, staticPathIn } from '../../../model/manifest/static-files.ts';
import type { SourcePosition } from '../../../model/manifest/yaml-source.ts';
import { limitProblem, type Problem, problem, warning } from '../../../model/problem.ts';

const KIB = 1024;
/** Recommended, and allowed, bytes of an icon. */
const ICON_BYTES = 250 * KIB;
export const ICON_BYTES_MAX = 512 * KIB;
/** Recommended width and height of an icon, which should be square. */
const ICON_PIXELS = 1_024;
/** Recommended, and allowed, bytes of a preview image. */
const PREVIEW_BYTES = 1024 * KIB;
export const PREVIEW_BYTES_MAX = 2 * 1024 * KIB;
/** Recommended size of a preview; its ratio, 2:1, is also recommended. */
const PREVIEW_WIDTH = 1_600;
const PREVIEW_HEIGHT = 800;
/** Largest width and height of any image, and the largest product: 128 MiB of decoded pixels. */
const PIXELS_MAX = 8_192;
const AREA_MAX = 32 * 1024 * 1024;

/** Whether an image is small enough to be decoded by a browser. */
export const isShown = ({ width, height }: { readonly width: number; readonly height: number }): boolean =>
  Math.max(width, height) <= PIXELS_MAX && width * height <= AREA_MAX;

/** An image of an upload. */
export interface NamedImage {
  /** Path as the manifest names it. */
  readonly path: string;
  readonly content: Uint8Array;
}

export interface ImagesRequest {
  readonly manifest: Manifest;
  /** Relative path → bytes. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** Folder of the manifest inside the upload, with a slash at its end; empty for the root. */
  readonly folder?: string;
  readonly placeOf: PlaceOf;
  readonly limits: Pick<Limits, 'staticFiles' | 'staticFileBytes'>;
}

/** Returns the images that are published, each once, and every problem with them. */
export function collectImages({ manifest, files, folder = '', placeOf, limits }: ImagesRequest): {
  readonly images: readonly NamedImage[];
  readonly problems: readonly Problem[];
} {
  const images = new Map<string, NamedImage>();
  const problems = imagesOf(manifest).flatMap((named) => {
    const { path, at } = named;
    const place = placeOf(at);
    const content = files.get(`${folder}${path}`);
    if (content === undefined) return [absent(path, files, place)];
    images.set(path, { path, content });
    return imageProblems(named, content, place);
  });
  const isAsset = assetsOf(manifest);
  let left = ASSETS_MAX;
  for (const [file, content] of files) {
    const path = file.slice(folder.length);
    if (!file.startsWith(folder) || images.has(path) || !isAsset(path)) continue;
    left -= 1;
    const fault = left < 0 ? `is one of more than ${ASSETS_MAX}` : assetFault(content);
    if (fault === undefined) images.set(path, { path, content });
    // One line says that there are too many.
    else if (left >= -1) problems.push(warning(`The image "${path}" ${fault}, so it is left out.`, { file }));
  }
  problems.push(...collectStatic(manifest, { files, folder, limits }, images));
  return { images: [...images.values()], problems };
}

/** Adds the static files, each under its path in the URL, which begins with a slash. */
function collectStatic(
  manifest: Manifest,
  { files, folder, limits }: Pick<ImagesRequest, 'files' | 'limits'> & { readonly folder: string },
  into: Map<string, NamedImage>,
): Problem[] {
  const problems: Problem[] = [];
  const pathOf = staticPathIn(manifest);
  let count = 0;
  for (const [file, content] of files) {
    const path = file.startsWith(folder) ? pathOf(file.slice(folder.length)) : undefined;
    if (path === undefined) continue;
    count += 1;
    const size = { name: 'staticFileBytes', max: limits.staticFileBytes, used: content.byteLength } as const;
    if (size.used > size.max) problems.push(limitProblem(size, { file }));
    else if (count <= limits.staticFiles) into.set(path, { path, content });
    const rules = RULES[path]?.(Buffer.from(content).toString('utf8')).ignored ?? [];
    for (const { line, why } of rules.slice(0, RULES_SHOWN))
      problems.push(warning(`This line is ignored: ${why}.`, { file, line, column: 1 }));
  }
  if (count > limits.staticFiles)
    problems.push(limitProblem({ name: 'staticFiles', max: limits.staticFiles, used: count }));
  if (count === 0 && manifest.assets !== undefined)
    problems.push(warning(`There are no files in "${manifest.assets.folder}", which "assets" names.`));
  return problems;
}

const RULES_SHOWN = 10;
const RULES: Readonly<Record<string, typeof parseRedirects | typeof parseHeaderRules | undefined>> = {
  '/_redirects': parseRedirects,
  '/_headers': parseHeaderRules,
};

/** Why a file cannot be published as an image. */
export function assetFault(content: Uint8Array): string | undefined {
  if (content.byteLength > ASSET_BYTES_MAX) return `has more than ${ASSET_BYTES_MAX / KIB} KiB`;
  const read = readAsset(content);
  if (!read.ok) return read.fault;
  return isShown(read) ? undefined : `has ${read.width} × ${read.height} pixels`;
}

function absent(path: string, files: ReadonlyMap<string, Uint8Array>, place: SourcePosition): Problem {
  const hint = absentHint(path, files) ?? 'Upload it with the code.';
  return problem(`The image "${path}" is not among the uploaded files.`, { ...place, hint });
}

/** What an image of one kind should be; beyond the bounds of all images it is refused. */
const WANTED = {
  icon: {
    name: 'icon',
    bytes: ICON_BYTES,
    bytesMax: ICON_BYTES_MAX,
    isShape: (width: number, height: number) => width === height && width <= ICON_PIXELS,
    shape: `a square of at most ${ICON_PIXELS} × ${ICON_PIXELS} pixels`,
    hint: '512 × 512 pixels are plenty.',
  },
  preview: {
    name: 'preview',
    bytes: PREVIEW_BYTES,
    bytesMax: PREVIEW_BYTES_MAX,
    isShape: (width: number, height: number) => width * PREVIEW_HEIGHT === height * PREVIEW_WIDTH,
    shape: '2:1, so it is shown cropped or with borders',
    hint: `${PREVIEW_WIDTH} × ${PREVIEW_HEIGHT} pixels are recommended.`,
  },
} as const;

function imageProblems({ kind, path }: ManifestImage, content: Uint8Array, place: SourcePosition): Problem[] {
  const { name, bytes, bytesMax, isShape, shape, hint } = WANTED[kind];
  if (content.byteLength > bytesMax) return [tooLarge(path, content, bytesMax, place)];
  const read = readImage(content);
  if (!read.ok) {
    return [problem(`The file "${path}" ${read.fault}.`, { ...place, hint: 'Save it as PNG.' })];
  }
  const { width, height } = read;
  const found = `The ${name} "${path}" has ${width} × ${height} pixels`;
  if (!isShown(read)) {
    const most = `at most ${PIXELS_MAX} on each side, and ${AREA_MAX} in all, are allowed`;
    return [problem(`${found}; ${most}.`, { ...place, hint })];
  }
  const warnings: Problem[] = [];
  if (!isShape(width, height)) warnings.push(warning(`${found}, which is not ${shape}.`, { ...place, hint }));
  if (content.byteLength > bytes) {
    const size = `${content.byteLength} bytes; at most ${bytes / KIB} KiB are recommended`;
    warnings.push(warning(`The image "${path}" has ${size}.`, place));
  }
  if (imageType(content) === 'image/jpeg') {
    const message = `The image "${path}" is a JPEG, whose edges blur.`;
    warnings.push(warning(message, { ...place, hint: 'Save it as PNG.' }));
  }
  return warnings;
}

const tooLarge = (path: string, content: Uint8Array, max: number, place: SourcePosition): Problem =>
  problem(
    `The image "${path}" has ${content.byteLength} bytes; at most ${max / KIB} KiB are allowed.`,
    place,
  );
