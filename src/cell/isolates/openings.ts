/**
 * Which isolates are made now. The making happens on threads of isolated-vm beside the slots, so the slots do not bound it.
 *
 * The attack: deliveries of a hundred organizations pile up, and a hundred isolates are made at once. An isolate that a
 * foreground call needs has a hundredth of a core then. So isolates for background calls are made few at a time, in the
 * order they were asked for, and none begins while one for a foreground call is made. Those for foreground calls are made
 * at once. A share of the turns keeps the others going.
 */

/** One for background calls begins after so many for foreground calls, however many of these are made. */
const FOREGROUND_IN_A_ROW = 8;

export type Opening = 'foreground' | 'background';

export class Openings<Isolate> {
  readonly #backgroundMax: number;
  readonly #waiting = new Map<Isolate, (opening: Opening) => void>();
  readonly #made = { foreground: 0, background: 0 };
  /** Those for foreground calls that have begun while others waited. */
  #overtaken = 0;

  /** @param backgroundMax isolates that are made at once for background calls */
  constructor(backgroundMax: number) {
    this.#backgroundMax = backgroundMax;
  }

  /** Waits until the isolate may be made. @returns what it is made as, for `leave` */
  enter(isolate: Isolate, opening: Opening): Promise<Opening> {
    if (opening === 'foreground') return Promise.resolve(this.#beginForeground());
    return new Promise((resolve) => {
      this.#waiting.set(isolate, resolve);
      this.#grant();
    });
  }

  /** A foreground call needs the isolate: it waits no longer. */
  lift(isolate: Isolate): void {
    const begin = this.#waiting.get(isolate);
    if (begin === undefined) return;
    this.#waiting.delete(isolate);
    begin(this.#beginForeground());
  }

  /** The isolate is made, or could not be. */
  leave(opening: Opening): void {
    this.#made[opening] -= 1;
    this.#grant();
  }

  #beginForeground(): Opening {
    this.#made.foreground += 1;
    if (this.#waiting.size > 0) this.#overtaken += 1;
    this.#grant();
    return 'foreground';
  }

  #grant(): void {
    for (const [isolate, begin] of this.#waiting) {
      const mustWait = this.#made.foreground > 0 && this.#overtaken < FOREGROUND_IN_A_ROW;
      if (mustWait || this.#made.background >= this.#backgroundMax) return;
      this.#overtaken = 0;
      this.#made.background += 1;
      this.#waiting.delete(isolate);
      begin('background');
    }
  }
}
