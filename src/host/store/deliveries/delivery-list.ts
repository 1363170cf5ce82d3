/**
 * Reads deliveries, their attempts and payloads, for the API.
 */
import { type Page, type PageRequest, readable } from '../../database/page.ts';
import type { Database } from '../../database/tables.ts';
import type { Delivery, DeliveryPayload, RecordedAttempt } from './delivery.ts';
import { attemptOf, deliveryOf, payloadOf } from './delivery-rows.ts';
import { type DeliveryFilter, idsOfEventNamed, searchDeliveries } from './delivery-search.ts';

export class DeliveryList {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Newest first. A page may be short or empty without being the last. */
  async list(query: DeliveryFilter & PageRequest): Promise<Page<Delivery>> {
    const { items, ...next } = await searchDeliveries(this.#database, { ...query, newestFirst: true });
    return { ...readable(items, ({ id }) => id, deliveryOf), ...next };
  }

  /** One for each recipient of the event: at most one an installation. */
  async ofEvent(eventId: string): Promise<Delivery[]> {
    const ids = await idsOfEventNamed(this.#database, eventId);
    if (ids === undefined) return [];
    const rows = await this.#database
      .selectFrom('deliveries')
      .selectAll()
      .where('id', '>', ids.after)
      .where('id', '<', ids.before)
      .orderBy('id')
      .execute();
    return rows.map(deliveryOf);
  }

  async read(id: string): Promise<Delivery | undefined> {
    const row = await this.#database
      .selectFrom('deliveries')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirst();
    return row && deliveryOf(row);
  }

  /** In the order of their numbers. */
  async attempts(id: string): Promise<RecordedAttempt[]> {
    const rows = await this.#database
      .selectFrom('delivery_attempts')
      .selectAll()
      .where('delivery_id', '=', id)
      .orderBy('number')
      .execute();
    return rows.map(attemptOf);
  }

  /** The stored payload; undefined for a handler delivery, and before the payload is made. */
  async payload(id: string): Promise<DeliveryPayload | undefined> {
    const row = await this.#database
      .selectFrom('delivery_payloads')
      .selectAll()
      .where('delivery_id', '=', id)
      .executeTakeFirst();
    return row && payloadOf(row);
  }
}
