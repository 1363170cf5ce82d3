/**
 * Reads stored manifests, and converts older formats to the current one.
 *
 * Versions are kept for roll-backs and may have been stored in an older format. All code that loads
 * a stored manifest uses this function.
 */
import { type PublishedManifest, readManifest } from './manifest.ts';
import { YamlFields } from './yaml-fields.ts';

/** Member of the first format: the members that were stored unchecked. */
const UNREAD = 'carried';

/**
 * Reads JSON text in the current or the first format. The first format stored blocks, properties
 * and members of the installation page unchecked. They pass through the reader of new manifests,
 * and invalid members are left out. Images are always left out, because they were not stored then.
 */
export function storedManifest(json: string): PublishedManifest {
  const stored: PublishedManifest & { readonly [UNREAD]?: object } = JSON.parse(json);
  if (!(UNREAD in stored)) return stored;
  const { [UNREAD]: unread = {}, secrets, ...rest } = stored;
  const nowhere = { file: '', line: 0, column: 0 };
  const places = { placeOf: () => nowhere, keyPlaceOf: () => nowhere, asText: () => undefined };
  const written = { ...unread, ...rest, icon: null, previewImages: null };
  const manifest = readManifest(new YamlFields(places, [], written, []));
  return {
    ...manifest,
    blocks: manifest.blocks.map(({ icon: _none, ...block }) => block).filter(({ id }) => id !== ''),
    externalLinks: manifest.externalLinks.filter(({ label, url }) => label !== '' && url !== ''),
    secrets,
  };
}
