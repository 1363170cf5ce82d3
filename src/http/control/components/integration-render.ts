/**
 * `/v1/integrations/{name}/render`: draws a component of an integration, where the request or its
 * token says (docs/contract/components.md#rendering).
 *
 * The same as `…/render` of a target, for clients that know the integration's name and have a
 * runtime token: an installation token stands for its target, and an integration token for the
 * integration as a whole, unless the request names an installation.
 */
import type { FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import { AnnexError } from '../../../errors.ts';
import { type TargetName, wholeInstallation } from '../../../model/installation.ts';
import type { Target } from '../../../model/target.ts';
import { unknownIntegration } from '../../../model/unknown-name-errors.ts';
import type { TargetResolver } from '../../../targets/target-resolver.ts';
import { FOR_RUNTIME, principalOf } from '../authenticate.ts';
import { IfNoneMatch } from '../entity-tag.ts';
import { BOUND_BY_CALLS } from '../order-rate.ts';
import { ERRORS_VIEW, Name, Place } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import {
  drawAfterAction,
  drawInitial,
  RENDER_BODY,
  RENDER_QUERY,
  type RenderRouteParts,
  RenderView,
  visibleTarget,
} from './render.ts';

const PARAMS = Type.Object({ name: Name });

/** Members of a body or query: the target that draws. */
const DRAWN_AT = {
  installationId: Type.Optional(
    Type.Unsafe<string>({
      ...Name,
      description: 'The installation; by default the own target of the token.',
    }),
  ),
  spaceId: Type.Optional(Place),
  siteId: Type.Optional(Place),
};

const Body = Type.Object({ ...RENDER_BODY, ...DRAWN_AT }, { title: 'RenderAt', additionalProperties: false });
const Query = Type.Object(
  { ...RENDER_QUERY, ...DRAWN_AT },
  { title: 'RenderAtQuery', additionalProperties: false },
);

/** The same, as it was sent. */
interface DrawnAt {
  readonly installationId?: string | undefined;
  readonly spaceId?: string | undefined;
  readonly siteId?: string | undefined;
}

export interface IntegrationRenderRouteParts extends RenderRouteParts {
  readonly targets: Pick<TargetResolver, 'named' | 'ofIntegration'>;
}

export function integrationRenderRoutes(app: TypedApp, parts: IntegrationRenderRouteParts): void {
  const url = '/integrations/:name/render';
  app.post(
    url,
    {
      config: { ...FOR_RUNTIME, ...BOUND_BY_CALLS },
      bodyLimit: parts.limits.envelopePartBytes,
      schema: {
        summary: 'Draw a component of an integration, after an action if one is sent',
        description: DESCRIPTION,
        params: PARAMS,
        body: Body,
        response: { 200: RenderView, ...ERRORS_VIEW },
      },
    },
    async (request, reply) => {
      const { installationId, spaceId, siteId, ...input } = request.body;
      const target = await drawnTarget(parts, request, 'body', { installationId, spaceId, siteId });
      return drawAfterAction(parts, { request, reply, target }, input);
    },
  );
  app.get(
    url,
    {
      config: FOR_RUNTIME,
      schema: {
        summary: 'Draw a component of an integration in its initial state',
        description: DESCRIPTION,
        params: PARAMS,
        querystring: Query,
        headers: IfNoneMatch,
        response: { 200: RenderView, 304: Type.Null(), ...ERRORS_VIEW },
      },
    },
    async (request, reply) => {
      const { installationId, spaceId, siteId, ...input } = request.query;
      const target = await drawnTarget(parts, request, 'query', { installationId, spaceId, siteId });
      return drawInitial(parts, { request, reply, target }, input);
    },
  );
}

const DESCRIPTION =
  'At the target that is named. Otherwise at the own target of an installation token, and for an integration token at ' +
  'the integration itself, without an installation.';

/**
 * @throws AnnexError REQUEST_INVALID, INTEGRATION_UNKNOWN, INSTALLATION_UNKNOWN, ENDPOINT_PAUSED
 */
async function drawnTarget(
  { targets }: IntegrationRenderRouteParts,
  request: FastifyRequest<{ Params: Static<typeof PARAMS> }>,
  part: 'body' | 'query',
  at: DrawnAt,
): Promise<Target> {
  const name = namedTarget(request, part, at);
  if (name !== undefined) return visibleTarget(targets, request, name);
  const { name: integration } = request.params;
  const principal = principalOf(request);
  // Only code of the integration reaches this: others name an installation.
  const isOwn = principal.kind === 'integration' && principal.integration === integration;
  const target = isOwn ? await targets.ofIntegration(integration) : undefined;
  if (target === undefined) throw unknownIntegration(integration);
  return target;
}

/** The target of a request, or of its token; undefined for the integration itself. */
function namedTarget(
  request: FastifyRequest,
  part: 'body' | 'query',
  { installationId: named, spaceId, siteId }: DrawnAt,
): TargetName | undefined {
  const principal = principalOf(request);
  const own = principal.kind === 'installation' ? principal.target : undefined;
  const installationId = named ?? own?.installationId;
  if (spaceId !== undefined && siteId !== undefined)
    throw new AnnexError('REQUEST_INVALID', `Send either ${part}.spaceId or ${part}.siteId.`);
  if (installationId === undefined) {
    if (principal.kind === 'integration' && spaceId === undefined && siteId === undefined) return undefined;
    const message = `${part}.installationId is missing: only the token of an installation stands for one.`;
    throw new AnnexError('REQUEST_INVALID', message);
  }
  if (spaceId !== undefined) return { installationId, level: 'space', place: spaceId };
  if (siteId !== undefined) return { installationId, level: 'site', place: siteId };
  return named === undefined && own !== undefined ? own : wholeInstallation(installationId);
}
