/**
 * Records by key whose figures decay exponentially with a half-life. Pure: no I/O, no clock of its
 * own.
 *
 * The number of keys is bounded: beyond it, the record that was put longest ago is dropped. Callers
 * check `size` first, so that an empty map costs nothing.
 */

export interface DecayingRecord {
  /** When the figures were last brought up to date, in milliseconds of the caller's clock. */
  at: number;
}

export interface DecayingRecordsDeps<R> {
  readonly halfLifeMs: number;
  readonly keysMax: number;
  /** Multiplies each figure that fades by `left`, a number up to 1. */
  fade(record: R, left: number): void;
}

export class DecayingRecords<R extends DecayingRecord> {
  readonly #deps: DecayingRecordsDeps<R>;
  /** In the order of the last `put`. */
  readonly #records = new Map<string, R>();

  constructor(deps: DecayingRecordsDeps<R>) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#records.size;
  }

  /** The record as it is: call `fade` before its figures are used. */
  get(key: string): R | undefined {
    return this.#records.get(key);
  }

  [Symbol.iterator](): Iterator<[key: string, record: R]> {
    return this.#records[Symbol.iterator]();
  }

  /**
   * Brings the figures of a record up to date. A record whose time lies in the future does not fade
   * yet.
   */
  fade(record: R, now: number): void {
    const { halfLifeMs, fade } = this.#deps;
    fade(record, 0.5 ** (Math.max(0, now - record.at) / halfLifeMs));
    record.at = Math.max(now, record.at);
  }

  /** Stores a record as the most recent one. @returns the record that is dropped for it, if any */
  put(key: string, record: R): R | undefined {
    this.#records.delete(key);
    this.#records.set(key, record);
    if (this.#records.size <= this.#deps.keysMax) return undefined;
    const [oldest] = this.#records;
    if (oldest === undefined) return undefined;
    this.#records.delete(oldest[0]);
    return oldest[1];
  }

  delete(key: string): void {
    this.#records.delete(key);
  }
}
