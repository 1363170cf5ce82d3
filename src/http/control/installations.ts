/**
 * `/v1/integrations/{name}/installations`: install, list and read. An organization sees its own installation alone.
 */
import Type from 'typebox';
import { AnnexError } from '../../errors.ts';
import { EXTERNAL_ID_CHARS, EXTERNAL_IDS_MAX, wholeInstallation } from '../../model/installation.ts';
import { mayInstallFor, mayReadInstallation, maySee } from '../../model/principal.ts';
import type { Installations } from '../../store/installations.ts';
import type { Registry } from '../../store/registry.ts';
import type { Installation } from '../../store/target-rows.ts';
import { actorOf, holderOf, principalOf } from './authenticate.ts';
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
  readonly registry: Pick<Registry, 'integration' | 'publicEndpoint'>;
  readonly installations: Pick<Installations, 'install' | 'read' | 'list'>;
}

export function installationsDoor(app: TypedApp, { registry, installations }: InstallationsDoorParts): void {
  const view = ({
    installationId,
    integration,
    organization,
    status,
    endpointKey,
    configuration,
    externalIds,
    createdAt,
    updatedAt,
  }: Installation) => ({
    id: installationId,
    integration,
    organization,
    status,
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
      const installation = await installations.install(
        { integration: name, organization, externalIds },
        actorOf(request),
      );
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
      const principal = holderOf(request);
      const { name } = request.params;
      const integration = await registry.integration(name);
      const page = await installations.list({
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
      const installation = await installations.read(wholeInstallation(id));
      const mine =
        installation?.integration === name && mayReadInstallation(principalOf(request), installation);
      if (installation === undefined || !mine) throw unknownInstallation(id);
      return view(installation);
    },
  );
}

/** One answer for what does not exist and for what is another tenant's. */
export const unknownInstallation = (id: string): AnnexError =>
  new AnnexError('INSTALLATION_UNKNOWN', `There is no installation "${id}".`);
