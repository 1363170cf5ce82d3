/**
 * Ids that sort in the order in which they were made: within one process, and across processes as
 * far as clocks agree.
 */
import { base64url, type RandomBytes } from '../../model/identifiers.ts';

export class Sequence {
  /** Distinguishes the ids of this process from those of others that write to the same store. */
  readonly #writer: string;
  #count = 0;
  #latest = 0;

  constructor(randomBytes: RandomBytes) {
    this.#writer = base64url(randomBytes(6));
  }

  /**
   * Time first, then a count: fixed widths, so that text order is the order of creation. @param at
   * milliseconds since 1970
   */
  next(at: number): string {
    this.#count += 1;
    // A clock that is set back must not put a later id before an earlier one.
    this.#latest = Math.max(this.#latest, at);
    return `${hex(this.#latest, 12)}-${hex(this.#count, 12)}-${this.#writer}`;
  }

  /**
   * A bound: sorts before every id made at this time or later, and after every id made before.
   * @param at milliseconds since 1970
   */
  static first(at: number): string {
    return hex(Math.max(0, at), 12);
  }
}

const hex = (value: number, width: number): string => value.toString(16).padStart(width, '0');
