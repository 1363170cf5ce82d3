/**
 * `GET /v1/integrations/{name}/images/{path}`: icon, previews and assets of the active version, for
 * principals that may see the integration.
 *
 * Images were checked when they were published. They are sent as what they are, and browsers must
 * not sniff another type (`control-routes.ts`). Nothing in an SVG runs, by
 * the policy of every answer.
 */
import Type from 'typebox';
import { AnnexError } from '../../../errors.ts';
import { imageType } from '../../../model/manifest/image.ts';
import { IMAGE_PATH_CHARS_MAX, isImagePath } from '../../../model/manifest/manifest-page.ts';
import type { Registry } from '../../../store/integrations/registry.ts';
import { described } from '../description.ts';
import { contentTag, IfNoneMatch, isKnownTag } from '../entity-tag.ts';
import { ERRORS_VIEW, Name } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import { visibleIntegration } from './integrations.ts';

/** Clients revalidate a cached image each time: another version may have become active. */
const CACHE = 'private, no-cache';

const BYTES = { schema: { type: 'string', format: 'binary' } };
const Image = Type.Unsafe<Uint8Array>({
  description: 'The image.',
  content: {
    'image/png': BYTES,
    'image/jpeg': BYTES,
    'image/gif': BYTES,
    'image/webp': BYTES,
    'image/svg+xml': BYTES,
  },
});
/**
 * TypeBox would treat the name of the wildcard as a pattern, so the handler checks it, and the
 * description names it differently.
 */
const Params = Type.Unsafe<{ readonly name: string; readonly '*': string }>(Type.Object({ name: Name }));
const DescribedParams = Type.Object({
  name: Name,
  path: Type.String({
    description: 'Path from the folder of the manifest, with slashes.',
    maxLength: IMAGE_PATH_CHARS_MAX,
  }),
});
const NotModified = Type.Unsafe<undefined>({
  type: 'null',
  description: 'The image is the one of `If-None-Match`.',
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
        description: 'An icon, preview or other image of the active version, by its path from the manifest.',
        params: Params,
        headers: IfNoneMatch,
        response: { 200: Image, 304: NotModified, ...ERRORS_VIEW },
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
      const { activeVersion } = await visibleIntegration(registry, request, name);
      const content = isImagePath(path) ? await registry.image(name, activeVersion, path) : undefined;
      if (content === undefined)
        throw new AnnexError('IMAGE_UNKNOWN', `The active version of "${name}" has no image at this path.`);
      const tag = contentTag(content);
      reply.headers({ 'cache-control': CACHE, etag: tag });
      if (isKnownTag(request, tag)) return reply.code(304).send(undefined);
      return reply.type(imageType(content)).send(content);
    },
  );
}
