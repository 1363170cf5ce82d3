/**
 * The pool of cells: starts them, checks them from outside, ends them, and replaces each that dies.
 *
 * An unwell cell is replaced before it is ended, so that its calls may finish. Calls of a dead cell
 * that had not begun move to the next one. `placement.ts` decides which cell an installation runs
 * in; `suspicion.ts` finds those that crash cells.
 */
import { readFileSync } from 'node:fs';
import { AnnexError } from '../../errors.ts';
import type { Limits } from '../../limits.ts';
import { within } from '../../model/bounded-wait.ts';
import type { CellBuild } from '../launch/cell-build.ts';
import type { CellLauncher } from '../launch/cell-launch.ts';
import type { CellDeath, DeathReason } from './cell-death.ts';
import { PING_EVERY_MS } from './cell-heartbeat.ts';
import type { CellPlace } from './cell-place.ts';
import { type CellOwner, CellProcess, type InspectCell } from './cell-process.ts';
import type { InFlightTask } from './in-flight-task.ts';
import { Placement } from './placement.ts';
import type { Origin } from './quarantine.ts';
import { type Probed, ScriptProbes } from './script-probes.ts';
import { Suspicion, type SuspicionChange } from './suspicion.ts';

const CHECK_EVERY_MS = 200;
const CHECKS_PER_PING = PING_EVERY_MS / CHECK_EVERY_MS;
/**
 * Unwell cells that may finish their calls, each no longer than a call may take; beyond, the oldest
 * is ended.
 */
const DRAINING_MAX = 4;
/** Back-off after a cell that died before it was ready; doubles up to the maximum. */
const RESTART_MS_MIN = 100;
const RESTART_MS_MAX = 5_000;
const MS_PER_S = 1_000;
/** How long a stop waits for processes that were sent SIGKILL. */
const STOP_MS = 2_000;

/** What the pool reports to the operator. */
export interface PoolEvents {
  /**
   * `how` is in words; `lastWords` is the end of stderr; `suspects` are installations that were
   * executing.
   */
  cellDied(reason: DeathReason, how: string, lastWords: string, suspects: readonly string[]): void;
  cellUnwell(how: string): void;
  /**
   * An installation is kept apart, or no longer. `script` is the key of the last one that it ran.
   */
  contained(change: SuspicionChange, script: string): void;
  /** A call that had not begun has moved to another cell. */
  callMoved(): void;
}

export interface PoolDeps {
  readonly build: CellBuild;
  readonly launcher: CellLauncher;
  readonly limits: Limits;
  readonly cells: number;
  readonly events: PoolEvents;
  /** Debuggers may stop in the isolates of all cells. Absent in production. */
  readonly inspect?: InspectCell;
  script(key: string): Promise<Uint8Array | undefined>;
  /** Whether an installation is heavy on CPU. */
  isHeavy(tenant: string): boolean;
}

export class Pool {
  readonly #deps: PoolDeps;
  readonly #suspicion = new Suspicion();
  readonly #placement: Placement;
  readonly #probes: ScriptProbes;
  readonly #oomKills = new OomKills();
  /** The last script of each installation that is kept apart. */
  readonly #scripts = new Map<string, string>();
  /** Every process that has not ended. */
  readonly #alive = new Set<CellProcess>();
  /** Settles, during a stop, with the end of the last process. */
  readonly #allEnded = Promise.withResolvers<void>();
  /** Unwell cells that were replaced and finish their calls. */
  readonly #draining = new Set<CellProcess>();
  /** Healthy cells that were replaced and finish their calls. */
  readonly #retiring = new Set<CellProcess>();
  readonly #interval: NodeJS.Timeout;
  #checks = 0;
  #checkedAt = performance.now();
  #stopping = false;

