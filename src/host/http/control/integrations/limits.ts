/**
 * `/v1/integrations/{name}/limits`: limits of one integration, at most those of the deployment.
 *
 * Only the operator sets them, because an author would set none. The owner may read them.
 */
import Type from 'typebox';
import { AnnexError } from '../../../../errors.ts';
import { type Limits, LOWERABLE_LIMITS, type LowerableLimit } from '../../../../limits.ts';
import { type LoweredLimits, limitsUnder, readLowered } from '../../../../model/lowered-limits.ts';
import { unknownIntegration } from '../../../../model/unknown-name-errors.ts';
import { actorOf, requireAdmin } from '../authenticate.ts';
import { route } from '../route.ts';
import { Name, named } from '../schemas.ts';
import { ownIntegration } from './integrations.ts';

const LimitsOfAll = Type.Object(
  Object.fromEntries(LOWERABLE_LIMITS.map((name) => [name, Type.Integer()])) as Record<
    LowerableLimit,
    Type.TInteger
  >,
  { title: 'LimitValues' },
);
const LimitsView = named('IntegrationLimits', {
  limits: LimitsOfAll,
  deployment: LimitsOfAll,
  lowered: Type.Array(Type.String(), {
    description: "Names of the limits that are below the deployment's.",
  }),
});
/** Names and values are validated together, so that one answer reports every fault. */
const LimitsBody = Type.Record(Type.String(), Type.Unknown(), {
  description: `Name of a limit to its value, an integer from 1 to the deployment's. Limits left out are the deployment's. Names: ${LOWERABLE_LIMITS.join(', ')}.`,
});
/** Room for every limit, with long numbers. */
const BODY_BYTES_MAX = 16 * 1024;
const PATH = '/integrations/:name/limits';

export const LIMIT_ROUTES = [
  route({
    name: 'limits.get',
    at: `GET ${PATH}`,
    summary: 'Read the limits of an integration',
    params: { name: Name },
    answer: LimitsView,
    async handle(request, control) {
      const { name } = await ownIntegration(control, request);
      const lowered = await control.registry.loweredLimits(name);
      if (lowered === undefined) throw unknownIntegration(name);
      return limitsView(control.limits, lowered);
    },
  }),
  route({
    name: 'limits.set',
    at: `PUT ${PATH}`,
    right: 'operate',
    summary: 'Lower the limits of an integration',
    description:
      'Replaces all limits that were lowered before. They apply to calls that start after the answer.',
    rights: requireAdmin,
    params: { name: Name },
    body: LimitsBody,
    bodyBytesMax: BODY_BYTES_MAX,
    answer: LimitsView,
    async handle(request, { registry, limits }) {
      const read = readLowered(request.body, limits);
      if (!read.ok) throw new AnnexError('REQUEST_INVALID', read.problems.join(' '));
      await registry.lowerLimits(request.params.name, read.lowered, actorOf(request));
      return limitsView(limits, read.lowered);
    },
  }),
  route({
    name: 'limits.delete',
    at: `DELETE ${PATH}`,
    right: 'operate',
    summary: 'Reset the limits of an integration to those of the deployment',
    rights: requireAdmin,
    params: { name: Name },
    async handle(request, { registry }) {
      await registry.lowerLimits(request.params.name, {}, actorOf(request));
    },
  }),
];

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
