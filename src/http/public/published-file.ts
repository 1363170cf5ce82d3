/**
 * Headers and conditions of the files that the host itself serves on the public listener: published
 * scripts (docs/contract/published-scripts.md#script) and images
 * (docs/contract/manifest.md#icons-and-images).
 *
 * Attack: a script that browsers of a site load, or a picture, and with it headers of the code:
 * cookies, a type that makes it a page, a policy for the origin. All headers are the host's own.
 */

export interface PublishedFile {
  readonly type: string;
  readonly bytes: Buffer;
  /** Strong entity tag. */
  readonly tag: string;
}

/** How long browsers use a file without asking again. */
const MAX_AGE_S = 300;

/**
 * Attack: an SVG with a script, opened as a page or put into a frame of the endpoint's origin.
 * Nothing in it runs, and nothing is loaded for it. A script and a picture in a page obey the
 * policy of that page.
 */
export const INERT = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

export const fileHeaders = ({ type, tag }: Omit<PublishedFile, 'bytes'>): Record<string, string> => ({
  'content-type': type,
  'x-content-type-options': 'nosniff',
  'content-security-policy': INERT,
  // Pages of a site, and of the host product, are other origins than the endpoint.
  'cross-origin-resource-policy': 'cross-origin',
  'cache-control': `public, max-age=${MAX_AGE_S}`,
  etag: tag,
});

/** Whether `If-None-Match` names the file. A malformed header names nothing. */
export const isKnownFile = (header: string | undefined, { tag }: Pick<PublishedFile, 'tag'>): boolean =>
  header !== undefined && (header.trim() === '*' || header.split(',').some((one) => isTag(one, tag)));

const isTag = (one: string, tag: string): boolean => one.trim().replace(/^W\//, '') === tag;
