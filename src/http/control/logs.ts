/**
 * `/v1/logs`: the log of an installation, or of an integration's own endpoint, newest line first or
 * followed as server-sent events. For the author, and that of an installation for the organization
 * that installed, too.
 */
import type { FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import { AnnexError } from '../../errors.ts';
import { wholeInstallation } from '../../model/installation.ts';
import { mayReadIntegrationLog, mayReadLog, type Principal } from '../../model/principal.ts';
import { integrationTenant } from '../../model/target.ts';
import { unknownInstallation, unknownIntegration } from '../../model/unknown-name-errors.ts';
import { LOG_LEVELS } from '../../protocol/wire.ts';
import type { Installations } from '../../store/installations/installations.ts';
import type { Registry } from '../../store/integrations/registry.ts';
import type { Logs } from '../../store/logs.ts';
import type { Tokens } from '../../store/tokens.ts';
import { bearerToken } from '../credentials.ts';
import { holderOf, principalOf } from './authenticate.ts';
import { answerWith, beginOf, isFollowed } from './following/follow-request.ts';
import type { Follower, Followers } from './following/followers.ts';
import { LINE_ID, logEvents } from './log-events.ts';
import { type LineOf, LineView, lineView } from './log-line-view.ts';
import { ERRORS_VIEW, Name, PAGE_QUERY, PageOf, pageAnswer, pageRequest } from './schemas.ts';
import type { TypedApp } from './typed-routes.ts';

const LogsQuery = Type.Object(
  {
    ...PAGE_QUERY,
    installation: Type.Optional(Name),
    integration: Type.Optional(Name),
    level: Type.Optional(Type.Enum([...LOG_LEVELS], { description: 'This level and those above it.' })),
    follow: Type.Optional(
      Type.Boolean({
        description:
          'Whether to answer with server-sent events. `limit` is the number of earlier lines that come first, by default none; after `Last-Event-ID` come the lines after that one.',
      }),
    ),
  },
  { additionalProperties: false },
);

/** What `Last-Event-ID` names. */
const LINE = { shape: LINE_ID, noun: 'a line of a log' };

export interface LogsRouteParts {
  readonly logs: Pick<Logs, 'list' | 'since' | 'follow'>;
  readonly followers: Followers;
  readonly registry: Pick<Registry, 'integration'>;
  readonly installations: Pick<Installations, 'read'>;
  readonly tokens: Pick<Tokens, 'authenticate'>;
}

type LogsRequest = FastifyRequest<{ Querystring: Static<typeof LogsQuery> }>;

export function logsRoutes(app: TypedApp, parts: LogsRouteParts): void {
  const { logs, followers } = parts;
  app.addHook('preClose', async () => followers.stop());
  app.get(
    '/logs',
    {
      schema: {
        summary: 'List the log of an installation, newest line first, or follow it',
        description:
          'Name an installation, or an integration for the log of its own endpoint. With "Accept: text/event-stream" or `follow=true`, the answer is server-sent events: one for each line, as lines are written.',
        querystring: LogsQuery,
        streamed: LineView,
        response: { 200: PageOf(LineView), ...ERRORS_VIEW },
      },
    },
    async (request, reply) => {
      const log = await requestedLog(parts, request);
      if (isFollowed(request)) {
        const lines = logEvents(logs, { ...log, level: request.query.level });
        return answerWith(
          reply,
          followers.follow(lines, beginOf(request, LINE), follower(parts, request, log)),
        );
      }
      const { level } = request.query;
      const page = await logs.list({ ...pageRequest(request.query), tenant: log.tenant, level });
      return pageAnswer(page, (line) => lineView(line, log.of));
    },
  );
}

/** A log that a query names. */
interface Log {
  readonly tenant: string;
  readonly of: LineOf;
}

/**
 * The log that the query names.
 *
 * @throws AnnexError REQUEST_INVALID, INSTALLATION_UNKNOWN, INTEGRATION_UNKNOWN
 */
async function requestedLog(parts: LogsRouteParts, request: LogsRequest): Promise<Log> {
  const { installation, integration } = request.query;
  if ((installation === undefined) === (integration === undefined))
    throw new AnnexError('REQUEST_INVALID', 'Send either query.installation or query.integration.');
  const log = await readableLog(parts, principalOf(request), request.query);
  if (log !== undefined) return log;
  throw integration === undefined ? unknownInstallation(installation ?? '') : unknownIntegration(integration);
}

/** Undefined if it does not exist, or the principal may not read it. */
async function readableLog(
  { registry, installations }: LogsRouteParts,
  principal: Principal,
  { installation: id, integration: name }: LogsRequest['query'],
): Promise<Log | undefined> {
  if (name !== undefined) {
    const integration = await registry.integration(name);
    return integration !== undefined && mayReadIntegrationLog(principal, integration.organization)
      ? { tenant: integrationTenant(integration.endpointKey), of: { integration: name } }
      : undefined;
  }
  const installation = id === undefined ? undefined : await installations.read(wholeInstallation(id));
  const integration = installation && (await registry.integration(installation.integration));
  return installation !== undefined &&
    integration !== undefined &&
    mayReadLog(principal, installation.organization, integration.organization)
    ? { tenant: installation.installationId, of: { installation: installation.installationId } }
    : undefined;
}

function follower(parts: LogsRouteParts, request: LogsRequest, { tenant }: Log): Follower {
  const token = bearerToken(request.raw) ?? '';
  return {
    principal: holderOf(request),
    followed: tenant,
    async refusal() {
      const principal = await parts.tokens.authenticate(token);
      if (principal === undefined) return 'revoked';
      const log = await readableLog(parts, principal, request.query);
      // An integration that was deleted and published again has another tenant.
      return log?.tenant === tenant ? undefined : 'removed';
    },
  };
}
