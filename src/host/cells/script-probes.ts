/**
 * Probes scripts: loads each once before it is published, in a cell without tenants. The cell is
 * started when the first probe is expected, shared by probes at the same time, and ended when there
 * was none for a while (docs/decisions/publish-probe.md).
 *
 * Attack: an upload crashes the cell, so that uploads of other authors are refused as crashing. A
 * script whose cell dies is therefore probed again, alone in a cell: a crash there is its own,
 * unless the cell got no core or was killed from outside.
 */
import { AnnexError } from '../../errors.ts';
import type { Limits } from '../../limits.ts';
import { hostBusy } from '../../model/problem.ts';
import { type CallEnd, PROBED_SCRIPT, probe, type ScriptExports } from '../../protocol/wire.ts';
import type { DeathReason } from './cell-death.ts';
import type { CellProcess } from './cell-process.ts';

/** Deaths of a cell that hangs: its own doing where it used CPU, else it had no core. */
const HANGS: ReadonlySet<DeathReason> = new Set(['silent', 'overdue']);

/** What a probe has found (docs/contract/api.md#publishing). */
export interface Probed {
  readonly end: CallEnd;
  /** Absent where the script did not load. */
  readonly exports?: ScriptExports;
}

export interface ScriptProbesDeps {
  readonly limits: Pick<Limits, 'callCpuMs' | 'callWallMs' | 'probeWallMs' | 'spareCellIdleMs'>;
  start(): CellProcess;
}

export class ScriptProbes {
  readonly #deps: ScriptProbesDeps;
  #shared: CellProcess | undefined;
  #usedAt = 0;
  #nextId = 1;
  /** The last probe with a cell of its own: these run one after the other. */
  #alone: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(deps: ScriptProbesDeps) {
    this.#deps = deps;
  }

  /**
   * Probes one script. @throws AnnexError SERVICE_STOPPING: its cell is ended then, whatever the
   * script does; PUBLISH_BUSY: other work of the machine is the reason that it did not load
   */
  async run(source: string): Promise<Probed> {
    this.#check();
    const first = await this.#attempt(source, this.#started());
    this.#usedAt = performance.now();
    this.#check();
    if (first.end.outcome !== 'cellCrashed') return first;
    const repeated = this.#alone.then(() => this.#runAlone(source));
    this.#alone = repeated.catch(() => undefined);
    return repeated;
  }

  /** A probe comes soon: its cell starts now. */
  expect(): void {
    if (!this.#stopped) this.#started();
  }

  /** Ends the shared cell where it is idle. To be called regularly. */
  pass(now: number): void {
    const idle = this.#shared?.inFlight === 0 && now - this.#usedAt > this.#deps.limits.spareCellIdleMs;
    if (!idle) return;
    this.#shared?.kill('was not needed any more', 'retired');
    this.#shared = undefined;
  }

  /** Refuses further probes. */
  stop(): void {
    this.#stopped = true;
  }

  /** The cell that probes share, from now on in use. */
  #started(): CellProcess {
    this.#usedAt = performance.now();
    this.#shared = this.#shared?.takesTasks ? this.#shared : this.#deps.start();
    return this.#shared;
  }

  async #runAlone(source: string): Promise<Probed> {
    this.#check();
    const cell = this.#deps.start();
    const result = await this.#attempt(source, cell);
    cell.kill('was not needed any more', 'retired');
    this.#check();
    if (result.end.outcome === 'cellCrashed' && !this.#isOwnCrash(cell))
      throw hostBusy('The process that loads the script got no time to do so, or was killed');
    return result;
  }

  /** Whether a cell that has died was ended by the only script in it. */
  #isOwnCrash({ worked, death, cpuMs }: CellProcess): boolean {
    const reason = death?.reason;
    if (!worked || reason === undefined || reason === 'killed') return false;
    return !HANGS.has(reason) || cpuMs === undefined || cpuMs >= this.#deps.limits.callCpuMs;
  }

  async #attempt(source: string, cell: CellProcess): Promise<Probed> {
    // The time of the probe does not begin before its cell is there.
    await cell.ready.catch(() => undefined);
    return this.#probe(source, cell);
  }

  #probe(source: string, cell: CellProcess): Promise<Probed> {
    const { callCpuMs, callWallMs, probeWallMs } = this.#deps.limits;
    // A script that takes longer to load than a call may take could never be called.
    const wallMs = Math.min(callWallMs, probeWallMs);
    const id = this.#nextId++;
    return new Promise((resolve) => {
      cell.submit(
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
