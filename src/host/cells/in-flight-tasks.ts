/**
 * The tasks of one cell: hands each message of the cell to the task that it is about, and checks
 * it.
 *
 * Whatever a cell sends is hostile input. A message about a task that the cell does not have, or
 * one that breaks a rule of its task, is a breach. What a call is about is unknown here.
 */
import { availableParallelism } from 'node:os';
import type { Limits } from '../../limits.ts';
import type { CallEnd, CellMessage, ScriptExports } from '../../protocol/wire.ts';
import type { InFlightTask } from './in-flight-task.ts';

/** How far past its wall time a call of an honest cell may be. */
const OVERDUE_MS = 1_000;

/** A message about one task. */
export type TaskMessage = Extract<CellMessage, { id: number }>;

export class InFlightTasks {
  readonly #tasks = new Map<number, InFlightTask>();
  /**
   * Owners that have had tasks in the cell, each with the script of its last one: only these can be
   * blamed for its end.
   */
  readonly #scripts = new Map<string, string>();
  readonly #cpuClaims = new CpuClaims(availableParallelism(), performance.now());
  readonly #limits: Limits;
  readonly #ended: (owner: string) => void;
  /** Tasks that the cell was given since its start. */
  total = 0;

  /** @param ended a task of this owner has ended while the cell lives */
  constructor(limits: Limits, ended: (owner: string) => void) {
    this.#limits = limits;
    this.#ended = ended;
  }

  get size(): number {
    return this.#tasks.size;
  }

  get(id: number): InFlightTask | undefined {
    return this.#tasks.get(id);
  }

  add(id: number, inFlight: InFlightTask): void {
    const { owner, script } = inFlight.task;
    this.total += 1;
    this.#tasks.set(id, inFlight);
    this.#scripts.set(owner, script);
  }

  /** @returns what the cell did, for the operator, where the message is a breach */
  receive(message: TaskMessage, body: Buffer): string | undefined {
    const inFlight = this.#tasks.get(message.id);
    // Attack: a forged answer to a call of another cell, or to no call at all.
    if (inFlight === undefined) return 'sent a message for an unknown call';
    inFlight.begin();
    const { task } = inFlight;
    switch (message.t) {
      case 'begun':
        return undefined;
      case 'log':
        if (!inFlight.mayLog(body.byteLength, this.#limits)) return 'flooded the log';
        task.log(message.level, body.toString('utf8'));
        return undefined;
      case 'response':
        if (!task.response?.(message, body)) return 'answered a call twice';
        return message.end && this.#finish(message.id, inFlight, message.end);
      // The prelude keeps the following rules; a cell that breaks one no longer runs the program
      // that was started.
      case 'chunk':
      case 'close':
      case 'credit':
      case 'drop':
        return task.stream?.(message, body) === true ? undefined : 'violated the protocol of a stream';
      case 'fetch':
        return task.fetch?.(message, body) === true ? undefined : 'sent more fetches than allowed';
      case 'store':
        return task.store?.(message, body) === true ? undefined : 'sent more of storage than allowed';
      case 'end':
        return this.#finish(message.id, inFlight, message.end);
      case 'probed':
        return this.#finish(message.id, inFlight, message.end, message.exports);
    }
  }

  /** The cell has died: takes its tasks out, one after the other. */
  *drain(): Iterable<InFlightTask> {
    for (const [id, inFlight] of [...this.#tasks]) {
      this.#tasks.delete(id);
      yield inFlight;
    }
    this.#scripts.clear();
  }

  values(): Iterable<InFlightTask> {
    return this.#tasks.values();
  }

  hasOwner(owner: string): boolean {
    return this.#scripts.has(owner);
  }

  /** The script of the last task of an owner. */
  scriptOf(owner: string): string | undefined {
    return this.#scripts.get(owner);
  }

  /** Whether a task in flight runs this script. */
  runs(script: string): boolean {
    for (const { task } of this.#tasks.values()) if (task.script === script) return true;
    return false;
  }

  /** Owners of calls that the cell should have ended. */
  overdueOwners(now: number): string[] {
    const owners = new Set<string>();
    for (const { task, since } of this.#tasks.values())
      if (now - since > task.wallMs + OVERDUE_MS) owners.add(task.owner);
    return [...owners];
  }

  /** Owners of calls that have begun. */
  begunOwners(): string[] {
    const owners = new Set<string>();
    for (const { begun, task } of this.#tasks.values()) if (begun) owners.add(task.owner);
    return [...owners];
  }

  #finish(
    id: number,
    { task, since }: InFlightTask,
    end: CallEnd,
    exports?: ScriptExports,
  ): string | undefined {
    const cpuMs = this.#cpuClaims.take(end.cpuMs, since, performance.now());
    if (cpuMs === undefined) return 'reported more CPU than possible';
    this.#tasks.delete(id);
    task.end({ ...end, cpuMs }, exports);
    this.#ended(task.owner);
    return undefined;
  }
}

/** Threads that work for one call at once: its isolate's, and the one of its cryptographic job. */
const THREADS_PER_CALL = 2;
/** An honest cell estimates, and is never further off than this. */
const ERROR_MS_MAX = 5_000;

/**
 * Bounds the CPU time that a cell reports for its calls by the time that has passed.
 *
 * Attack: a cell that was taken over claims an hour of CPU for a call of a millisecond. That would
 * spoil the operator's counters for good, and make a neighbour look heavy. The figure is the
 * cell's; its bound is the host's clock. No I/O and no clock of its own.
 */
export class CpuClaims {
  readonly #cores: number;
  readonly #startedAt: number;
  #claimedMs = 0;

  /**
   * @param cores of the machine
   * @param startedAt when the cell was started, on the monotonic clock, in milliseconds
   */
  constructor(cores: number, startedAt: number) {
    this.#cores = cores;
    this.#startedAt = startedAt;
  }

  /**
   * Takes one claim.
   *
   * @param claimedMs CPU of a call, as the cell reports it
   * @param since when the call was given to a cell
   * @returns the milliseconds that count; undefined where no honest cell would claim that
   */
  take(claimedMs: number, since: number, now: number): number | undefined {
    const possibleMs = (now - since) * Math.min(THREADS_PER_CALL, this.#cores);
    if (claimedMs > possibleMs + ERROR_MS_MAX) return undefined;
    // Many calls at once do not make more cores.
    const leftMs = Math.max(0, (now - this.#startedAt) * this.#cores - this.#claimedMs);
    const countedMs = Math.min(claimedMs, possibleMs, leftMs);
    this.#claimedMs += countedMs;
    return countedMs;
  }
}
