/**
 * Turns changes of files into rounds of work: a round begins when the files have been quiet for a
 * moment, at most one runs at a time, and a change during a round causes another one. So a round
 * always processes the state after the last of many quick saves.
 */

/** An editor writes a file in several steps, and a tool many files. */
const QUIET_MS = 25;
/**
 * Files that never become quiet do not keep a round from beginning. A file that is empty may be
 * about to be written: a tool makes it empty first, and its text comes later.
 */
const QUIET_MS_MAX = 300;

export interface ChangeRoundsParts {
  /** The work. @param since ticks of the first change that it is for */
  readonly round: (since: number) => Promise<void>;
  /** Monotonic milliseconds. */
  readonly ticks: () => number;
  /** Runs something later. @returns cancels it */
  readonly after: (ms: number, run: () => void) => () => void;
}

export class ChangeRounds {
  readonly #parts: ChangeRoundsParts;
  /** Time of the first change that no round has seen. */
  #since: number | undefined;
  #cancelStart: () => void = () => undefined;
  #running: Promise<void> | undefined;
  #isClosed = false;

  constructor(parts: ChangeRoundsParts) {
    this.#parts = parts;
  }

  /** @param isEmpty whether the file that has changed is empty */
  changed(isEmpty = false): void {
    if (this.#isClosed) return;
    const now = this.#parts.ticks();
    this.#since ??= now;
    if (this.#running !== undefined) return;
    this.#cancelStart();
    const left = this.#since + QUIET_MS_MAX - now;
    const quietMs = isEmpty ? QUIET_MS_MAX : QUIET_MS;
    this.#cancelStart = this.#parts.after(Math.max(0, Math.min(quietMs, left)), () => this.#start());
  }

  /** Waits for a round that runs; none begins from now on. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelStart();
    await this.#running;
  }

  #start(): void {
    const since = this.#since ?? this.#parts.ticks();
    this.#since = undefined;
    this.#running = this.#parts.round(since).finally(() => {
      this.#running = undefined;
      if (this.#since !== undefined) this.changed();
    });
  }
}
