/**
 * `/v1/events`: product events and lifecycle events, with their outcomes. Product events are for
 * their organization, with all their content; lifecycle events are for principals that may read the
 * installation's log, also after it is deleted.
 */
import Type, { type Static } from 'typebox';
import { AnnexError } from '../../../errors.ts';
import { wholeInstallation } from '../../../model/installation.ts';
import { EVENT_ID, POSTED_TYPES } from '../../../model/posted-event.ts';
import { type HolderPrincipal, mayReadEvents, mayReadLog, type Principal } from '../../../model/principal.ts';
import { unknownInstallation } from '../../../model/unknown-name-errors.ts';
import type { DeliveryList } from '../../../store/deliveries/delivery-list.ts';
import type { EventList } from '../../../store/events/event-list.ts';
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

/** Key of a page of lifecycle events: the position. */
const LIFECYCLE_PAGE_KEY = /^\d{1,15}$/;
/** Key of a page of product events: the id of a `Sequence`. */
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
        description: 'Lists the lifecycle events of this installation instead of product events.',
      }),
    ),
  },
  { additionalProperties: false },
);
type Query = Static<typeof EventsQuery>;

export interface EventsRouteParts {
  readonly eventList: Pick<EventList, 'list' | 'read'>;
  readonly deliveryList: Pick<DeliveryList, 'ofEvent'>;
  readonly lifecycleEvents: Pick<LifecycleEvents, 'list' | 'read' | 'latest'>;
  readonly registry: Pick<Registry, 'integration'>;
  readonly installations: Pick<Installations, 'read'>;
}

/** The owners of an installation that exists or existed. */
type InstallationOwners = Pick<LifecycleEventEntry, 'integration' | 'organization' | 'createdAt'>;

export function eventsRoutes(app: TypedApp, parts: EventsRouteParts): void {
  app.get(
    '/events',
    {
      schema: {
        summary: 'List events, newest first',
        description:
          'Product events of one organization, or of all. A page may have fewer than `limit` items, or none, and ' +
          'still have a `next`. With `installation`: the lifecycle events of one installation.',
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
        : lifecycleEventsOf(parts, holder, installation, request.query);
    },
  );
  app.get(
    '/events/:id',
    {
      schema: {
        summary: 'Read an event and its outcome',
        params: Type.Object({ id: Type.String({ pattern: EVENT_ID.source }) }),
        querystring: NoQuery,
        response: { 200: Type.Union([LifecycleEventView, TracedEventView]), ...ERRORS_VIEW },
      },
    },
    async (request) => {
      const { id } = request.params;
      const holder = holderOf(request);
      const event = await parts.eventList.read(id);
      if (event !== undefined && mayReadEvents(holder, event.organization))
        return tracedEventView(event, await parts.deliveryList.ofEvent(id));
      const lifecycleEvent = await parts.lifecycleEvents.read(id);
      if (lifecycleEvent !== undefined && (await mayReadLifecycle(parts, holder, lifecycleEvent)))
        return lifecycleEventView(lifecycleEvent);
      throw new AnnexError('EVENT_UNKNOWN', `There is no event "${id}".`);
    },
  );
}

async function productEvents(
  { eventList }: EventsRouteParts,
  holder: HolderPrincipal,
  { organization: asked, type, ...query }: Query,
) {
  const organization = organizationRead(holder, asked, 'events');
  const page = await eventList.list({
    ...pageRequest(query, PAGE_KEY),
    ...{ organization, type },
    ...timeRange('query', query),
  });
  return pageAnswer(page, productEventView);
}

async function lifecycleEventsOf(
  parts: EventsRouteParts,
  holder: HolderPrincipal,
  installationId: string,
  query: Query,
) {
  const [other] = Object.keys(PRODUCT_FILTERS).filter((name) => Object.hasOwn(query, name));
  if (other !== undefined) {
    const message = `query.installation lists lifecycle events, to which "${other}" does not apply: leave one of them out.`;
    throw new AnnexError('REQUEST_INVALID', message);
  }
  const { installations, lifecycleEvents } = parts;
  // Only its events show the organization of a deleted installation.
  const owners =
    (await installations.read(wholeInstallation(installationId))) ??
    (await lifecycleEvents.latest(installationId));
  if (owners === undefined || !(await mayReadLifecycle(parts, holder, owners)))
    throw unknownInstallation(installationId);
  const page = await lifecycleEvents.list({ ...pageRequest(query, LIFECYCLE_PAGE_KEY), installationId });
  return pageAnswer(page, lifecycleEventView);
}

async function mayReadLifecycle(
  { registry }: EventsRouteParts,
  principal: Principal,
  { integration: name, organization, createdAt }: InstallationOwners,
): Promise<boolean> {
  const integration = await registry.integration(name);
  // Attack: publishing under the name of a deleted integration, to read the events of its former
  // owner's installations.
  const isItsOwn = integration !== undefined && integration.createdAt <= createdAt;
  return mayReadLog(principal, organization, isItsOwn ? integration.organization : organization);
}
