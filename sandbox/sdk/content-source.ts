/**
 * `createContentSource`: content that an integration computes for the host product
 * (docs/contract/published-scripts.md#content-sources).
 */
import type { Context } from './context.ts';
import type { ContentComputeEvent } from './event.ts';
import type { AccountConfiguration, Configuration } from './manifest-types.ts';

/** What a callback of a content source receives. The product defines the members. */
export interface ContentSourceInput<Props extends object = Readonly<Record<string, unknown>>> {
  /** Props of the source, or of the page; `{}` if the product sent none. */
  readonly props: Props;
  /** Values of what the source depends on; `{}` if the product sent none. */
  readonly dependencies: Readonly<Record<string, unknown>>;
}

/**
 * The parameter of `createContentSource`.
 *
 * @typeParam Props props of the source and of its pages
 * @typeParam C configuration at the level of the account
 */
export interface ContentSourceDefinition<Props extends object, C extends Configuration> {
  /** Name of the source, unique in the integration. */
  readonly sourceId: string;
  /** Computes the pages. The result is the answer, as JSON. */
  readonly getRevision: (input: ContentSourceInput<Props>, context: Context<C>) => unknown;
  /** Computes the document of a page, which the answer has as `document`. */
  readonly getPageDocument: (input: ContentSourceInput<Props>, context: Context<C>) => unknown;
}

/**
 * Made by `createContentSource`, for `contentSources` of `createIntegration`.
 *
 * @example
 * const articles: ContentSource = createContentSource(definition);
 * export default createIntegration({ contentSources: [articles] });
 */
export class ContentSource {
  /** Name of the source. */
  readonly sourceId: string;
  /** Answers one event of the source. */
  readonly compute: (event: ContentComputeEvent, context: Context) => Promise<Response>;

  constructor(
    sourceId: string,
    compute: (event: ContentComputeEvent, context: Context) => Promise<Response>,
  ) {
    this.sourceId = sourceId;
    this.compute = compute;
  }
}

/**
 * Defines a content source.
 *
 * @typeParam Props props of the source and of its pages
 * @throws TypeError if a member is missing or of the wrong type. The publish fails then
 *
 * @example
 * createContentSource<{ repository: string }>({
 *   sourceId: 'models',
 *   getRevision: async ({ props }) => ({ pages: await pagesOf(props.repository) }),
 *   getPageDocument: async ({ props }) => documentOf(props),
 * });
 */
export function createContentSource<
  Props extends object = Readonly<Record<string, unknown>>,
  C extends Configuration = AccountConfiguration,
>(definition: ContentSourceDefinition<Props, C>): ContentSource {
  const { sourceId, getRevision, getPageDocument } = definition;
  if (typeof sourceId !== 'string' || sourceId === '')
    throw new TypeError('createContentSource: sourceId must be a non-empty string');
  if (typeof getRevision !== 'function' || typeof getPageDocument !== 'function')
    throw new TypeError(
      `createContentSource: getRevision and getPageDocument of "${sourceId}" must be functions`,
    );
  return new ContentSource(sourceId, async (event, platformContext) => {
    // The author states the types; nothing checks them against the product's events here.
    const context = platformContext as Context<C>;
    const { props = {}, dependencies = {} } = event;
    const input = { props: props as Props, dependencies };
    const result =
      event.type === 'content_compute_revision'
        ? await getRevision(input, context)
        : { document: await getPageDocument(input, context) };
    return Response.json(result ?? null);
  });
}