  constructor(deps: PoolDeps) {
    this.#deps = deps;
    const { limits, cells, isHeavy } = deps;
    const { trialCells, quarantineCells } = limits;
    const suspicion = this.#suspicion;
    this.#placement = new Placement({ cells, trialCells, quarantineCells, suspicion, isHeavy });
    this.#probes = new ScriptProbes({ limits, start: () => this.#startForProbes() });
    for (const place of this.#placement.shared) this.#start(place);
    this.#interval = setInterval(() => this.#check(), CHECK_EVERY_MS);
  }

  /**
   * Settles when every shared cell can take calls; rejects with the stderr of one that died before.
   */
  async ready(): Promise<void> {
    await Promise.all(this.#placement.shared.map(({ cell }) => cell?.ready));
  }

  /**
   * @returns why no call of an installation may begin now: 503 INSTALLATION_QUARANTINED; undefined
   * where it may
   */
  refusal(tenant: string): AnnexError | undefined {
    if (this.#suspicion.idle) return undefined;
    const retryMs = this.#suspicion.refuses(tenant, performance.now());
    return retryMs === undefined ? undefined : quarantined(Math.ceil(retryMs / MS_PER_S));
  }

  /**
   * The cell that an installation runs in, started where it has none.
   *
   * @param origin organization and integration of the installation, where they are known
   */
  cellFor(tenant: string, origin?: Origin): CellProcess {
    const place = this.#placement.placeOf(tenant, origin);
    if (place.stale) this.#drain(place);
    const { cell } = place;
    if (cell !== undefined && (cell.takesTasks || performance.now() < place.retryAt)) return cell;
    return this.#start(place);
  }

  /** Loads a script once, in a cell without tenants. @throws AnnexError SERVICE_STOPPING */
  probe(source: string): Promise<Probed> {
    return this.#probes.run(source);
  }

  /** A probe comes soon: its cell starts now. */
  expectProbe(): void {
    this.#probes.expect();
  }

  /** The cells that take calls. */
  get cells(): readonly CellProcess[] {
    const { shared, apart } = this.#placement;
    return [...shared, ...apart].flatMap(({ cell }) => cell ?? []);
  }

  /**
   * Every process, including those of probes and those that were replaced and finish their calls.
   */
  get processes(): readonly CellProcess[] {
    return [...this.#alive];
  }

  get suspected(): number {
    return this.#suspicion.suspects;
  }

  get quarantined(): number {
    return this.#suspicion.quarantined;
  }

  /** Whether an installation is in quarantine because it crashes its cells. */
  isQuarantined(tenant: string): boolean {
    return this.#suspicion.isGuilty(tenant);
  }

  /**
   * Ends every cell. Calls still in them end with `cellCrashed`. Resolves when all processes have
   * ended.
   */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#probes.stop();
    clearInterval(this.#interval);
    for (const cell of this.#alive) cell.kill('was stopped with the service', 'retired');
    if (this.#alive.size > 0) await within(STOP_MS, this.#allEnded.promise);
  }

  #start(place: CellPlace): CellProcess {
    const { inspect } = this.#deps;
    const cell = this.#launch({
      yielding: place.kind === 'heavy',
      ...(inspect && { inspect }),
      unwell: (unwell, how, suspects) => this.#replaceUnwell(place, unwell, how, suspects),
      exited: (dead, how, death) => this.#exited(place, dead, how, death),
      requeue: (inFlight) => this.#requeue(inFlight),
      ...(place.kind === 'trial' && { ended: (owner) => this.#worked(owner) }),
    });
    place.cell = cell;
    place.idleSince = undefined;
    place.tasks = 0;
    return cell;
  }

  #startForProbes(): CellProcess {
    return this.#launch({
      unwell: (cell, how) => cell.kill(how, 'stuck'),
      exited: (cell, how, death) => this.#died(cell, how, { ...death, suspects: [] }),
    });
  }

  #launch(owner: Omit<CellOwner, 'script' | 'outOfMemory'>): CellProcess {
    const { build, launcher, limits } = this.#deps;
    const whole: CellOwner = {
      ...owner,
      script: (key) => this.#deps.script(key),
      outOfMemory: () => this.#oomKills.happened(),
    };
    const cell = new CellProcess(build, launcher, limits, whole);
    this.#alive.add(cell);
    return cell;
  }

  #check(): void {
    const now = performance.now();
    const stalled = now - this.#checkedAt > 2 * CHECK_EVERY_MS;
    this.#checkedAt = now;
    this.#checks += 1;
    const pinging = this.#checks % CHECKS_PER_PING === 0;
    for (const cell of this.#alive) {
      cell.check(now, stalled);
      if (pinging) cell.ping();
    }
    for (const cell of this.#draining) if (cell.inFlight === 0) cell.kill('had finished its calls', 'stuck');
    for (const cell of this.#retiring)
      if (cell.inFlight === 0) cell.kill('was not needed any more', 'retired');
    for (const place of this.#placement.apart) this.#retireIdle(place, now);
    this.#probes.pass(now);
    if (!pinging) return;
    this.#oomKills.note();
    for (const change of this.#suspicion.pass(now)) this.#report(change);
  }

  /** Ends a cell that is started on demand and was not needed for a while. */
  #retireIdle(place: CellPlace, now: number): void {
    const { cell } = place;
    if (cell === undefined) return;
    if (cell.inFlight > 0 || cell.tasks > place.tasks) {
      place.tasks = cell.tasks;
      place.idleSince = undefined;
    } else if (place.idleSince === undefined) {
      place.idleSince = now;
    } else if (now - place.idleSince > this.#deps.limits.spareCellIdleMs) {
      place.cell = undefined;
      this.#placement.vacate(place);
      cell.kill('was not needed any more', 'retired');
    }
  }

  /** Lets the next call of a place start a fresh cell; the last one finishes its calls. */
  #drain(place: CellPlace): void {
    place.stale = false;
    const { cell } = place;
    place.cell = undefined;
    if (cell === undefined) return;
    this.#retiring.add(cell);
    setTimeout(() => cell.kill('was not needed any more', 'retired'), this.#deps.limits.callWallMs).unref();
  }

  #replaceUnwell(place: CellPlace, cell: CellProcess, how: string, suspects: readonly string[]): void {
    if (this.#stopping || place.cell !== cell) return;
    this.#deps.events.cellUnwell(how);
    this.#blame(cell, suspects);
    const [oldest] = this.#draining;
    if (this.#draining.size >= DRAINING_MAX) oldest?.kill('made room for another stuck cell', 'stuck');
    this.#draining.add(cell);
    // Its lost thread burns a core until the cell ends; other cells are to have the CPU first.
    cell.yieldCores();
    this.#renew(place);
    setTimeout(() => cell.kill(how, 'stuck'), this.#deps.limits.callWallMs).unref();
  }

  #exited(place: CellPlace, cell: CellProcess, how: string, death: CellDeath): void {
    this.#draining.delete(cell);
    this.#retiring.delete(cell);
    this.#died(cell, how, death);
    if (this.#stopping) return;
    if (cell.worked) this.#blame(cell, death.suspects);
    // Where it was killed from outside before it was ready, the next start is not to back off.
    if (place.cell === cell) this.#revive(place, cell, cell.worked || death.reason === 'killed');
  }

  #died(cell: CellProcess, how: string, { reason, suspects }: CellDeath): void {
    this.#alive.delete(cell);
    if (this.#stopping && this.#alive.size === 0) this.#allEnded.resolve();
    if (this.#stopping || reason === undefined) return;
    this.#deps.events.cellDied(reason, how, cell.lastWords, suspects);
  }

  #blame(cell: CellProcess, suspects: readonly string[]): void {
    if (suspects.length === 0) return;
    const changes = this.#suspicion.died(suspects, performance.now());
    this.#placement.spread(suspects);
    for (const change of changes) {
      const { tenant } = change;
      const script = cell.scriptOf(tenant);
      if (script !== undefined) this.#scripts.set(tenant, script);
      this.#report(change);
    }
  }

  #worked(tenant: string): void {
    const change = this.#suspicion.worked(tenant, performance.now());
    if (change) this.#report(change);
  }

  #report(change: SuspicionChange): void {
    const { tenant, now } = change;
    const script = this.#scripts.get(tenant);
    if (script !== undefined) this.#deps.events.contained(change, script);
    if (now === 'cleared' || now === 'released') this.#scripts.delete(tenant);
  }

  /**
   * Replaces a dead cell: at once where it had been ready, otherwise after a back-off that doubles.
   */
  #revive(place: CellPlace, dead: CellProcess, atOnce: boolean): void {
    place.failedStarts = atOnce ? 0 : place.failedStarts + 1;
    if (atOnce) return this.#renew(place);
    const backOffMs = Math.min(RESTART_MS_MIN * 2 ** (place.failedStarts - 1), RESTART_MS_MAX);
    place.retryAt = performance.now() + backOffMs;
    setTimeout(() => place.cell === dead && this.#renew(place), backOffMs).unref();
    return undefined;
  }

  /** Starts the next cell of a shared place; any other is started with its next call. */
  #renew(place: CellPlace): void {
    place.cell = undefined;
    if (place.kind === 'shared' && !this.#stopping) this.#start(place);
  }

  #requeue(inFlight: InFlightTask): boolean {
    if (this.#stopping) return false;
    const { task } = inFlight;
    const refusal = this.refusal(task.owner);
    if (refusal !== undefined) {
      task.refuse?.(refusal);
      return task.refuse !== undefined;
    }
    const cell = this.cellFor(task.owner);
    if (!cell.takesTasks) return false;
    this.#deps.events.callMoved();
    cell.resubmit(inFlight);
    return true;
  }
}

const quarantined = (retryAfterS: number): AnnexError =>
  new AnnexError(
    'INSTALLATION_QUARANTINED',
    'The integration keeps crashing the process it runs in. Its calls are refused for a while; its log says why.',
    { retryAfterS, extra: { outcome: 'loadShed' } },
  );

/**
 * Linux counts its kills here, those in other containers too: these can add a suspect and never
 * hide one.
 */
const COUNTERS = '/proc/vmstat';

/**
 * Distinguishes a SIGKILL by the kernel, for lack of memory, from one by the operator. A tenant may
 * have caused the first, never the second. A cell does not kill itself, unless it was taken over.
 */
export class OomKills {
  readonly #read: () => string;
  #noted: number | undefined;

  /** @param read the kernel's counters; throws where the system has none */
  constructor(read = () => readFileSync(COUNTERS, 'latin1')) {
    this.#read = read;
    this.note();
  }

  /** To be called regularly: `happened` is about the time since the last call. */
  note(): void {
    this.#noted = this.#count();
  }

  /** Whether there was a kill since the last `note`; undefined where the system has no counter. */
  happened(): boolean | undefined {
    const count = this.#count();
    return count === undefined || this.#noted === undefined ? undefined : count > this.#noted;
  }

  #count(): number | undefined {
    try {
      const count = /^oom_kill (\d+)$/m.exec(this.#read())?.[1];
      return count === undefined ? undefined : Number(count);
    } catch {
      return undefined;
    }
  }
}
