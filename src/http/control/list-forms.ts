/**
 * The two forms of a list (docs/contract/api.md#paging): `next` is `{page}` for code of
 * integrations and for requests that send `page`, and the cursor itself for all others.
 *
 * A damaged row is left out of its list and logged, such as one with a text that is no JSON, or a
 * sealed value that cannot be opened: one row does not hide all the others.
 *
 * Clients of both kinds exist, and each reads one form only. Routes answer in the second form; one
 * hook converts it, so that no list can be forgotten. Long pages of installations are read here in
 * parts.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Page, PageRequest, UnreadableRow } from '../../database/page.ts';
import { isRuntime } from '../../model/principal.ts';
import { principalOf } from './authenticate.ts';
import { PAGE_ITEMS } from './schemas.ts';

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
