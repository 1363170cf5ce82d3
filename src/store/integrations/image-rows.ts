/**
 * Rows of images: icons and previews of a version, as its manifest names them.
 *
 * Written with their version, never changed, and removed with it.
 */
import type { Database } from '../../database/tables.ts';

/** An image of a version. */
export interface StoredImage {
  /** As the manifest names it. */
  readonly path: string;
  /** PNG or JPEG. */
  readonly content: Uint8Array;
}

/** Stores the images of a stored version. */
export async function insertImages(
  database: Database,
  version: { readonly integration: string; readonly number: number },
  images: readonly StoredImage[],
): Promise<void> {
  // One by one: a statement with all of them would be as large as the upload.
  for (const { path, content } of images) {
    const base64 = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('base64');
    const { integration, number } = version;
    await database.insertInto('images').values({ integration, number, path, content: base64 }).execute();
  }
}

/** An image of the active version. */
export async function readActiveImage(
  database: Database,
  integration: string,
  path: string,
): Promise<Buffer | undefined> {
  const row = await database
    .selectFrom('images')
    .innerJoin('integrations', (join) =>
      join
        .onRef('integrations.name', '=', 'images.integration')
        .onRef('integrations.active_version', '=', 'images.number'),
    )
    .select('images.content')
    .where('images.integration', '=', integration)
    .where('images.path', '=', path)
    .executeTakeFirst();
  return row && Buffer.from(row.content, 'base64');
}
