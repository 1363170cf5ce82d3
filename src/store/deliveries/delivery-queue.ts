/**
 * What waits, for whoever delivers: which endpoints have something, and what of one may be claimed next.
 *
 * Each question is a seek in the index of what waits, and reads as many rows as it answers with: a backlog of a million
 * costs what one of ten does.
 */
import { sql } from 'kysely';
import { runForEach } from '../../database/bulk.ts';
import { type Page, type PageRequest, page } from '../../database/page.ts';
import type { Database } from '../../database/tables.ts';
import type { DueDeliveries } from './delivery.ts';

/** Somebody for whom something waits. */
export interface WaitingEndpoint {
  readonly endpoint: string;
  readonly organization: string;
  readonly integration: string;
  /** When the longest due of its deliveries was due. */
  readonly dueAt: number;
}

/** Values: endpoint, how many. Those that are claimed stay in the index; of one endpoint they are few. */
const NEXT_OF_ENDPOINT = `
  select id, due_at from deliveries
  where state = 'pending' and endpoint = ? and lease_until is null
  order by due_at, id
  limit ?`;

export class DeliveryQueue {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** In the order of the endpoints' keys. Each is sought behind the one before, however many wait for that. */
  async waitingEndpoints({ cursor = '', limit }: PageRequest): Promise<Page<WaitingEndpoint>> {
    const { rows } = await sql<WaitingEndpoint>`
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
          where state = 'pending' and deliveries.endpoint = waiting.endpoint) as "dueAt"
      from waiting where endpoint is not null limit ${limit + 1}`.execute(this.#database);
    return page(
      rows,
      limit,
      ({ endpoint }) => endpoint,
      ({ endpoint, organization, integration, dueAt }) => ({ endpoint, organization, integration, dueAt }),
    );
  }

  /** What of an endpoint nobody has and is due, the longest due first. */
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
