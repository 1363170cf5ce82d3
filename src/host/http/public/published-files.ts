/**
 * Files that the host itself serves on the public listener: published scripts
 * (docs/contract/published-scripts.md#script) and the images of integrations, `GET {endpoint of the
 * integration}/~assets/…` (docs/contract/manifest.md#icons-and-images). For images no isolate is
 * entered; whoever has the URL sees them: they stand in pages of the host product, whose visitors
 * have no token.
 *
 * Attack: a script that browsers of a site load, or a picture, and with it headers of the code:
 * cookies, a type that makes it a page, a policy for the origin. All headers are the host's own.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { AnnexError } from '../../../errors.ts';
import { ASSETS_PATH } from '../../../model/endpoint-urls.ts';
import { imageType } from '../../../model/manifest/image.ts';
import { isImagePath } from '../../../model/manifest/manifest-page.ts';
import type { Target } from '../../../model/target.ts';
import type { Registry } from '../../store/integrations/registry.ts';

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
const INERT = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

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

const BYTES_CACHED = 32 * 1024 * 1024;
/** Estimated size of an entry beside its bytes. */
const ENTRY_BYTES = 1024;

/**
 * Path of the image that a request asks for, decoded; undefined if it asks for none.
 *
 * Attack: `~assets/..%2f` or a path with U+0000. What no upload can name is not looked up.
 */
export function askedImage(
  method: string,
  { target, pathAndQuery }: { readonly target: Pick<Target, 'level'>; readonly pathAndQuery: string },
): string | undefined {
  if (!pathAndQuery.startsWith(`${ASSETS_PATH}/`) || target.level !== 'integration') return undefined;
  if (method !== 'GET' && method !== 'HEAD') return undefined;
  const [path = ''] = pathAndQuery.slice(ASSETS_PATH.length + 1).split('?', 1);
  try {
    const decoded = decodeURIComponent(path);
    return isImagePath(decoded) ? decoded : '';
  } catch {
    return '';
  }
}

export class PublishedImages {
  readonly #registry: Pick<Registry, 'image'>;
  /** By version, whose images never change. */
  readonly #cache = new LRUCache<string, PublishedFile>({
    maxSize: BYTES_CACHED,
    sizeCalculation: ({ bytes }) => ENTRY_BYTES + bytes.byteLength,
  });

  constructor(registry: Pick<Registry, 'image'>) {
    this.#registry = registry;
  }

  /** @param path of `askedImage` @throws AnnexError IMAGE_UNKNOWN */
  async image({ integration, version }: Target, path: string): Promise<PublishedFile> {
    const key = JSON.stringify([integration, version, path]);
    const known = this.#cache.get(key);
    if (known !== undefined) return known;
    const content = path === '' ? undefined : await this.#registry.image(integration, version, path);
    if (content === undefined)
      throw new AnnexError('IMAGE_UNKNOWN', 'The integration has no image at this path.');
    const tag = `"${createHash('sha256').update(content).digest('base64url')}"`;
    const file = { type: imageType(content), bytes: Buffer.from(content), tag };
    this.#cache.set(key, file);
    return file;
  }
}
