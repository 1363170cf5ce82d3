/**
 * `/v1/blocks`: lists the quick insert menu of a space, and unfurls a URL that is pasted there
 * (docs/contract/components.md#quick-insert, docs/contract/components.md#unfurls).
 *
 * One list over all integrations, as a menu shows it. A block is then drawn with `…/render` of the
 * installation that the list names.
 */
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { AnnexError } from '../../../errors.ts';
import { imageUrl } from '../../../model/endpoint-urls.ts';
import { UNFURLED_CHARS_MAX } from '../../../model/manifest/unfurl-pattern.ts';
import { mayInstallFor } from '../../../model/principal.ts';
import type {
  BlockHome,
  InstalledBlock,
  InstalledBlocks,
} from '../../../store/installations/installed-blocks.ts';
import type { Origins, TargetResolver } from '../../../targets/target-resolver.ts';
import { holderOf } from '../authenticate.ts';
import { BlockView, blockMembers } from '../integrations/manifest-view.ts';
import { BOUND_BY_CALLS } from '../order-rate.ts';
import { ERRORS_VIEW, Organization, PAGE_QUERY, PageOf, Place, pageAnswer, pageRequest } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import { ComponentId, DRAWN, SHOWN_TO } from './render.ts';
import { Unfurling, type UnfurlingParts } from './unfurling.ts';

/** Members of a query or body: the organization and space of the menu. */
export const MENU_OF = {
  organization: Organization,
  space: Type.Optional(
    Type.Unsafe<string>({
      ...Place,
      description:
        'Id of the space; without it, only blocks that are available in every space of the organization.',
    }),
  ),
};

/** Members of an answer: the installation and component that draw a block. */
export const DRAWN_BY = {
  integration: Type.String(),
  installation: Type.String(),
  space: Type.Optional(Type.String({ description: 'Present if the space installation draws it.' })),
  componentId: ComponentId,
};

const { id: _, ...ofManifest } = BlockView.properties;
const InstalledBlockView = Type.Object({ ...DRAWN_BY, ...ofManifest }, { title: 'InstalledBlock' });

const UnfurlBody = Type.Object(
  {
    ...MENU_OF,
    url: Type.String({ description: 'The pasted URL.', minLength: 1, maxLength: UNFURLED_CHARS_MAX }),
    ...SHOWN_TO,
  },
  { title: 'Unfurl', additionalProperties: false },
);

/** Serialized here, as drawings are. */
const UnfurlView = Type.Unsafe<string>(Type.Object({ ...DRAWN_BY, ...DRAWN }));

export interface BlocksRouteParts extends UnfurlingParts {
  readonly installedBlocks: InstalledBlocks;
  readonly targets: Pick<TargetResolver, 'named'>;
  readonly origins: Pick<Origins, 'publicUrl'>;
}

export function blocksRoutes(app: TypedApp, parts: BlocksRouteParts): void {
  const unfurling = new Unfurling(parts);
  app.get(
    '/blocks',
    {
      schema: {
        summary: 'List the blocks that can be inserted in a space, by integration',
        description: 'Blocks of all integrations that are installed and active there. Icons are public URLs.',
        querystring: Type.Object({ ...MENU_OF, ...PAGE_QUERY }, { additionalProperties: false }),
        response: { 200: PageOf(InstalledBlockView), ...ERRORS_VIEW },
      },
    },
    async (request) => {
      const { organization, space, ...query } = request.query;
      requireOrganization(request, organization);
      const page = await parts.installedBlocks.page({ organization, space, ...pageRequest(query) });
      return pageAnswer(page, (installed) => blockView(installed, parts.origins));
    },
  );
  app.post(
    '/blocks/unfurl',
    {
      config: BOUND_BY_CALLS,
      bodyLimit: parts.limits.envelopePartBytes,
      schema: {
        summary: 'Unfurl a URL to a block',
        description:
          'Calls the blocks whose `urlUnfurl` matches, the most specific first, and answers with the first that returns an element.',
        body: UnfurlBody,
        response: { 200: UnfurlView, ...ERRORS_VIEW },
      },
    },
    async (request, reply) => {
      const { organization, space, ...asked } = request.body;
      requireOrganization(request, organization);
      const blocks = await parts.installedBlocks.all({ organization, space });
      const { home, block, rendering } = await unfurling.unfurl(request, reply, { ...asked, blocks });
      const answer = { ...drawnBy(home, block.id), ...rendering };
      return reply.type('application/json; charset=utf-8').send(JSON.stringify(answer));
    },
  );
}

/** @throws `TOKEN_FORBIDDEN` */
export function requireOrganization(request: FastifyRequest, organization: string): void {
  if (mayInstallFor(holderOf(request), organization)) return;
  throw new AnnexError('TOKEN_FORBIDDEN', `This token is not for organization "${organization}".`);
}

export const drawnBy = ({ integration, installationId, space }: BlockHome, componentId: string) => ({
  ...{ integration, installation: installationId },
  ...(space !== undefined && { space }),
  componentId,
});

function blockView({ home, block }: InstalledBlock, origins: BlocksRouteParts['origins']) {
  const { id, ...members } = blockMembers(block, (path) => imageUrl(origins, home.integrationKey, path));
  return { ...drawnBy(home, id), ...members };
}
