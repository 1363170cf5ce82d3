/**
 * Schemas that several routes of the control listener share.
 *
 * Strings from outside are bounded and of a known alphabet before they get to the store: PostgreSQL, for one, refuses
 * text with U+0000, and such a request is the caller's mistake, not a fault of ours.
 */
import Type, { type Static, type TSchema } from 'typebox';
import type { Page } from '../../database/page.ts';
import { ID_CHARS_MAX, ORGANIZATION_ID, PLACE_ID } from '../../model/identifiers.ts';
import { cursorOf, keyOf } from './cursor.ts';

const LIMIT_MAX = 100;
const LIMIT_DEFAULT = 50;

/** A name or an id as it stands in a path; whether there is such a thing is found out later. */
export const Name = Type.String({ minLength: 1, maxLength: 64, pattern: '^[A-Za-z0-9_-]+$' });

export const Organization = Type.String({
  description: 'Id or subdomain of an organization of the host product.',
  maxLength: ID_CHARS_MAX,
  pattern: ORGANIZATION_ID.source,
});

export const Place = Type.String({
  description: 'Id of a space or a site of the host product.',
  maxLength: ID_CHARS_MAX,
  pattern: PLACE_ID.source,
});

/** A path that takes no query: a parameter that is not understood must not be taken for one that was heeded. */
export const NoQuery = Type.Object({}, { additionalProperties: false });

export const Time = Type.String({ format: 'date-time', maxLength: 64 });

/** Members of the query string of every list. */
export const PAGE_QUERY = {
  cursor: Type.Optional(
    Type.String({ description: '`next` of the page before.', maxLength: 512, pattern: '^[A-Za-z0-9_-]+$' }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT })),
};

export const PageQuery = Type.Object(PAGE_QUERY, { additionalProperties: false });

/**
 * What a list asks of the store.
 *
 * @param shape of its keys, where not every name is one
 * @throws `REQUEST_INVALID` where the cursor is none
 */
export const pageRequest = (query: Static<typeof PageQuery>, shape?: RegExp) => ({
  cursor: query.cursor === undefined ? undefined : keyOf(query.cursor, shape),
  limit: query.limit ?? LIMIT_DEFAULT,
});

/** A page of a list, as it is answered. */
export const PageOf = <Item extends TSchema>(item: Item) =>
  Type.Object({
    items: Type.Array(item),
    next: Type.Optional(Type.String({ description: 'Cursor of the next page; absent on the last.' })),
  });

/** Turns a page of the store into one to answer. */
export const pageAnswer = <Item, View>({ items, next }: Page<Item>, view: (item: Item) => View) => ({
  items: items.map(view),
  ...(next === undefined ? {} : { next: cursorOf(next) }),
});

export const LimitMetView = Type.Object(
  {
    name: Type.String({ description: 'Its unit is the end of the name.' }),
    max: Type.Number(),
    used: Type.Optional(Type.Number({ description: 'What it came to, where that is known.' })),
  },
  { description: 'The limit that was met.' },
);

export const ProblemView = Type.Object({
  severity: Type.Enum(['error', 'warning']),
  file: Type.Optional(Type.String()),
  line: Type.Optional(Type.Integer()),
  column: Type.Optional(Type.Integer()),
  property: Type.Optional(Type.String({ description: 'Of a configuration.' })),
  path: Type.Optional(Type.String({ description: 'Of what a component drew: the place in its tree.' })),
  message: Type.String(),
  hint: Type.Optional(Type.String()),
  limit: Type.Optional(LimitMetView),
});

/** Every answer of 400 and above. */
export const ErrorView = Type.Object({
  error: Type.Object(
    {
      code: Type.String(),
      message: Type.String(),
      requestId: Type.String(),
      problems: Type.Optional(Type.Array(ProblemView)),
      limit: Type.Optional(LimitMetView),
    },
    { additionalProperties: true },
  ),
});

/** The error answers, to be spread into the `response` of a route. */
export const ERRORS_VIEW = { '4xx': ErrorView, '5xx': ErrorView };

export const isoTime = (at: number): string => new Date(at).toISOString();
