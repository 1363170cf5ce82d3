/**
 * How often the API may be asked to change something, in a minute. The operator and the host
 * product, which act for all organizations, are not counted. Requests are counted before their
 * bodies are read, whatever their outcome.
 *
 * Orders are all requests but GET, unless something else bounds them (`rate` of a row). Nearly
 * every order is an entry of the audit, which is kept for a year. Attack: an organization that
 * makes an install link, activates a version or sets a secret in a loop, and fills the disk.
 *
 * Edits change an installation: each is an event, a call and an audit entry. Pausing and resuming,
 * adding and removing a space, and uninstalling and installing have the same effect, so every
 * change counts. It counts for organization and integration, not for the installation's id, which
 * changes with each install. Code has a count of its own, so that a loop in it does not keep the
 * organization from pausing or uninstalling.
 *
 * Tasks are queued by code. Attack: a task that queues two tasks, each of which queues two more, in
 * twenty installations at once. Pending tasks are bounded, but each that ends makes room for
 * another, and every outcome is kept for days. So the code of one installation, of one integration
 * and for one organization may queue so many. What a narrower rate refuses is not counted by the
 * wider ones: one installation cannot use up what others have.
 */
import type { FastifyRequest } from 'fastify';
import type { LimitName, Limits } from '../../../limits.ts';
import { limitError } from '../../../model/limit-met.ts';
import { isPlatform, isRuntime } from '../../../model/principal.ts';
import { RateLimit } from '../../../model/rate-limit.ts';
import type { Target } from '../../../model/target.ts';
import type { Installation } from '../../store/installations/target-rows.ts';
import { principalOf } from './authenticate.ts';

const MINUTE_MS = 60_000;

/** The pair whose changes are counted together. */
export type EditsOf = Pick<Installation, 'integration' | 'organization'>;

/** Whose tasks each rate counts, the narrowest first. */
const TASK_RATES = {
  // For the organization: an installation's id changes with each install.
  tasksPerMinutePerInstallation: ({ integration, level, organization }: Target) =>
    level === 'integration' ? integration : `${integration} ${organization}`,
  tasksPerMinutePerIntegration: ({ integration }: Target) => integration,
  tasksPerMinutePerOrganization: ({ organization }: Target) => organization,
} satisfies Partial<Record<LimitName, (target: Target) => string>>;

const ORDERS = 'ordersPerMinutePerOrganization';
const EDITS = 'editsPerMinutePerInstallation';
const TASKS = Object.keys(TASK_RATES) as (keyof typeof TASK_RATES)[];
type RateName = typeof ORDERS | typeof EDITS | keyof typeof TASK_RATES;

export class Rates {
  readonly #limits: Pick<Limits, RateName>;
  readonly #rates: ReadonlyMap<RateName, RateLimit>;

  /** @param clock monotonic, in milliseconds */
  constructor({ limits, monotonicNow }: { limits: Pick<Limits, RateName>; monotonicNow: () => number }) {
    this.#limits = limits;
    const rate = (name: RateName) =>
      new RateLimit({ timesMax: limits[name], windowMs: MINUTE_MS, monotonicNow });
    this.#rates = new Map(([ORDERS, EDITS, ...TASKS] as const).map((name) => [name, rate(name)]));
  }

  /** @throws AnnexError REQUEST_RATE_EXCEEDED */
  order(request: FastifyRequest): void {
    const principal = principalOf(request);
    const key = isRuntime(principal) ? `code ${principal.integration}` : principal.organization;
    if (!isPlatform(principal)) this.#take(ORDERS, key ?? '');
  }

  /** @throws AnnexError REQUEST_RATE_EXCEEDED */
  edit(request: FastifyRequest, { integration, organization }: EditsOf): void {
    const principal = principalOf(request);
    const kind = isRuntime(principal) ? 'code' : 'organization';
    if (!isPlatform(principal)) this.#take(EDITS, `${kind} ${integration} ${organization}`);
  }

  /** @throws AnnexError REQUEST_RATE_EXCEEDED */
  task(target: Target): void {
    for (const name of TASKS) this.#take(name, TASK_RATES[name](target));
  }

  #take(name: RateName, key: string): void {
    if (!this.#rates.get(name)?.take(key))
      throw limitError('REQUEST_RATE_EXCEEDED', { name, max: this.#limits[name] });
  }
}
