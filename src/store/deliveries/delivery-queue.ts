/**
 * Reads pending deliveries for the delivery worker: endpoints that have any, and the next claimable
 * ones of an endpoint.
 *
 * Each query seeks in the index of pending deliveries and reads as many rows as it returns: it
 * costs the same with a backlog of ten and of a million.
 */
import { sql } from 'kysely';
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

  /**
   * Sorted by endpoint key. Each endpoint is found by one seek behind the previous one, however
   * many deliveries that has.
   *
   * @param dueBy only those with a delivery that is due by then and not claimed; milliseconds since
   *   1970. A page may be short then.
   */
  async waitingEndpoints(
    { cursor = '', limit }: PageRequest,
    dueBy?: number,
  ): Promise<Page<WaitingEndpoint>> {
    const unclaimed = dueBy === undefined ? sql`` : sql` and lease_until is null`;
    const { rows } = await sql<WaitingEndpoint & { dueAt: number | null }>`
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
          where state = 'pending' and deliveries.endpoint = waiting.endpoint limit 1) as integration,
        (select min(due_at) from deliveries
          where state = 'pending' and deliveries.endpoint = waiting.endpoint${unclaimed}) as "dueAt"
      from waiting where endpoint is not null limit ${limit + 1}`.execute(this.#database);
    const found = page(
      rows,
      limit,
      ({ endpoint }) => endpoint,
      ({ endpoint, organization, integration, dueAt }) => ({ endpoint, organization, integration, dueAt }),
    );
    if (dueBy === undefined) return found;
    return { ...found, items: found.items.filter(({ dueAt }) => dueAt !== null && dueAt <= dueBy) };
  }

  /** Unclaimed due deliveries of an endpoint, the longest due first. */
  async due(endpoint: string, now: number, limit: number): Promise<DueDeliveries> {
    const rows = await runForEach<{ id: string; due_at: number }>(this.#database, NEXT_OF_ENDPOINT, [
      [endpoint, limit + 1],
    ]);
    const due = rows.filter((row) => row.due_at <= now);
    const ids = due.slice(0, limit).map(({ id }) => id);
    const later = rows[due.length];
    return { ids, more: due.length > limit, ...(later && { nextAt: later.due_at }) };
  }
}
