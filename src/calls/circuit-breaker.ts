/**
 * Keeps an installation that passes its limits again and again from trying at everybody's cost: it is left alone for a while,
 * twice as long each time it does it again at once, and less and less where it does well.
 *
 * Breaches add up, fade with time and are made up for by calls that end within their limits. Once they are too many, calls are
 * refused until the time is over; then one call is let in to see (*half open*) and decides for the others. Pure: no I/O, no
 * clock of its own, and an empty map as long as everybody behaves.
 */
import type { Limits } from '../limits.ts';
import type { Outcome } from '../protocol/wire.ts';

/** What ends of calls weigh: burnt memory costs the cell most, and waiting costs it least. */
const BREACH_WEIGHT: Partial<Record<Outcome, number>> = {
  exceededCpu: 1,
  exceededMemory: 2,
  exceededWallTime: 0.5,
};
/** Ends that say nothing of how the installation behaves: somebody else's doing. */
const NEUTRAL: ReadonlySet<Outcome> = new Set(['canceled', 'loadShed', 'cellCrashed', 'internalError']);
/** What one call that ends within its limits makes up for: four of them, a breach. */
const GOOD_WEIGHT = 0.25;
/** In this time, half of all is forgotten. */
const HALF_LIFE_MS = 30_000;
/** An installation that has not been called for so long after a cool-down begins anew. */
const FORGOTTEN_MS = 120_000;
/** Installations remembered; beyond, the one whose last breach is longest ago is forgotten. */
const REMEMBERED = 10_000;
/** How soon to try again while the one call that was let in still runs. */
const PROBING_MS = 1_000;
/**
 * How long others wait for it. Attack: a stranger who is the one that is let in, and sends so slowly that the installation
 * stays shut for as long as a call may take; so it is one call each time instead.
 */
const PROBE_MS = 2_000;

export type CircuitBreakerLimits = Pick<Limits, 'breachesBeforeCoolDown' | 'coolDownMs' | 'coolDownMsMax'>;

/** A cool-down that has just begun. */
export interface CircuitOpened {
  /** For how long. */
  readonly coolMs: number;
  /** Breaches since all was well. */
  readonly breaches: number;
}

/** What is remembered of one installation. */
interface Conduct {
  /** Weight of the breaches that still count. */
  score: number;
  /** How long the last cool-down was, less what has been made up for since; 0 where there is none to come back to. */
  backOffMs: number;
  /** When the two were last brought up to date. */
  at: number;
  breaches: number;
  /** Calls that began before do not count: they were under way when the cool-down began. */
  since: number;
  /** No call before this moment. */
  until: number;
  /** After `until`: the time is over, and nobody knows yet whether it has helped. */
  halfOpen: boolean;
  /** When the call that is to show it began; none runs where it is undefined. */
  probedAt: number | undefined;
}

export class CircuitBreaker {
  readonly #limits: CircuitBreakerLimits;
  readonly #conducts = new Map<string, Conduct>();

  constructor(limits: CircuitBreakerLimits) {
    this.#limits = limits;
  }

  /** @returns milliseconds after which to try again, where no call may begin now */
  refuses(installationId: string, now: number): number | undefined {
    if (this.#conducts.size === 0) return undefined;
    const conduct = this.#conducts.get(installationId);
    if (conduct === undefined) return undefined;
    if (now < conduct.until) return conduct.until - now;
    // Nobody has called for long: there is nothing left to find out.
    if (conduct.halfOpen && conduct.probedAt === undefined && now - conduct.until > FORGOTTEN_MS) {
      this.#conducts.delete(installationId);
      return undefined;
    }
    const { probedAt } = conduct;
    return probedAt !== undefined && now - probedAt < PROBE_MS ? PROBING_MS : undefined;
  }

  /** A call begins that was not refused; to be followed by `ended`. */
  began(installationId: string, now: number): void {
    if (this.#conducts.size === 0) return;
    const conduct = this.#conducts.get(installationId);
    if (conduct?.halfOpen) conduct.probedAt = now;
  }

  /**
   * A call has ended.
   *
   * @param startedAt when it had begun
   * @returns the cool-down, where one begins
   */
  ended(installationId: string, outcome: Outcome, startedAt: number, now: number): CircuitOpened | undefined {
    const weight = BREACH_WEIGHT[outcome];
    if (weight === undefined && this.#conducts.size === 0) return undefined;
    const conduct = this.#conducts.get(installationId);
    // It was under way when the cool-down began: one burst is one reason.
    if (conduct !== undefined && startedAt < conduct.since) return undefined;
    if (weight !== undefined) return this.#breached(installationId, conduct ?? fresh(now), weight, now);
    if (conduct === undefined) return undefined;
    conduct.probedAt = undefined;
    if (!NEUTRAL.has(outcome)) this.#behaved(installationId, conduct, now);
    return undefined;
  }

  #breached(
    installationId: string,
    conduct: Conduct,
    weight: number,
    now: number,
  ): CircuitOpened | undefined {
    fade(conduct, now);
    conduct.score += weight;
    conduct.breaches += 1;
    this.#remember(installationId, conduct);
    const { breachesBeforeCoolDown, coolDownMs, coolDownMsMax } = this.#limits;
    const onProbation = conduct.backOffMs >= coolDownMs;
    // The last breach counts in full, the others a little less each second.
    const tooMany = conduct.score > breachesBeforeCoolDown - 1;
    if (!tooMany && !onProbation && !conduct.halfOpen) return undefined;
    const coolMs = Math.min(Math.max(coolDownMs, conduct.backOffMs * 2), coolDownMsMax);
    conduct.backOffMs = coolMs;
    conduct.until = now + coolMs;
    conduct.since = conduct.until;
    conduct.at = conduct.until;
    conduct.halfOpen = true;
    conduct.probedAt = undefined;
    return { coolMs, breaches: conduct.breaches };
  }

  #behaved(installationId: string, conduct: Conduct, now: number): void {
    fade(conduct, now);
    conduct.halfOpen = false;
    conduct.backOffMs /= 2;
    conduct.score -= GOOD_WEIGHT;
    const { coolDownMs } = this.#limits;
    // A cool-down that is made up for takes its breaches with it.
    if (conduct.backOffMs >= coolDownMs) return;
    if (conduct.backOffMs > 0) conduct.score = 0;
    conduct.backOffMs = 0;
    if (conduct.score <= 0) this.#conducts.delete(installationId);
  }

  #remember(installationId: string, conduct: Conduct): void {
    // Last in the map is last to be forgotten.
    this.#conducts.delete(installationId);
    this.#conducts.set(installationId, conduct);
    if (this.#conducts.size <= REMEMBERED) return;
    const [oldest] = this.#conducts.keys();
    if (oldest !== undefined) this.#conducts.delete(oldest);
  }
}

const fresh = (now: number): Conduct => ({
  score: 0,
  backOffMs: 0,
  at: now,
  breaches: 0,
  since: 0,
  until: 0,
  halfOpen: false,
  probedAt: undefined,
});

function fade(conduct: Conduct, now: number): void {
  const left = 0.5 ** (Math.max(0, now - conduct.at) / HALF_LIFE_MS);
  conduct.score *= left;
  conduct.backOffMs *= left;
  conduct.at = Math.max(now, conduct.at);
}
