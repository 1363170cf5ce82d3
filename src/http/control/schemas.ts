/**
 * Schemas that several routes of the control listener share.
 *
 * Strings from outside are bounded and of a known alphabet before they reach the store: PostgreSQL,
 * for example, refuses text with U+0000, and such a request is the caller's mistake, not a fault of
 * Annex.
 */
import Type, { type Static, type TSchema } from 'typebox';
import { type Page, type PageRequest, readable, type UnreadableRow } from '../../database/page.ts';
import { AnnexError } from '../../errors.ts';
import { ID_CHARS_MAX, ORGANIZATION_ID, PLACE_ID } from '../../model/identifiers.ts';
import { cursorOf, keyOf } from './cursor.ts';

/** Items of a page at most, except of long pages (`list-forms.ts`). */
export const PAGE_ITEMS = 100;
/** Clients may ask for more than a page has; the rest is on the next one. */
const LIMIT_MAX = 1_000;
const LIMIT_DEFAULT = 50;

/** A name or id in a path; whether it exists is checked later. */
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

/** For a path without query parameters: an unknown parameter is refused, not ignored. */
export const NoQuery = Type.Object({}, { additionalProperties: false });

export const Time = Type.String({ format: 'date-time', maxLength: 64 });

const Cursor = (description: string) =>
  Type.Optional(Type.String({ description, maxLength: 512, pattern: '^[A-Za-z0-9_-]+$' }));

/** Query parameters of every list. */
export const PAGE_QUERY = {
  cursor: Cursor('`next` of the page before.'),
  page: Cursor('`next.page` of the page before. The answer then has a `next.page`, too.'),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT })),
};

export const PageQuery = Type.Object(PAGE_QUERY, { additionalProperties: false });

/**
 * The page that a request asks the store for.
 *
 * @param shape of the list's keys, if not every name is one
 * @throws AnnexError REQUEST_INVALID if the cursor is not one of this list
 */
export function pageRequest(query: Static<typeof PageQuery>, shape?: RegExp): PageRequest {
  const { cursor, limit } = longPageRequest(query, shape);
  return { cursor, limit: Math.min(limit, PAGE_ITEMS) };
}

/** The same for a page as long as the request says, which `longPage` reads in parts. */
export function longPageRequest(
  { cursor, page, limit = LIMIT_DEFAULT }: Static<typeof PageQuery>,
  shape?: RegExp,
): PageRequest {
  if (cursor !== undefined && page !== undefined)
    throw new AnnexError('REQUEST_INVALID', 'query.page and query.cursor are the same: send one of them.');
  const text = page ?? cursor;
  const part = page === undefined ? 'cursor' : 'page';
  return { cursor: text === undefined ? undefined : keyOf(text, shape, `query.${part}`), limit };
}

/** Written by `list-forms.ts`. */
const NextPage = Type.Union([Type.Object({ page: Type.String() }), Type.String()], {
  description:
    'The next page; absent on the last. For runtime tokens, and in answer to `page`, an object with the next `page`; ' +
    'otherwise the next `cursor`.',
});

/** Schema of a page of a list. */
export const PageOf = <Item extends TSchema>(item: Item) =>
  Type.Object({
    items: Type.Array(item),
    count: Type.Optional(
      Type.Integer({ description: 'Number of all items, where it is known. With `next.page` only.' }),
    ),
    next: Type.Optional(NextPage),
  });

/** Converts a page of the store to an answer. `answerListForms` logs what is unreadable. */
export function pageAnswer<Item, View>(
  { items, next, unreadable: before = [] }: Page<Item>,
  view: (item: Item) => View,
): { items: View[]; next?: ReturnType<typeof cursorOf>; unreadable?: UnreadableRow[] } {
  const { items: views, unreadable: now = [] } = readable(items, () => 'view', view);
  const unreadable = [...before, ...now];
  return {
    items: views,
    ...(next !== undefined && { next: cursorOf(next) }),
    ...(unreadable.length > 0 && { unreadable }),
  };
}

export const LimitMetView = Type.Object(
  {
    name: Type.String({ description: 'The name ends with the unit.' }),
    max: Type.Number(),
    used: Type.Optional(Type.Number({ description: 'The value that was reached, if known.' })),
  },
  { title: 'LimitMet', description: 'The limit that was exceeded.' },
);

export const ProblemView = Type.Object(
  {
    severity: Type.Enum(['error', 'warning']),
    file: Type.Optional(Type.String()),
    line: Type.Optional(Type.Integer()),
    column: Type.Optional(Type.Integer()),
    property: Type.Optional(Type.String({ description: 'Property of a configuration.' })),
    path: Type.Optional(
      Type.String({ description: 'Path in the ContentKit tree that a component returned.' }),
    ),
    message: Type.String(),
    hint: Type.Optional(Type.String()),
    limit: Type.Optional(LimitMetView),
  },
  { title: 'Problem' },
);

/** Schema of every answer with status 400 and above. */
export const ErrorView = Type.Object({
  error: Type.Object(
    {
      code: Type.String(),
      status: Type.Integer({ description: 'The HTTP status.' }),
      message: Type.String(),
      requestId: Type.String(),
      problems: Type.Optional(Type.Array(ProblemView)),
      limit: Type.Optional(LimitMetView),
    },
    { additionalProperties: true },
  ),
});

/** The error answers, to spread into the `response` of a route. */
export const ERRORS_VIEW = { '4xx': ErrorView, '5xx': ErrorView };

export const isoTime = (at: number): string => new Date(at).toISOString();
