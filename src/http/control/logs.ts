/**
 * `/v1/logs`: the log of an installation, or of an integration's own endpoint, newest line first.
 * For the author, and that of an installation for the organization that installed, too.
 */
import type { FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import { AnnexError } from '../../errors.ts';
import { wholeInstallation } from '../../model/installation.ts';
import { mayReadIntegrationLog, mayReadLog } from '../../model/principal.ts';
import { integrationTenant } from '../../model/target.ts';
import { unknownInstallation, unknownIntegration } from '../../model/unknown-name-errors.ts';
import { LOG_LEVELS } from '../../protocol/wire.ts';
import type { Installations } from '../../store/installations/installations.ts';
import type { Registry } from '../../store/integrations/registry.ts';
import type { Logs, StoredLine } from '../../store/logs.ts';
import { principalOf } from './authenticate.ts';
import { ERRORS_VIEW, isoTime, Name, PAGE_QUERY, PageOf, pageAnswer, pageRequest, Time } from './schemas.ts';
import type { TypedApp } from './typed-routes.ts';

const LineView = Type.Object({
  id: Type.String(),
  installation: Type.Optional(Type.String()),
  integration: Type.Optional(Type.String({ description: 'For a line of its own endpoint.' })),
  version: Type.Integer(),
  requestId: Type.String(),
  level: Type.Enum([...LOG_LEVELS]),
  text: Type.String(),
  at: Time,
});

const LogsQuery = Type.Object(
  {
    ...PAGE_QUERY,
    installation: Type.Optional(Name),
    integration: Type.Optional(Name),
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
        description: 'Name an installation, or an integration for the log of its own endpoint.',
        querystring: LogsQuery,
        response: { 200: PageOf(LineView), ...ERRORS_VIEW },
      },
    },
    async (request) => {
      const { level } = request.query;
      const { tenant, ...of } = await requestedLog(request, { registry, installations });
      const page = await logs.list({ ...pageRequest(request.query), tenant, level });
      return pageAnswer(page, (line) => lineView(line, of));
    },
  );
}

/** What a line belongs to, as it is shown. */
type LineOf = { readonly installation: string } | { readonly integration: string };

/**
 * The log that the query names.
 *
 * @throws AnnexError REQUEST_INVALID, INSTALLATION_UNKNOWN, INTEGRATION_UNKNOWN
 */
async function requestedLog(
  request: FastifyRequest<{ Querystring: Static<typeof LogsQuery> }>,
  { registry, installations }: Omit<LogsRouteParts, 'logs'>,
): Promise<LineOf & { readonly tenant: string }> {
  const { installation: id, integration: name } = request.query;
  const principal = principalOf(request);
  if (name !== undefined && id === undefined) {
    const integration = await registry.integration(name);
    if (integration === undefined || !mayReadIntegrationLog(principal, integration.organization))
      throw unknownIntegration(name);
    return { integration: name, tenant: integrationTenant(integration.endpointKey) };
  }
  if (id === undefined || name !== undefined)
    throw new AnnexError('REQUEST_INVALID', 'Send either query.installation or query.integration.');
  const installation = await installations.read(wholeInstallation(id));
  const integration = installation && (await registry.integration(installation.integration));
  if (
    installation === undefined ||
    integration === undefined ||
    !mayReadLog(principal, installation.organization, integration.organization)
  ) {
    throw unknownInstallation(id);
  }
  return { installation: id, tenant: id };
}

const lineView = ({ tenant: _, at, ...rest }: StoredLine, of: LineOf) => ({
  ...rest,
  ...of,
  at: isoTime(at),
});
