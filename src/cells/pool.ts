/**
 * The cells: starts them, watches them from outside, ends them, and has a new one at once for each that dies.
 *
 * An unwell cell is replaced before it is ended, so that calls in it may finish. What a dead one had not begun goes to the
 * next, unseen. Who lives where is for `placement.ts`; of whom a cell has died, `suspicion.ts` finds out.
 */
import { AnnexError } from '../errors.ts';
import type { CellBuild } from '../launch/cell-build.ts';
import type { CellLauncher } from '../launch/cell-launch.ts';
import type { Limits } from '../limits.ts';
import { within } from '../model/within.ts';
import type { CellDeath, DeathReason } from './cell-death.ts';
import { type CellOwner, CellProcess, PING_EVERY_MS } from './cell-process.ts';
import type { InFlightTask } from './in-flight-task.ts';
import { OomKills } from './oom-kills.ts';
import { type Place, Placement } from './placement.ts';
import type { Origin } from './quarantine.ts';
import { type Probed, ScriptProbes } from './script-probes.ts';
import { Suspicion, type SuspicionChange } from './suspicion.ts';

const CHECK_EVERY_MS = 200;
const CHECKS_PER_PING = PING_EVERY_MS / CHECK_EVERY_MS;
/** Unwell cells that may go on with the calls in them, each no longer than a call may take; the oldest makes room. */
const DRAINING_MAX = 4;
/** Wait before the next start, once cells have died before they were ready; doubles up to the maximum. */
const RESTART_MS_MIN = 100;
const RESTART_MS_MAX = 5_000;
const MS_PER_S = 1_000;
/** How long processes that were sent SIGKILL are waited for. */
const STOP_MS = 2_000;

/** What the pool tells the operator. */
export interface PoolEvents {
  /** `how` is in words; `suspects` are installations that were executing. */
  cellDied(reason: DeathReason, how: string, lastWords: string, suspects: readonly string[]): void;
  cellUnwell(how: string): void;
  /** An installation is kept apart, or no longer. `script` is what it ran last. */
  contained(change: SuspicionChange, script: string): void;
  /** A call that had not begun goes on in another cell. */
  callMoved(): void;
}

export interface PoolParts {
  readonly build: CellBuild;
  readonly launcher: CellLauncher;
  readonly limits: Limits;
  readonly cells: number;
  readonly events: PoolEvents;
  script(key: string): Promise<Uint8Array | undefined>;
  /** Whether an installation burns CPU. */
  isHeavy(installationId: string): boolean;
}

export class Pool {
  readonly #parts: PoolParts;
  readonly #suspicion = new Suspicion();
  readonly #placement: Placement;
  readonly #tryOuts: ScriptProbes;
  readonly #oomKills = new OomKills();
  /** What those that are kept apart ran last. */
  readonly #scripts = new Map<string, string>();
  /** Every process that has not ended. */
  readonly #alive = new Set<CellProcess>();
  /** Of a stop: settles with the end of the last process. */
  readonly #allGone = Promise.withResolvers<void>();
  /** Of those, replaced ones that finish what they have. */
  readonly #draining = new Set<CellProcess>();
  /** Healthy ones whose place another one has now. */
  readonly #leaving = new Set<CellProcess>();
  readonly #interval: NodeJS.Timeout;
  #checks = 0;
  #checkedAt = performance.now();
  #stopping = false;

