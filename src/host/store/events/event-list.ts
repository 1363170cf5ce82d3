/**
 * Reads accepted events of the product for the API. Tasks, which are stored among them, are not
 * listed: their content is for the code that queued them (docs/contract/tasks.md#privacy). Nor are
 * notices to the product.
 */
import type { Selectable } from 'kysely';
import { OF_NO_ORGANIZATION } from '../../../model/product-notice.ts';
import type { EndpointName } from '../../../model/target.ts';
import { TASK } from '../../../model/task.ts';
import { type Page, type PageRequest, page } from '../../database/page.ts';
import { Sequence } from '../../database/sequence.ts';
import type { Database, Tables } from '../../database/tables.ts';

/** Rows read for one page: if those to list are rare, it is short and has a cursor. */
const ROWS_PER_SEARCH = 5_000;

/** An event as it is listed. */
export interface StoredEvent extends Pick<EndpointName, 'level' | 'place'> {
  /** Sorts in the order of acceptance; the ids of its deliveries begin with it. */
  readonly id: string;
  readonly eventId: string;
  readonly organization: string;
  readonly type: string;
  /** Set if the event is for one installation only. */
  readonly installationId?: string;
  /** JSON as handlers receive it, without `installationId`. */
  readonly body: string;
  /** Number of deliveries at acceptance. */
  readonly deliveries: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

export interface EventsQuery extends PageRequest {
  readonly organization?: string | undefined;
  readonly type?: string | undefined;
  /** Accepted at this time or later, in milliseconds since 1970. */
  readonly from?: number | undefined;
  /** Accepted before this time. */
  readonly to?: number | undefined;
}

export class EventList {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async read(eventId: string): Promise<StoredEvent | undefined> {
    const row = await this.#database
      .selectFrom('events')
      .selectAll()
      .where('event_id', '=', eventId)
      .where('type', '<>', TASK)
      .where('organization', '<>', OF_NO_ORGANIZATION)
      .executeTakeFirst();
    return row && storedEventOf(row);
  }

  /** Newest first. A page may be short; only one without a cursor is the last. */
  async list({ limit, ...query }: EventsQuery): Promise<Page<StoredEvent>> {
    const { type } = query;
    // Attack: requests for a type that never occurs, or among a million tasks, each of which would
    // read the whole table.
    const end = await this.#lastRowRead(query);
    let select = this.#within(query).selectAll().where('type', '<>', TASK);
    if (query.organization === undefined) select = select.where('organization', '<>', OF_NO_ORGANIZATION);
    if (type !== undefined) select = select.where('type', '=', type);
    if (end !== undefined) select = select.where('id', '>=', end);
    const rows = await select
      .orderBy('id', 'desc')
      .limit(limit + 1)
      .execute();
    const found = page(rows, limit, (row) => row.id, storedEventOf);
    return found.next === undefined && end !== undefined ? { ...found, next: end } : found;
  }

  /** Id of the last row that a page may read; undefined if there are fewer rows. */
  async #lastRowRead(query: Omit<EventsQuery, 'limit'>): Promise<string | undefined> {
    const end = await this.#within(query)
      .select('id')
      .orderBy('id', 'desc')
      .limit(1)
      .offset(ROWS_PER_SEARCH - 1)
      .executeTakeFirst();
    return end?.id;
  }

  /** The conditions of a query that an index serves: all but the type. */
  #within({ organization, from, to, cursor }: Omit<EventsQuery, 'limit'>) {
    let select = this.#database.selectFrom('events');
    if (organization !== undefined) select = select.where('organization', '=', organization);
    if (from !== undefined) select = select.where('id', '>=', Sequence.first(from));
    if (to !== undefined) select = select.where('id', '<', Sequence.first(to));
    if (cursor !== undefined) select = select.where('id', '<', cursor);
    return select;
  }
}

const storedEventOf = (row: Selectable<Tables['events']>): StoredEvent => ({
  id: row.id,
  eventId: row.event_id,
  organization: row.organization,
  type: row.type,
  level: row.level,
  place: row.place,
  ...(row.installation_id !== null && { installationId: row.installation_id }),
  body: row.body,
  deliveries: row.deliveries,
  createdAt: row.created_at,
});
