/**
 * The cells: how many, which one an installation lives in, and a new one at once for each that dies.
 *
 * Placement is a stable function of the installation, so its isolate stays warm; a place outlives the process in it. The
 * pool watches its cells from outside and replaces an unwell one before it ends it, so that calls in it may finish.
 */
import type { Limits } from '../limits.ts';
import type { CellBuild } from './cell-build.ts';
import { CellLauncher } from './cell-launch.ts';
import { CellProcess, PING_EVERY_MS } from './cell-process.ts';

const CHECK_EVERY_MS = 200;
const CHECKS_PER_PING = PING_EVERY_MS / CHECK_EVERY_MS;
/** How long an unwell cell may go on with the calls in it. */
const DRAIN_MS = 5_000;
/** Wait before the next start, once cells have died before they were ready; doubles up to the maximum. */
const RESTART_MS_MIN = 100;
const RESTART_MS_MAX = 5_000;

/** What the pool tells the operator. */
export interface PoolEvents {
  cellExited(reason: string, lastWords: string): void;
  cellUnwell(reason: string): void;
}

export interface PoolParts {
  readonly build: CellBuild;
  readonly limits: Limits;
  readonly cells: number;
  readonly events: PoolEvents;
  script(key: string): Promise<Uint8Array | undefined>;
}

/** One place for a cell. */
interface Place {
  cell: CellProcess;
  /** Cells in a row that died before they were ready. */
  stillborn: number;
}

export class Pool {
  readonly #parts: PoolParts;
  readonly #launcher: CellLauncher;
  readonly #places: Place[];
  /** Replaced cells that finish what they have. */
  readonly #draining = new Set<CellProcess>();
  readonly #interval: NodeJS.Timeout;
  #checks = 0;
  #checkedAt = performance.now();
  #stopping = false;

  constructor(parts: PoolParts) {
    this.#parts = parts;
    this.#launcher = new CellLauncher(parts.build);
    this.#places = Array.from({ length: parts.cells }, () => ({ cell: this.#start(), stillborn: 0 }));
    this.#interval = setInterval(() => this.#check(), CHECK_EVERY_MS);
  }

  /** Settles when every cell can take calls; rejects with the last words of one that cannot. */
  async ready(): Promise<void> {
    await Promise.all(this.#places.map(({ cell }) => cell.ready));
  }

  /** The cell an installation lives in. */
  cellFor(installationId: string): CellProcess {
    const place = this.#places[placeOf(installationId, this.#places.length)];
    if (place === undefined) throw new Error('A pool has at least one cell.');
    return place.cell;
  }

  /** The cells that take calls. */
  get cells(): readonly CellProcess[] {
    return this.#places.map(({ cell }) => cell);
  }

  /** Ends every cell. Calls still in them are answered as crashed. */
  stop(): void {
    this.#stopping = true;
    clearInterval(this.#interval);
    for (const cell of [...this.cells, ...this.#draining]) cell.kill('was stopped with the service');
  }

  #start(): CellProcess {
    return new CellProcess(this.#parts.build, this.#launcher, this.#parts.limits, {
      script: (key) => this.#parts.script(key),
      unwell: (cell, reason) => this.#replaceUnwell(cell, reason),
      exited: (cell, reason) => this.#exited(cell, reason),
    });
  }

  #check(): void {
    const now = performance.now();
    const stalled = now - this.#checkedAt > 2 * CHECK_EVERY_MS;
    this.#checkedAt = now;
    this.#checks += 1;
    for (const cell of [...this.cells, ...this.#draining]) {
      cell.check(now, stalled);
      if (this.#checks % CHECKS_PER_PING === 0) cell.ping();
    }
    for (const cell of this.#draining) if (cell.inFlight === 0) cell.kill('had finished its calls');
  }

  #replaceUnwell(cell: CellProcess, reason: string): void {
    const place = this.#placeOf(cell);
    if (place === undefined || this.#stopping) return;
    this.#parts.events.cellUnwell(reason);
    this.#draining.add(cell);
    place.cell = this.#start();
    setTimeout(() => cell.kill(reason), DRAIN_MS).unref();
  }

  #exited(cell: CellProcess, reason: string): void {
    if (this.#draining.delete(cell) || this.#stopping) return;
    const place = this.#placeOf(cell);
    if (place === undefined) return;
    this.#parts.events.cellExited(reason, cell.lastWords);
    this.#revive(place, cell);
  }

  /** A cell that had worked is replaced at once; one that never came up, after a growing pause. */
  #revive(place: Place, dead: CellProcess): void {
    place.stillborn = dead.worked ? 0 : place.stillborn + 1;
    const replace = () => {
      if (!this.#stopping && place.cell === dead) place.cell = this.#start();
    };
    if (dead.worked) replace();
    else setTimeout(replace, Math.min(RESTART_MS_MIN * 2 ** (place.stillborn - 1), RESTART_MS_MAX)).unref();
  }

  #placeOf(cell: CellProcess): Place | undefined {
    return this.#places.find((place) => place.cell === cell);
  }
}

/** FNV-1a: ids are random already, so a cheap hash spreads them as well as a strong one. */
function placeOf(installationId: string, places: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < installationId.length; i++) {
    hash = Math.imul(hash ^ installationId.charCodeAt(i), 0x01000193);
  }
  return (hash >>> 0) % places;
}
