/**
 * Which installations are burning CPU, as far as the host can tell: from what their calls had used when they ended.
 *
 * Only long calls count. Short ones, however many, take turns with everybody else's and hold nobody up; what placement is to
 * keep apart from them is what holds a core for long. Ends of calls suffice: a call that has not ended has used no more than
 * its limit, and what it does meanwhile is the cell's own fairness to bound (`cell/isolates/slots.ts`). No clock of its own, no I/O.
 */

/** Calls that used less are not counted: two slices of a cell's slots. */
const LONG_CALL_CPU_MS = 10;
/** What was used counts for this long, less and less. */
const MEMORY_MS = 5_000;
/** Share of one core over that time from which an installation is heavy: two spinning calls in a row, and not one alone. */
const HEAVY_FROM = 0.25;
/** And below which it no longer is: some eight seconds after its last spinning call. */
const LIGHT_BELOW = 0.05;
/** Installations remembered; beyond, the one whose last long call is longest ago is forgotten. */
const REMEMBERED = 10_000;

interface Load {
  readonly usedMs: number;
  readonly at: number;
  readonly heavy: boolean;
}

export class CpuLoad {
  readonly #now: () => number;
  readonly #loads = new Map<string, Load>();

  /** @param now milliseconds of a clock that never goes back */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** A call has ended. */
  add(installationId: string, cpuMs: number): void {
    if (cpuMs < LONG_CALL_CPU_MS) return;
    const now = this.#now();
    const last = this.#loads.get(installationId);
    const usedMs = (last === undefined ? 0 : decayed(last, now)) + cpuMs;
    const heavy = usedMs > HEAVY_FROM * MEMORY_MS || (last !== undefined && isHeavy(last, now));
    // Last in the map is last to be forgotten.
    this.#loads.delete(installationId);
    this.#loads.set(installationId, { usedMs, at: now, heavy });
    if (this.#loads.size <= REMEMBERED) return;
    const [oldest] = this.#loads.keys();
    if (oldest !== undefined) this.#loads.delete(oldest);
  }

  /** Whether it has burnt CPU in the last seconds. Free of cost while nobody does. */
  isHeavy(installationId: string): boolean {
    if (this.#loads.size === 0) return false;
    const last = this.#loads.get(installationId);
    if (last === undefined) return false;
    const now = this.#now();
    if (isHeavy(last, now)) return true;
    if (decayed(last, now) < LIGHT_BELOW * MEMORY_MS) this.#loads.delete(installationId);
    return false;
  }
}

const decayed = ({ usedMs, at }: Load, now: number): number => usedMs * Math.exp((at - now) / MEMORY_MS);
const isHeavy = (load: Load, now: number): boolean =>
  load.heavy && decayed(load, now) >= LIGHT_BELOW * MEMORY_MS;
