/**
 * The public view of a manifest: for the page from which an integration is installed, and for each
 * version that its owner reads. Secrets are left out, even their names.
 */

import Type from 'typebox';
import type { PublishedManifest } from '../../../../model/manifest/manifest.ts';
import type { Block } from '../../../../model/manifest/manifest-blocks.ts';
import { SIGNATURE_SCHEMES } from '../../../../model/signature.ts';
import { named, optional } from '../schemas.ts';

export const BlockView = named('Block', {
  id: Type.String(),
  title: Type.String(),
  description: Type.Optional(Type.String()),
  icon: Type.Optional(Type.String()),
  urlUnfurl: Type.Optional(Type.Array(Type.String())),
  markdown: Type.Optional(Type.Object({ codeblock: Type.String(), body: Type.String() })),
});

const Schedule = Type.Union([Type.String(), Type.Array(Type.String())]);

/** Schemas of the members, to spread. */
export const MANIFEST_MEMBERS = {
  summary: optional(Type.String(), 'Markdown.'),
  target: Type.String({
    description: 'Level at which it can be installed: all, organization, space or site.',
  }),
  scopes: Type.Array(Type.String()),
  categories: Type.Array(Type.String()),
  blocks: Type.Array(BlockView),
  icon: Type.Optional(Type.String()),
  previewImages: Type.Array(Type.String()),
  externalLinks: Type.Array(Type.Object({ label: Type.String(), url: Type.String() })),
  egress: optional(Type.Array(Type.String()), 'Hosts that its fetch may reach, if the manifest lists them.'),
  retries: optional(Schedule, 'Name of the retry schedule of its handlers, or its delays, or none.'),
  webhook: Type.Optional(
    Type.Object(
      {
        url: Type.String(),
        eventTypes: Type.String(),
        retries: optional(Schedule, 'Name of a retry schedule, or its delays.'),
        retriesSetting: optional(Type.String(), 'Name of the property with the name of a retry schedule.'),
        signature: optional(Type.Enum([...SIGNATURE_SCHEMES]), 'How webhooks are signed.'),
        signatureSetting: optional(Type.String(), 'Name of the property with the name of that scheme.'),
        rate: optional(Type.Integer(), 'Requests per second to a receiver, at most.'),
        rateSetting: optional(Type.String(), 'Name of the property with that number.'),
      },
      { description: 'Names of the properties with the URL of webhooks and the types of events.' },
    ),
  ),
};

/** @param imageOf maps the path of an image in the upload to its view */
export const blockMembers = ({ icon, ...block }: Block, imageOf: (path: string) => string) => ({
  ...block,
  icon: icon && imageOf(icon),
});

/** @param imageOf as for `blockMembers` */
export function manifestMembers(manifest: PublishedManifest, imageOf: (path: string) => string) {
  const { summary, target, scopes, categories, blocks, icon, previewImages } = manifest;
  const { externalLinks, egress, webhook, retries } = manifest;
  return {
    ...{ summary, target, scopes, categories, externalLinks, egress, webhook, retries },
    blocks: blocks.map((block) => blockMembers(block, imageOf)),
    icon: icon && imageOf(icon),
    previewImages: previewImages.map(imageOf),
  };
}
