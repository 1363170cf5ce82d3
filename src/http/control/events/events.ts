/**
 * `/v1/events`: what has happened, and what came of it. What the product has posted is for the organization that it is about, with
 * all that it says; what has happened in the life of an installation is for those who may read its log, also once it is deleted.
 */
import Type, { type Static } from 'typebox';
import { AnnexError } from '../../../errors.ts';
import { wholeInstallation } from '../../../model/installation.ts';
import { EVENT_ID, POSTED_TYPES } from '../../../model/posted-event.ts';
import { type HolderPrincipal, mayReadEvents, mayReadLog, type Principal } from '../../../model/principal.ts';
import { unknownInstallation } from '../../../model/unknown.ts';
import type { Deliveries } from '../../../store/deliveries/deliveries.ts';
import type { AcceptedEvents } from '../../../store/events/accepted-events.ts';
import type { Installations } from '../../../store/installations/installations.ts';
import type { LifecycleEventEntry, LifecycleEvents } from '../../../store/installations/lifecycle-events.ts';
import type { Registry } from '../../../store/integrations/registry.ts';
import { holderOf } from '../authenticate.ts';
import { organizationRead } from '../own-organization.ts';
import {
  ERRORS_VIEW,
  Name,
  NoQuery,
  Organization,
  PAGE_QUERY,
  PageOf,
  pageAnswer,
  pageRequest,
} from '../schemas.ts';
import { TIME_RANGE, timeRange } from '../time-range.ts';
import type { TypedApp } from '../typed-routes.ts';
import {
  LifecycleEventView,
  lifecycleEventView,
  ProductEventView,
  productEventView,
  TracedEventView,
  tracedEventView,
} from './event-view.ts';

/** Events of an installation page by their position. */
const LIFE_PAGE_KEY = /^\d{1,15}$/;
/** Those of the product by the ids of a `Sequence`. */
const PAGE_KEY = /^[0-9a-f]{12}-[0-9a-f]{12}-[\w-]{1,32}$/;

const PRODUCT_FILTERS = {
  organization: Type.Optional(Organization),
  type: Type.Optional(Type.Enum([...POSTED_TYPES.keys()])),
  ...TIME_RANGE,
};
const EventsQuery = Type.Object(
  {
    ...PAGE_QUERY,
    ...PRODUCT_FILTERS,
    installation: Type.Optional(
      Type.String({
        ...Name,
        description: 'The events of its life, instead of those that the product has posted.',
      }),
    ),
  },
  { additionalProperties: false },
);
type Query = Static<typeof EventsQuery>;

export interface EventsRouteParts {
  readonly acceptedEvents: Pick<AcceptedEvents, 'list' | 'read'>;
  readonly deliveries: Pick<Deliveries, 'ofEvent'>;
  readonly lifeEvents: Pick<LifecycleEvents, 'list' | 'read' | 'latest'>;
  readonly registry: Pick<Registry, 'integration'>;
  readonly installations: Pick<Installations, 'read'>;
}

/** Whose an installation is, or was. */
type Whose = Pick<LifecycleEventEntry, 'integration' | 'organization' | 'createdAt'>;

export function eventsRoutes(app: TypedApp, parts: EventsRouteParts): void {
  app.get(
    '/events',
    {
      schema: {
        summary: 'List events, newest first',
        description:
          'Those that the product has posted: of one organization, or of all. A page may hold fewer than `limit`, or none, and ' +
          'still have a `next`. With `installation`: those in the life of one installation.',
        querystring: EventsQuery,
        response: {
          200: Type.Union([PageOf(LifecycleEventView), PageOf(ProductEventView)]),
          ...ERRORS_VIEW,
        },
      },
    },
    async (request) => {
      const { installation } = request.query;
      const holder = holderOf(request);
      return installation === undefined
        ? productEvents(parts, holder, request.query)
        : lifeOf(parts, holder, installation, request.query);
    },
  );
  app.get(
    '/events/:id',
    {
      schema: {
        summary: 'Read an event, and what became of it',
        params: Type.Object({ id: Type.String({ pattern: EVENT_ID.source }) }),
        querystring: NoQuery,
        response: { 200: Type.Union([LifecycleEventView, TracedEventView]), ...ERRORS_VIEW },
      },
    },
    async (request) => {
      const { id } = request.params;
      const holder = holderOf(request);
      const event = await parts.acceptedEvents.read(id);
      if (event !== undefined && mayReadEvents(holder, event.organization))
        return tracedEventView(event, await parts.deliveries.ofEvent(id));
      const ofLife = await parts.lifeEvents.read(id);
      if (ofLife !== undefined && (await mayReadLife(parts, holder, ofLife)))
        return lifecycleEventView(ofLife);
      throw new AnnexError('EVENT_UNKNOWN', `There is no event "${id}".`);
    },
  );
}

async function productEvents(
  { acceptedEvents }: EventsRouteParts,
  holder: HolderPrincipal,
  { organization: asked, type, ...query }: Query,
) {
  const organization = organizationRead(holder, asked, 'events');
  const page = await acceptedEvents.list({
    ...pageRequest(query, PAGE_KEY),
    ...{ organization, type },
    ...timeRange('query', query),
  });
  return pageAnswer(page, productEventView);
}

async function lifeOf(
  parts: EventsRouteParts,
  holder: HolderPrincipal,
  installationId: string,
  query: Query,
) {
  const [other] = Object.keys(PRODUCT_FILTERS).filter((name) => Object.hasOwn(query, name));
  if (other !== undefined) {
    const message = `query.installation lists the events of its life, which "${other}" says nothing about: leave one of them out.`;
    throw new AnnexError('REQUEST_INVALID', message);
  }
  const { installations, lifeEvents } = parts;
  // Of one that is deleted, its events alone tell whose it was.
  const whose =
    (await installations.read(wholeInstallation(installationId))) ??
    (await lifeEvents.latest(installationId));
  if (whose === undefined || !(await mayReadLife(parts, holder, whose)))
    throw unknownInstallation(installationId);
  const page = await lifeEvents.list({ ...pageRequest(query, LIFE_PAGE_KEY), installationId });
  return pageAnswer(page, lifecycleEventView);
}

async function mayReadLife(
  { registry }: EventsRouteParts,
  principal: Principal,
  { integration: name, organization, createdAt }: Whose,
): Promise<boolean> {
  const integration = await registry.integration(name);
  // Attack: to take the name of an integration that is gone, for what there is of its former owner's.
  const isItsOwn = integration !== undefined && integration.createdAt <= createdAt;
  return mayReadLog(principal, organization, isItsOwn ? integration.organization : organization);
}
