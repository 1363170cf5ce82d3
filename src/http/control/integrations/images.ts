/**
 * `GET /v1/integrations/{name}/images/{path}`: icon and previews of the active version, for whoever may see the integration.
 *
 * What is sent was looked at when it was published and is a PNG image; it is declared as one, and browsers are told not
 * to take it for anything else (`door.ts`).
 */
import Type from 'typebox';
import { AnnexError } from '../../../errors.ts';
import { IMAGE_PATH, IMAGE_PATH_CHARS_MAX } from '../../../model/manifest/manifest-page.ts';
import type { Registry } from '../../../store/integrations/registry.ts';
import { described } from '../description.ts';
import { contentTag, isKnownTag } from '../entity-tag.ts';
import { ERRORS_VIEW, Name } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import { visibleIntegration } from './integrations.ts';

/** Whoever has kept an image asks each time whether it is still that one: another version may have become the active one. */
const CACHE = 'private, no-cache';

const Png = Type.Unsafe<Uint8Array>({
  description: 'The image.',
  content: { 'image/png': { schema: { type: 'string', format: 'binary' } } },
});
/** TypeBox would take the name of the wildcard for a pattern, so it is looked at apart, and has another in the description. */
const Params = Type.Unsafe<{ readonly name: string; readonly '*': string }>(Type.Object({ name: Name }));
const DescribedParams = Type.Object({
  name: Name,
  path: Type.String({
    description: 'As the manifest names it, slashes and all.',
    maxLength: IMAGE_PATH_CHARS_MAX,
  }),
});
const NotModified = Type.Unsafe<undefined>({
  type: 'null',
  description: 'It is the one of `If-None-Match`.',
});

export interface ImagesRouteParts {
  readonly registry: Pick<Registry, 'integration' | 'isInstalledIn' | 'image'>;
}

export function imagesRoutes(app: TypedApp, { registry }: ImagesRouteParts): void {
  app.get(
    '/integrations/:name/images/*',
    {
      schema: {
        summary: 'Read an image of an integration',
        description:
          'The icon and the previews that the manifest of the active version names, by their path. PNG.',
        params: Params,
        response: { 200: Png, 304: NotModified, ...ERRORS_VIEW },
      },
      config: {
        swaggerTransform: ({ schema, url, route }) =>
          described({
            schema: { ...schema, params: DescribedParams },
            url: url.replace('*', ':path'),
            route,
          }),
      },
    },
    async (request, reply) => {
      const { name, '*': path } = request.params;
      await visibleIntegration(registry, request, name);
      const content = isPath(path) ? await registry.image(name, path) : undefined;
      if (content === undefined)
        throw new AnnexError('IMAGE_UNKNOWN', `The active version of "${name}" has no image of this path.`);
      const tag = contentTag(content);
      reply.headers({ 'cache-control': CACHE, etag: tag });
      if (isKnownTag(request, tag)) return reply.code(304).send(undefined);
      return reply.type('image/png').send(content);
    },
  );
}

/** Whether a manifest can name an image so. Anything else, U+0000 above all, is no question for a database. */
const isPath = (path: string): boolean => path.length <= IMAGE_PATH_CHARS_MAX && IMAGE_PATH.test(path);
