/**
 * Whether the signature of an envelope is believed: made by one of the target's secrets, of late, and for the first time.
 *
 * The attack: an envelope that was recorded on its way and is sent once more. The age is looked at before the body is read.
 */
import { AnnexError } from '../../errors.ts';
import type { Limits } from '../../limits.ts';
import { limitError } from '../../model/limit-met.ts';
import { matchingDigests, readSignature } from '../../model/signature.ts';
import type { Target } from '../../model/target.ts';
import { SeenSignatures } from './seen-signatures.ts';

const SECOND_MS = 1_000;
const LIMIT = 'envelopeSignatureAgeMs';

export interface EnvelopeSignaturesParts {
  readonly limits: Pick<Limits, typeof LIMIT>;
  /** The time of day, in milliseconds. */
  readonly now: () => number;
}

export class EnvelopeSignatures {
  readonly #ageMaxMs: number;
  readonly #now: () => number;
  readonly #seen: SeenSignatures;

  constructor({ limits, now }: EnvelopeSignaturesParts) {
    this.#ageMaxMs = limits[LIMIT];
    this.#now = now;
    this.#seen = new SeenSignatures(Math.ceil(this.#ageMaxMs / SECOND_MS));
  }

  /** @returns why the header cannot be that of a signature that is believed, whatever the body is */
  headRefusal(header: string): AnnexError | undefined {
    const claim = readSignature(header);
    if (claim === undefined) return unauthorized();
    // A clock that goes ahead is as wrong as one that is late. What is left of a second counts for the sender.
    const awayMs = Math.abs(this.#now() - Number(claim.timestamp) * SECOND_MS);
    const usedMs = Math.floor(awayMs / SECOND_MS) * SECOND_MS;
    if (usedMs <= this.#ageMaxMs) return undefined;
    return limitError('ENVELOPE_UNAUTHORIZED', { name: LIMIT, max: this.#ageMaxMs, used: usedMs });
  }

  /** @returns why the signature is not believed for this body; where it is, it is not believed again */
  refusal(
    header: string,
    body: Buffer,
    { signingSecrets, endpointKey }: Pick<Target, 'signingSecrets' | 'endpointKey'>,
  ): AnnexError | undefined {
    const claim = readSignature(header);
    const matching = claim === undefined ? [] : matchingDigests(claim, body, signingSecrets);
    if (claim === undefined || matching.length === 0) return unauthorized();
    const nowS = Math.floor(this.#now() / SECOND_MS);
    if (this.#seen.take(endpointKey, Number(claim.timestamp), matching, nowS)) return undefined;
    return new AnnexError(
      'ENVELOPE_UNAUTHORIZED',
      'An envelope with this signature has been here already: sign each attempt anew, with a `t` of its own.',
    );
  }
}

export const unauthorized = (): AnnexError =>
  new AnnexError(
    'ENVELOPE_UNAUTHORIZED',
    'The envelope door needs a platform token or a valid X-Platform-Signature.',
  );
