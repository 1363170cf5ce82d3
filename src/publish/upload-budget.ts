/**
 * The bytes of all uploads that the host holds: while they arrive, wait for their turn, and are bundled.
 *
 * The limit of one upload does not bound their sum. Attack: an author who opens hundreds of connections, sends most of an
 * upload on each, and waits, so that the host runs out of memory. So all uploads share one budget, and a publisher holds no
 * more of it than it leaves free for the others. The budget keeps no bytes itself.
 */
import type { LimitMet } from '../limits.ts';
import { limitError } from '../model/limit-met.ts';

export class UploadBudget {
  readonly #limit: LimitMet;
  readonly #byPublisher = new Map<string, number>();
  #bytes = 0;

  constructor(limit: LimitMet) {
    this.#limit = limit;
  }

  /** Bytes that are held now. */
  get heldBytes(): number {
    return this.#bytes;
  }

  /** @param publisher whose upload it is, for instance an organization */
  open(publisher: string): UploadShare {
    return new UploadShare((bytes) => this.#hold(publisher, bytes));
  }

  /** @param more below 0: gives back @throws `PUBLISH_BUSY` where there is no room; nothing is taken then */
  #hold(publisher: string, more: number): void {
    const held = (this.#byPublisher.get(publisher) ?? 0) + more;
    const free = this.#limit.max - this.#bytes - more;
    if (more > 0 && held > free) throw limitError('PUBLISH_BUSY', this.#limit);
    this.#bytes += more;
    if (held === 0) this.#byPublisher.delete(publisher);
    else this.#byPublisher.set(publisher, held);
  }
}

/** What one upload holds of the budget. */
export class UploadShare {
  readonly #hold: (more: number) => void;
  #bytes = 0;

  constructor(hold: (more: number) => void) {
    this.#hold = hold;
  }

  /** Counts bytes before they are kept. @throws `PUBLISH_BUSY` where there is no room for them */
  take(bytes: number): void {
    this.#hold(bytes);
    this.#bytes += bytes;
  }

  /** Returns everything taken so far. Idempotent. */
  giveBack(): void {
    this.#hold(-this.#bytes);
    this.#bytes = 0;
  }
}
