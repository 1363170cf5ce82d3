/**
 * Checks signatures of envelopes: made with one of the target's secrets, recently, and not used
 * before.
 *
 * Attack: replay, an envelope that was recorded in transit and is sent again. The age is checked
 * before the body is read.
 */
import { AnnexError } from '../../errors.ts';
import type { Limits } from '../../limits.ts';
import { limitError } from '../../model/limit-met.ts';
import { matchingDigests, readSignature } from '../../model/signature.ts';
import type { Target } from '../../model/target.ts';
import type { SpentSignatures } from '../../store/spent-signatures.ts';
import { SeenSignatures } from './seen-signatures.ts';

const SECOND_MS = 1_000;
const LIMIT = 'envelopeSignatureAgeMs';

export interface EnvelopeSignaturesParts {
  readonly limits: Pick<Limits, typeof LIMIT>;
  /** Wall-clock time, in milliseconds. */
  readonly now: () => number;
  /** What other nodes have accepted; absent if there are none. */
  readonly spent?: Pick<SpentSignatures, 'spend'> | undefined;
}

type Addressed = Pick<Target, 'signingSecrets' | 'endpointKey'>;

export class EnvelopeSignatures {
  readonly #ageMaxMs: number;
  readonly #now: () => number;
  readonly #seen: SeenSignatures;
  readonly #spent: EnvelopeSignaturesParts['spent'];

  constructor({ limits, now, spent }: EnvelopeSignaturesParts) {
    this.#ageMaxMs = limits[LIMIT];
    this.#now = now;
    this.#spent = spent;
    this.#seen = new SeenSignatures(Math.ceil(this.#ageMaxMs / SECOND_MS));
  }

  /** @returns the error, if no body could make the header acceptable */
  headRefusal(header: string): AnnexError | undefined {
    const claim = readSignature(header);
    if (claim === undefined) return unauthorized();
    // A timestamp in the future is as wrong as one in the past. Fractions of a second count for the
    // sender.
    const awayMs = Math.abs(this.#now() - Number(claim.timestamp) * SECOND_MS);
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
    const nowS = Math.floor(this.#now() / SECOND_MS);
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
