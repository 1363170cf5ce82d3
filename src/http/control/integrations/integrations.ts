/**
 * `/v1/integrations`: list, read and delete. An organization sees its own and public integrations;
 * all others are answered as unknown.
 */
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { AnnexError } from '../../../errors.ts';
import { imageUrl, integrationUrls, ownerOf } from '../../../model/endpoint-urls.ts';
import { isVerified } from '../../../model/environment.ts';
import { VISIBILITIES } from '../../../model/manifest/visibility.ts';
import { isRuntime, mayPublish, maySee } from '../../../model/principal.ts';
import { unknownIntegration } from '../../../model/unknown-name-errors.ts';
import type { Integration } from '../../../store/integrations/integration-rows.ts';
import type { Registry } from '../../../store/integrations/registry.ts';
import type { Origins } from '../../../targets/target-resolver.ts';
import { actorOf, FOR_RUNTIME, holderOf, principalOf } from '../authenticate.ts';
import {
  ERRORS_VIEW,
  isoTime,
  Name,
  NoQuery,
  PageOf,
  PageQuery,
  pageAnswer,
  pageRequest,
  Time,
} from '../schemas.ts';
import type { TypedApp } from '../typed-routes.ts';
import { MANIFEST_MEMBERS, manifestMembers } from './manifest-view.ts';

const IntegrationView = Type.Object(
  {
    name: Type.String(),
    title: Type.String(),
    description: Type.String(),
    organization: Type.String({ description: 'The owner.' }),
    visibility: Type.Enum([...VISIBILITIES]),
    version: Type.Integer({ description: 'The active version.' }),
    createdAt: Time,
    updatedAt: Time,
  },
  { title: 'Integration' },
);

const IntegrationDetail = Type.Object(
  {
    object: Type.Literal('integration'),
    ...IntegrationView.properties,
    ...MANIFEST_MEMBERS,
    urls: Type.Object({
      location: Type.String({ description: 'Its record in the API.' }),
      app: Type.Optional(Type.String({ description: 'Its page in the host product.' })),
      icon: Type.Optional(Type.String()),
      assets: Type.String({ description: 'The folder of its images.' }),
      publicEndpoint: Type.String({ description: 'Its own endpoint, one for all installations.' }),
      publicContentEndpoint: Type.String({ description: 'The same on the origin without cookies.' }),
      oauthCallback: Type.Optional(
        Type.String({ description: 'The redirect URL to register at a provider of OAuth.' }),
      ),
    }),
    configurations: Type.Unsafe<Record<string, unknown>>(
      Type.Object(
        {},
        {
          additionalProperties: true,
          description: 'The settings of the manifest, by level: account, space and site.',
        },
      ),
    ),
    verified: Type.Boolean({ description: 'Whether it comes with Annex.' }),
    owner: Type.Object(
      {
        object: Type.Literal('organization'),
        id: Type.String(),
        title: Type.String({ description: 'The id: the product alone knows another.' }),
        urls: Type.Object({
          location: Type.String({ description: 'Its record in the API of the product.' }),
          app: Type.Optional(Type.String({ description: 'Its page in the host product.' })),
        }),
      },
      { description: 'The organization that owns it.' },
    ),
    permissions: Type.Object({
      admin: Type.Boolean({ description: 'Whether the token may publish and manage it.' }),
    }),
    installLink: Type.Optional(
      Type.Boolean({ description: 'Whether it has an install link. Shown to the owner only.' }),
    ),
  },
  { title: 'WholeIntegration' },
);

const DeleteQuery = Type.Object(
  {
    cascade: Type.Optional(
      Type.Boolean({
        description: 'Deletes its installations too, without lifecycle events.',
        default: false,
      }),
    ),
  },
  { additionalProperties: false },
);

export interface IntegrationsRouteParts {
  readonly registry: Pick<Registry, 'integration' | 'isInstalledIn' | 'integrations' | 'version' | 'delete'>;
  readonly origins: Origins;
}

