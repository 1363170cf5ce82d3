/**
 * Remembers signatures for as long as they could be accepted again.
 *
 * Memory is bounded, and fails closed: if there are too many, the oldest of the endpoint with the
 * most are forgotten, and that endpoint then accepts no signature as old as those. Attack: a tenant
 * that signs for itself to evict the signatures of others. It only shortens the accepted age of its
 * own signatures.
 *
 * Only genuine signatures are remembered, so filling the memory needs a secret. Nothing is kept
 * over a restart; several nodes remember together, in the store (`store/spent-signatures.ts`).
 */

/** Digests of all endpoints; about 10 MB. */
const ENTRIES_MAX = 262_144;
/**
 * Endpoints share records by a hash of their random keys, so that the number of records is bounded
 * too.
 */
const RECORDS = 1_024;
/** Enough bytes to distinguish digests of the same second. */
const DIGEST_BYTES = 6;

/** Times are in seconds, as in `t`. */
interface Record {
  readonly bySecond: Map<number, Set<number>>;
  count: number;
  /** Signatures of this second and before have been forgotten. */
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

  /** Number of digests remembered. */
  get size(): number {
    return this.#count;
  }

  /**
   * Remembers the digests of one signature.
   *
   * @returns whether none of them has been, or may have been, used before
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
    // Not at each signature: expired ones are refused by their age before this is called.
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

  /**
   * Forgets half of the largest record, the oldest first, so that this runs once in many
   * signatures.
   */
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
