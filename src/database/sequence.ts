/**
 * Ids that sort in the order in which they were made, within one process and, as far as clocks agree, beyond it.
 */
import { base64url, type RandomBytes } from '../model/identifiers.ts';

export class Sequence {
  /** Tells the ids of this process from those of others that write to the same store. */
  readonly #writer: string;
  #count = 0;
  #latest = 0;

  constructor(randomBytes: RandomBytes) {
    this.#writer = base64url(randomBytes(6));
  }

  /** Time first, then the order within this process: fixed widths, so that text order is the order of making. */
  next(at: number): string {
    this.#count += 1;
    // A clock that is set back must not put a later id before an earlier one.
    this.#latest = Math.max(this.#latest, at);
    return `${hex(this.#latest, 12)}-${hex(this.#count, 12)}-${this.#writer}`;
  }

  /** What sorts before every id that is made at this time or later, and after all that were made before it. */
  static first(at: number): string {
    return hex(Math.max(0, at), 12);
  }
}

const hex = (value: number, width: number): string => value.toString(16).padStart(width, '0');
