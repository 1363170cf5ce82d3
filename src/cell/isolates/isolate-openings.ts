/**
 * Decides which isolates are made now. They are made on threads of isolated-vm beside the slots, so
 * slots do not bound them.
 *
 * Attack: deliveries of a hundred organizations pile up, and a hundred isolates are made at once;
 * an isolate that a foreground call needs then has a hundredth of a core. So isolates for
 * background calls are made a few at a time, in the order of the requests, and none begins while
 * one for a foreground call is made. Those for foreground calls are made at once. After a number of
 * foreground openings a background one begins all the same, so that none waits for ever.
 */

/**
 * An isolate for background calls begins after so many for foreground calls, however many of these
 * are being made.
 */
const FOREGROUND_IN_A_ROW = 8;

export type Opening = 'foreground' | 'background';

export class IsolateOpenings<Isolate> {
  readonly #backgroundMax: number;
  readonly #waiting = new Map<Isolate, (opening: Opening) => void>();
  readonly #made = { foreground: 0, background: 0 };
  /** Foreground openings since the last background one, counted while background ones wait. */
  #overtaken = 0;

  /** @param backgroundMax isolates for background calls that are made at once */
  constructor(backgroundMax: number) {
    this.#backgroundMax = backgroundMax;
  }

  /** Waits until the isolate may be made. @returns its kind, for `leave` */
  enter(isolate: Isolate, opening: Opening): Promise<Opening> {
    if (opening === 'foreground') return Promise.resolve(this.#beginForeground());
    return new Promise((resolve) => {
      this.#waiting.set(isolate, resolve);
      this.#grant();
    });
  }

  /** A foreground call needs the isolate: its making waits no longer. */
  promote(isolate: Isolate): void {
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