export function integrationsRoutes(app: TypedApp, { registry, origins }: IntegrationsRouteParts): void {
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
      config: FOR_RUNTIME,
      schema: {
        summary: 'Read an integration',
        description: 'With the members of the manifest of its active version. Images are public URLs.',
        params: Type.Object({ name: Name }),
        querystring: NoQuery,
        response: { 200: IntegrationDetail, ...ERRORS_VIEW },
      },
    },
    async (request) => {
      const integration = await visibleIntegration(registry, request, request.params.name);
      const { name, organization, hasInstallLink } = integration;
      const active = await registry.version(name, integration.activeVersion);
      // The integration was deleted meanwhile.
      if (active === undefined) throw unknownIntegration(name);
      const isOwner = mayPublish(principalOf(request), organization);
      return {
        object: 'integration' as const,
        ...integrationView(integration),
        ...manifestMembers(active.manifest, (path) => imageUrl(origins, integration.endpointKey, path)),
        urls: integrationUrls(origins, {
          ...{ name, endpointKey: integration.endpointKey },
          ...(active.manifest.icon !== undefined && { icon: active.manifest.icon }),
        }),
        configurations: { ...active.manifest.configurations },
        verified: isVerified(organization),
        owner: ownerOf(origins, organization),
        permissions: { admin: isOwner },
        ...(isOwner && { installLink: hasInstallLink }),
      };
    },
  );
  app.delete(
    '/integrations/:name',
    {
      schema: {
        summary: 'Delete an integration',
        description:
          'With its versions, images and secrets. 409 if it is installed, unless `cascade=true`. The name becomes free.',
        params: Type.Object({ name: Name }),
        querystring: DeleteQuery,
        response: { 204: Type.Null(), ...ERRORS_VIEW },
      },
    },
    async (request, reply) => {
      const integration = await ownIntegration(registry, request, request.params.name);
      const { cascade = false } = request.query;
      await registry.delete(integration, { cascade }, actorOf(request));
      return reply.code(204).send(null);
    },
  );
}

/**
 * The integration of this name. An organization that has installed it still sees it, also if it
 * was made private since or was installed with a link.
 *
 * @throws AnnexError INTEGRATION_UNKNOWN if the caller may see none of this name
 */
export async function visibleIntegration(
  registry: Pick<Registry, 'integration' | 'isInstalledIn'>,
  request: FastifyRequest,
  name: string,
): Promise<Integration> {
  const integration = await registry.integration(name);
  const principal = principalOf(request);
  if (integration !== undefined && maySee(principal, integration)) return integration;
  const { organization } = isRuntime(principal) ? {} : principal;
  const isInstalled = organization !== undefined && (await registry.isInstalledIn(name, organization));
  if (integration !== undefined && isInstalled) return integration;
  throw unknownIntegration(name);
}

/**
 * The integration of this name, for actions of its owner.
 *
 * @throws AnnexError INTEGRATION_UNKNOWN if it is another tenant's, TOKEN_FORBIDDEN for a kind of
 * token that never owns one
 */
export async function ownIntegration(
  registry: Pick<Registry, 'integration'>,
  request: FastifyRequest,
  name: string,
): Promise<Integration> {
  const principal = principalOf(request);
  if (principal.kind !== 'admin' && principal.kind !== 'organization') {
    const message = `This is for the owner of the integration; the request came with a token of kind ${principal.kind}.`;
    throw new AnnexError('TOKEN_FORBIDDEN', message);
  }
  const integration = await registry.integration(name);
  if (integration !== undefined && mayPublish(principal, integration.organization)) return integration;
  throw unknownIntegration(name);
}

const integrationView = ({ activeVersion, createdAt, updatedAt, ...rest }: Integration) => ({
  name: rest.name,
  title: rest.title,
  description: rest.description,
  organization: rest.organization,
  visibility: rest.visibility,
  version: activeVersion,
  createdAt: isoTime(createdAt),
  updatedAt: isoTime(updatedAt),
});
