/**
 * `/v1/blocks/markdown` and `/v1/blocks/parse`: blocks as the code blocks of a document in Markdown, and back (REFERENCE 4).
 *
 * For a host product that stores or exchanges its documents as Markdown. Nothing is drawn and no integration is called: what a
 * block is in Markdown is said by its manifest.
 */
import Type from 'typebox';
import { AnnexError } from '../../../errors.ts';
import { DATA_DEPTH_MAX, isDeeper } from '../../../model/contentkit/contentkit-values-check.ts';
import { blocksInMarkdown, blockToMarkdown } from '../../../model/manifest/block-markdown.ts';
import type { InstalledBlock, InstalledBlocks } from '../../../store/installations/installed-blocks.ts';
import { ERRORS_VIEW, Name } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import { DRAWN_BY, drawnBy, MENU_OF, requireOrganization } from './blocks.ts';
import { anyObject, ComponentId } from './render.ts';

const BLOCKS_MAX = 100;
/** Body of a request with a document, or with all blocks of one. */
const BODY_BYTES_MAX = 1024 * 1024;
/** Of a document. */
const MARKDOWN_CHARS_MAX = 1024 * 1024;

const MarkdownBody = Type.Object(
  {
    ...MENU_OF,
    blocks: Type.Array(
      Type.Object(
        { integration: Name, componentId: ComponentId, props: anyObject('What the document stores of it.') },
        { additionalProperties: false },
      ),
      { maxItems: BLOCKS_MAX },
    ),
  },
  { additionalProperties: false },
);

const MarkdownView = Type.Object({
  blocks: Type.Array(
    Type.Object({
      markdown: Type.Optional(
        Type.String({
          description: 'A code block; absent where the block has no `markdown`, or is not there.',
        }),
      ),
    }),
    { description: 'In the order of those that were sent.' },
  ),
});

const ParseBody = Type.Object(
  { ...MENU_OF, markdown: Type.String({ description: 'A document.', maxLength: MARKDOWN_CHARS_MAX }) },
  { additionalProperties: false },
);

const ParseView = Type.Object({
  blocks: Type.Array(
    Type.Object({
      ...DRAWN_BY,
      props: anyObject('To be drawn with.'),
      firstLine: Type.Integer({ description: 'That of the opening fence, from 1.' }),
      lastLine: Type.Integer({ description: 'That of the closing fence.' }),
    }),
    { description: 'In the order of the document; what is in none of them is ordinary Markdown.' },
  ),
});

export interface BlockMarkdownRouteParts {
  readonly installedBlocks: Pick<InstalledBlocks, 'all'>;
}

export function blockMarkdownRoutes(app: TypedApp, { installedBlocks }: BlockMarkdownRouteParts): void {
  app.post(
    '/blocks/markdown',
    {
      bodyLimit: BODY_BYTES_MAX,
      schema: {
        summary: 'Write blocks as Markdown',
        description: 'As a code block each, of the language that its manifest names.',
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
      bodyLimit: BODY_BYTES_MAX,
      schema: {
        summary: 'Find the blocks in Markdown',
        description:
          'Code blocks whose language is that of an installed block. Where two blocks have one language, the first of the menu has it.',
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

/** Those that can be written as Markdown. */
const writable = (blocks: readonly InstalledBlock[]) =>
  blocks.flatMap((installed) => {
    const { markdown: mapping } = installed.block;
    return mapping === undefined ? [] : [{ ...installed, mapping }];
  });

const nameOf = (integration: string, componentId: string): string => `${integration}/${componentId}`;
