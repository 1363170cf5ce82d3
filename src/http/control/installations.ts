/**
 * `/v1/integrations/{name}/installations`: install, list and read. An organization sees its own installation alone.
 */
import Type from 'typebox';
import { AnnexError } from '../../errors.ts';
import { EXTERNAL_ID_CHARS, EXTERNAL_IDS_MAX } from '../../model/installation.ts';
import { mayInstallFor, maySee } from '../../model/principal.ts';
import type { Installation } from '../../store/installation-rows.ts';
import type { Registry } from '../../store/registry.ts';
import { principalOf } from './authenticate.ts';
import { unknownIntegration, visibleIntegration } from './integrations.ts';
import {
  ERRORS_VIEW,
  isoTime,
  Name,
  Organization,
  PAGE_QUERY,
  PageOf,
  pageAnswer,
  pageRequest,
  Time,
} from './schemas.ts';
import type { TypedApp } from './typed-routes.ts';

const ExternalId = Type.String({
  minLength: 1,
  maxLength: EXTERNAL_ID_CHARS,
  // No control characters.
  pattern: '^[^\\u0000-\\u001f\\u007f]+$',
});

const InstallationView = Type.Object({
  id: Type.String(),
  integration: Type.String(),
  organization: Type.String(),
  status: Type.Enum(['active', 'pending', 'paused']),
  configuration: Type.Record(Type.String(), Type.Unknown()),
  externalIds: Type.Array(Type.String()),
  urls: Type.Object({ publicEndpoint: Type.String() }),
  createdAt: Time,
  updatedAt: Time,
});

const InstallationBody = Type.Object(
  {
    organization: Organization,
    externalIds: Type.Optional(Type.Array(ExternalId, { maxItems: EXTERNAL_IDS_MAX })),
  },
  { additionalProperties: false },
);

const InstallationsQuery = Type.Object(
  { ...PAGE_QUERY, externalId: Type.Optional(ExternalId) },
  { additionalProperties: false },
);

export interface InstallationsDoorParts {
  readonly registry: Pick<
    Registry,
    'integration' | 'install' | 'installation' | 'installations' | 'publicEndpoint'
  >;
}

export function installationsDoor(app: TypedApp, { registry }: InstallationsDoorParts): void {
  const view = ({
    endpointKey,
    configuration,
    externalIds,
    createdAt,
    updatedAt,
    ...rest
  }: Installation) => ({
    ...rest,
    configuration: { ...configuration },
    externalIds: [...externalIds],
    urls: { publicEndpoint: registry.publicEndpoint({ endpointKey }) },
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
  });
  app.post(
    '/integrations/:name/installations',
    {
      schema: {
        summary: 'Install into an organization',
        params: Type.Object({ name: Name }),
        body: InstallationBody,
        response: { 201: InstallationView, ...ERRORS_VIEW },
      },
    },
    async (request, reply) => {
      const { organization, externalIds = [] } = request.body;
      if (!mayInstallFor(principalOf(request), organization)) {
        throw new AnnexError('TOKEN_FORBIDDEN', `This token does not install for "${organization}".`);
      }
      const { name } = await visibleIntegration(registry, request, request.params.name);
      const installation = await registry.install({ integration: name, organization, externalIds });
      return reply.code(201).send(view(installation));
    },
  );
  app.get(
    '/integrations/:name/installations',
    {
      schema: {
        summary: 'List installations',
        params: Type.Object({ name: Name }),
        querystring: InstallationsQuery,
        response: { 200: PageOf(InstallationView), ...ERRORS_VIEW },
      },
    },
    async (request) => {
      const principal = principalOf(request);
      const { name } = request.params;
      const integration = await registry.integration(name);
      const page = await registry.installations({
        ...pageRequest(request.query),
        integration: name,
        organization: principal.organization,
        externalId: request.query.externalId,
      });
      // What was installed while it was public stays listed after its owner made it private.
      const known = integration !== undefined && (page.items.length > 0 || maySee(principal, integration));
      if (!known) throw unknownIntegration(name);
      return pageAnswer(page, view);
    },
  );
  app.get(
    '/integrations/:name/installations/:id',
    {
      schema: {
        summary: 'Read an installation',
        params: Type.Object({ name: Name, id: Name }),
        response: { 200: InstallationView, ...ERRORS_VIEW },
      },
    },
    async (request) => {
      const { name, id } = request.params;
      const installation = await registry.installation(id);
      const mine =
        installation?.integration === name && mayInstallFor(principalOf(request), installation.organization);
      if (installation === undefined || !mine) throw unknownInstallation(id);
      return view(installation);
    },
  );
}

/** One answer for what does not exist and for what is another tenant's. */
export const unknownInstallation = (id: string): AnnexError =>
  new AnnexError('INSTALLATION_UNKNOWN', `There is no installation "${id}".`);
