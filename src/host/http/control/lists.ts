/**
 * The lists of the API (docs/contract/api.md#paging): their queries, pages, cursors and two forms.
 *
 * `next` is `{page}` for code of integrations and for requests that send `page`, and the cursor
 * itself for all others. Clients of both kinds exist, and each reads one form only. Routes answer
 * in the second form; one hook converts it, so that no list can be forgotten.
 *
 * A damaged row is left out of its list and logged, such as one with a text that is no JSON, or a
 * sealed value that cannot be opened: one row does not hide all the others.
 */
import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type, { type Static, type TSchema } from 'typebox';
import { AnnexError } from '../../../errors.ts';
import { type HolderPrincipal, isRuntime } from '../../../model/principal.ts';
import { type Page, type PageRequest, readable, type UnreadableRow } from '../../database/page.ts';
import { principalOf } from './authenticate.ts';
import { optional, Time } from './schemas.ts';

/** Items of a page at most, except of long pages. */
export const PAGE_ITEMS = 100;
/** Clients may ask for more than a page has; the rest is on the next one. */
const LIMIT_MAX = 1_000;
const LIMIT_DEFAULT = 50;

const Cursor = (description: string, maxLength: number) =>
  Type.Optional(Type.String({ description, maxLength, pattern: '^[A-Za-z0-9_-]+$' }));

/** Query parameters of a list. @param cursorChars of its longest cursor */
export const pageQuery = (cursorChars: number) => ({
  cursor: Cursor('`next` of the page before.', cursorChars),
  page: Cursor('`next.page` of the page before. The answer then has a `next.page`, too.', cursorChars),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT })),
});

/** Query parameters of a list whose keys are names and ids. */
export const PAGE_QUERY = pageQuery(512);

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

const NextPage = Type.Union([Type.Object({ page: Type.String() }), Type.String()], {
  description:
    'The next page; absent on the last. For runtime tokens, and in answer to `page`, an object with the next `page`; ' +
    'otherwise the next `cursor`.',
});

/** Schema of a page of a list. */
export const PageOf = <Item extends TSchema>(item: Item) =>
  Type.Object({
    items: Type.Array(item),
    count: optional(Type.Integer(), 'Number of all items, where it is known. With `next.page` only.'),
    next: Type.Optional(NextPage),
  });

/** Converts a page of the store to an answer. */
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

const CHECK_BYTES = 4;
/** Keys are names and ids. PostgreSQL refuses text with U+0000, for example. */
const KEY = /^[\x21-\x7e]+$/;

/**
 * Encodes a cursor: the key of a page's last row, with four check bytes.
 *
 * A cursor contains no secret and grants nothing: a forged one selects only rows that the list
 * shows anyway. The check bytes detect text that never was a cursor, such as a truncated one, which
 * would otherwise begin a page at a random row.
 */
export const cursorOf = (key: string): string =>
  Buffer.concat([check(key), Buffer.from(key, 'utf8')]).toString('base64url');

/**
 * The key that a cursor encodes.
 *
 * @param shape of the keys of this list
 * @param where the cursor is in the request
 * @throws AnnexError REQUEST_INVALID if it is no cursor of this list
 */
export function keyOf(cursor: string, shape = KEY, where = 'query.cursor'): string {
  const bytes = Buffer.from(cursor, 'base64url');
  const key = bytes.subarray(CHECK_BYTES).toString('utf8');
  if (shape.test(key) && check(key).equals(bytes.subarray(0, CHECK_BYTES))) return key;
  throw new AnnexError(
    'REQUEST_INVALID',
    `${where} is not the \`next\` of a page of this list: send a \`next\` unchanged, or leave it out.`,
  );
}

const check = (key: string): Buffer => hash('sha256', `cursor ${key}`, 'buffer').subarray(0, CHECK_BYTES);

/**
 * Size at which a long page ends early. Attack: a thousand configurations of 64 KiB, in memory at
 * once for every request.
 */
const LONG_PAGE_BYTES = 4 * 1024 * 1024;

/** The members of a list's query that select its page. */
interface PageOfQuery {
  readonly cursor?: string;
  readonly page?: string;
}

interface List {
  readonly items: readonly unknown[];
  readonly next?: unknown;
  readonly unreadable?: readonly UnreadableRow[];
}

/** Damaged rows of one list that are named in the log. */
const ROWS_NAMED = 20;

