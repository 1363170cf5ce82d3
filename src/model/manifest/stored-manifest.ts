/**
 * Reads the manifest that was stored with a version.
 *
 * Versions live as long as somebody may roll back to them, and outlive the shape they were stored in; whatever reads one
 * back does so here, and gets the shape of today.
 */
import { type PublishedManifest, readManifest } from './manifest.ts';
import { YamlFields } from './yaml-fields.ts';

/** Of the first shape: members that nobody had looked at, as they were written. */
const UNREAD = 'carried';

/**
 * Reads JSON text in this shape or in the first one.
 *
 * The first shape kept blocks, properties and what an installation page shows as their author wrote them. It goes through
 * the reader of new manifests: what has no place there any more is left out, as if it had not been written. Images are left
 * out always, because none were kept then.
 */
export function storedManifest(json: string): PublishedManifest {
  const stored: PublishedManifest & { readonly [UNREAD]?: object } = JSON.parse(json);
  if (!(UNREAD in stored)) return stored;
  const { [UNREAD]: unread = {}, secrets, ...rest } = stored;
  const nowhere = { file: '', line: 0, column: 0 };
  const places = { placeOf: () => nowhere, keyPlaceOf: () => nowhere };
  const written = { ...unread, ...rest, icon: null, previewImages: null };
  const manifest = readManifest(new YamlFields(places, [], written, []));
  return {
    ...manifest,
    blocks: manifest.blocks.map(({ icon: _none, ...block }) => block).filter(({ id }) => id !== ''),
    externalLinks: manifest.externalLinks.filter(({ label, url }) => label !== '' && url !== ''),
    secrets,
  };
}
