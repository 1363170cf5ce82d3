/**
 * `/v1/integrations/{name}/secrets`: list the secrets of an integration, and set their values
 * without a publish.
 *
 * For the owner only. Values are written and never read: answers contain names, and a message about
 * a value names its secret.
 */
import Type from 'typebox';
import { AnnexError } from '../../../errors.ts';
import type { LimitName, Limits } from '../../../limits.ts';
import type { Registry } from '../../../store/integrations/registry.ts';
import type { SecretState, Secrets } from '../../../store/integrations/secrets.ts';
import { actorOf } from '../authenticate.ts';
import { ERRORS_VIEW, isoTime, Name, Time } from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import { ownIntegration } from './integrations.ts';

const SecretView = Type.Object(
  {
    name: Type.String(),
    isSet: Type.Boolean({ description: 'Whether it has a value.' }),
    isDeclared: Type.Boolean({
      description: 'Whether the active version declares it. Calls do not see undeclared secrets.',
    }),
    updatedAt: Type.Optional(Time),
  },
  { title: 'Secret' },
);
const SecretsView = Type.Object({ items: Type.Array(SecretView) }, { title: 'IntegrationSecrets' });
/** Names and values are validated together, so that one answer reports every fault. */
const SecretsBody = Type.Record(Type.String(), Type.Unknown(), {
  description: 'Name to value, both strings. Secrets left out keep their values.',
});
const PARAMS = Type.Object({ name: Name });

export interface SecretsRouteParts {
  readonly registry: Pick<Registry, 'integration'>;
  readonly secrets: Pick<Secrets, 'list' | 'set' | 'delete'>;
  readonly limits: Pick<Limits, 'secretsPerIntegration' | 'secretBytes'>;
  limitMet(limit: LimitName): void;
}

/** One byte of a secret can take six when escaped: `\u0000`. */
const ESCAPED_BYTES_MAX = 6;
/** Room for the name of a secret, quotes and white space. */
const NAME_BYTES_MAX = 1024;

export function secretsRoutes(app: TypedApp, parts: SecretsRouteParts): void {
  const { registry, secrets, limits, limitMet } = parts;
  // One secret more than allowed still gets an answer that says so.
  const bodyLimit =
    (limits.secretsPerIntegration + 1) * (limits.secretBytes * ESCAPED_BYTES_MAX + NAME_BYTES_MAX);
  app.get(
    '/integrations/:name/secrets',
    {
      schema: {
        summary: 'List the secrets of an integration, by name',
        description: 'Without their values, which are never shown.',
        params: PARAMS,
        response: { 200: SecretsView, ...ERRORS_VIEW },
      },
    },
    async (request) => {
      const integration = await ownIntegration(registry, request, request.params.name);
      return secretsView(await secrets.list(integration));
    },
  );
  app.put(
    '/integrations/:name/secrets',
    {
      bodyLimit,
      schema: {
        summary: 'Set secrets of an integration',
        description:
          'Sets all the named secrets or none; the active version must declare each. Calls that start after the answer see the new values.',
        params: PARAMS,
        body: SecretsBody,
        response: { 200: SecretsView, ...ERRORS_VIEW },
      },
    },
    async (request) => {
      const integration = await ownIntegration(registry, request, request.params.name);
      await secrets.set(integration, request.body, actorOf(request)).catch((cause) => {
        if (cause instanceof AnnexError && cause.limit) limitMet(cause.limit.name);
        throw cause;
      });
      return secretsView(await secrets.list(integration));
    },
  );
  app.delete(
    '/integrations/:name/secrets/:secret',
    {
      schema: {
        summary: 'Remove a secret that the active version does not declare',
        params: Type.Object({ name: Name, secret: Name }),
        response: { 204: Type.Null(), ...ERRORS_VIEW },
      },
    },
    async (request, reply) => {
      const integration = await ownIntegration(registry, request, request.params.name);
      await secrets.delete(integration, request.params.secret, actorOf(request));
      return reply.code(204).send(null);
    },
  );
}

const secretsView = (states: readonly SecretState[]) => ({
  items: states.map(({ updatedAt, ...rest }) => ({
    ...rest,
    ...(updatedAt !== undefined && { updatedAt: isoTime(updatedAt) }),
  })),
});
