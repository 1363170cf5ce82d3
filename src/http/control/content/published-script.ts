/**
 * `…/sites/{site}/script`: the published script of a site, for a host product that serves it itself
 * (docs/contract/published-scripts.md#script). The public listener serves the same bytes.
 */
import Type from 'typebox';
import { type PublishedScripts, SCRIPT_SCOPE } from '../../../calls/published-scripts.ts';
import type { Limits } from '../../../limits.ts';
import type { TargetResolver } from '../../../targets/target-resolver.ts';
import { IfNoneMatch, isKnownTag } from '../entity-tag.ts';
import { TARGET_PARAMS, TARGET_PATHS, targetNameOf } from '../installations/target-paths.ts';
import { nestedCaller } from '../nested-call.ts';
import { ERRORS_VIEW, NoQuery } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import { callableTarget } from './callable-target.ts';

export interface PublishedScriptRouteParts {
  readonly scripts: Pick<PublishedScripts, 'script'>;
  readonly targets: Pick<TargetResolver, 'named'>;
  readonly limits: Limits;
}

export function publishedScriptRoutes(app: TypedApp, parts: PublishedScriptRouteParts): void {
  app.get(
    `${TARGET_PATHS.site}/script`,
    {
      schema: {
        summary: 'Get the published script of an installation in a site',
        description:
          'Answers JavaScript with an `ETag`. The integration needs the scope `site:script:inject`.',
        params: TARGET_PARAMS.site,
        querystring: NoQuery,
        headers: IfNoneMatch,
        produces: ['text/javascript'],
        response: { 200: Type.Unsafe<Buffer>(Type.String()), 304: Type.Null(), ...ERRORS_VIEW },
      },
    },
    async (request, reply) => {
      const name = targetNameOf('site', request.params);
      const target = await callableTarget(parts.targets, request, name, SCRIPT_SCOPE);
      const caller = nestedCaller(request, reply, parts.limits);
      const { bytes, tag } = await parts.scripts.script(target, { requestId: request.id, caller });
      reply.header('etag', tag).header('vary', 'authorization').header('cache-control', 'private, no-cache');
      if (isKnownTag(request, tag)) return reply.code(304).send(null);
      return reply.type('text/javascript; charset=utf-8').send(bytes);
    },
  );
}
