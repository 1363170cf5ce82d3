/**
 * Reads the members of a manifest for its installation page (`docs/contract/manifest.md#members`):
 * categories, images and links.
 *
 * Visitors of that page trust the product, not the author, so nothing here may have any effect
 * beyond being displayed. Does not check that an image exists and is a PNG; publishing does
 * (`bundle/reading/images.ts`).
 */
import type { TextRule, YamlFields } from './yaml-fields.ts';

export const CATEGORIES = [
  'analytics',
  'collaboration',
  'content',
  'marketing',
  'authenticated-access',
  'other',
] as const;
export type Category = (typeof CATEGORIES)[number];

/** Former names of categories (`docs/contract/manifest.md#members`). */
export const CATEGORY_ALIASES: ReadonlyMap<string, Category> = new Map([
  ['visitor-auth', 'authenticated-access'],
]);

export const PREVIEW_IMAGES_MAX = 10;
export const EXTERNAL_LINKS_MAX = 20;
export const LABEL_CHARS_MAX = 100;
export const URL_CHARS_MAX = 2_048;
/** The maximum length of the path of an uploaded file. */
export const IMAGE_PATH_CHARS_MAX = 512;

/**
 * Path of a file of the upload, optionally with `./` before it. It names a file and later becomes
 * part of a URL. Attack: path traversal, upwards (`../../etc/passwd`), to a root or to a drive.
 */
export const IMAGE_PATH =
  /^(?:\.\/)?(?!(?:.*\/)?\.{1,2}(?:\/|$))(?![A-Za-z]:)[^\p{Cc}\u2028\u2029/\\]+(?:\/[^\p{Cc}\u2028\u2029/\\]+)*$/u;

/**
 * Whether an image can have this path. Others, such as those with U+0000, must not reach the
 * database.
 */
export const isImagePath = (path: string): boolean =>
  path.length <= IMAGE_PATH_CHARS_MAX && IMAGE_PATH.test(path);

/**
 * An absolute URL that a browser opens as a page. Attack: `javascript:`, which runs in the page
 * that shows the link, and `https://bank.example@evil.example`, which displays another host than it
 * opens.
 */
export const LINK_URL = /^https?:\/\/[^\s/?#@\\]+(?:[/?#][^\s\\]*)?$/;

export interface ExternalLink {
  readonly label: string;
  /** Absolute, `http` or `https`. */
  readonly url: string;
}

/** The members of a manifest for the installation page, except texts. */
export interface ManifestPage {
  readonly categories: readonly Category[];
  /** Path inside the upload, without `./` before it. */
  readonly icon?: string;
  /** Paths inside the upload, each once. */
  readonly previewImages: readonly string[];
  readonly externalLinks: readonly ExternalLink[];
}

const IMAGE_RULE: TextRule = {
  pattern: IMAGE_PATH,
  wanted: 'the relative path of an uploaded file, such as "images/icon.png"',
  charsMax: IMAGE_PATH_CHARS_MAX,
  hint: 'Put the image beside the code, and name it from the folder of the manifest, without "..".',
};

const LINK_RULE: TextRule = {
  pattern: LINK_URL,
  wanted: 'an absolute URL that begins with https:// or http://, without a user name',
  charsMax: URL_CHARS_MAX,
  fault: (text) => (URL.canParse(text) ? undefined : 'must be a URL'),
};

export function readPage(fields: YamlFields): ManifestPage {
  const icon = readImagePath(fields, 'icon');
  return {
    categories: fields.words('categories', CATEGORIES, { aliases: CATEGORY_ALIASES, lenient: true }),
    ...(icon !== undefined && { icon }),
    previewImages: fields
      .texts('previewImages', { ...IMAGE_RULE, max: PREVIEW_IMAGES_MAX, unique: true })
      .map(plainPath),
    externalLinks: fields.maps('externalLinks', { max: EXTERNAL_LINKS_MAX }).map((link) => {
      link.warnUnknown(['label', 'url']);
      return { label: link.text('label', { charsMax: LABEL_CHARS_MAX }), url: link.text('url', LINK_RULE) };
    }),
  };
}

/** Reads the path of an image, in the form of the upload's file names. */
export function readImagePath(fields: YamlFields, key: string): string | undefined {
  const path = fields.optionalText(key, IMAGE_RULE);
  return path === undefined ? undefined : plainPath(path);
}

const plainPath = (path: string): string => path.replace(/^\.\//, '');