/** Converts the lists of this instance, and of those below it. */
export function answerListForms(app: FastifyInstance): void {
  app.addHook('preSerialization', async (request, _reply, payload: unknown) => {
    if (!isList(payload)) return payload;
    const { unreadable, ...list } = payload;
    if (unreadable !== undefined) logUnreadable(request, unreadable);
    return isPaged(request) ? pagedForm(list, request.query as PageOfQuery) : list;
  });
}

/** The messages of the errors stay out of the log: those of parsers quote what they parse. */
function logUnreadable({ log }: FastifyRequest, unreadable: readonly UnreadableRow[]): void {
  const rows = unreadable.slice(0, ROWS_NAMED).map(({ row, cause }) => ({
    row,
    error: cause instanceof Error ? cause.name : typeof cause,
  }));
  log.error({ rows, count: unreadable.length }, 'Rows that are damaged were left out of a list.');
}

const isList = (payload: unknown): payload is List =>
  typeof payload === 'object' && payload !== null && 'items' in payload && Array.isArray(payload.items);

const isPaged = (request: FastifyRequest): boolean =>
  isRuntime(principalOf(request)) || (request.query as PageOfQuery).page !== undefined;

/** The number of all items is known where the first page is also the last. */
function pagedForm({ items, next, ...rest }: List, { cursor, page }: PageOfQuery): object {
  const isWhole = next === undefined && cursor === undefined && page === undefined;
  return {
    ...rest,
    items,
    ...(isWhole && { count: items.length }),
    ...(next !== undefined && { next: { page: next } }),
  };
}

/**
 * Reads a page of up to `limit` items in parts. It ends early when its items are long.
 *
 * @param read reads one part
 */
export async function longPage<Item>(
  { cursor, limit }: PageRequest,
  read: (part: PageRequest) => Promise<Page<Item>>,
): Promise<Page<Item>> {
  const items: Item[] = [];
  const unreadable: UnreadableRow[] = [];
  let [next, bytes] = [cursor, 0];
  do {
    const part = Math.min(PAGE_ITEMS, limit - items.length);
    const page = await read({ cursor: next, limit: part });
    items.push(...page.items);
    unreadable.push(...(page.unreadable ?? []));
    next = page.next;
    if (items.length < limit && next !== undefined) bytes += Buffer.byteLength(JSON.stringify(page.items));
  } while (next !== undefined && items.length < limit && bytes < LONG_PAGE_BYTES);
  return {
    items,
    ...(next !== undefined && { next }),
    ...(unreadable.length > 0 && { unreadable }),
  };
}

/**
 * Members of a query or body: `from` (inclusive) and `to` (exclusive), times of ISO 8601 with a
 * zone, as in answers.
 */
export const TIME_RANGE = {
  from: Type.Optional(Type.String({ ...Time, description: 'Accepted at this time or later.' })),
  to: Type.Optional(Type.String({ ...Time, description: 'Accepted before this time.' })),
};

/** Milliseconds since 1970. */
export interface TimeRange {
  readonly from?: number;
  readonly to?: number;
}

/**
 * @param part of the request that contains them: `query`, `body`
 * @throws AnnexError REQUEST_INVALID if a time is invalid, or `from` is after `to`
 */
export function timeRange(
  part: string,
  { from, to }: { readonly from?: string; readonly to?: string },
): TimeRange {
  const range = {
    ...(from !== undefined && { from: timeOf(`${part}.from`, from) }),
    ...(to !== undefined && { to: timeOf(`${part}.to`, to) }),
  };
  if (range.from !== undefined && range.to !== undefined && range.from > range.to) {
    throw new AnnexError('REQUEST_INVALID', `${part}.from is later than ${part}.to.`);
  }
  return range;
}

function timeOf(name: string, text: string): number {
  const at = Date.parse(text);
  if (Number.isFinite(at)) return at;
  throw new AnnexError(
    'REQUEST_INVALID',
    `${name} is not a valid time: use ISO 8601 with a zone, such as 2026-01-31T12:00:00Z.`,
  );
}

/**
 * The organization that a list is restricted to: the requested one, or else the reader's own. The
 * operator and the host product read those of all organizations unless they name one; a token of an
 * organization reads only that one's.
 *
 * @param what noun of the list's items, for the message
 * @returns undefined if the list is of all organizations
 * @throws AnnexError TOKEN_FORBIDDEN
 */
export function organizationRead(
  { organization: own }: HolderPrincipal,
  requested: string | undefined,
  what: string,
): string | undefined {
  if (own === undefined || requested === undefined || requested === own) return requested ?? own;
  const message = `A token of kind organization reads only the ${what} of its own organization.`;
  throw new AnnexError('TOKEN_FORBIDDEN', message);
}
