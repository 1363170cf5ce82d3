/**
 * One cell as the host sees it: starts its process, sends it tasks, checks it from outside, and
 * ends it.
 *
 * A cell that breaks the protocol is ended. When a cell dies, its calls are answered at once. A
 * call that the tenant's code has not seen yet moves to another cell instead.
 */

import type { Limits } from '../../limits.ts';
import type { HostInspection } from '../../protocol/inspection.ts';
import type { CellLimits, CellMessage, HostMessage } from '../../protocol/wire.ts';
import type { CellBuild } from '../launch/cell-build.ts';
import type { CellLauncher, LaunchedCell } from '../launch/cell-launch.ts';
import { type CellDeath, type DeathReason, deathOf } from './cell-death.ts';
import { CellHeartbeat, STARVED_TIMES_MAX } from './cell-heartbeat.ts';
import { CellPipe } from './cell-pipe.ts';
import { type ExecutionJournalRead, ExecutionJournalReader } from './execution-journal-reader.ts';
import { type CellTask, InFlightTask, type OtherMessage, type StartMessage } from './in-flight-task.ts';
import { InFlightTasks } from './in-flight-tasks.ts';

const MIB = 1024 * 1024;
/**
 * How long the pipe may stay open once the process has ended: its last messages are still in it.
 */
const LAST_MESSAGES_MS = 1_000;
/** How long a cell may hold an overdue call while it has a core. */
const HUNG_MS = 1_000;
/** How much of the end of a cell's stderr is kept, to explain its death. */
const STDERR_CHARS_MAX = 4_096;

/** What the host does with the isolates of one cell that can be inspected. */
export interface InspectedCell {
  /** Takes a message of the cell. @returns whether an honest cell may send it */
  receive(head: unknown, body: Buffer): boolean;
  /** The process has ended, with its isolates. */
  exited(): void;
}

/** Begins the inspection of a cell. @param send to the cell */
export type InspectCell = (send: (message: HostInspection, body?: Uint8Array) => void) => InspectedCell;

/** What a cell needs of the pool, and what it reports. */
export interface CellOwner {
  /** Whether the process is to run at a lower CPU priority than the other cells. */
  readonly yielding?: boolean;
  /** Debuggers may stop in its isolates. Absent in production. */
  readonly inspect?: InspectCell;
  /** The source of a script the cell needs; undefined where its version was deleted. */
  script(key: string): Promise<Uint8Array | undefined>;
  /** The cell is to be replaced: its calls may finish, and it takes no more. */
  unwell(cell: CellProcess, reason: string, suspects: readonly string[]): void;
  /** The process has ended; `how` is in words for the operator. */
  exited(cell: CellProcess, how: string, death: CellDeath): void;
  /**
   * The dead cell had this task, and the tenant has not seen it. @returns whether another cell has
   * it now
   */
  requeue?(inFlight: InFlightTask): boolean;
  /** A task of this owner has ended while the cell lives. */
  ended?(owner: string): void;
  /** Whether the system has just run out of memory; undefined where it does not report that. */
  outOfMemory?(): boolean | undefined;
}

export class CellProcess {
  readonly #journal = new ExecutionJournalReader();
  readonly #launched: LaunchedCell;
  readonly #pipe: CellPipe;
  readonly #memory: CellMemory;
  readonly #heartbeat: CellHeartbeat;
  readonly #scripts: ScriptRequests;
  readonly #tasks: InFlightTasks;
  readonly #owner: CellOwner;
  readonly #limits: Limits;
  readonly #inspected: InspectedCell | undefined;
  readonly #onReady = Promise.withResolvers<void>();
  #stderrTail = '';
  #endReason: string | undefined;
  /** Why it was killed; `retired` where it was no longer needed. */
  #killedFor: DeathReason | 'retired' | undefined;
  /** Since when it holds overdue calls, and how long it had waited for a core by then. */
  #overdue: { readonly since: number; readonly waitedMs: number } | undefined;
  /** Owners that are known to be the reason for its end. */
  #culprits: readonly string[] = [];
  #unwellReported = false;
  #exited = false;
  /** How it died, once it has. */
  death: CellDeath | undefined;
  /** Its CPU when it was killed. */
  #cpuAtKillMs: number | undefined;
  /** Whether it was ever ready. */
  worked = false;
  isolates = 0;
  /** Heaps of its isolates, as the cell reports them. */
  heapBytes = 0;

