/**
 * Watches the resident memory of one cell from outside; figures that the cell reports about itself
 * do not count here.
 */
import type { LaunchedCell } from '../launch/cell-launch.ts';

const MIB = 1024 * 1024;
/** Share of its bound from which on a cell is asked to end what has grown most. */
const RELIEF_FROM = 0.75;
/**
 * Share of its bound from which on the kernel's peak is reset, so that the cell can find out what
 * has grown.
 */
const PEAK_FROM = 0.125;
/** Share of its bound that a cell can grow by between two checks only because of what executes. */
const LEAP = 0.25;

export class CellMemory {
  readonly #process: Pick<LaunchedCell, 'residentBytes' | 'forgetPeak'>;
  readonly #bytesMax: number;
  rssBytes = 0;
  /** Between the last two checks it grew by more than the cell's own account can explain. */
  leapt = false;

  constructor(process: Pick<LaunchedCell, 'residentBytes' | 'forgetPeak'>, cellRssMib: number) {
    this.#process = process;
    this.#bytesMax = cellRssMib * MIB;
  }

  /** Reads how much there is now. */
  check(): void {
    const rssBytes = this.#process.residentBytes();
    this.leapt = rssBytes - this.rssBytes > this.#bytesMax * LEAP;
    this.rssBytes = rssBytes;
    if (rssBytes > this.#bytesMax * PEAK_FROM) this.#process.forgetPeak();
  }

  get overBound(): boolean {
    return this.rssBytes > this.#bytesMax;
  }

  get needsRelief(): boolean {
    return this.rssBytes > this.#bytesMax * RELIEF_FROM;
  }

  /** Over half of the bound: large enough to be what the kernel ended when memory ran out. */
  get large(): boolean {
    return this.rssBytes > this.#bytesMax / 2;
  }

  /** For the operator. */
  get words(): string {
    return `grew to ${Math.round(this.rssBytes / MIB)} MiB, over its ${this.#bytesMax / MIB} MiB`;
  }
}
