/**
 * Notices to the host product, as rows (docs/contract/notices.md).
 *
 * A notice is an event of no organization, written in the transaction of the change that it tells
 * of: with the change, once, or not at all. Where the operator has named a receiver, it has one
 * delivery, which waits, is retried and ends as every other one does (`delivery/`). Lists of events
 * leave notices out.
 */
import { sql } from 'kysely';
import { noticeId, type RandomBytes } from '../../model/identifiers.ts';
import {
  NOTICE_LANE,
  type NoticeType,
  noticeBody,
  OF_NO_ORGANIZATION,
  type ProductNotice,
} from '../../model/product-notice.ts';
import type { GroupCommit } from '../database/group-commit.ts';
import { lock } from '../database/locks.ts';
import { type Page, type PageRequest, page } from '../database/page.ts';
import { Sequence } from '../database/sequence.ts';
import type { Database, DeliveryState } from '../database/tables.ts';
import type { Backlog } from './deliveries/backlog.ts';
import type { WaitingDelivery } from './deliveries/delivery.ts';
import { type Addressee, deliveryId, type EventRow, insertEvents } from './events/event-rows.ts';
import type { NoticeWriter } from './notice-writer.ts';

/** The receiver of all notices, as the addressee of a delivery. */
const RECEIVER: Addressee = {
  ...{ installationId: '', level: 'integration', place: '' },
  ...{ integration: '', endpoint: NOTICE_LANE, kind: 'notice' },
};

/** A notice as it is listed. */
export interface StoredNotice {
  /** Sorts in the order in which they were written, as far as clocks agree. */
  readonly id: string;
  /** JSON. */
  readonly body: string;
  /** Of its post; absent where there is no receiver, or the delivery is not kept any more. */
  readonly delivery?: {
    readonly id: string;
    readonly state: DeliveryState;
    readonly attempts: number;
    readonly outcome?: string;
  };
}

export interface NoticesQuery extends PageRequest {
  readonly type?: NoticeType | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

export interface ProductNoticesDeps {
  readonly database: Database;
  readonly commits: GroupCommit;
  readonly backlog: Pick<Backlog, 'change'>;
  readonly wallNow: () => number;
  readonly randomBytes: RandomBytes;
  /** Whether the operator has named a receiver. */
  readonly hasNoticeReceiver: boolean;
  /** Called after a commit that has written deliveries of notices. */
  noticesWaiting(deliveries: readonly WaitingDelivery[]): void;
}

export class ProductNotices implements NoticeWriter {
  readonly #deps: ProductNoticesDeps;
  readonly #ids: Sequence;

  constructor(deps: ProductNoticesDeps) {
    this.#deps = deps;
    this.#ids = new Sequence(deps.randomBytes);
  }

  async write(
    transaction: Database,
    notices: readonly ProductNotice[],
    now: number,
  ): Promise<readonly WaitingDelivery[]> {
    if (notices.length === 0) return [];
    const rows = notices.map((notice) => this.#row(notice, now));
    await insertEvents(transaction, rows);
    return rows.flatMap(({ id, addressees }) =>
      addressees.map((_, index) => ({
        ...{ id: deliveryId(id, index), endpoint: NOTICE_LANE },
        ...{ organization: OF_NO_ORGANIZATION, integration: RECEIVER.integration },
      })),
    );
  }

  written(deliveries: readonly WaitingDelivery[]): void {
    if (deliveries.length === 0) return;
    this.#deps.backlog.change(deliveries.length);
    this.#deps.noticesWaiting(deliveries);
  }

  /**
   * Writes a notice of something that no transaction changes, and that each node notices by itself:
   * once, unless the same was told of the same installation within `quietMs`.
   */
  async tell(notice: ProductNotice, quietMs: number): Promise<void> {
    const { commits, wallNow } = this.#deps;
    const { type, integration, target } = notice;
    const about = target?.installationId ?? integration;
    const written = await commits.run(async (transaction) => {
      await lock(transaction, `notice ${type} ${about}`);
      const now = wallNow();
      const told = await this.#since(transaction, type, now - quietMs);
      const isTold = told.some(({ installation_id, place }) =>
        target === undefined ? place === integration : installation_id === target.installationId,
      );
      return isTold ? [] : this.write(transaction, [notice], now);
    });
    this.written(written);
  }

  /** Newest first. */
  async list({ type, from, to, cursor, limit }: NoticesQuery): Promise<Page<StoredNotice>> {
    let select = this.#deps.database
      .selectFrom('events')
      .leftJoin('deliveries', (join) =>
        join.on('deliveries.id', '=', sql<string>`events.id || ${sql.lit(FIRST)}`),
      )
      .select(['events.id', 'events.body', 'deliveries.id as delivery', 'state', 'attempts', 'outcome'])
      .where('events.organization', '=', OF_NO_ORGANIZATION);
    if (type !== undefined) select = select.where('events.type', '=', type);
    if (from !== undefined) select = select.where('events.id', '>=', Sequence.first(from));
    if (to !== undefined) select = select.where('events.id', '<', Sequence.first(to));
    if (cursor !== undefined) select = select.where('events.id', '<', cursor);
    const rows = await select
      .orderBy('events.id', 'desc')
      .limit(limit + 1)
      .execute();
    return page(
      rows,
      limit,
      (row) => row.id,
      ({ id, body, delivery, state, attempts, outcome }) => ({
        ...{ id, body },
        ...(delivery !== null &&
          state !== null && {
            delivery: { id: delivery, state, attempts: attempts ?? 0, ...(outcome !== null && { outcome }) },
          }),
      }),
    );
  }

  #since(transaction: Database, type: NoticeType, since: number) {
    return transaction
      .selectFrom('events')
      .select(['installation_id', 'place'])
      .where('organization', '=', OF_NO_ORGANIZATION)
      .where('id', '>=', Sequence.first(since))
      .where('type', '=', type)
      .execute();
  }

  #row(notice: ProductNotice, now: number): EventRow {
    const { randomBytes, hasNoticeReceiver } = this.#deps;
    const { type, integration, target } = notice;
    const id = this.#ids.next(now);
    const eventId = noticeId(randomBytes);
    const about =
      target === undefined
        ? ({ level: 'integration', place: integration } as const)
        : { level: target.level, place: target.place, installationId: target.installationId };
    const event = {
      ...{ eventId, type, organization: OF_NO_ORGANIZATION, ...about },
      ...{ body: noticeBody(notice, { id: eventId, createdAt: now }), bodyHash: '' },
    };
    const addressees = hasNoticeReceiver ? [RECEIVER] : [];
    return { id, event, addressees, absentees: [], armedAt: now, createdAt: now };
  }
}

const FIRST = deliveryId('', 0);
