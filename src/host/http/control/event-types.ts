/**
 * `/v1/event-types`: the event types of the product (docs/contract/events.md#declared-types).
 *
 * The operator declares them; everybody with a token of their own reads them. Where the service was
 * started with a file of them, the file decides, and they are only read here.
 */
import Type from 'typebox';
import { AnnexError } from '../../../errors.ts';
import {
  EVENT_TYPE_DECLARATION,
  EVENT_TYPE_MEMBERS,
  type EventType,
  eventTypeFault,
  readDeclaration,
} from '../../../model/event-type.ts';
import { POSTED_TYPES } from '../../../model/posted-event.ts';
import { mayReadEventTypes } from '../../../model/principal.ts';
import { actorOf, requireAdmin, requires } from './authenticate.ts';
import type { Control } from './control.ts';
import { route } from './route.ts';
import { isoTime, NoQuery, named, Time } from './schemas.ts';

const EventTypeView = named(
  'EventType',
  {
    type: Type.String({ description: 'Its name, such as `invoice.paid`.' }),
    ...EVENT_TYPE_MEMBERS,
    schema: Type.Record(Type.String(), Type.Unknown(), { description: 'JSON Schema of `data`.' }),
    webhook: Type.Boolean({ description: 'Whether users may select it for webhooks.' }),
    deprecated: Type.Boolean(),
    createdAt: Time,
    updatedAt: Time,
  },
  { description: 'An event type that the product has declared.' },
);
const ListView = named('EventTypes', { items: Type.Array(EventTypeView, { description: 'By name.' }) });
const ChangeView = named('EventTypeChange', {
  type: Type.String(),
  change: Type.Enum(['added', 'changed', 'unchanged', 'removed']),
});

/** Longer names than a type may have are read, so that the answer says what is wrong. */
const PARAMS = { type: Type.String({ minLength: 1, maxLength: 256 }) };
const ChangeQuery = Type.Object(
  {
    force: Type.Optional(
      Type.Boolean({ description: 'Also where stored events do not fit it, or somebody uses it.' }),
    ),
    dryRun: Type.Optional(Type.Boolean({ description: 'Check the change, and make none.' })),
  },
  { additionalProperties: false },
);
/** Room for a schema and a sample, with white space. */
const BODY_BYTES_MAX = 256 * 1024;
const PATH = '/event-types/:type';
const readers = requires(mayReadEventTypes, 'Reading event types needs a token of your own');

export const EVENT_TYPE_ROUTES = [
  route({
    name: 'event-types.list',
    at: 'GET /event-types',
    forPortal: ['webhooks', 'activity'],
    summary: 'List the event types of the product',
    description:
      'Those that were declared. The types of the specification exist always, and are not among them.',
    rights: readers,
    query: NoQuery,
    answer: ListView,
    handle: async (_, { eventTypes }) => ({ items: (await eventTypes.catalog()).all.map(eventTypeView) }),
  }),
  route({
    name: 'event-types.get',
    at: `GET ${PATH}`,
    summary: 'Read an event type',
    rights: readers,
    params: PARAMS,
    query: NoQuery,
    answer: EventTypeView,
    async handle({ params: { type } }, { eventTypes }) {
      const found = (await eventTypes.catalog()).get(type);
      if (found === undefined) throw unknownType(type);
      return eventTypeView(found);
    },
  }),
  route({
    name: 'event-types.set',
    at: `PUT ${PATH}`,
    right: 'operate',
    summary: 'Declare an event type, or change it',
    description:
      'A change is refused if the sample or one of the last 1,000 events of the type would not fit it, unless `force` is true.',
    rights: requireAdmin,
    params: PARAMS,
    query: ChangeQuery,
    body: EVENT_TYPE_DECLARATION,
    bodyBytesMax: BODY_BYTES_MAX,
    answer: ChangeView,
    async handle(request, control) {
      const { type } = request.params;
      requireOpen(control);
      const fault = eventTypeFault(type);
      if (fault !== undefined) throw new AnnexError('REQUEST_INVALID', fault);
      const read = readDeclaration(request.body);
      if (!read.ok) {
        const problems = read.problems.map(({ path, message }) => ({
          ...{ severity: 'error', pointer: path.map((one) => `/${one}`).join(''), message },
        }));
        const message = read.problems.map((problem) => problem.message).join(' ');
        throw new AnnexError('EVENT_TYPE_INVALID', message, { extra: { problems } });
      }
      return { type, change: await control.eventTypes.put(type, read, actorOf(request), request.query) };
    },
  }),
  route({
    name: 'event-types.delete',
    at: `DELETE ${PATH}`,
    right: 'operate',
    summary: 'Delete an event type',
    description:
      'Refused while an active version handles it, a webhook selects it or deliveries of it are pending, unless `force` is true.',
    rights: requireAdmin,
    params: PARAMS,
    query: ChangeQuery,
    answer: ChangeView,
    async handle(request, control) {
      const { type } = request.params;
      requireOpen(control);
      if (!(await control.eventTypes.delete(type, actorOf(request), request.query))) throw unknownType(type);
      return { type, change: 'removed' as const };
    },
  }),
];

/**
 * Checks a type by which a list is filtered. Lists also have events of types that are no longer
 * declared, so a name with a dot, which no defined type has, is not refused.
 *
 * @param at what it is called: `query.type`
 * @param more types that are listed beside those that are posted
 * @throws AnnexError REQUEST_INVALID
 */
export async function requireEventType(
  { eventTypes }: Pick<Control, 'eventTypes'>,
  at: string,
  { type, more = [] }: { readonly type: string | undefined; readonly more?: readonly string[] },
): Promise<void> {
  if (type === undefined || POSTED_TYPES.has(type) || more.includes(type) || type.includes('.')) return;
  const catalog = await eventTypes.catalog();
  if (catalog.get(type) !== undefined) return;
  const known = [...POSTED_TYPES.keys(), ...more, ...catalog.names];
  throw new AnnexError('REQUEST_INVALID', `${at} must be one of ${known.join(', ')}.`);
}

/** @throws AnnexError EVENT_TYPES_FIXED */
function requireOpen({ eventTypesFixed }: Control): void {
  if (!eventTypesFixed) return;
  const message =
    'The event types of this service are those of the file that it was started with (--event-types): change the file, and start it again.';
  throw new AnnexError('EVENT_TYPES_FIXED', message);
}

const unknownType = (type: string): AnnexError =>
  new AnnexError(
    'EVENT_TYPE_UNKNOWN',
    `There is no event type ${/^[\w.-]{1,128}$/.test(type) ? `"${type}"` : 'of that name'}.`,
  );

function eventTypeView({ name: type, check: _check, createdAt, updatedAt, ...declared }: EventType) {
  return { type, ...declared, createdAt: isoTime(createdAt), updatedAt: isoTime(updatedAt) };
}
