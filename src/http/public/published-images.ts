/**
 * The images of integrations on the public listener: `GET {endpoint of the integration}/~assets/…`
 * (docs/contract/manifest.md#icons-and-images). No isolate is entered.
 *
 * Whoever has the URL sees the image: it stands in pages of the host product, whose visitors have
 * no token.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { AnnexError } from '../../errors.ts';
import { ASSETS_PATH } from '../../model/endpoint-urls.ts';
import { imageType } from '../../model/manifest/image.ts';
import { isImagePath } from '../../model/manifest/manifest-page.ts';
import type { Target } from '../../model/target.ts';
import type { Registry } from '../../store/integrations/registry.ts';
import type { PublishedFile } from './published-file.ts';

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

export interface PublishedImagesParts {
  readonly registry: Pick<Registry, 'image'>;
}

export class PublishedImages {
  readonly #registry: PublishedImagesParts['registry'];
  /** By version, whose images never change. */
  readonly #cache = new LRUCache<string, PublishedFile>({
    maxSize: BYTES_CACHED,
    sizeCalculation: ({ bytes }) => ENTRY_BYTES + bytes.byteLength,
  });

  constructor({ registry }: PublishedImagesParts) {
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
