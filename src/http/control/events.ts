/**
 * `/v1/events`: what has happened in the life of an installation, and whether its integration has heard of it. For those who
 * may read its log, also once it is deleted. What an event holds is never shown: it may be a configuration with credentials.
 */
import Type from 'typebox';
import { AnnexError } from '../../errors.ts';
import { wholeInstallation } from '../../model/installation.ts';
import { mayReadLog, type Principal } from '../../model/principal.ts';
import { unknownInstallation } from '../../model/unknown.ts';
import type { Installations } from '../../store/installations/installations.ts';
import type { LifeEventEntry, LifeEvents } from '../../store/installations/life-events.ts';
import type { Registry } from '../../store/integrations/registry.ts';
import { LIFE_EVENT_STATES } from '../../store/tables.ts';
import { principalOf } from './authenticate.ts';
import { placeView } from './installations/target-paths.ts';
import { ERRORS_VIEW, isoTime, Name, PAGE_QUERY, PageOf, pageAnswer, pageRequest, Time } from './schemas.ts';
import type { TypedApp } from './typed-routes.ts';

const EventView = Type.Object({
  id: Type.String({ description: '`eventId` of the event, and the request id of its lines in the log.' }),
  type: Type.String(),
  integration: Type.String(),
  organization: Type.String({ description: 'The one that installed.' }),
  installation: Type.String(),
  space: Type.Optional(Type.String()),
  site: Type.Optional(Type.String()),
  state: Type.Enum([...LIFE_EVENT_STATES], {
    description:
      '`pending`: to be told, or told again. `delivered`: heard. `unhandled`: no handler. `failed`: its handler failed, or it ' +
      'could not be told; final. `canceled`: the target was paused or gone.',
  }),
  attempts: Type.Integer({ description: 'Calls that were made for it.' }),
  outcome: Type.Optional(Type.String({ description: 'How the last of them ended.' })),
  createdAt: Time,
  finishedAt: Type.Optional(Time),
});

/** Events page by their position. */
const PAGE_KEY = /^\d{1,15}$/;

const EventsQuery = Type.Object({ ...PAGE_QUERY, installation: Name }, { additionalProperties: false });

export interface EventsDoorParts {
  readonly lifeEvents: Pick<LifeEvents, 'list' | 'read' | 'latest'>;
  readonly registry: Pick<Registry, 'integration'>;
  readonly installations: Pick<Installations, 'read'>;
}

/** Whose an installation is, or was. */
type Whose = Pick<LifeEventEntry, 'integration' | 'organization' | 'createdAt'>;

export function eventsDoor(app: TypedApp, { lifeEvents, registry, installations }: EventsDoorParts): void {
  const mayRead = async (
    principal: Principal,
    { integration: name, organization, createdAt }: Whose,
  ): Promise<boolean> => {
    const integration = await registry.integration(name);
    // Attack: to take the name of an integration that is gone, for what there is of its former owner's.
    const isItsOwn = integration !== undefined && integration.createdAt <= createdAt;
    return mayReadLog(principal, organization, isItsOwn ? integration.organization : organization);
  };
  app.get(
    '/events',
    {
      schema: {
        summary: 'List the events in the life of an installation, newest first',
        querystring: EventsQuery,
        response: { 200: PageOf(EventView), ...ERRORS_VIEW },
      },
    },
    async (request) => {
      const { installation: id } = request.query;
      // Of one that is deleted, its events alone tell whose it was.
      const whose = (await installations.read(wholeInstallation(id))) ?? (await lifeEvents.latest(id));
      if (whose === undefined || !(await mayRead(principalOf(request), whose))) throw unknownInstallation(id);
      const page = await lifeEvents.list({ ...pageRequest(request.query, PAGE_KEY), installationId: id });
      return pageAnswer(page, eventView);
    },
  );
  app.get(
    '/events/:id',
    {
      schema: {
        summary: 'Read an event',
        params: Type.Object({ id: Name }),
        response: { 200: EventView, ...ERRORS_VIEW },
      },
    },
    async (request) => {
      const { id } = request.params;
      const event = await lifeEvents.read(id);
      if (event === undefined || !(await mayRead(principalOf(request), event))) {
        throw new AnnexError('EVENT_UNKNOWN', `There is no event "${id}".`);
      }
      return eventView(event);
    },
  );
}

function eventView({ eventId, target, createdAt, finishedAt, ...event }: LifeEventEntry) {
  const { type, integration, organization, state, attempts, outcome } = event;
  return {
    id: eventId,
    type,
    integration,
    organization,
    installation: target.installationId,
    ...placeView(target),
    state,
    attempts,
    ...(outcome !== undefined && { outcome }),
    createdAt: isoTime(createdAt),
    ...(finishedAt !== undefined && { finishedAt: isoTime(finishedAt) }),
  };
}
