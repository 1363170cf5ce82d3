/**
 * `/v1/integrations/{name}/limits`: limits of one integration, at most those of the deployment.
 *
 * Only the operator sets them, because an author would set none. The owner may read them.
 */
import Type from 'typebox';
import { AnnexError } from '../../../errors.ts';
import { type Limits, LOWERABLE_LIMITS, type LowerableLimit } from '../../../limits.ts';
import { type LoweredLimits, limitsUnder, readLowered } from '../../../model/lowered-limits.ts';
import { unknownIntegration } from '../../../model/unknown-name-errors.ts';
import type { Registry } from '../../../store/integrations/registry.ts';
import { actorOf, requireAdmin } from '../authenticate.ts';
import { ERRORS_VIEW, Name } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import { ownIntegration } from './integrations.ts';

const LimitsOfAll = Type.Object(
  Object.fromEntries(LOWERABLE_LIMITS.map((name) => [name, Type.Integer()])) as Record<
    LowerableLimit,
    Type.TInteger
  >,
  { title: 'LimitValues' },
);
const LimitsView = Type.Object(
  {
    limits: LimitsOfAll,
    deployment: LimitsOfAll,
    lowered: Type.Array(Type.String(), {
      description: "Names of the limits that are below the deployment's.",
    }),
  },
  { title: 'IntegrationLimits' },
);
/** Names and values are validated together, so that one answer reports every fault. */
const LimitsBody = Type.Record(Type.String(), Type.Unknown(), {
  description: `Name of a limit to its value, an integer from 1 to the deployment's. Limits left out are the deployment's. Names: ${LOWERABLE_LIMITS.join(', ')}.`,
});
/** Room for every limit, with long numbers. */
const BODY_BYTES_MAX = 16 * 1024;
const PARAMS = Type.Object({ name: Name });
const RESPONSE = { 200: LimitsView, ...ERRORS_VIEW };

export interface LimitsRouteParts {
  readonly registry: Pick<Registry, 'integration' | 'loweredLimits' | 'lowerLimits'>;
  readonly limits: Limits;
}

export function limitsRoutes(parent: TypedApp, { registry, limits: deployment }: LimitsRouteParts): void {
  parent.get(
    '/integrations/:name/limits',
    { schema: { summary: 'Read the limits of an integration', params: PARAMS, response: RESPONSE } },
    async (request) => {
      const { name } = await ownIntegration(registry, request, request.params.name);
      const lowered = await registry.loweredLimits(name);
      if (lowered === undefined) throw unknownIntegration(name);
      return limitsView(deployment, lowered);
    },
  );
  parent.register(async (app: TypedApp) => {
    app.addHook('onRequest', async (request) => requireAdmin(request));
    app.put(
      '/integrations/:name/limits',
      {
        bodyLimit: BODY_BYTES_MAX,
        schema: {
          summary: 'Lower the limits of an integration',
          description:
            'Replaces all limits that were lowered before. They apply to calls that start after the answer.',
          params: PARAMS,
          body: LimitsBody,
          response: RESPONSE,
        },
      },
      async (request) => {
        const read = readLowered(request.body, deployment);
        if (!read.ok) throw new AnnexError('REQUEST_INVALID', read.problems.join(' '));
        await registry.lowerLimits(request.params.name, read.lowered, actorOf(request));
        return limitsView(deployment, read.lowered);
      },
    );
    app.delete(
      '/integrations/:name/limits',
      {
        schema: {
          summary: 'Reset the limits of an integration to those of the deployment',
          params: PARAMS,
          response: { 204: Type.Null(), ...ERRORS_VIEW },
        },
      },
      async (request, reply) => {
        await registry.lowerLimits(request.params.name, {}, actorOf(request));
        return reply.code(204).send(null);
      },
    );
  });
}

function limitsView(deployment: Limits, lowered: LoweredLimits) {
  const limits = limitsUnder(deployment, lowered);
  return {
    limits: lowerable(limits),
    deployment: lowerable(deployment),
    lowered: LOWERABLE_LIMITS.filter((name) => limits[name] < deployment[name]),
  };
}

const lowerable = (limits: Limits): Record<LowerableLimit, number> =>
  Object.fromEntries(LOWERABLE_LIMITS.map((name) => [name, limits[name]])) as Record<LowerableLimit, number>;
