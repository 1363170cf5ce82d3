/**
 * Circuit breaker of each installation: refuses its calls for a while after it has passed its
 * limits too often, so that other installations do not pay for it
 * (docs/decisions/circuit-breaker.md).
 *
 * Breaches add up, fade with time and are made up for by calls within the limits. Once there are
 * too many, the circuit opens: calls are refused until its time is over, which doubles at each
 * opening in a row. Then it is *half open*: one call is let in and decides. Pure: no I/O, no clock
 * of its own, and an empty map as long as no limit is passed.
 */
import type { Limits } from '../../limits.ts';
import { DecayingRecords } from '../../model/decaying-records.ts';
import type { Outcome } from '../../protocol/wire.ts';

/** What a breach weighs: memory costs the cell most, waiting costs it least. */
const BREACH_WEIGHT: Partial<Record<Outcome, number>> = {
  exceededCpu: 1,
  exceededMemory: 2,
  exceededWallTime: 0.5,
};
/** Outcomes that others cause: they say nothing about the installation. */
const NEUTRAL: ReadonlySet<Outcome> = new Set(['canceled', 'loadShed', 'cellCrashed', 'internalError']);
/** What one call within its limits makes up for: four of them, a breach. */
const GOOD_WEIGHT = 0.25;
const HALF_LIFE_MS = 30_000;
/** An installation without a call for so long after its circuit was open begins anew. */
const FORGOTTEN_MS = 120_000;
/** Installations remembered; beyond, the one whose last breach is longest ago is forgotten. */
const REMEMBERED = 10_000;
/** How soon other calls may try again while the call that was let in still runs. */
const PROBING_MS = 1_000;
/**
 * How long other calls wait for the one that was let in. Attack: a stranger sends that call so
 * slowly that the circuit stays open for as long as a call may take. So after this time the next
 * call is let in.
 */
const PROBE_MS = 2_000;

export type CircuitBreakerLimits = Pick<Limits, 'breachesBeforeCoolDown' | 'coolDownMs' | 'coolDownMsMax'>;

/** A circuit that has just opened. */
export interface CircuitOpened {
  /** For how long. */
  readonly coolMs: number;
  /** Breaches since the installation was last within its limits. */
  readonly breaches: number;
}

/** What is remembered of one installation. */
interface Circuit {
  /** Weight of the breaches that still count. */
  score: number;
  /**
   * For how long the circuit was last open, less what good calls have made up for; 0 where it
   * begins anew.
   */
  backOffMs: number;
  /** When the two were last brought up to date. */
  at: number;
  breaches: number;
  /** Calls that began before do not count: they were in flight when the circuit opened. */
  since: number;
  /** Calls are refused until this time. */
  until: number;
  /** Set when the circuit opens; after `until`, the next call decides. */
  halfOpen: boolean;
  /** When the call that decides began; undefined where none runs. */
  probedAt: number | undefined;
}

export class CircuitBreaker {
  readonly #limits: CircuitBreakerLimits;
  readonly #circuits = new DecayingRecords<Circuit>({
    halfLifeMs: HALF_LIFE_MS,
    keysMax: REMEMBERED,
    fade: (circuit, left) => {
      circuit.score *= left;
      circuit.backOffMs *= left;
    },
  });

  constructor(limits: CircuitBreakerLimits) {
    this.#limits = limits;
  }

  /** @returns milliseconds after which to try again; undefined where a call may begin now */
  refuses(tenant: string, now: number): number | undefined {
    if (this.#circuits.size === 0) return undefined;
    const circuit = this.#circuits.get(tenant);
    if (circuit === undefined) return undefined;
    if (now < circuit.until) return circuit.until - now;
    if (circuit.halfOpen && circuit.probedAt === undefined && now - circuit.until > FORGOTTEN_MS) {
      this.#circuits.delete(tenant);
      return undefined;
    }
    const { probedAt } = circuit;
    return probedAt !== undefined && now - probedAt < PROBE_MS ? PROBING_MS : undefined;
  }

  /** A call begins that was not refused; `ended` follows. */
  began(tenant: string, now: number): void {
    if (this.#circuits.size === 0) return;
    const circuit = this.#circuits.get(tenant);
    if (circuit?.halfOpen) circuit.probedAt = now;
  }

  /**
   * A call has ended.
   *
   * @param startedAt when it began
   * @returns the circuit, where it opens
   */
  ended(tenant: string, outcome: Outcome, startedAt: number, now: number): CircuitOpened | undefined {
    const weight = BREACH_WEIGHT[outcome];
    if (weight === undefined && this.#circuits.size === 0) return undefined;
    const circuit = this.#circuits.get(tenant);
    // In flight when the circuit opened: one burst of calls counts once.
    if (circuit !== undefined && startedAt < circuit.since) return undefined;
    if (weight !== undefined) return this.#breached(tenant, circuit ?? fresh(now), weight, now);
    if (circuit === undefined) return undefined;
    circuit.probedAt = undefined;
    if (!NEUTRAL.has(outcome)) this.#succeeded(tenant, circuit, now);
    return undefined;
  }

  #breached(tenant: string, circuit: Circuit, weight: number, now: number): CircuitOpened | undefined {
    this.#circuits.fade(circuit, now);
    circuit.score += weight;
    circuit.breaches += 1;
    this.#circuits.put(tenant, circuit);
    const { breachesBeforeCoolDown, coolDownMs, coolDownMsMax } = this.#limits;
    const onProbation = circuit.backOffMs >= coolDownMs;
    // The last breach counts in full, the others a little less each second.
    const tooMany = circuit.score > breachesBeforeCoolDown - 1;
    if (!tooMany && !onProbation && !circuit.halfOpen) return undefined;
    const coolMs = Math.min(Math.max(coolDownMs, circuit.backOffMs * 2), coolDownMsMax);
    circuit.backOffMs = coolMs;
    circuit.until = now + coolMs;
    circuit.since = circuit.until;
    circuit.at = circuit.until;
    circuit.halfOpen = true;
    circuit.probedAt = undefined;
    return { coolMs, breaches: circuit.breaches };
  }

  #succeeded(tenant: string, circuit: Circuit, now: number): void {
    this.#circuits.fade(circuit, now);
    circuit.halfOpen = false;
    circuit.backOffMs /= 2;
    circuit.score -= GOOD_WEIGHT;
    const { coolDownMs } = this.#limits;
    if (circuit.backOffMs >= coolDownMs) return;
    // The opening is made up for, and the breaches that led to it with it.
    if (circuit.backOffMs > 0) circuit.score = 0;
    circuit.backOffMs = 0;
    if (circuit.score <= 0) this.#circuits.delete(tenant);
  }
}

const fresh = (now: number): Circuit => ({
  score: 0,
  backOffMs: 0,
  at: now,
  breaches: 0,
  since: 0,
  until: 0,
  halfOpen: false,
  probedAt: undefined,
});
