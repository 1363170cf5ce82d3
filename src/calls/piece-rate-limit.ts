/**
 * Bounds how many pieces of a body an isolate is given in a second: a token bucket of pieces, into
 * which large pieces pay (docs/decisions/joined-pieces.md).
 *
 * Attack: a client sends its upload byte by byte, each in a segment of its own. Each piece is one
 * entry into the isolate, so 12 KB/s from one connection used up all CPU of an honest call within
 * six seconds, and a few of those opened the circuit of the installation. Beyond the rate, bytes
 * are handed over later, joined with all that have arrived by then.
 */

/** Pieces that are handed over at once in the beginning. */
const BURST = 64;
/**
 * Small pieces in a second after that: more than the words of a text that is generated while it is
 * read.
 */
const PIECES_PER_SECOND = 100;
/** So many bytes pay for one piece. A body of 10 MiB has 2,560 such pieces at most. */
const BYTES_PER_PIECE = 4 * 1024;
const MS_PER_S = 1_000;

export class PieceRateLimit {
  #left = BURST;
  #at: number;

  /** @param now milliseconds of the monotonic clock, as in `waitMs` */
  constructor(now: number) {
    this.#at = now;
  }

  /** @returns how long the next piece has to wait, in milliseconds */
  waitMs(now: number): number {
    if (this.#left >= 1) return 0;
    const earned = ((now - this.#at) * PIECES_PER_SECOND) / MS_PER_S;
    this.#left = Math.min(BURST, this.#left + earned);
    this.#at = now;
    return this.#left >= 1 ? 0 : ((1 - this.#left) * MS_PER_S) / PIECES_PER_SECOND;
  }

  /** A piece has been handed over. */
  took(bytes: number): void {
    this.#left = Math.min(BURST, this.#left - 1 + bytes / BYTES_PER_PIECE);
  }
}
