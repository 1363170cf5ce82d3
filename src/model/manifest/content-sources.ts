/**
 * Reads the content sources of a manifest: sources of generated content, each with the component
 * that draws its settings (`docs/contract/manifest.md#content-sources`).
 *
 * Annex stores and shows them. What a source computes is up to the code and the host product.
 */
import { readImagePath } from './manifest-page.ts';
import type { YamlFields } from './yaml-fields.ts';

/** Maximum content sources of a manifest. */
export const CONTENT_SOURCES_MAX = 50;

export interface ContentSource {
  readonly id: string;
  readonly title: string;
  readonly description?: string;
  /** Path of an image inside the upload. */
  readonly icon?: string;
  /** The component that draws the settings of the source. */
  readonly configuration?: { readonly componentId: string };
}

export function readContentSources(fields: YamlFields): { readonly contentSources?: ContentSource[] } {
  const sources = fields.maps('contentSources', { max: CONTENT_SOURCES_MAX }).map(readContentSource);
  return sources.length === 0 ? {} : { contentSources: sources };
}

function readContentSource(source: YamlFields): ContentSource {
  source.warnUnknown(['id', 'title', 'description', 'icon', 'configuration']);
  const description = source.optionalText('description', { mayBeEmpty: true });
  const icon = readImagePath(source, 'icon');
  const configuration = source.map('configuration');
  configuration?.warnUnknown(['componentId']);
  const componentId = configuration?.text('componentId');
  return {
    id: source.text('id'),
    title: source.text('title'),
    ...(description !== undefined && { description }),
    ...(icon !== undefined && { icon }),
    ...(componentId !== undefined && { configuration: { componentId } }),
  };
}
