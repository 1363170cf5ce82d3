/**
 * Memory budget for all uploads that the host holds: while they arrive, wait for a slot, and are
 * bundled.
 *
 * The limit on one upload does not bound their sum. Attack: an author opens hundreds of
 * connections, sends most of an upload on each, and waits, so that the host runs out of memory. So
 * all uploads share one budget, and a publisher may take at most as much as it leaves free. The
 * budget only counts; it stores no bytes.
 */
import type { LimitMet } from '../../limits.ts';
import { limitError } from '../../model/limit-met.ts';

/** The shared budget; `limit` is its size in bytes. */
export class UploadBudget {
  readonly #limit: LimitMet;
  readonly #byPublisher = new Map<string, number>();
  #bytes = 0;

  constructor(limit: LimitMet) {
    this.#limit = limit;
  }

  /** Bytes currently charged. */
  get heldBytes(): number {
    return this.#bytes;
  }

  /**
   * Opens the share of one upload. @param publisher sender of the upload, for instance an
   * organization
   */
  open(publisher: string): UploadShare {
    return new UploadShare((bytes) => this.#hold(publisher, bytes));
  }

  /**
   * @param more bytes to charge; negative to release
   * @throws `PUBLISH_BUSY` where the budget is used up; nothing is charged then
   */
  #hold(publisher: string, more: number): void {
    const held = (this.#byPublisher.get(publisher) ?? 0) + more;
    const free = this.#limit.max - this.#bytes - more;
    if (more > 0 && held > free) throw limitError('PUBLISH_BUSY', this.#limit);
    this.#bytes += more;
    if (held === 0) this.#byPublisher.delete(publisher);
    else this.#byPublisher.set(publisher, held);
  }
}

/** Share of the budget that one upload has taken. */
export class UploadShare {
  readonly #hold: (more: number) => void;
  #bytes = 0;

  constructor(hold: (more: number) => void) {
    this.#hold = hold;
  }

  /** Charges bytes before they are kept. @throws `PUBLISH_BUSY` where the budget is used up */
  take(bytes: number): void {
    this.#hold(bytes);
    this.#bytes += bytes;
  }

  /** Releases everything taken so far. Idempotent. */
  giveBack(): void {
    this.#hold(-this.#bytes);
    this.#bytes = 0;
  }
}
