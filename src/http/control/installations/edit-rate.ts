/**
 * How often an installation may be changed by those who act for nobody but themselves.
 *
 * Each edit is an event, a call and an entry in the audit that is kept for a year. The attack: an organization, or the code of
 * an integration, that edits in a loop and fills the disk with them. To pause and resume, to add and remove a space, or to
 * uninstall and install does the same, so every change counts; and it counts for what the organization has of the
 * integration, not for the id, which is another with each install. Code has a count of its own: what it does in a loop does
 * not keep the organization from pausing or uninstalling it. The operator and the host product, which edit for everybody,
 * are not counted.
 */
import type { FastifyRequest } from 'fastify';
import type { LimitName, Limits } from '../../../limits.ts';
import { limitError } from '../../../model/limit-met.ts';
import { isPlatform, isRuntime } from '../../../model/principal.ts';
import { RateLimit } from '../../../model/rate-limit.ts';
import type { Installation } from '../../../store/installations/target-rows.ts';
import { principalOf } from '../authenticate.ts';

/** Whose changes are counted together. */
export type EditsOf = Pick<Installation, 'integration' | 'organization'>;

const LIMIT = 'editsPerMinutePerInstallation';
const MINUTE_MS = 60_000;

export class EditRate {
  readonly #max: number;
  readonly #rate: RateLimit;
  readonly #limitMet: (limit: LimitName) => void;

  /**
   * @param clock milliseconds that only ever grow
   * @param limitMet told of each change that is refused
   */
  constructor(limits: Pick<Limits, typeof LIMIT>, clock: () => number, limitMet: (limit: LimitName) => void) {
    this.#max = limits[LIMIT];
    this.#limitMet = limitMet;
    this.#rate = new RateLimit({ timesMax: this.#max, windowMs: MINUTE_MS, clock });
  }

  /** Counts a change. @throws `REQUEST_RATE_EXCEEDED` */
  async take(request: FastifyRequest, { integration, organization }: EditsOf): Promise<void> {
    const principal = principalOf(request);
    const who = isRuntime(principal) ? 'code' : 'organization';
    if (isPlatform(principal) || this.#rate.take(`${who} ${integration} ${organization}`)) return;
    this.#limitMet(LIMIT);
    throw limitError('REQUEST_RATE_EXCEEDED', { name: LIMIT, max: this.#max });
  }
}
