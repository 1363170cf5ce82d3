/**
 * Reads pending deliveries for the delivery worker: endpoints that have any, and the next claimable
 * ones of an endpoint.
 *
 * Each query seeks in the index of pending deliveries and reads as many rows as it returns: it
 * costs the same with a backlog of ten and of a million.
 */
import { type RawBuilder, sql } from 'kysely';
import { bulk, runForEach, TEXT, WHOLE } from '../../database/bulk.ts';
import { type Page, type PageRequest, page } from '../../database/page.ts';
import type { Database } from '../../database/tables.ts';
import type { DueDeliveries } from './delivery.ts';

/** An endpoint with pending deliveries. */
export interface WaitingEndpoint {
  readonly endpoint: string;
  readonly organization: string;
  readonly integration: string;
  /** Earliest due time of its pending deliveries. */
  readonly dueAt: number;
}

/** An endpoint with deliveries that are due and not claimed. */
export interface DueEndpoint extends WaitingEndpoint {
  /** Whether some of its oldest deliveries are claimed: a node works on it. */
  readonly isWorkedOn: boolean;
}

/**
 * Claims take the oldest first, so that some of these are claimed where a node works on an
 * endpoint.
 */
const OLDEST = 16;

/** Values: endpoint, limit. Claimed deliveries stay in the index; each endpoint has few of them. */
const NEXT_OF_ENDPOINT = bulk`
  select id, due_at from deliveries
  where state = 'pending' and endpoint = ${TEXT} and lease_until is null
  order by due_at, id
  limit ${WHOLE}`;

export class DeliveryQueue {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Sorted by endpoint key. */
  async waitingEndpoints(request: PageRequest): Promise<Page<WaitingEndpoint>> {
    const { rows } = await this.#endpoints<WaitingEndpoint>(
      request,
      sql`
        (select min(due_at) from deliveries
          where state = 'pending' and deliveries.endpoint = waiting.endpoint) as "dueAt"`,
    );
    return page(
      rows,
      request.limit,
      ({ endpoint }) => endpoint,
      (row) => ({ ...ownersOf(row), dueAt: row.dueAt }),
    );
  }

  /**
   * Those with a delivery that is due and not claimed, sorted by endpoint key. A page may be short.
   *
   * @param dueBy milliseconds since 1970
   */
  async dueEndpoints(request: PageRequest, dueBy: number): Promise<Page<DueEndpoint>> {
    const { rows } = await this.#endpoints<WaitingEndpoint & { dueAt: number | null; claimed: number }>(
      request,
      sql`
        (select min(due_at) from deliveries
          where state = 'pending' and deliveries.endpoint = waiting.endpoint and lease_until is null) as "dueAt",
        (select count(lease_until) from (
          select lease_until from deliveries
          where state = 'pending' and deliveries.endpoint = waiting.endpoint
          order by due_at, id limit ${OLDEST}
        ) as oldest) as claimed`,
    );
    const found = page(
      rows,
      request.limit,
      ({ endpoint }) => endpoint,
      (row) => row,
    );
    const items = found.items.flatMap((row): DueEndpoint[] => {
      const { dueAt, claimed } = row;
      if (dueAt === null || dueAt > dueBy) return [];
      return [{ ...ownersOf(row), dueAt, isWorkedOn: claimed > 0 }];
    });
    return { ...found, items };
  }

  /**
   * Each endpoint is found by one seek behind the previous one, however many deliveries that has.
   *
   * @param columns further ones, for each `waiting.endpoint`
   */
  #endpoints<Row>({ cursor = '', limit }: PageRequest, columns: RawBuilder<unknown>) {
    return sql<Row>`
      with recursive waiting (endpoint) as (
        select min(endpoint) from deliveries where state = 'pending' and endpoint > ${cursor}
        union all
        select (select min(endpoint) from deliveries where state = 'pending' and deliveries.endpoint > waiting.endpoint)
        from waiting where waiting.endpoint is not null
      )
      select endpoint,
        (select organization from deliveries
          where state = 'pending' and deliveries.endpoint = waiting.endpoint limit 1) as organization,
        (select integration from deliveries
          where state = 'pending' and deliveries.endpoint = waiting.endpoint limit 1) as integration,${columns}
      from waiting where endpoint is not null limit ${limit + 1}`.execute(this.#database);
  }

  /** Unclaimed due deliveries of an endpoint, the longest due first. */
  async due(endpoint: string, now: number, limit: number): Promise<DueDeliveries> {
    const rows = await runForEach<{ id: string; due_at: number }>(this.#database, NEXT_OF_ENDPOINT, [
      [endpoint, limit + 1],
    ]);
    const due = rows.filter((row) => row.due_at <= now);
    const ids = due.slice(0, limit).map(({ id }) => id);
    const later = rows[due.length];
    // A row that was altered may have a text in the place of a time, which SQLite stores and sorts
    // last. It is never due: the worker would look again and again.
    const hasTime = Number.isFinite(later?.due_at);
    const next = later && hasTime && { nextAt: later.due_at, nextId: later.id };
    return { ids, more: due.length > limit, ...next };
  }

  /**
   * When the delay of a delivery began: with the end of its latest attempt, or when it was accepted
   * or ordered again. Undefined if it is gone.
   */
  async waitsSince(id: string): Promise<number | undefined> {
    const row = await this.#database
      .selectFrom('deliveries')
      .leftJoin('delivery_attempts as made', (join) =>
        join.onRef('made.delivery_id', '=', 'deliveries.id').onRef('made.number', '=', 'deliveries.attempts'),
      )
      .where('deliveries.id', '=', id)
      .select(['armed_at', 'at', 'duration_ms'])
      .executeTakeFirst();
    return row && Math.max(row.armed_at, (row.at ?? 0) + (row.duration_ms ?? 0));
  }
}

const ownersOf = ({ endpoint, organization, integration }: Omit<WaitingEndpoint, 'dueAt'>) => ({
  endpoint,
  organization,
  integration,
});
