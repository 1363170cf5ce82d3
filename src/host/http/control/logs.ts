/**
 * `/v1/logs`: the log of an installation, or of an integration's own endpoint, newest line first or
 * followed as server-sent events. For the author, and that of an installation for the organization
 * that installed, too.
 */
import type { FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import { AnnexError } from '../../../errors.ts';
import { wholeInstallation } from '../../../model/installation.ts';
import { mayReadIntegrationLog, mayReadLog, type Principal } from '../../../model/principal.ts';
import { integrationTenant } from '../../../model/target.ts';
import { unknownInstallation, unknownIntegration } from '../../../model/unknown-name-errors.ts';
import { LOG_LEVELS, type LogLevel } from '../../../protocol/wire.ts';
import type { Logs, StoredLine } from '../../store/logs.ts';
import { holderOf, principalOf, tokenOf } from './authenticate.ts';
import type { Control } from './control.ts';
import type { Source } from './following/event-stream.ts';
import { answerWith, beginOf, type Follower, isFollowed } from './following/followers.ts';
import { PAGE_QUERY, PageOf, pageAnswer, pageRequest } from './lists.ts';
import { route } from './route.ts';
import { isoTime, Name, named, optional, Time } from './schemas.ts';

const LineView = named('LogLine', {
  id: Type.String(),
  installation: Type.Optional(Type.String()),
  integration: optional(Type.String(), 'For a line of its own endpoint.'),
  version: Type.Integer(),
  requestId: Type.String(),
  level: Type.Enum([...LOG_LEVELS]),
  text: Type.String(),
  at: Time,
});

/** What a line belongs to, as it is shown. */
type LineOf = { readonly installation: string } | { readonly integration: string };

const lineView = ({ tenant: _, at, ...rest }: StoredLine, of: LineOf) => ({
  ...rest,
  ...of,
  at: isoTime(at),
});

const LogsQuery = Type.Object(
  {
    ...PAGE_QUERY,
    installation: Type.Optional(Name),
    integration: Type.Optional(Name),
    level: optional(Type.Enum([...LOG_LEVELS]), 'This level and those above it.'),
    follow: optional(
      Type.Boolean(),
      'Whether to answer with server-sent events. `limit` is the number of earlier lines that come first, by default none; after `Last-Event-ID` come the lines after that one.',
    ),
  },
  { additionalProperties: false },
);

/** The shape of a line's `id`. */
const LINE_ID = /^[0-9a-f]{12}-[0-9a-f]{12}-[A-Za-z0-9_-]{8}$/;
/** What `Last-Event-ID` names. */
const LINE = { shape: LINE_ID, noun: 'a line of a log' };

type LogsRequest = FastifyRequest<{ Querystring: Static<typeof LogsQuery> }>;

export const LOG_ROUTES = [
  route({
    name: 'logs.list',
    at: 'GET /logs',
    summary: 'List the log of an installation, newest line first, or follow it',
    description:
      'Name an installation, or an integration for the log of its own endpoint. With "Accept: text/event-stream" or `follow=true`, the answer is server-sent events: one for each line, as lines are written.',
    query: LogsQuery,
    streamed: LineView,
    answer: PageOf(LineView),
    async handle(request, control, reply) {
      const { logs, followers } = control;
      const { level } = request.query;
      const log = await requestedLog(control, request);
      if (isFollowed(request)) {
        const lines = logEvents(logs, { ...log, level });
        const stream = followers.follow(lines, beginOf(request, LINE), follower(control, request, log));
        return answerWith(reply, stream);
      }
      const page = await logs.list({ ...pageRequest(request.query), tenant: log.tenant, level });
      return pageAnswer(page, (line) => lineView(line, log.of));
    },
  }),
];

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
async function requestedLog(control: Control, request: LogsRequest): Promise<Log> {
  const { installation, integration } = request.query;
  if ((installation === undefined) === (integration === undefined))
    throw new AnnexError('REQUEST_INVALID', 'Send either query.installation or query.integration.');
  const log = await readableLog(control, principalOf(request), request.query);
  if (log !== undefined) return log;
  throw integration === undefined ? unknownInstallation(installation ?? '') : unknownIntegration(integration);
}

/** Undefined if it does not exist, or the principal may not read it. */
async function readableLog(
  { registry, installations }: Pick<Control, 'registry' | 'installations'>,
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

function follower(control: Control, request: LogsRequest, { tenant }: Log): Follower {
  const token = tokenOf(request) ?? '';
  return {
    principal: holderOf(request),
    followed: tenant,
    async refusal() {
      const principal = await control.tokens.authenticate(token);
      if (typeof principal !== 'object') return 'revoked';
      const log = await readableLog(control, principal, request.query);
      // An integration that was deleted and published again has another tenant.
      return log?.tenant === tenant ? undefined : 'removed';
    },
  };
}

/** Lines of one read of the store. */
const LINES_PER_READ = 200;
/** Estimated text of a line beside what the code has logged. */
const LINE_BASE_BYTES = 256;

export interface FollowedLog {
  readonly tenant: string;
  /** What the lines of this tenant are shown to belong to. */
  readonly of: LineOf;
  /** This level and those above it. */
  readonly level?: LogLevel | undefined;
}

export function logEvents(
  logs: Pick<Logs, 'follow' | 'since' | 'list'>,
  { tenant, of, level }: FollowedLog,
): Source<StoredLine> {
  const rank = level === undefined ? 0 : LOG_LEVELS.indexOf(level);
  return {
    follow: (written) => logs.follow(tenant, written),
    async newest(count) {
      const { items } = await logs.list({ tenant, level, limit: count });
      return items.toReversed();
    },
    async *after(id) {
      for (let last = id; ; ) {
        const { lines, isWhole } = await logs.since({ tenant, level, after: last, limit: LINES_PER_READ });
        yield { items: lines, isWhole };
        last = lines.at(-1)?.id ?? last;
        if (lines.length < LINES_PER_READ) return;
      }
    },
    bytesOf: ({ text }) => LINE_BASE_BYTES + text.length,
    textOf: (lines) => textOf(lines, rank, of),
  };
}

/** Of each batch, its text by lowest level. */
const TEXTS = new WeakMap<readonly StoredLine[], Map<number, Buffer>>();

function textOf(lines: readonly StoredLine[], rank: number, of: LineOf): Buffer {
  const texts = TEXTS.get(lines) ?? new Map<number, Buffer>();
  TEXTS.set(lines, texts);
  const text = texts.get(rank) ?? Buffer.from(lines.filter(isAtLeast(rank)).map(eventOf(of)).join(''));
  texts.set(rank, text);
  return text;
}

const isAtLeast =
  (rank: number) =>
  ({ level }: StoredLine): boolean =>
    LOG_LEVELS.indexOf(level) >= rank;

// Attack: a line with line breaks that forges events. JSON has none.
const eventOf =
  (of: LineOf) =>
  (line: StoredLine): string =>
    `id: ${line.id}\ndata: ${JSON.stringify(lineView(line, of))}\n\n`;