  constructor(parts: PoolParts) {
    this.#parts = parts;
    const { limits, cells, isHeavy } = parts;
    const { trialCells, quarantineCells } = limits;
    const suspicion = this.#suspicion;
    this.#placement = new Placement({ cells, trialCells, quarantineCells, suspicion, isHeavy });
    this.#tryOuts = new ScriptProbes({ limits, start: () => this.#startForTryOuts() });
    for (const place of this.#placement.shared) this.#start(place);
    this.#interval = setInterval(() => this.#check(), CHECK_EVERY_MS);
  }

  /** Settles when every shared cell can take calls; rejects with the last words of one that cannot. */
  async ready(): Promise<void> {
    await Promise.all(this.#placement.shared.map(({ cell }) => cell?.ready));
  }

  /** @returns why no call of an installation may begin now: 503 INSTALLATION_QUARANTINED; undefined where it may */
  refusal(installationId: string): AnnexError | undefined {
    if (this.#suspicion.idle) return undefined;
    const againMs = this.#suspicion.refuses(installationId, performance.now());
    return againMs === undefined ? undefined : quarantined(Math.ceil(againMs / MS_PER_S));
  }

  /** The cell an installation lives in. @param origin whose it is, where that is known */
  cellFor(installationId: string, origin?: Origin): CellProcess {
    const place = this.#placement.placeOf(installationId, origin);
    if (place.stale) this.#drain(place);
    const { cell } = place;
    if (cell !== undefined && (cell.takesTasks || performance.now() < place.restAt)) return cell;
    return this.#start(place);
  }

  /** Runs a script once, where no tenant lives. @throws AnnexError SERVICE_STOPPING */
  tryOut(source: string): Promise<Probed> {
    return this.#tryOuts.run(source);
  }

  /** The cells that take calls. */
  get cells(): readonly CellProcess[] {
    const { shared, apart } = this.#placement;
    return [...shared, ...apart].flatMap(({ cell }) => cell ?? []);
  }

  /** Every process, those for try-outs and those that finish what they have too. */
  get processes(): readonly CellProcess[] {
    return [...this.#alive];
  }

  get suspected(): number {
    return this.#suspicion.suspects;
  }

  get quarantined(): number {
    return this.#suspicion.quarantined;
  }

  /** Whether an installation runs alone because it crashes its cells. */
  isQuarantined(installationId: string): boolean {
    return this.#suspicion.isGuilty(installationId);
  }

  /** Ends every cell. Calls still in them are answered as crashed. Resolves once all processes are gone. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#tryOuts.stop();
    clearInterval(this.#interval);
    for (const cell of this.#alive) cell.kill('was stopped with the service', 'retired');
    if (this.#alive.size > 0) await within(STOP_MS, this.#allGone.promise);
  }

  #start(place: Place): CellProcess {
    const cell = this.#launch(place.kind === 'heavy', {
      unwell: (unwell, how, suspects) => this.#replaceUnwell(place, unwell, how, suspects),
      exited: (dead, how, death) => this.#exited(place, dead, how, death),
      requeue: (given) => this.#requeue(given),
      ...(place.kind === 'trial' && { ended: (owner) => this.#worked(owner) }),
    });
    place.cell = cell;
    place.idleSince = undefined;
    place.tasks = 0;
    return cell;
  }

  #startForTryOuts(): CellProcess {
    return this.#launch(false, {
      unwell: (cell, how) => cell.kill(how, 'stuck'),
      exited: (cell, how, death) => this.#died(cell, how, { ...death, suspects: [] }),
    });
  }

  #launch(yielding: boolean, owner: Omit<CellOwner, 'script' | 'outOfMemory'>): CellProcess {
    const { build, launcher, limits } = this.#parts;
    const whole: CellOwner = {
      ...owner,
      script: (key) => this.#parts.script(key),
      outOfMemory: () => this.#oomKills.happened(),
    };
    const cell = new CellProcess(build, launcher, limits, whole, yielding);
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
    for (const cell of this.#leaving)
      if (cell.inFlight === 0) cell.kill('was not needed any more', 'retired');
    for (const place of this.#placement.apart) this.#retireIdle(place, now);
    this.#tryOuts.pass(now);
    if (!pinging) return;
    this.#oomKills.note();
    for (const change of this.#suspicion.pass(now)) this.#tell(change);
  }

  /** Ends a cell that nobody has needed for a while, where one is started on demand. */
  #retireIdle(place: Place, now: number): void {
    const { cell } = place;
    if (cell === undefined) return;
    if (cell.inFlight > 0 || cell.tasks > place.tasks) {
      place.tasks = cell.tasks;
      place.idleSince = undefined;
    } else if (place.idleSince === undefined) {
      place.idleSince = now;
    } else if (now - place.idleSince > this.#parts.limits.spareCellIdleMs) {
      place.cell = undefined;
      this.#placement.vacate(place);
      cell.kill('was not needed any more', 'retired');
    }
  }

  /** The next call of a place gets a fresh cell; the last one finishes what it has. */
  #drain(place: Place): void {
    place.stale = false;
    const { cell } = place;
    place.cell = undefined;
    if (cell === undefined) return;
    this.#leaving.add(cell);
    setTimeout(() => cell.kill('was not needed any more', 'retired'), this.#parts.limits.callWallMs).unref();
  }

  #replaceUnwell(place: Place, cell: CellProcess, how: string, suspects: readonly string[]): void {
    if (this.#stopping || place.cell !== cell) return;
    this.#parts.events.cellUnwell(how);
    this.#blame(cell, suspects);
    const [oldest] = this.#draining;
    if (this.#draining.size >= DRAINING_MAX) oldest?.kill('made room for another unwell one', 'stuck');
    this.#draining.add(cell);
    // Meanwhile its lost thread burns a core: nobody in another cell is to feel it.
    cell.yieldCores();
    this.#renew(place);
    setTimeout(() => cell.kill(how, 'stuck'), this.#parts.limits.callWallMs).unref();
  }

  #exited(place: Place, cell: CellProcess, how: string, death: CellDeath): void {
    this.#draining.delete(cell);
    this.#leaving.delete(cell);
    this.#died(cell, how, death);
    if (this.#stopping) return;
    if (cell.worked) this.#blame(cell, death.suspects);
    // One that was killed from outside before it was ready says nothing of how the next will fare.
    if (place.cell === cell) this.#revive(place, cell, cell.worked || death.reason === 'killed');
  }

  #died(cell: CellProcess, how: string, { reason, suspects }: CellDeath): void {
    this.#alive.delete(cell);
    if (this.#stopping && this.#alive.size === 0) this.#allGone.resolve();
    if (this.#stopping || reason === undefined) return;
    this.#parts.events.cellDied(reason, how, cell.lastWords, suspects);
  }

  #blame(cell: CellProcess, suspects: readonly string[]): void {
    if (suspects.length === 0) return;
    const changes = this.#suspicion.died(suspects, performance.now());
    this.#placement.spread(suspects);
    for (const change of changes) {
      const { installationId } = change;
      const script = cell.scriptOf(installationId);
      if (script !== undefined) this.#scripts.set(installationId, script);
      this.#tell(change);
    }
  }

  #worked(installationId: string): void {
    const change = this.#suspicion.worked(installationId, performance.now());
    if (change) this.#tell(change);
  }

  #tell(change: SuspicionChange): void {
    const { installationId, now } = change;
    const script = this.#scripts.get(installationId);
    if (script !== undefined) this.#parts.events.contained(change, script);
    if (now === 'cleared' || now === 'released') this.#scripts.delete(installationId);
  }

  /** A cell that had worked is replaced at once; one that never came up, after a growing pause. */
  #revive(place: Place, dead: CellProcess, atOnce: boolean): void {
    place.stillborn = atOnce ? 0 : place.stillborn + 1;
    if (atOnce) return this.#renew(place);
    const restMs = Math.min(RESTART_MS_MIN * 2 ** (place.stillborn - 1), RESTART_MS_MAX);
    place.restAt = performance.now() + restMs;
    setTimeout(() => place.cell === dead && this.#renew(place), restMs).unref();
    return undefined;
  }

  /** The next cell of a place: at once where installations share it, when somebody comes where one is started on demand. */
  #renew(place: Place): void {
    place.cell = undefined;
    if (place.kind === 'shared' && !this.#stopping) this.#start(place);
  }

  #requeue(given: InFlightTask): boolean {
    if (this.#stopping) return false;
    const refusal = this.refusal(given.task.owner);
    if (refusal !== undefined) {
      given.task.refuse?.(refusal);
      return given.task.refuse !== undefined;
    }
    const cell = this.cellFor(given.task.owner);
    if (!cell.takesTasks) return false;
    this.#parts.events.callMoved();
    cell.resubmit(given);
    return true;
  }
}

const quarantined = (retryAfterS: number): AnnexError =>
  new AnnexError(
    'INSTALLATION_QUARANTINED',
    'The integration keeps crashing the process it runs in, and is left alone for a while; its log says why.',
    { retryAfterS, extra: { outcome: 'loadShed' } },
  );
