/**
 * Signatures that have been here before, for as long as they could be accepted again.
 *
 * Memory is bounded, and fails closed: where there are too many, the oldest of the endpoint with the most are forgotten, and
 * from then on that endpoint accepts no signature as old as those. The attack: a tenant that signs for itself, to push out
 * what is remembered of others. It shortens the age of its own signatures, and nobody else's.
 *
 * Only genuine signatures come here, so nobody without a secret fills it. It is not kept over a restart.
 */

/** Of all endpoints; some 10 MB. */
const ENTRIES_MAX = 262_144;
/** Endpoints share records by a hash of their keys, which are random: the number of records is bounded, too. */
const RECORDS = 1_024;
/** So many bytes of a digest tell it from others of the same second. */
const DIGEST_BYTES = 6;

/** Times are in seconds, those of `t`. */
interface Record {
  readonly bySecond: Map<number, Set<number>>;
  count: number;
  /** What is as old as this, or older, has been forgotten. */
  forgottenS: number;
  sweptS: number;
}

export class SeenSignatures {
  readonly #ageMaxS: number;
  readonly #entriesMax: number;
  readonly #records = new Map<number, Record>();
  #count = 0;

  constructor(ageMaxS: number, entriesMax = ENTRIES_MAX) {
    this.#ageMaxS = ageMaxS;
    this.#entriesMax = entriesMax;
  }

  /** How many are remembered. */
  get size(): number {
    return this.#count;
  }

  /**
   * Remembers the digests of one signature.
   *
   * @returns whether none of them was here before, or may have been
   */
  take(endpointKey: string, timestampS: number, digests: readonly Buffer[], nowS: number): boolean {
    const record = this.#record(endpointKey, nowS);
    if (timestampS <= record.forgottenS) return false;
    const seen = record.bySecond.get(timestampS);
    const ids = digests.map((digest) => digest.readUIntBE(0, DIGEST_BYTES));
    if (seen !== undefined && ids.some((id) => seen.has(id))) return false;
    const added = seen ?? new Set();
    record.bySecond.set(timestampS, added);
    for (const id of ids) added.add(id);
    record.count += ids.length;
    this.#count += ids.length;
    if (this.#count > this.#entriesMax) this.#makeRoom(nowS);
    return true;
  }

  #record(endpointKey: string, nowS: number): Record {
    let hash = 0;
    for (let at = 0; at < endpointKey.length; at += 1) hash = (hash * 31 + endpointKey.charCodeAt(at)) | 0;
    const index = (hash >>> 0) % RECORDS;
    let record = this.#records.get(index);
    if (record === undefined) {
      record = { bySecond: new Map(), count: 0, forgottenS: Number.NEGATIVE_INFINITY, sweptS: nowS };
      this.#records.set(index, record);
    }
    // Not at each signature: what is over is refused by its age before anybody looks here.
    if (nowS - record.sweptS > this.#ageMaxS / 8) this.#sweep(record, nowS);
    return record;
  }

  #sweep(record: Record, nowS: number): void {
    record.sweptS = nowS;
    for (const second of record.bySecond.keys())
      if (second < nowS - this.#ageMaxS) this.#forget(record, second);
  }

  #forget(record: Record, second: number): void {
    const size = record.bySecond.get(second)?.size ?? 0;
    record.bySecond.delete(second);
    record.count -= size;
    this.#count -= size;
  }

  /** Half of the largest record goes, the oldest first, so that this happens once in many signatures. */
  #makeRoom(nowS: number): void {
    for (const record of this.#records.values()) this.#sweep(record, nowS);
    if (this.#count <= this.#entriesMax) return;
    let largest: Record | undefined;
    for (const record of this.#records.values())
      if (largest === undefined || record.count > largest.count) largest = record;
    if (largest === undefined) return;
    const kept = largest.count / 2;
    for (const second of [...largest.bySecond.keys()].sort((a, b) => a - b)) {
      if (largest.count <= kept) break;
      this.#forget(largest, second);
      largest.forgottenS = Math.max(largest.forgottenS, second);
    }
  }
}
