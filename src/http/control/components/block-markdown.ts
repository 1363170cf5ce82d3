/**
 * `/v1/blocks/markdown` and `/v1/blocks/parse`: convert blocks to code blocks in Markdown, and back
 * (docs/contract/components.md#blocks-in-markdown).
 *
 * For a host product that stores or exchanges documents as Markdown. Nothing is drawn and no
 * integration is called: the manifest declares the Markdown of a block.
 */
import Type from 'typebox';
import { AnnexError } from '../../../errors.ts';
import { DATA_DEPTH_MAX, isDeeper } from '../../../model/contentkit/contentkit-values-check.ts';
import { blocksInMarkdown, blockToMarkdown } from '../../../model/manifest/block-markdown.ts';
import type { InstalledBlock, InstalledBlocks } from '../../../store/installations/installed-blocks.ts';
import { BOUND_BY_CALLS } from '../order-rate.ts';
import { ERRORS_VIEW, Name } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import { DRAWN_BY, drawnBy, MENU_OF, requireOrganization } from './blocks.ts';
import { anyObject, ComponentId } from './render.ts';

const BLOCKS_MAX = 100;
/** Body of a request with a document, or with all its blocks. */
const BODY_BYTES_MAX = 1024 * 1024;
/** Length of a document. */
const MARKDOWN_CHARS_MAX = 1024 * 1024;

const MarkdownBody = Type.Object(
  {
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
  },
  { title: 'BlocksToMarkdown', additionalProperties: false },
);

const MarkdownView = Type.Object(
  {
    blocks: Type.Array(
      Type.Object({
        markdown: Type.Optional(
          Type.String({
            description: 'A code block; absent if the block has no `markdown` or is not installed.',
          }),
        ),
      }),
      { description: 'In the order of the request.' },
    ),
  },
  { title: 'MarkdownOfBlocks' },
);

const ParseBody = Type.Object(
  { ...MENU_OF, markdown: Type.String({ description: 'A document.', maxLength: MARKDOWN_CHARS_MAX }) },
  { title: 'MarkdownToParse', additionalProperties: false },
);

const ParseView = Type.Object(
  {
    blocks: Type.Array(
      Type.Object({
        ...DRAWN_BY,
        props: anyObject('Props to render the block with.'),
        firstLine: Type.Integer({ description: 'Line of the opening fence, from 1.' }),
        lastLine: Type.Integer({ description: 'Line of the closing fence.' }),
      }),
      { description: 'In the order of the document. All other lines are ordinary Markdown.' },
    ),
  },
  { title: 'BlocksOfMarkdown' },
);

export interface BlockMarkdownRouteParts {
  readonly installedBlocks: Pick<InstalledBlocks, 'all'>;
}

export function blockMarkdownRoutes(app: TypedApp, { installedBlocks }: BlockMarkdownRouteParts): void {
  app.post(
    '/blocks/markdown',
    {
      config: BOUND_BY_CALLS,
      bodyLimit: BODY_BYTES_MAX,
      schema: {
        summary: 'Write blocks as Markdown',
        description: 'Each as a code block of the language that its manifest names.',
        body: MarkdownBody,
        response: { 200: MarkdownView, ...ERRORS_VIEW },
      },
    },
    async (request) => {
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
          return mapping === undefined ? {} : { markdown: blockToMarkdown(mapping, props) };
        }),
      };
    },
  );
  app.post(
    '/blocks/parse',
    {
      config: BOUND_BY_CALLS,
      bodyLimit: BODY_BYTES_MAX,
      schema: {
        summary: 'Find the blocks in Markdown',
        description:
          'Finds code blocks whose language is that of an installed block. If two blocks have the same language, the first of the menu is used.',
        body: ParseBody,
        response: { 200: ParseView, ...ERRORS_VIEW },
      },
    },
    async (request) => {
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
  );
}

/** The blocks that can be written as Markdown. */
const writable = (blocks: readonly InstalledBlock[]) =>
  blocks.flatMap((installed) => {
    const { markdown: mapping } = installed.block;
    return mapping === undefined ? [] : [{ ...installed, mapping }];
  });

const nameOf = (integration: string, componentId: string): string => `${integration}/${componentId}`;
