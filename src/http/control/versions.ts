/**
 * `/v1/integrations/{name}/versions`: list, and activate, which is also how a publish is rolled back. For the owner.
 */
import Type from 'typebox';
import type { Registry } from '../../store/registry.ts';
import { actorOf } from './authenticate.ts';
import { ownIntegration } from './integrations.ts';
import { ERRORS_VIEW, isoTime, Name, PAGE_QUERY, PageOf, pageAnswer, pageRequest, Time } from './schemas.ts';
import type { TypedApp } from './typed-routes.ts';

const VersionView = Type.Object({ version: Type.Integer(), active: Type.Boolean(), createdAt: Time });

/** Versions page by number. */
const VersionsQuery = Type.Object(
  { ...PAGE_QUERY, cursor: Type.Optional(Type.String({ pattern: '^[0-9]{1,9}$' })) },
  { additionalProperties: false },
);

export interface VersionsDoorParts {
  readonly registry: Pick<Registry, 'integration' | 'versions' | 'activate'>;
}

export function versionsDoor(app: TypedApp, { registry }: VersionsDoorParts): void {
  app.get(
    '/integrations/:name/versions',
    {
      schema: {
        summary: 'List versions, newest first',
        params: Type.Object({ name: Name }),
        querystring: VersionsQuery,
        response: { 200: PageOf(VersionView), ...ERRORS_VIEW },
      },
    },
    async (request) => {
      const { name, activeVersion } = await ownIntegration(registry, request, request.params.name);
      const page = await registry.versions({ ...pageRequest(request.query), integration: name });
      return pageAnswer(page, ({ number, createdAt }) => ({
        version: number,
        active: number === activeVersion,
        createdAt: isoTime(createdAt),
      }));
    },
  );
  app.post(
    '/integrations/:name/versions/:version/activate',
    {
      schema: {
        summary: 'Make a version the active one',
        description: 'Calls that start after the answer run this version. Secrets keep their present values.',
        params: Type.Object({ name: Name, version: Type.Integer({ minimum: 1, maximum: 999_999_999 }) }),
        response: {
          200: Type.Object({ integration: Type.String(), version: Type.Integer() }),
          ...ERRORS_VIEW,
        },
      },
    },
    async (request) => {
      const { name } = await ownIntegration(registry, request, request.params.name);
      const { version } = request.params;
      await registry.activate(name, version, actorOf(request));
      return { integration: name, version };
    },
  );
}
