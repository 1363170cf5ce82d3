/**
 * Reveals a drawing in time slices, so that a large one does not hold the page: a node is drawn
 * once its position is below `revealed`. Between two slices the browser paints and answers the
 * user.
 */
import { signal } from '@preact/signals';
import { SLICE } from '../limits.ts';

export interface SliceClock {
  now(): number;
  /** Resolves after the browser had its turn. */
  turn(): Promise<void>;
}

export const BROWSER_CLOCK: SliceClock = {
  now: () => performance.now(),
  turn: () => new Promise((resolve) => setTimeout(resolve)),
};

export class Slices {
  /** Nodes at a position below this are drawn. */
  readonly revealed = signal(Number.POSITIVE_INFINITY);
  readonly #clock: SliceClock;
  /** Number of the drawing that is revealed; a newer one ends it. */
  #drawing = 0;
  #step: number = SLICE.cost;

  constructor(clock: SliceClock) {
    this.#clock = clock;
  }

  /** Begins a drawing of this cost. @returns the number of slices, once all is revealed */
  async reveal(cost: number): Promise<number> {
    this.#drawing += 1;
    const drawing = this.#drawing;
    let slices = 1;
    for (let shown = this.#step; shown < cost; shown += this.#step, slices += 1) {
      const started = this.#clock.now();
      this.revealed.value = shown;
      await this.#clock.turn();
      if (drawing !== this.#drawing) return slices;
      this.#adapt(this.#clock.now() - started);
    }
    this.revealed.value = Number.POSITIVE_INFINITY;
    return slices;
  }

  #adapt(tookMs: number): void {
    if (tookMs > SLICE.longMs) this.#step = Math.max(SLICE.costMin, this.#step / 2);
    else if (tookMs < SLICE.shortMs) this.#step = Math.min(SLICE.costMax, this.#step * 2);
  }
}
