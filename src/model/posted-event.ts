/**
 * Events that the host product posts: the schema of each type of the specification
 * (`docs/contract/events.md#types`), the form of events whose type the product has declared
 * (`docs/contract/events.md#declared-types`), where the event happens, and the messages for an
 * invalid one.
 *
 * Undeclared members of the specification's types pass through unchanged, so the product can add
 * members. Three are defined by Annex: `eventId`; `organization`, whose installations receive the
 * event; and `installationId`, which limits it to one installation. Declared types have their own
 * members in `data` alone.
 */
import Type, { type TSchema } from 'typebox';
import { type EventCatalog, type EventType, NO_EVENT_TYPES } from './event-type.ts';
import { ORGANIZATION_ID, PLACE_ID } from './identifiers.ts';
import { LEVELS, type Level } from './level.ts';
import { type SchemaCheck, schemaCheck } from './schema-check.ts';
import { faultText, nameIn } from './schema-fault.ts';
import { nearest } from './spelling-hint.ts';

/** Form of an event id: printable ASCII, because it is sent in headers and paths. */
export const EVENT_ID = /^[\x21-\x7e]{1,255}$/;
const COMMENT_CHARS_MAX = 512;
/** Types that one message lists. */
const TYPES_SHOWN = 50;

const Id = Type.String({ minLength: 1 });
const SpaceId = Type.String({ pattern: PLACE_ID.source, description: 'The space in which it happened.' });
const SiteId = Type.String({ pattern: PLACE_ID.source, description: 'The site in which it happened.' });
const Visitor = Type.Object(
  {
    anonymousId: Type.String(),
    userAgent: Type.String(),
    ip: Type.String(),
    cookies: Type.Record(Type.String(), Type.String()),
    language: Type.Optional(Type.String()),
    type: Type.Optional(Type.Enum(['human', 'agent'], { description: 'Absent where it is not known.' })),
  },
  { title: 'Visitor' },
);
/** Members of events about a page view. */
const visited = {
  visitor: Visitor,
  url: Type.String(),
  referrer: Type.String({ description: 'Empty where there is none.' }),
};
const Feedback = Type.Object({
  rating: Type.Enum(['bad', 'ok', 'good']),
  comment: Type.Optional(Type.String({ maxLength: COMMENT_CHARS_MAX })),
});
const gitSync = { spaceId: SpaceId, revisionId: Id, commitId: Id };
const onSite = { siteId: SiteId, spaceId: Type.Optional(Id), pageId: Type.Optional(Id) };

interface PostedType {
  readonly level: Exclude<Level, 'organization'>;
  readonly schema: TSchema;
  readonly check: SchemaCheck;
}

/** Members that Annex defines of every type. */
const ENVELOPE = {
  eventId: Type.Optional(
    Type.String({
      pattern: EVENT_ID.source,
      description: 'Receivers recognize a repeated event by it. Annex makes one if it is absent.',
    }),
  ),
  organization: Type.String({
    pattern: ORGANIZATION_ID.source,
    description:
      'The organization that the space or site belongs to. Only its installations receive the event.',
  }),
  installationId: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9_-]{1,64}$',
      description: 'Only this installation receives the event.',
    }),
  ),
};

function posted(
  level: PostedType['level'],
  type: string,
  description: string,
  members: Readonly<Record<string, TSchema>>,
): readonly [string, PostedType] {
  const schema = Type.Object(
    {
      type: Type.Literal(type),
      ...ENVELOPE,
      ...members,
    },
    { title: type, description, additionalProperties: true },
  );
  return [type, { level, schema, check: schemaCheck(schema) }];
}

/** Every event type that can be posted. */
export const POSTED_TYPES: ReadonlyMap<string, PostedType> = new Map([
  posted('space', 'space_view', 'A user viewed a space.', {
    ...{ spaceId: SpaceId, pageId: Type.Optional(Id) },
    ...visited,
  }),
  posted('space', 'space_content_updated', 'The content of a space changed.', {
    ...{ spaceId: SpaceId, revisionId: Id },
  }),
  posted('space', 'space_visibility_updated', 'The visibility of a space changed.', {
    ...{ spaceId: SpaceId, previousVisibility: Id, visibility: Id },
  }),
  posted('space', 'space_gitsync_started', 'The Git sync of a space started.', gitSync),
  posted('space', 'space_gitsync_completed', 'The Git sync of a space ended, successfully or not.', {
    ...gitSync,
    state: Type.Enum(['success', 'failure']),
  }),
  posted('site', 'site_view', 'A user visited a page of a site.', { ...onSite, ...visited }),
  posted('site', 'page_feedback', 'A user gave feedback on a page.', {
    ...onSite,
    feedback: Feedback,
    ...visited,
  }),
]);

