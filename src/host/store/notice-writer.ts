/**
 * What changes of the store ask of notices to the host product: `product-notices.ts` writes them.
 * A type alone, so that what tells of its changes does not depend on how they are told.
 */
import type { ProductNotice } from '../../model/product-notice.ts';
import type { Database } from '../database/tables.ts';

/** The delivery of a notice, for the fair scheduler. */
export interface NoticePost {
  readonly id: string;
  readonly endpoint: string;
  readonly organization: string;
  readonly integration: string;
}

export interface NoticeWriter {
  /** Writes notices in the transaction of their change. @returns their deliveries, for `written` */
  write(
    transaction: Database,
    notices: readonly ProductNotice[],
    now: number,
  ): Promise<readonly NoticePost[]>;
  /** Called after the commit, with what `write` returned. */
  written(deliveries: readonly NoticePost[]): void;
}
