/**
 * `/v1/blocks`: lists the quick insert menu of a space, and unfurls a URL that is pasted there
 * (docs/contract/components.md#quick-insert, docs/contract/components.md#unfurls). One list over
 * all integrations, as a menu shows it. A block is then drawn with `…/render` of the installation
 * that the list names.
 *
 * `/v1/blocks/markdown` and `/v1/blocks/parse` convert blocks to code blocks in Markdown, and back
 * (docs/contract/components.md#blocks-in-markdown), for a host product that stores or exchanges
 * documents as Markdown. Nothing is drawn and no integration is called: the manifest declares the
 * Markdown of a block.
 */
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { AnnexError } from '../../../errors.ts';
import { DATA_DEPTH_MAX, isDeeper } from '../../../model/contentkit/contentkit-values-check.ts';
import { imageUrl } from '../../../model/endpoint-urls.ts';
import { blocksInMarkdown, blockToMarkdown } from '../../../model/manifest/block-markdown.ts';
import { UNFURLED_CHARS_MAX } from '../../../model/manifest/unfurl-pattern.ts';
import { mayInstallFor } from '../../../model/principal.ts';
import type { BlockHome, InstalledBlock } from '../../store/installations/installed-blocks.ts';
import { holderOf } from './authenticate.ts';
import type { Control } from './control.ts';
import { BlockView, blockMembers } from './integrations/manifest-view.ts';
import { PAGE_QUERY, PageOf, pageAnswer, pageRequest } from './lists.ts';
import { anyObject, ComponentId, DRAWN, SHOWN_TO } from './render.ts';
import { route } from './route.ts';
import { closed, Name, named, Organization, optional, Place } from './schemas.ts';

