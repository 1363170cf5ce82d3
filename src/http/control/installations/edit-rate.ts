/**
 * Limits how often an installation may be changed by its organization and by code of its
 * integration.
 *
 * Each edit is an event, a call and an audit entry that is kept for a year. Attack: an organization
 * or an integration that edits in a loop and fills the disk. Pausing and resuming, adding and
 * removing a space, and uninstalling and installing have the same effect, so every change counts.
 * It counts for organization and integration, not for the installation's id, which changes with
 * each install. Code has a count of its own, so that a loop in it does not keep the organization
 * from pausing or uninstalling. The operator and the host product, which edit for all
 * organizations, are not counted.
 */
import type { FastifyRequest } from 'fastify';
import type { LimitName, Limits } from '../../../limits.ts';
import { limitError } from '../../../model/limit-met.ts';
import { isPlatform, isRuntime } from '../../../model/principal.ts';
import { RateLimit } from '../../../model/rate-limit.ts';
import type { Installation } from '../../../store/installations/target-rows.ts';
import { principalOf } from '../authenticate.ts';
import { markCounted } from '../order-rate.ts';

/** The pair whose changes are counted together. */
export type EditsOf = Pick<Installation, 'integration' | 'organization'>;

const LIMIT = 'editsPerMinutePerInstallation';
const MINUTE_MS = 60_000;

export class EditRate {
  readonly #max: number;
  readonly #rate: RateLimit;
  readonly #limitMet: (limit: LimitName) => void;

  /**
   * @param clock monotonic, in milliseconds
   * @param limitMet called for each change that is refused
   */
  constructor(limits: Pick<Limits, typeof LIMIT>, clock: () => number, limitMet: (limit: LimitName) => void) {
    this.#max = limits[LIMIT];
    this.#limitMet = limitMet;
    this.#rate = new RateLimit({ timesMax: this.#max, windowMs: MINUTE_MS, clock });
  }

  /** Counts a change. @throws AnnexError REQUEST_RATE_EXCEEDED */
  async take(request: FastifyRequest, { integration, organization }: EditsOf): Promise<void> {
    markCounted(request);
    const principal = principalOf(request);
    const kind = isRuntime(principal) ? 'code' : 'organization';
    if (isPlatform(principal) || this.#rate.take(`${kind} ${integration} ${organization}`)) return;
    this.#limitMet(LIMIT);
    throw limitError('REQUEST_RATE_EXCEEDED', { name: LIMIT, max: this.#max });
  }
}
