/**
 * `/v1/logs`: the log of an installation, newest line first. For the organization that installed
 * and for the author.
 */
import Type from 'typebox';
import { wholeInstallation } from '../../model/installation.ts';
import { mayReadLog } from '../../model/principal.ts';
import { unknownInstallation } from '../../model/unknown-name-errors.ts';
import { LOG_LEVELS } from '../../protocol/wire.ts';
import type { Installations } from '../../store/installations/installations.ts';
import type { Registry } from '../../store/integrations/registry.ts';
import type { Logs, StoredLine } from '../../store/logs.ts';
import { principalOf } from './authenticate.ts';
import { ERRORS_VIEW, isoTime, Name, PAGE_QUERY, PageOf, pageAnswer, pageRequest, Time } from './schemas.ts';
import type { TypedApp } from './typed-routes.ts';

const LineView = Type.Object({
  id: Type.String(),
  installation: Type.String(),
  version: Type.Integer(),
  requestId: Type.String(),
  level: Type.Enum([...LOG_LEVELS]),
  text: Type.String(),
  at: Time,
});

const LogsQuery = Type.Object(
  {
    ...PAGE_QUERY,
    installation: Name,
    level: Type.Optional(Type.Enum([...LOG_LEVELS], { description: 'This level and those above it.' })),
  },
  { additionalProperties: false },
);

export interface LogsRouteParts {
  readonly logs: Pick<Logs, 'list'>;
  readonly registry: Pick<Registry, 'integration'>;
  readonly installations: Pick<Installations, 'read'>;
}

export function logsRoutes(app: TypedApp, { logs, registry, installations }: LogsRouteParts): void {
  app.get(
    '/logs',
    {
      schema: {
        summary: 'List the log of an installation, newest line first',
        querystring: LogsQuery,
        response: { 200: PageOf(LineView), ...ERRORS_VIEW },
      },
    },
    async (request) => {
      const { installation: id, level } = request.query;
      const installation = await installations.read(wholeInstallation(id));
      const integration = installation && (await registry.integration(installation.integration));
      if (
        installation === undefined ||
        integration === undefined ||
        !mayReadLog(principalOf(request), installation.organization, integration.organization)
      ) {
        throw unknownInstallation(id);
      }
      const page = await logs.list({ ...pageRequest(request.query), installationId: id, level });
      return pageAnswer(page, lineView);
    },
  );
}

const lineView = ({ installationId, at, ...rest }: StoredLine) => ({
  ...rest,
  installation: installationId,
  at: isoTime(at),
});