/** Members of a query or body: the organization and space of the menu. */
const MENU_OF = {
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
const DRAWN_BY = {
  integration: Type.String(),
  installation: Type.String(),
  space: optional(Type.String(), 'Present if the space installation draws it.'),
  componentId: ComponentId,
};

const { id: _, ...ofManifest } = BlockView.properties;
const InstalledBlockView = named('InstalledBlock', { ...DRAWN_BY, ...ofManifest });

const UnfurlBody = closed('Unfurl', {
  ...MENU_OF,
  url: Type.String({ description: 'The pasted URL.', minLength: 1, maxLength: UNFURLED_CHARS_MAX }),
  ...SHOWN_TO,
});

/** Serialized here, as drawings are. */
const UnfurlView = Type.Unsafe<string>(Type.Object({ ...DRAWN_BY, ...DRAWN }));

const BLOCKS_MAX = 100;
/** Body of a request with a document, or with all its blocks. */
const MARKDOWN_BODY_BYTES_MAX = 1024 * 1024;
/** Length of a document. */
const MARKDOWN_CHARS_MAX = 1024 * 1024;

const MarkdownBody = closed('BlocksToMarkdown', {
  ...MENU_OF,
  blocks: Type.Array(
    Type.Object(
      {
        integration: Name,
        componentId: ComponentId,
        props: anyObject('Props of the block, as the document stores them.'),
      },
      { additionalProperties: false },
    ),
    { maxItems: BLOCKS_MAX },
  ),
});

const MarkdownView = named('MarkdownOfBlocks', {
  blocks: Type.Array(
    Type.Object({
      markdown: optional(
        Type.String(),
        'A code block; absent if the block has no `markdown` or is not installed.',
      ),
    }),
    { description: 'In the order of the request.' },
  ),
});

const ParseBody = closed('MarkdownToParse', {
  ...MENU_OF,
  markdown: Type.String({ description: 'A document.', maxLength: MARKDOWN_CHARS_MAX }),
});

const ParseView = named('BlocksOfMarkdown', {
  blocks: Type.Array(
    Type.Object({
      ...DRAWN_BY,
      props: anyObject('Props to render the block with.'),
      firstLine: Type.Integer({ description: 'Line of the opening fence, from 1.' }),
      lastLine: Type.Integer({ description: 'Line of the closing fence.' }),
    }),
    { description: 'In the order of the document. All other lines are ordinary Markdown.' },
  ),
});

const menuRoutes = [
  route({
    name: 'blocks.list',
    at: 'GET /blocks',
    summary: 'List the blocks that can be inserted in a space, by integration',
    description: 'Blocks of all integrations that are installed and active there. Icons are public URLs.',
    query: Type.Object({ ...MENU_OF, ...PAGE_QUERY }, { additionalProperties: false }),
    answer: PageOf(InstalledBlockView),
    async handle(request, { installedBlocks, origins }) {
      const { organization, space, ...query } = request.query;
      requireOrganization(request, organization);
      const page = await installedBlocks.page({ organization, space, ...pageRequest(query) });
      return pageAnswer(page, (installed) => blockView(installed, origins));
    },
  }),
  route({
    name: 'blocks.unfurl',
    at: 'POST /blocks/unfurl',
    right: 'render',
    summary: 'Unfurl a URL to a block',
    description:
      'Calls the blocks whose `urlUnfurl` matches, the most specific first, and answers with the first that returns an element.',
    rate: 'calls',
    body: UnfurlBody,
    bodyBytesMax: ({ envelopePartBytes }) => envelopePartBytes,
    answer: UnfurlView,
    async handle(request, { installedBlocks, unfurling }, reply) {
      const { organization, space, ...asked } = request.body;
      requireOrganization(request, organization);
      const blocks = await installedBlocks.all({ organization, space });
      const { home, block, rendering } = await unfurling.unfurl(request, reply, { ...asked, blocks });
      const answer = { ...drawnBy(home, block.id), ...rendering };
      return reply.type('application/json; charset=utf-8').send(JSON.stringify(answer));
    },
  }),
];

const markdownRoutes = [
  route({
    name: 'blocks.toMarkdown',
    at: 'POST /blocks/markdown',
    right: 'render',
    summary: 'Write blocks as Markdown',
    description: 'Each as a code block of the language that its manifest names.',
    rate: 'calls',
    body: MarkdownBody,
    bodyBytesMax: MARKDOWN_BODY_BYTES_MAX,
    answer: MarkdownView,
    async handle(request, { installedBlocks }) {
      const { organization, space, blocks } = request.body;
      requireOrganization(request, organization);
      // Attack: props so deep that writing them as JSON would exhaust the stack.
      if (blocks.some(({ props }) => isDeeper(props, DATA_DEPTH_MAX)))
        throw new AnnexError('REQUEST_INVALID', `Data must not be nested deeper than ${DATA_DEPTH_MAX}.`);
      const written = writable(await installedBlocks.all({ organization, space }));
      const byName = new Map(written.map((one) => [nameOf(one.home.integration, one.block.id), one.mapping]));
      return {
        blocks: blocks.map(({ integration, componentId, props }) => {
          const mapping = byName.get(nameOf(integration, componentId));
          return { markdown: mapping && blockToMarkdown(mapping, props) };
        }),
      };
    },
  }),
  route({
    name: 'blocks.parseMarkdown',
    at: 'POST /blocks/parse',
    right: 'render',
    summary: 'Find the blocks in Markdown',
    description:
      'Finds code blocks whose language is that of an installed block. If two blocks have the same language, the first of the menu is used.',
    rate: 'calls',
    body: ParseBody,
    bodyBytesMax: MARKDOWN_BODY_BYTES_MAX,
    answer: ParseView,
    async handle(request, { installedBlocks }) {
      const { organization, space, markdown } = request.body;
      requireOrganization(request, organization);
      const mappings = writable(await installedBlocks.all({ organization, space }));
      const found = blocksInMarkdown(
        markdown,
        mappings.map(({ mapping, ...installed }) => ({ ...mapping, installed })),
      );
      return {
        blocks: Array.from(found, ({ mapping: { installed }, ...rest }) => ({
          ...drawnBy(installed.home, installed.block.id),
          ...rest,
        })),
      };
    },
  }),
];

export const BLOCK_ROUTES = [...menuRoutes, ...markdownRoutes];

/** @throws `TOKEN_FORBIDDEN` */
function requireOrganization(request: FastifyRequest, organization: string): void {
  if (mayInstallFor(holderOf(request), organization)) return;
  throw new AnnexError('TOKEN_FORBIDDEN', `This token is not for organization "${organization}".`);
}

const drawnBy = ({ integration, installationId, space }: BlockHome, componentId: string) => ({
  ...{ integration, installation: installationId, space, componentId },
});

function blockView({ home, block }: InstalledBlock, origins: Control['origins']) {
  const { id, ...members } = blockMembers(block, (path) => imageUrl(origins, home.integrationKey, path));
  return { ...drawnBy(home, id), ...members };
}

/** The blocks that can be written as Markdown. */
const writable = (blocks: readonly InstalledBlock[]) =>
  blocks.flatMap((installed) => {
    const { markdown: mapping } = installed.block;
    return mapping === undefined ? [] : [{ ...installed, mapping }];
  });

const nameOf = (integration: string, componentId: string): string => `${integration}/${componentId}`;
