/**
 * What a manifest says for its installation page (`docs/contract/manifest.md#members`): categories,
 * images and links.
 *
 * Whoever looks at that page trusts the product it is part of, not the author, so nothing here may
 * do more than be looked at. Whether an image is there and is one is found out at publish
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
/** As long as the path of an uploaded file may be. */
export const IMAGE_PATH_CHARS_MAX = 512;

/**
 * Path of a file of the upload, `./` before it or not. It names a file by itself and is part of a
 * URL later, so it leads nowhere else: not up (`../../etc/passwd`), not to a root, not to a drive.
 */
export const IMAGE_PATH =
  /^(?:\.\/)?(?!(?:.*\/)?\.{1,2}(?:\/|$))(?![A-Za-z]:)[^\p{Cc}\u2028\u2029/\\]+(?:\/[^\p{Cc}\u2028\u2029/\\]+)*$/u;

/**
 * An absolute URL that a browser opens as a page. `javascript:` would run in the page that shows
 * the link, and `https://bank.example@evil.example` shows another host than it leads to.
 */
export const LINK_URL = /^https?:\/\/[^\s/?#@\\]+(?:[/?#][^\s\\]*)?$/;

export interface ExternalLink {
  readonly label: string;
  /** Absolute, `http` or `https`. */
  readonly url: string;
}

/** What the installation page shows beside texts. */
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
    categories: fields.words('categories', CATEGORIES, { aliases: CATEGORY_ALIASES }),
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

/** The path of an image, as the files of the upload are called. */
export function readImagePath(fields: YamlFields, key: string): string | undefined {
  const path = fields.optionalText(key, IMAGE_RULE);
  return path === undefined ? undefined : plainPath(path);
}

const plainPath = (path: string): string => path.replace(/^\.\//, '');
