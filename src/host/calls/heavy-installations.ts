/**
 * Finds the installations that are heavy on CPU, from what their calls had used when they ended.
 *
 * Only long calls count. Short ones, however many, take turns with those of other installations;
 * placement is to keep apart what holds a core for long. Ends of calls suffice: a call that runs
 * has used no more than its limit, and meanwhile the slots of its cell keep it fair
 * (`cell/isolates/slots.ts`). No I/O; the clock is a parameter.
 */
import { DecayingRecords } from '../../model/decaying-records.ts';

/** Calls that used less are not counted: two slices of a cell's slots. */
const LONG_CALL_CPU_MS = 10;
/** For how long CPU time counts, on average: it fades exponentially. */
const MEMORY_MS = 5_000;
/**
 * From this share of one core on an installation is heavy: two spinning calls in a row, but not one
 * alone.
 */
const HEAVY_FROM = 0.25;
/** Below this share it no longer is: some eight seconds after its last spinning call. */
const LIGHT_BELOW = 0.05;
/** Installations remembered; beyond, the one whose last long call is longest ago is forgotten. */
const REMEMBERED = 10_000;

interface Load {
  usedMs: number;
  at: number;
  heavy: boolean;
}

export class HeavyInstallations {
  readonly #now: () => number;
  readonly #loads = new DecayingRecords<Load>({
    halfLifeMs: MEMORY_MS * Math.LN2,
    keysMax: REMEMBERED,
    fade: (load, left) => {
      load.usedMs *= left;
    },
  });

  /** @param now milliseconds of the monotonic clock */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** A call has ended. */
  add(tenant: string, cpuMs: number): void {
    if (cpuMs < LONG_CALL_CPU_MS) return;
    const now = this.#now();
    const load = this.#loads.get(tenant) ?? { usedMs: 0, at: now, heavy: false };
    this.#loads.fade(load, now);
    const wasHeavy = load.heavy && !isLight(load);
    load.usedMs += cpuMs;
    load.heavy = wasHeavy || load.usedMs > HEAVY_FROM * MEMORY_MS;
    this.#loads.put(tenant, load);
  }

  /** Whether it has lately been heavy on CPU. Free of cost while no installation is. */
  isHeavy(tenant: string): boolean {
    if (this.#loads.size === 0) return false;
    const load = this.#loads.get(tenant);
    if (load === undefined) return false;
    this.#loads.fade(load, this.#now());
    if (!isLight(load)) return load.heavy;
    this.#loads.delete(tenant);
    return false;
  }
}

const isLight = ({ usedMs }: Load): boolean => usedMs < LIGHT_BELOW * MEMORY_MS;
