/**
 * Runs scripts once before they are published, in a cell where no tenant lives: it is started for the first, shared by those
 * that come meanwhile, and ended when there has been none for a while.
 *
 * Attack: publishes that crash their cell, so that everybody else's are told that their code crashes. A script whose cell
 * dies is therefore tried out again, alone in a cell: what crashes then is its own doing.
 */
import { AnnexError } from '../errors.ts';
import type { Limits } from '../limits.ts';
import { type CallEnd, PROBED_SCRIPT, probe, type ScriptExports } from '../protocol/wire.ts';
import type { CellProcess } from './cell-process.ts';

/** What was found out (REFERENCE D10). */
export interface Probed {
  readonly end: CallEnd;
  readonly exports?: ScriptExports;
}

export interface ScriptProbesParts {
  readonly limits: Pick<Limits, 'callCpuMs' | 'callWallMs' | 'probeWallMs' | 'spareCellIdleMs'>;
  start(): CellProcess;
}

export class ScriptProbes {
  readonly #parts: ScriptProbesParts;
  #shared: CellProcess | undefined;
  #usedAt = 0;
  #nextId = 1;
  /** The last one that has a cell to itself. */
  #alone: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(parts: ScriptProbesParts) {
    this.#parts = parts;
  }

  /** @throws AnnexError SERVICE_STOPPING: that its cell was ended then says nothing of the script */
  async run(source: string): Promise<Probed> {
    this.#check();
    this.#usedAt = performance.now();
    this.#shared = this.#shared?.takesTasks ? this.#shared : this.#parts.start();
    const first = await this.#attempt(source, this.#shared);
    this.#usedAt = performance.now();
    this.#check();
    if (first.end.outcome !== 'cellCrashed') return first;
    const again = this.#alone.then(() => this.#runAlone(source));
    this.#alone = again.catch(() => undefined);
    return again;
  }

  /** To be called regularly. */
  pass(now: number): void {
    const idle = this.#shared?.inFlight === 0 && now - this.#usedAt > this.#parts.limits.spareCellIdleMs;
    if (!idle) return;
    this.#shared?.kill('was not needed any more', 'retired');
    this.#shared = undefined;
  }

  /** Nothing is tried out any more. */
  stop(): void {
    this.#stopped = true;
  }

  async #runAlone(source: string): Promise<Probed> {
    this.#check();
    const cell = this.#parts.start();
    const result = await this.#attempt(source, cell);
    cell.kill('was not needed any more', 'retired');
    this.#check();
    return result;
  }

  #attempt(source: string, cell: CellProcess): Promise<Probed> {
    const { callCpuMs, callWallMs, probeWallMs } = this.#parts.limits;
    // What takes longer to load than a call may take could never be called.
    const wallMs = Math.min(callWallMs, probeWallMs);
    const id = this.#nextId++;
    return new Promise((resolve) => {
      cell.give(
        { t: 'probe', id, cpuMs: callCpuMs, wallMs },
        {
          owner: probe(id),
          script: PROBED_SCRIPT,
          wallMs,
          log: () => undefined,
          end: (end, exports) => resolve({ end, ...(exports && { exports }) }),
        },
        Buffer.from(source),
      );
    });
  }

  #check(): void {
    if (!this.#stopped) return;
    throw new AnnexError('SERVICE_STOPPING', 'The service is shutting down; publish again once it is back.');
  }
}