/** An event that `eventFault` has accepted. */
export interface SoundEvent {
  readonly type: string;
  readonly eventId?: string;
  readonly organization: string;
  readonly installationId?: string;
  readonly [member: string]: unknown;
}

const PLACES = { space: { space: SpaceId }, site: { site: SiteId }, organization: {} } as const;

const declaredSchema = (level: Level): TSchema =>
  Type.Object(
    { type: Type.String(), ...ENVELOPE, ...PLACES[level], data: Type.Unknown() },
    { additionalProperties: false },
  );
/** The form of a declared type's events, by the level of the type. */
const DECLARED = new Map(LEVELS.map((level) => [level, schemaCheck(declaredSchema(level))]));

/** For the description of the API: an event of any declared type. */
export const DECLARED_EVENT = Type.Object(
  {
    type: Type.String({ description: 'A type that was declared, such as `invoice.paid`.' }),
    ...ENVELOPE,
    space: Type.Optional(SpaceId),
    site: Type.Optional(SiteId),
    data: Type.Unknown({ description: 'What happened. It fits the schema of the type.' }),
  },
  { title: 'DeclaredEvent', additionalProperties: false },
);

/** The organization, space or site of a valid event. */
export function placeOfEvent(
  { type, spaceId, siteId, space, site }: SoundEvent,
  declared?: Pick<EventType, 'level'>,
): { readonly level: Level; readonly place: string } {
  if (declared !== undefined)
    return { level: declared.level, place: String({ space, site, organization: '' }[declared.level]) };
  const level = POSTED_TYPES.get(type)?.level ?? 'space';
  return { level, place: String(level === 'space' ? spaceId : siteId) };
}

/**
 * Checks that a value is an event that can be posted.
 * @returns a sentence with its fault, or
 * undefined where it is valid
 *
 * @param at what the value is called: `body`, `body.events[3]`
 * @param catalog the declared types. The data of their events is checked by `EventType.check`.
 */
export function eventFault(
  value: unknown,
  at: string,
  catalog: EventCatalog = NO_EVENT_TYPES,
): string | undefined {
  if (!isObject(value)) return `${at} is not an event: it must be an object.`;
  const { type, organization, eventId } = value;
  const check = typeof type === 'string' ? checkOf(type, catalog) : undefined;
  if (check === undefined) return `${at}.type ${typeFault(type, catalog)}`;
  if (organization === undefined) return `${at}.organization is missing: ${WHY_ORGANIZATION}`;
  if (eventId !== undefined && !(typeof eventId === 'string' && EVENT_ID.test(eventId)))
    return `${at}.eventId must be a string of 1 to 255 printable ASCII characters, without spaces.`;
  const faults = check(value);
  return faults.length === 0 ? undefined : faultText(at, faults);
}

function checkOf(type: string, catalog: EventCatalog): SchemaCheck | undefined {
  const known = POSTED_TYPES.get(type);
  if (known !== undefined) return known.check;
  const declared = catalog.get(type);
  return declared && DECLARED.get(declared.level);
}

const WHY_ORGANIZATION =
  'name the organization that the space or site belongs to. Only what it has installed gets the event: ' +
  'other organizations can know the ids of spaces and sites.';

/** Lifecycle events of installations, which Annex creates itself. */
const LIFECYCLE_TYPE = /^((space|site)_)?installation_(setup|deleted)$/;
/** Other types that have handlers and are not posted. */
const NOT_POSTED: Readonly<Record<string, string>> = {
  ui_render: 'components are drawn by "POST …/render" of the installation',
  fetch: 'a request goes to the public endpoint of the installation',
  fetch_published_script: 'the script of a site comes from "GET …/script" of the installation',
  fetch_visitor_authentication:
    'visitors are signed in by "POST …/visitor-authentication" of the installation',
  task: 'an integration queues its own tasks',
  content_compute_revision: 'content is computed by "POST …/content-sources/{source}/compute"',
  content_compute_document: 'content is computed by "POST …/content-sources/{source}/compute"',
};

function typeFault(type: unknown, catalog: EventCatalog): string {
  const all = [...POSTED_TYPES.keys(), ...catalog.names];
  if (type === undefined) return `is missing: it must be one of ${listed(all)}.`;
  if (typeof type !== 'string') return `must be a string: one of ${listed(all)}.`;
  const name = nameIn(type);
  if (LIFECYCLE_TYPE.test(type))
    return `is "${name}", which is not posted: Annex creates lifecycle events itself.`;
  if (Object.hasOwn(NOT_POSTED, type)) return `is "${name}", which is not posted: ${NOT_POSTED[type]}.`;
  const meant = nearest(type, all);
  if (meant !== undefined) return `is not a type that can be posted. Did you mean "${meant}"?`;
  return `is not a type that can be posted: it must be one of ${listed(all)}.`;
}

function listed(types: readonly string[]): string {
  const shown = types.slice(0, TYPES_SHOWN);
  const more = types.length - shown.length;
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
