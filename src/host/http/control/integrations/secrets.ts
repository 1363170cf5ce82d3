/**
 * `/v1/integrations/{name}/secrets`: list the secrets of an integration, and set their values
 * without a publish.
 *
 * For the owner only. Values are written and never read: answers contain names, and a message about
 * a value names its secret.
 */
import Type from 'typebox';
import type { Limits } from '../../../../limits.ts';
import type { SecretState } from '../../../store/integrations/secrets.ts';
import { actorOf } from '../authenticate.ts';
import { route } from '../route.ts';
import { isoTimeIfAny, Name, named, Time } from '../schemas.ts';
import { ownIntegration } from './integrations.ts';

const SecretView = named('Secret', {
  name: Type.String(),
  isSet: Type.Boolean({ description: 'Whether it has a value.' }),
  isDeclared: Type.Boolean({
    description: 'Whether the active version declares it. Calls do not see undeclared secrets.',
  }),
  updatedAt: Type.Optional(Time),
});
const SecretsView = named('IntegrationSecrets', { items: Type.Array(SecretView) });
/** Names and values are validated together, so that one answer reports every fault. */
const SecretsBody = Type.Record(Type.String(), Type.Unknown(), {
  description: 'Name to value, both strings. Secrets left out keep their values.',
});
/** One byte of a secret can take six when escaped: `\u0000`. */
const ESCAPED_BYTES_MAX = 6;
/** Room for the name of a secret, quotes and white space. */
const NAME_BYTES_MAX = 1024;
/** One secret more than allowed still gets an answer that says so. */
const bodyBytesMax = ({ secretsPerIntegration, secretBytes }: Limits): number =>
  (secretsPerIntegration + 1) * (secretBytes * ESCAPED_BYTES_MAX + NAME_BYTES_MAX);

const PATH = '/integrations/:name/secrets';

export const SECRET_ROUTES = [
  route({
    name: 'secrets.list',
    at: `GET ${PATH}`,
    summary: 'List the secrets of an integration, by name',
    description: 'Without their values, which are never shown.',
    params: { name: Name },
    answer: SecretsView,
    handle: async (request, control) =>
      secretsView(await control.secrets.list(await ownIntegration(control, request))),
  }),
  route({
    name: 'secrets.set',
    at: `PUT ${PATH}`,
    right: 'publish',
    summary: 'Set secrets of an integration',
    description:
      'Sets all the named secrets or none; the active version must declare each. Calls that start after the answer see the new values.',
    params: { name: Name },
    body: SecretsBody,
    bodyBytesMax,
    answer: SecretsView,
    async handle(request, control) {
      const integration = await ownIntegration(control, request);
      await control.secrets.set(integration, request.body, actorOf(request));
      return secretsView(await control.secrets.list(integration));
    },
  }),
  route({
    name: 'secrets.delete',
    at: `DELETE ${PATH}/:secret`,
    right: 'publish',
    summary: 'Remove a secret that the active version does not declare',
    params: { name: Name, secret: Name },
    async handle(request, control) {
      const integration = await ownIntegration(control, request);
      await control.secrets.delete(integration, request.params.secret, actorOf(request));
    },
  }),
];

const secretsView = (states: readonly SecretState[]) => ({
  items: states.map(({ updatedAt, ...rest }) => ({ ...rest, updatedAt: isoTimeIfAny(updatedAt) })),
});
