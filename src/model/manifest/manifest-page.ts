/**
 * The members of a manifest for its installation page (`docs/contract/manifest.md#members`):
 * categories, images and links.
 *
 * Visitors of that page trust the product, not the author, so nothing here may have any effect
 * beyond being displayed. Does not check that an image exists and is a PNG; publishing does
 * (`bundle/reading/images.ts`).
 */
import { byDefault, checked, type Field, maps, optional, text, texts, words } from './field.ts';

const PREVIEW_IMAGES_MAX = 10;
const EXTERNAL_LINKS_MAX = 20;
const LABEL_CHARS_MAX = 100;
const URL_CHARS_MAX = 2_048;
/** The maximum length of the path of an uploaded file. */
export const IMAGE_PATH_CHARS_MAX = 512;

/**
 * Path of a file of the upload, optionally with `./` before it. It names a file and later becomes
 * part of a URL. Attack: path traversal, upwards (`../../etc/passwd`), to a root or to a drive.
 */
const IMAGE_PATH =
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
const LINK_URL = /^https?:\/\/[^\s/?#@\\]+(?:[/?#][^\s\\]*)?$/;

const IMAGE_RULE = {
  pattern: IMAGE_PATH,
  wanted: 'the relative path of an uploaded file, such as "images/icon.png"',
  charsMax: IMAGE_PATH_CHARS_MAX,
  hint: 'Put the image beside the code, and name it from the folder of the manifest, without "..".',
};

/** The path as the upload names its files. */
const plainPath = (path: string): string => path.replace(/^\.\//, '');

const ICON_DESCRIPTION = 'A square PNG among the uploaded files, at most 1024 × 1024 pixels and 250 KiB.';
/** The icon of an integration, a block or a content source: a path inside the upload. */
export const ICON = optional(checked(text(ICON_DESCRIPTION, IMAGE_RULE), plainPath));

const PREVIEW_IMAGES: Field<readonly string[]> = texts(
  'A PNG among the uploaded files; 1600 × 800 pixels are recommended.',
  { ...IMAGE_RULE, max: PREVIEW_IMAGES_MAX, unique: true, description: 'Shown on the installation page.' },
);

const LINK = {
  label: text('The text of the link.', { charsMax: LABEL_CHARS_MAX }),
  url: text('Absolute, http or https.', {
    pattern: LINK_URL,
    wanted: 'an absolute URL that begins with https:// or http://, without a user name',
    charsMax: URL_CHARS_MAX,
    fault: (written) => (URL.canParse(written) ? undefined : 'must be a URL'),
  }),
};

/** The members for the installation page, except texts. */
export const PAGE = {
  categories: byDefault(
    words(
      {
        ...{ analytics: undefined, collaboration: undefined, content: undefined, marketing: undefined },
        ...{ 'authenticated-access': undefined, other: undefined },
      },
      'Categories.',
      // Former names (`docs/contract/manifest.md#members`).
      new Map([['visitor-auth', 'authenticated-access']]),
    ),
  ),
  icon: ICON,
  previewImages: byDefault(checked(PREVIEW_IMAGES, (paths) => paths.map(plainPath))),
  externalLinks: byDefault(
    maps(LINK, {
      item: 'A link on the installation page.',
      description: 'Links on the installation page.',
      max: EXTERNAL_LINKS_MAX,
    }),
  ),
};
