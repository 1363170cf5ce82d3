/**
 * Checks signatures of envelopes: made with one of the target's secrets, recently, and not used
 * before.
 *
 * Attack: replay, an envelope that was recorded in transit and is sent again. The age is checked
 * before the body is read.
 */
import { AnnexError } from '../../../errors.ts';
import type { Limits } from '../../../limits.ts';
import { limitError } from '../../../model/limit-met.ts';
import { matchingDigests, readSignature } from '../../../model/signature.ts';
import type { Target } from '../../../model/target.ts';
import type { SpentSignatures } from '../../store/spent-signatures.ts';

const SECOND_MS = 1_000;
const LIMIT = 'envelopeSignatureAgeMs';

export interface EnvelopeSignaturesDeps {
  readonly limits: Pick<Limits, typeof LIMIT>;
  /** Wall-clock time, in milliseconds. */
  readonly wallNow: () => number;
  /** What other nodes have accepted; absent if there are none. */
  readonly spent?: Pick<SpentSignatures, 'spend'> | undefined;
}

type Addressed = Pick<Target, 'signingSecrets' | 'endpointKey'>;

export class EnvelopeSignatures {
  readonly #ageMaxMs: number;
  readonly #wallNow: () => number;
  readonly #seen: SeenSignatures;
  readonly #spent: EnvelopeSignaturesDeps['spent'];

  constructor({ limits, wallNow, spent }: EnvelopeSignaturesDeps) {
    this.#ageMaxMs = limits[LIMIT];
    this.#wallNow = wallNow;
    this.#spent = spent;
    this.#seen = new SeenSignatures(Math.ceil(this.#ageMaxMs / SECOND_MS));
  }

  /** @returns the error, if no body could make the header acceptable */
  headRefusal(header: string): AnnexError | undefined {
    const claim = readSignature(header);
    if (claim === undefined) return unauthorized();
    // A timestamp in the future is as wrong as one in the past. Fractions of a second count for the
    // sender.
    const awayMs = Math.abs(this.#wallNow() - Number(claim.timestamp) * SECOND_MS);
    const usedMs = Math.floor(awayMs / SECOND_MS) * SECOND_MS;
    if (usedMs <= this.#ageMaxMs) return undefined;
    return limitError('ENVELOPE_UNAUTHORIZED', { name: LIMIT, max: this.#ageMaxMs, used: usedMs });
  }

  /**
   * @returns the error; undefined if the signature is genuine and new. It is not accepted again, by
   *   any node
   * @throws what the store does; the sender signs anew
   */
  async refusal(header: string, body: Buffer, addressed: Addressed): Promise<AnnexError | undefined> {
    const claim = readSignature(header);
    const digests = claim === undefined ? [] : matchingDigests(claim, body, addressed.signingSecrets);
    if (claim === undefined || digests.length === 0) return unauthorized();
    const timestampS = Number(claim.timestamp);
    const { endpointKey } = addressed;
    // First what this node has seen itself: one that is sent again and again costs no statement.
    const nowS = Math.floor(this.#wallNow() / SECOND_MS);
    if (!this.#seen.take(endpointKey, timestampS, digests, nowS)) return used();
    const expiresAt = (timestampS + 1) * SECOND_MS + this.#ageMaxMs;
    const isNew = await this.#spent?.spend({ endpointKey, digests, expiresAt });
    return isNew === false ? used() : undefined;
  }
}

const used = (): AnnexError =>
  new AnnexError(
    'ENVELOPE_UNAUTHORIZED',
    'This signature was used before: sign each attempt anew, with its own `t`.',
  );

export const unauthorized = (): AnnexError =>
  new AnnexError(
    'ENVELOPE_UNAUTHORIZED',
    '`POST {endpoint}/v1` needs a platform token in Authorization or a valid X-Platform-Signature.',
  );

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
