/**
 * Rows of images: icons and previews of a version, as its manifest names them, and its assets.
 *
 * Written with their version, never changed, and removed with it.
 */
import type { Database } from '../../database/tables.ts';

/** An image of a version. */
export interface StoredImage {
  /** From the folder of the manifest. */
  readonly path: string;
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

export async function readImageRow(
  database: Database,
  version: { readonly integration: string; readonly number: number },
  path: string,
): Promise<Buffer | undefined> {
  const row = await database
    .selectFrom('images')
    .select('content')
    .where('integration', '=', version.integration)
    .where('number', '=', version.number)
    .where('path', '=', path)
    .executeTakeFirst();
  return row && Buffer.from(row.content, 'base64');
}