  constructor(build: CellBuild, launcher: CellLauncher, limits: Limits, owner: CellOwner) {
    this.#owner = owner;
    this.#limits = limits;
    this.#tasks = new InFlightTasks(limits, (of) => {
      if (!this.#exited) owner.ended?.(of);
    });
    this.#launched = launcher.launch({ journalFd: this.#journal.fd, yielding: owner.yielding ?? false });
    this.#memory = new CellMemory(this.#launched, limits.cellRssMib);
    const breach = (words: string) => this.kill(words);
    this.#heartbeat = new CellHeartbeat(limits.cellHeartbeatMs, () => this.#launched.waitedForCoreMs());
    const inspected = owner.inspect?.((message, body) => this.#pipe.send(message, ...(body ? [body] : [])));
    this.#inspected = inspected;
    this.#pipe = new CellPipe(this.#launched.pipe, this.#receive, {
      ...{ breach, heartbeat: this.#heartbeat },
      inspected: inspected && ((head, body) => inspected.receive(head, body)),
    });
    this.#scripts = new ScriptRequests({
      pipe: this.#pipe,
      entitled: (key) => this.#tasks.runs(key),
      source: (key) => owner.script(key),
      breach,
    });
    this.#onReady.promise.catch(() => undefined);
    this.#watchProcess();
    const sources = build.sources.map(({ byteLength }) => byteLength);
    const hello: HostMessage = {
      ...{ t: 'hello', limits: cellLimits(limits), sources },
      ...(inspected && { inspect: true }),
    };
    this.#pipe.send(hello, ...build.sources);
  }

  /** Settles when the cell has its first blank isolate; rejects where it died before. */
  get ready(): Promise<void> {
    return this.#onReady.promise;
  }

  get pid(): number | undefined {
    return this.#launched.pid;
  }

  get inFlight(): number {
    return this.#tasks.size;
  }

  /** Tasks that it was ever given. */
  get tasks(): number {
    return this.#tasks.total;
  }

  get rssBytes(): number {
    return this.#memory.rssBytes;
  }

  /** CPU of the process so far, in milliseconds; undefined where the system does not count it. */
  get cpuMs(): number | undefined {
    return this.#cpuAtKillMs ?? this.#launched.cpuMs();
  }

  /** The end of what the process printed to stderr. */
  get lastWords(): string {
    return this.#stderrTail.trim();
  }

  /** Whether a task can succeed here: the cell lives, and was not killed. */
  get takesTasks(): boolean {
    return !this.#exited && this.#killedFor === undefined;
  }

  /** The script of the last task that an owner had in this cell. */
  scriptOf(owner: string): string | undefined {
    return this.#tasks.scriptOf(owner);
  }

  /** Gives the cell a task; the message carries its `id`. */
  submit(message: StartMessage, task: CellTask, ...body: Uint8Array[]): void {
    if (this.#exited) return task.end({ outcome: 'cellCrashed', cpuMs: 0 });
    this.#add(message.id, new InFlightTask(task, message, body));
    this.#pipe.send(message, ...body);
  }

  /** Gives the cell a task that a dead one had. */
  resubmit(inFlight: InFlightTask): void {
    inFlight.move((message, ...bytes) => {
      if (message.t === 'call') this.#add(message.id, inFlight);
      this.#pipe.send(message, ...bytes);
    });
  }

  /** Sends a message that starts nothing. */
  send(message: OtherMessage, ...body: Uint8Array[]): void {
    if ('id' in message) this.#tasks.get(message.id)?.follow(message, body);
    this.#pipe.send(message, ...body);
  }

  /**
   * Checks the cell from outside: whether it lives, has grown too large, or holds an overdue call.
   * Called several times a second. Nothing that the cell reports counts for any of it.
   */
  check(now: number, hostStalled: boolean): void {
    if (this.#exited) return;
    const memory = this.#memory;
    memory.check();
    // After a stall of the host, messages of the meantime are still unread. A debugger may hold a
    // call for as long as it likes.
    const excused = hostStalled || this.#inspected !== undefined;
    const overdue = excused ? [] : this.#overdueOwners(now);
    if (memory.overBound) {
      this.kill(memory.words, 'memory');
    } else if (!hostStalled && this.#heartbeat.isSilentTooLong) {
      this.kill(`was silent for ${this.#limits.cellHeartbeatMs} ms`, 'silent');
    } else if (overdue.length > 0) {
      if (!this.#unwellReported) this.#culprits = overdue;
      this.kill('held a call past its wall time', 'overdue');
    } else if (this.#journal.overgrown) {
      this.kill('wrote more than its execution journal');
    } else if (memory.needsRelief) {
      this.#pipe.send({ t: 'relieve' } satisfies HostMessage);
    }
  }

  /**
   * Owners of calls that the cell should have ended. A cell that waits for a core cannot; like its
   * silence (`cell-heartbeat.ts`), that is not held against its tenants, up to a bound.
   */
  #overdueOwners(now: number): string[] {
    const overdue = this.#tasks.overdueOwners(now);
    if (overdue.length === 0) {
      this.#overdue = undefined;
      return overdue;
    }
    const waitedMs = this.#launched.waitedForCoreMs();
    this.#overdue ??= { since: now, waitedMs };
    const lateMs = now - this.#overdue.since;
    const isHung = lateMs - (waitedMs - this.#overdue.waitedMs) > HUNG_MS;
    return isHung || lateMs > HUNG_MS * STARVED_TIMES_MAX ? overdue : [];
  }

  /** Lowers its CPU priority below that of the other cells, for good. */
  yieldCores(): void {
    this.#launched.yieldCores();
  }

  /** To be called every `PING_EVERY_MS`. */
  ping(): void {
    this.#pipe.ping();
  }

  /**
   * SIGKILL: the only end that a broken engine cannot delay.
   *
   * @param words what it did, for the operator
   */
  kill(words: string, reason: DeathReason | 'retired' = 'breach'): void {
    this.#endReason ??= words;
    this.#killedFor ??= reason;
    this.#cpuAtKillMs ??= this.#launched.cpuMs();
    this.#launched.kill();
  }

  #add(id: number, inFlight: InFlightTask): void {
    this.#tasks.add(id, inFlight);
    inFlight.task.placed?.(this);
  }

  readonly #receive = (message: CellMessage, body: Buffer): void => {
    if (this.#exited) return;
    switch (message.t) {
      case 'ready':
        this.worked = true;
        return this.#onReady.resolve();
      case 'pulse':
        this.isolates = message.isolates;
        this.heapBytes = message.heapMib * MIB;
        if (message.stuck > 0) this.#reportUnwell([]);
        return undefined;
      case 'stuck':
        return this.#reportUnwell([message.owner]);
      case 'need':
        return void this.#scripts.send(message.script);
      default: {
        const breach = this.#tasks.receive(message, body);
        if (breach !== undefined) this.kill(breach);
      }
    }
  };

  /** @param named owners that the cell names as the reason */
  #reportUnwell(named: readonly string[]): void {
    if (this.#unwellReported) return;
    this.#unwellReported = true;
    // Attack: a cell that was taken over blames tenants of other cells.
    this.#culprits = named.filter((owner) => this.#tasks.hasOwner(owner));
    this.#owner.unwell(this, 'an isolate does not let go of its thread', this.#culprits);
  }

  #watchProcess(): void {
    const { child } = this.#launched;
    child.stderr?.on('data', (chunk: Buffer) => {
      this.#stderrTail = (this.#stderrTail + chunk.toString('utf8')).slice(-STDERR_CHARS_MAX);
    });
    child.on('error', (cause) => this.#exit(`could not be started: ${cause.message}`));
    child.on('exit', (...end) => {
      const { how, signal } = this.#launched.endOf(...end);
      // An answer that is still in the pipe counts: its call is not to run again.
      const late = setTimeout(() => this.#exit(how, signal, true), LAST_MESSAGES_MS);
      child.once('close', () => {
        clearTimeout(late);
        this.#exit(how, signal);
      });
    });
  }

  /** @param cutShort its last messages could not be read to the end */
  #exit(how: string, signal: NodeJS.Signals | null = null, cutShort = false): void {
    if (this.#exited) return;
    this.#exited = true;
    this.#inspected?.exited();
    const words = this.#endReason ? `${this.#endReason}, ${how}` : how;
    this.#onReady.reject(new Error(`A cell ${words}. ${this.lastWords}`));
    const journal = this.#journal.read();
    this.#journal.close();
    for (const inFlight of this.#tasks.values())
      if (cutShort || journal.unsure || journal.touched.has(inFlight.task.owner)) inFlight.begin();
    const death = this.#death(signal, journal);
    this.death = death;
    // Reported first: a caller that tries again at once finds the next cell.
    this.#owner.exited(this, words, death);
    for (const inFlight of this.#tasks.drain()) {
      if (inFlight.movable && this.#owner.requeue?.(inFlight) === true) continue;
      inFlight.task.end({ outcome: 'cellCrashed', cpuMs: 0, detail: `The cell ${words}.` });
    }
  }

  #death(signal: NodeJS.Signals | null, journal: ExecutionJournalRead): CellDeath {
    return deathOf({
      killedFor: this.#killedFor,
      signal,
      outOfMemory: () => this.#owner.outOfMemory?.() ?? this.#memory.large,
      journal,
      tasks: this.#tasks,
      culprits: this.#culprits,
      culpritsReported: this.#unwellReported,
      leapt: this.#memory.leapt,
    });
  }
}

/** The limits that a cell keeps by itself: part of the first message that it receives. */
function cellLimits(limits: Limits): CellLimits {
  return {
    responseBodyBytes: limits.responseBodyBytes,
    fetchesPerCall: limits.fetchesPerCall,
    fetchesInFlightPerCall: limits.fetchesInFlightPerCall,
    fetchRequestBodyBytes: limits.fetchRequestBodyBytes,
    storageOperationsPerCall: limits.storageOperationsPerCall,
    storageValueBytes: limits.storageValueBytes,
    isolateHeapMib: limits.isolateHeapMib,
    wasmModuleBytes: limits.wasmModuleBytes,
    timersPerCall: limits.timersPerCall,
    logLinesPerCall: limits.logLinesPerCall,
    logBytesPerCall: limits.logBytesPerCall,
    isolatesPerCell: limits.isolatesPerCell,
    cellHeapMib: limits.cellHeapMib,
    cellRssMib: limits.cellRssMib,
    warmIsolatesPerCell: limits.warmIsolatesPerCell,
  };
}

/**
 * Stands in for a version that was deleted after a call to it had begun, so that only this call
 * fails. Attack: an owner publishes, calls and deletes in a loop, to have cells killed with the
 * calls of other tenants in them.
 */
const DELETED_SCRIPT = Buffer.from(
  "(async function () { throw new Error('This version was deleted before it could be loaded.'); })",
);
/**
 * An honest cell does not ask for the same script again within this time: it keeps scripts while
 * there is room.
 */
const ASK_AGAIN_MS = 250;

interface ScriptRequestsDeps {
  readonly pipe: Pick<CellPipe, 'send'>;
  /** Whether a task in the cell runs this script. */
  entitled(key: string): boolean;
  /** The source of a script; undefined where its version was deleted. */
  source(key: string): Promise<Uint8Array | undefined>;
  /** Ends the cell; `words` say what it did. */
  breach(words: string): void;
}

/**
 * Answers a cell that asks for scripts: each script of its own tasks, and none more often than an
 * honest cell asks.
 */
class ScriptRequests {
  readonly #deps: ScriptRequestsDeps;
  /** Scripts that the cell asked for lately. */
  readonly #asked = new Set<string>();

  constructor(deps: ScriptRequestsDeps) {
    this.#deps = deps;
  }

  /** Sends the script that the cell asks for. */
  async send(key: string): Promise<void> {
    const { pipe, entitled, source, breach } = this.#deps;
    // Attack: a cell that was taken over reads the code of tenants of other cells.
    if (!entitled(key)) return breach('requested a script of none of its calls');
    // Attack: a cell asks without reading. Each answer is a copy of a whole script and would fill
    // the host's memory.
    if (this.#asked.has(key)) return breach('requested a script twice');
    this.#asked.add(key);
    if (this.#asked.size === 1) setTimeout(() => this.#asked.clear(), ASK_AGAIN_MS).unref();
    const found = await source(key).catch((cause: unknown) => cause);
    if (found instanceof Uint8Array || found === undefined)
      pipe.send({ t: 'script', script: key } satisfies HostMessage, found ?? DELETED_SCRIPT);
    else breach(`could not be given the script ${key}`);
    return undefined;
  }
}

/** Share of its bound from which on a cell is asked to end what has grown most. */
const RELIEF_FROM = 0.75;
/**
 * Share of its bound from which on the kernel's peak is reset, so that the cell can find out what
 * has grown.
 */
const PEAK_FROM = 0.125;
/** Share of its bound that a cell can grow by between two checks only because of what executes. */
const LEAP = 0.25;

/**
 * Watches the resident memory of one cell from outside; figures that the cell reports about itself
 * do not count here.
 */
class CellMemory {
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
