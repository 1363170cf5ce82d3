/**
 * `/v1/integrations`: list and read. An organization sees what it owns and what is public; the rest is not there for it.
 */
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { AnnexError } from '../../errors.ts';
import { mayPublish, maySee } from '../../model/principal.ts';
import { VISIBILITIES } from '../../model/visibility.ts';
import type { Integration } from '../../store/integration-rows.ts';
import type { Registry } from '../../store/registry.ts';
import { holderOf, principalOf } from './authenticate.ts';
import { ERRORS_VIEW, isoTime, Name, PageOf, PageQuery, pageAnswer, pageRequest, Time } from './schemas.ts';
import type { TypedApp } from './typed-routes.ts';

const IntegrationView = Type.Object({
  name: Type.String(),
  title: Type.String(),
  description: Type.String(),
  organization: Type.String({ description: 'The owner.' }),
  visibility: Type.Enum([...VISIBILITIES]),
  version: Type.Integer({ description: 'The active version.' }),
  createdAt: Time,
  updatedAt: Time,
});

const IntegrationDetail = Type.Object({
  ...IntegrationView.properties,
  egress: Type.Optional(
    Type.Array(Type.String(), {
      description: 'The hosts that its fetch may reach, as the manifest of the active version lists them.',
    }),
  ),
});

export interface IntegrationsDoorParts {
  readonly registry: Pick<Registry, 'integration' | 'integrations' | 'version'>;
}

export function integrationsDoor(app: TypedApp, { registry }: IntegrationsDoorParts): void {
  app.get(
    '/integrations',
    {
      schema: {
        summary: 'List integrations, by name',
        querystring: PageQuery,
        response: { 200: PageOf(IntegrationView), ...ERRORS_VIEW },
      },
    },
    async (request) => {
      const page = await registry.integrations({
        ...pageRequest(request.query),
        visibleTo: holderOf(request).organization,
      });
      return pageAnswer(page, integrationView);
    },
  );
  app.get(
    '/integrations/:name',
    {
      schema: {
        summary: 'Read an integration',
        params: Type.Object({ name: Name }),
        response: { 200: IntegrationDetail, ...ERRORS_VIEW },
      },
    },
    async (request) => {
      const integration = await visibleIntegration(registry, request, request.params.name);
      const active = await registry.version(integration.name, integration.activeVersion);
      const egress = active?.manifest.egress;
      return { ...integrationView(integration), ...(egress && { egress: [...egress] }) };
    },
  );
}

type Reader = Pick<Registry, 'integration'>;

/** The integration of this name. @throws `INTEGRATION_UNKNOWN` where there is none that the caller may see */
export async function visibleIntegration(
  registry: Reader,
  request: FastifyRequest,
  name: string,
): Promise<Integration> {
  const integration = await registry.integration(name);
  if (integration !== undefined && maySee(principalOf(request), integration)) return integration;
  throw unknownIntegration(name);
}

/**
 * The integration of this name, for what its owner alone may do.
 *
 * @throws `INTEGRATION_UNKNOWN` where it is another tenant's, `TOKEN_FORBIDDEN` for a kind of token that never may
 */
export async function ownIntegration(
  registry: Reader,
  request: FastifyRequest,
  name: string,
): Promise<Integration> {
  const principal = principalOf(request);
  if (principal.kind !== 'admin' && principal.kind !== 'organization') {
    const message = `A token of kind ${principal.kind} has no business with what only the owner of an integration may do.`;
    throw new AnnexError('TOKEN_FORBIDDEN', message);
  }
  const integration = await registry.integration(name);
  if (integration !== undefined && mayPublish(principal, integration.organization)) return integration;
  throw unknownIntegration(name);
}

/** One answer for what does not exist and for what is another tenant's, so that names cannot be probed for. */
export const unknownIntegration = (name: string): AnnexError =>
  new AnnexError('INTEGRATION_UNKNOWN', `There is no integration "${name}".`);

const integrationView = ({ activeVersion, createdAt, updatedAt, ...rest }: Integration) => ({
  ...rest,
  version: activeVersion,
  createdAt: isoTime(createdAt),
  updatedAt: isoTime(updatedAt),
});
