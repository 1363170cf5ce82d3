/**
 * Checks the images that a manifest names: each must be uploaded, be PNG, and be within size limits
 * (`docs/contract/manifest.md#icons-and-images`).
 *
 * A product that trusts Annex shows them on its installation pages, so only valid PNG files are
 * stored. Attack: 2 MiB of PNG that a browser decodes to a gigabyte of pixels; bytes and pixels are
 * both limited. The pixels are not decoded here.
 */
import type { Manifest, PlaceOf } from '../../model/manifest/manifest.ts';
import { readPng } from '../../model/manifest/png.ts';
import type { Place, YamlPath } from '../../model/manifest/yaml-source.ts';
import { type Problem, problem, warning } from '../../model/problem.ts';
import { absentHint } from './absent-file.ts';

const KIB = 1024;
export const ICON_BYTES_MAX = 512 * KIB;
/** Largest width and height of an icon, which must be square. */
const ICON_PIXELS_MAX = 1_024;
export const PREVIEW_BYTES_MAX = 2 * 1024 * KIB;
/** Largest width and height of a preview image. */
const PREVIEW_PIXELS_MAX = 4_096;
/** Recommended size; its ratio, 2:1, is also recommended. */
const PREVIEW_WIDTH = 1_600;
const PREVIEW_HEIGHT = 800;

/** An image of an upload. */
export interface NamedImage {
  /** Path as the manifest names it. */
  readonly path: string;
  readonly content: Uint8Array;
}

interface Named {
  readonly kind: 'icon' | 'preview';
  readonly path: string;
  /** Member of the manifest that names it. */
  readonly at: YamlPath;
}

export interface ImagesRequest {
  readonly manifest: Manifest;
  /** Relative path → bytes; absent where a ready script was sent, which comes without files. */
  readonly files?: ReadonlyMap<string, Uint8Array>;
  readonly placeOf: PlaceOf;
}

/** Returns the images that a manifest names, each once, and every problem with them. */
export function collectImages({ manifest, files, placeOf }: ImagesRequest): {
  readonly images: readonly NamedImage[];
  readonly problems: readonly Problem[];
} {
  const images = new Map<string, NamedImage>();
  const problems = namedImages(manifest).flatMap(({ kind, path, at }) => {
    const place = placeOf(at);
    if (files === undefined) {
      const hint = 'Upload the code as files or as an archive, with the image among them.';
      return [
        problem(`A ready script comes without files, so there is no image "${path}".`, { ...place, hint }),
      ];
    }
    const content = files.get(path);
    if (content === undefined) return [absent(path, files, place)];
    images.set(path, { path, content });
    return kind === 'icon' ? iconProblems(path, content, place) : previewProblems(path, content, place);
  });
  return { images: [...images.values()], problems };
}

function namedImages({ icon, blocks, previewImages }: Manifest): Named[] {
  const previews = previewImages.map(
    (path, index): Named => ({
      kind: 'preview',
      path,
      at: ['previewImages', index],
    }),
  );
  const ofBlocks = blocks.flatMap((block, index): Named[] =>
    block.icon === undefined ? [] : [{ kind: 'icon', path: block.icon, at: ['blocks', index, 'icon'] }],
  );
  return [
    ...(icon === undefined ? [] : [{ kind: 'icon', path: icon, at: ['icon'] } as const]),
    ...ofBlocks,
    ...previews,
  ];
}

function absent(path: string, files: ReadonlyMap<string, Uint8Array>, place: Place): Problem {
  const hint = absentHint(path, files) ?? 'Upload it with the code.';
  return problem(`The image "${path}" is not among the uploaded files.`, { ...place, hint });
}

function iconProblems(path: string, content: Uint8Array, place: Place): Problem[] {
  if (content.byteLength > ICON_BYTES_MAX) return [tooLarge(path, content, ICON_BYTES_MAX, place)];
  const png = readPng(content);
  if (!png.ok) return [notPng(path, png.fault, place)];
  const { width, height } = png;
  const size = `${width} × ${height} pixels`;
  if (width !== height)
    return [problem(`The icon "${path}" has ${size}; an icon is square.`, { ...place, hint: SQUARE_HINT })];
  if (width <= ICON_PIXELS_MAX) return [];
  const most = `${ICON_PIXELS_MAX} × ${ICON_PIXELS_MAX}`;
  return [
    problem(`The icon "${path}" has ${size}; at most ${most} are allowed.`, { ...place, hint: SQUARE_HINT }),
  ];
}

const SQUARE_HINT = '512 × 512 pixels are plenty.';
const PREVIEW_HINT = `${PREVIEW_WIDTH} × ${PREVIEW_HEIGHT} pixels are recommended.`;

function previewProblems(path: string, content: Uint8Array, place: Place): Problem[] {
  if (content.byteLength > PREVIEW_BYTES_MAX) return [tooLarge(path, content, PREVIEW_BYTES_MAX, place)];
  const png = readPng(content);
  if (!png.ok) return [notPng(path, png.fault, place)];
  const { width, height } = png;
  const found = `The preview "${path}" has ${width} × ${height} pixels`;
  if (Math.max(width, height) > PREVIEW_PIXELS_MAX) {
    const most = `at most ${PREVIEW_PIXELS_MAX} on each side are allowed`;
    return [problem(`${found}; ${most}.`, { ...place, hint: PREVIEW_HINT })];
  }
  if (width * PREVIEW_HEIGHT === height * PREVIEW_WIDTH) return [];
  const message = `${found}, which is not 2:1, so it is shown cropped or with borders.`;
  return [warning(message, { ...place, hint: PREVIEW_HINT })];
}

const tooLarge = (path: string, content: Uint8Array, max: number, place: Place): Problem =>
  problem(
    `The image "${path}" has ${content.byteLength} bytes; at most ${max / KIB} KiB are allowed.`,
    place,
  );

const notPng = (path: string, fault: string, place: Place): Problem =>
  problem(`The file "${path}" ${fault}.`, { ...place, hint: 'Save it as PNG.' });
