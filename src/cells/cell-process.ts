/**
 * The host's half of one cell: has its process started, speaks with it over one pipe, and ends it.
 *
 * Whatever a cell sends is hostile input. A frame out of shape, or about a call the cell was not given, ends the cell; a
 * cell that dies, whyever, has all its calls answered there and then. Nobody here knows what a call is about.
 */
import { availableParallelism } from 'node:os';
import type { CellBuild } from '../launch/cell-build.ts';
import type { CellLauncher, LaunchedCell } from '../launch/cell-launch.ts';
import type { Limits } from '../limits.ts';
import { FrameReader, FrameWriter } from '../protocol/frames.ts';
import { parseCellMessage } from '../protocol/parse-cell-message.ts';
import {
  type CallEnd,
  type CellMessage,
  type HostMessage,
  type ScriptExports,
  WIRE_BOUNDS,
} from '../protocol/wire.ts';
import type { CellDeath, DeathReason } from './cell-death.ts';
import { cellLimits } from './cell-limits.ts';
import { readInTurns } from './cell-pipe.ts';
import { CpuClaims } from './cpu-claims.ts';
import { type ExecutionJournalRead, ExecutionJournalReader } from './execution-journal-reader.ts';
import { type CellTask, InFlightTask, type OtherMessage, type StartMessage } from './in-flight-task.ts';

export const PING_EVERY_MS = 1_000;
const MIB = 1024 * 1024;
/** How long the pipe may stay open once the process has ended: what it has said last is still in it. */
const LAST_WORDS_MS = 1_000;
/** Where nobody was executing, those that had calls in it are suspects, unless they are this many and it could be anyone. */
const SUSPECTS_WITH_CALLS_MAX = 8;
/** Last words of a cell that are kept, to tell why it died. */
const STDERR_CHARS_MAX = 4_096;
/** How far past its wall time a call may be before the cell counts as hung. */
const OVERDUE_MS = 2_000;
/**
 * Stands in for a version that was deleted after a call to it had begun, so that this call fails and nothing else does.
 * Attack: an owner who publishes, calls and deletes in a loop, to have cells killed with everybody else's calls in them.
 */
const DELETED_SCRIPT = Buffer.from(
  "(async function () { throw new Error('This version was deleted before it could be loaded.'); })",
);
/** How long a script that was sent need not be asked for again: a cell keeps it as long as there is room. */
const ASK_AGAIN_MS = 250;

/** Share of its bound from which on a cell is asked to end what has grown most. */
const RELIEF_FROM = 0.75;
/** And from which on it is helped to find out what that is. */
const PEAK_FROM = 0.125;
/** Share of its bound that a cell cannot grow by between two looks but by the doing of what executes. */
const LEAP = 0.25;

/** What a cell's owner does for it and hears of it. */
export interface CellOwner {
  /** The source of a script the cell needs. */
  script(key: string): Promise<Uint8Array | undefined>;
  /** The cell wants to be replaced: finish what runs in it, send nothing more. */
  unwell(cell: CellProcess, reason: string, suspects: readonly string[]): void;
  /** `how` is in words for the operator. */
  exited(cell: CellProcess, how: string, death: CellDeath): void;
  /** It had this task when it died, and the tenant has not seen it. @returns whether it goes on elsewhere */
  requeue?(given: InFlightTask): boolean;
  /** A task has ended while the cell lives. */
  ended?(owner: string): void;
  /** Whether the system has just run out of memory; undefined where it does not tell. */
  outOfMemory?(): boolean | undefined;
}

export class CellProcess {
  readonly #marks = new ExecutionJournalReader();
  readonly #cpuClaims = new CpuClaims(availableParallelism(), performance.now());
  readonly #launched: LaunchedCell;
  readonly #writer: FrameWriter;
  readonly #owner: CellOwner;
  readonly #limits: Limits;
  readonly #given = new Map<number, InFlightTask>();
  /** Whoever has had work in it, with the script of the last: nobody else can be blamed for its end. */
  readonly #owners = new Map<string, string>();
  /** Scripts it has asked for lately. */
  readonly #asked = new Set<string>();
  readonly #onReady = Promise.withResolvers<void>();
  #lastWords = '';
  /** Pings in a row without a word from the cell. */
  #unanswered = 0;
  #endReason: string | undefined;
  /** Why it was killed; `retired` where nobody needs it any more. */
  #killedFor: DeathReason | 'retired' | undefined;
  /** Whoever it is known to die of. */
  #culprits: readonly string[] = [];
  #unwellTold = false;
  /** It has just grown by more than its own account can tell of. */
  #leapt = false;
  #exited = false;
  /** Tasks it was ever given. */
  tasks = 0;
  /** Whether it ever came up. */
  worked = false;
  isolates = 0;
  rssBytes = 0;
  /** Heaps of its isolates, by the cell's own word. */
  heapBytes = 0;

  constructor(build: CellBuild, launcher: CellLauncher, limits: Limits, owner: CellOwner, yielding = false) {
    this.#owner = owner;
    this.#limits = limits;
    this.#launched = launcher.launch({ journalFd: this.#marks.fd, yielding });
    const { pipe, child } = this.#launched;
    this.#writer = new FrameWriter(pipe);
    const bounds = { headBytes: WIRE_BOUNDS.headBytes, bodyBytes: WIRE_BOUNDS.bodyBytes };
    const reader = new FrameReader(bounds, (head, body) => this.#receive(head, body));
    readInTurns(pipe, (piece) => {
      // A cell that is busy writing is not silent; one that never ends a frame holds its calls past their time.
      this.#unanswered = 0;
      if (!reader.push(piece)) this.kill('sent a broken frame');
    });
    // A dead pipe shows as the exit of the child, which is where it is handled.
    pipe.on('error', () => undefined);
    child.stderr?.on('data', (chunk: Buffer) => {
      this.#lastWords = (this.#lastWords + chunk.toString('utf8')).slice(-STDERR_CHARS_MAX);
    });
    child.on('error', (cause) => this.#exit(`could not be started: ${cause.message}`));
    child.on('exit', (...end) => {
      const { how, signal } = this.#launched.endOf(...end);
      // An answer that is still in the pipe is an answer: the call is not to run again.
      const late = setTimeout(() => this.#exit(how, signal, true), LAST_WORDS_MS);
      child.once('close', () => {
        clearTimeout(late);
        this.#exit(how, signal);
      });
    });
    this.#onReady.promise.catch(() => undefined);
    this.#writer.send(
      {
        t: 'hello',
        limits: cellLimits(limits),
        sources: build.sources.map(({ byteLength }) => byteLength),
      } satisfies HostMessage,
      ...build.sources,
    );
  }

  /** Settles when the cell has its first blank isolate; rejects where it died before. */
  get ready(): Promise<void> {
    return this.#onReady.promise;
  }

  get pid(): number | undefined {
    return this.#launched.pid;
  }

  get inFlight(): number {
    return this.#given.size;
  }

  /** Why it died, in words for the operator: what the process printed last. */
  get lastWords(): string {
    return this.#lastWords.trim();
  }

  /** Whether what it is given now has a chance: it lives, and nobody has ended it. */
  get takesTasks(): boolean {
    return !this.#exited && this.#killedFor === undefined;
  }

  /** The script of the last task that an owner had in it. */
  scriptOf(owner: string): string | undefined {
    return this.#owners.get(owner);
  }

  /** Gives the cell a task; the message must carry `id`. */
  give(message: StartMessage, task: CellTask, ...body: Uint8Array[]): void {
    if (this.#exited) return task.end({ outcome: 'cellCrashed', cpuMs: 0 });
    this.#take(message.id, new InFlightTask(task, message, body));
    this.#writer.send(message, ...body);
  }

  /** Gives the cell a task that another one had. */
  resubmit(given: InFlightTask): void {
    given.move((message, ...bytes) => {
      if (message.t === 'call') this.#take(message.id, given);
      this.#writer.send(message, ...bytes);
    });
  }

  #take(id: number, given: InFlightTask): void {
    const { task } = given;
    this.tasks += 1;
    this.#given.set(id, given);
    this.#owners.set(task.owner, task.script);
    task.placed?.(this);
  }

  /** Sends a message that starts nothing. */
  tell(message: OtherMessage, ...body: Uint8Array[]): void {
    if ('id' in message) this.#given.get(message.id)?.follow(message, body);
    this.#writer.send(message, ...body);
  }

  /**
   * Looks at the cell from outside: is it alive, has it grown too large, is a call overdue? Called several times a
   * second. The cell's own word is not taken for any of it.
   */
  check(now: number, hostStalled: boolean): void {
    if (this.#exited) return;
    const rssBytes = this.#launched.residentBytes();
    this.#leapt = rssBytes - this.rssBytes > this.#limits.cellRssMib * MIB * LEAP;
    this.rssBytes = rssBytes;
    if (rssBytes > this.#limits.cellRssMib * MIB * PEAK_FROM) this.#launched.forgetPeak();
    // After a stall of the host, what the cell has said meanwhile is still unread.
    const overdue = hostStalled ? [] : this.#overdue(now);
    const { cellRssMib, cellHeartbeatMs } = this.#limits;
    if (this.rssBytes > cellRssMib * MIB) {
      this.kill(`grew to ${Math.round(this.rssBytes / MIB)} MiB, over its ${cellRssMib} MiB`, 'memory');
    } else if (!hostStalled && this.#unanswered * PING_EVERY_MS > cellHeartbeatMs) {
      this.kill(`was silent for ${cellHeartbeatMs} ms`, 'silent');
    } else if (overdue.length > 0) {
      if (!this.#unwellTold) this.#culprits = overdue;
      this.kill('held a call past its wall time', 'overdue');
    } else if (this.#marks.overgrown) {
      this.kill('wrote more than its marks');
    } else if (rssBytes > cellRssMib * MIB * RELIEF_FROM) {
      this.#writer.send({ t: 'relieve' } satisfies HostMessage);
    }
  }

  /** Owners of calls that the cell should have ended. */
  #overdue(now: number): string[] {
    const owners = new Set<string>();
    for (const { task, since } of this.#given.values())
      if (now - since > task.wallMs + OVERDUE_MS) owners.add(task.owner);
    return [...owners];
  }

  /** From now on it yields to the other cells. */
  yieldCores(): void {
    this.#launched.yieldCores();
  }

  /** To be called every `PING_EVERY_MS`. Pings are counted, not time: a host that stalls must not take its cells for dead. */
  ping(): void {
    this.#unanswered += 1;
    this.#writer.send({ t: 'ping' } satisfies HostMessage);
  }

  /**
   * SIGKILL: the only end that a broken engine cannot delay.
   *
   * @param words what it did, for the operator
   */
  kill(words: string, reason: DeathReason | 'retired' = 'breach'): void {
    this.#endReason ??= words;
    this.#killedFor ??= reason;
    this.#launched.kill();
  }

  #receive(head: unknown, body: Buffer): void {
    if (this.#exited) return;
    const message = parseCellMessage(head);
    if (message === undefined) return this.kill('sent a malformed message');
    switch (message.t) {
      case 'ready':
        this.worked = true;
        return this.#onReady.resolve();
      case 'pulse':
        this.isolates = message.isolates;
        this.heapBytes = message.heapMib * MIB;
        if (message.stuck > 0) this.#unwell([]);
        return undefined;
      case 'stuck':
        return this.#unwell([message.owner]);
      case 'need':
        return void this.#sendScript(message.script);
      default:
        return this.#hear(message, body);
    }
  }

  /** @param named whoever is the reason, by the cell's word */
  #unwell(named: readonly string[]): void {
    if (this.#unwellTold) return;
    this.#unwellTold = true;
    // A cell that was taken over may blame those that are in it, and nobody else.
    this.#culprits = named.filter((owner) => this.#owners.has(owner));
    this.#owner.unwell(this, 'an isolate does not let go of its thread', this.#culprits);
  }

  #hear(message: Extract<CellMessage, { id: number }>, body: Buffer): void {
    const given = this.#given.get(message.id);
    // A forged answer to a call of another cell, or of nobody.
    if (given === undefined) return this.kill('spoke of a call it was not given');
    given.begin();
    const { task } = given;
    switch (message.t) {
      case 'begun':
        return undefined;
      case 'log':
        if (!given.mayLog(body.byteLength, this.#limits)) return this.kill('flooded the log');
        return task.log(message.level, body.toString('utf8'));
      case 'response':
        if (!task.response?.(message.status, message.headers, body, message.more))
          return this.kill('answered a call twice');
        return message.end && this.#finish(message.id, given, message.end);
      case 'chunk':
      case 'close':
      case 'credit':
      case 'drop':
        return this.#obey(task.stream?.(message, body), 'broke the rules of a stream');
      case 'fetch':
        return this.#obey(task.fetch?.(message, body), 'fetched more than it may');
      case 'end':
        return this.#finish(message.id, given, message.end);
      case 'probed':
        return this.#finish(message.id, given, message.end, message.exports);
    }
  }

  /** The prelude keeps these rules; a cell that breaks one is no longer the one we started. */
  #obey(obeyed: boolean | undefined, breach: string): void {
    if (obeyed !== true) this.kill(breach);
  }

  #finish(id: number, { task, since }: InFlightTask, end: CallEnd, exports?: ScriptExports): void {
    const cpuMs = this.#cpuClaims.take(end.cpuMs, since, performance.now());
    if (cpuMs === undefined) return this.kill('claimed more CPU than there was');
    this.#given.delete(id);
    task.end({ ...end, cpuMs }, exports);
    if (!this.#exited) this.#owner.ended?.(task.owner);
  }

  async #sendScript(key: string): Promise<void> {
    // A cell may read the code of its own tenants alone.
    const entitled = [...this.#given.values()].some(({ task }) => task.script === key);
    if (!entitled) return this.kill('asked for a script it was not given');
    // Each answer is a copy of up to a whole script: a cell that asks without reading would fill the host's memory.
    if (this.#asked.has(key)) return this.kill('asked for a script again and again');
    this.#asked.add(key);
    if (this.#asked.size === 1) setTimeout(() => this.#asked.clear(), ASK_AGAIN_MS).unref();
    const source = await this.#owner.script(key).catch((cause: unknown) => cause);
    if (source instanceof Uint8Array || source === undefined)
      this.#writer.send({ t: 'script', script: key } satisfies HostMessage, source ?? DELETED_SCRIPT);
    else this.kill(`could not be given the script ${key}`);
    return undefined;
  }

  /** @param cutShort what it has said last could not be read to the end */
  #exit(how: string, signal: NodeJS.Signals | null = null, cutShort = false): void {
    if (this.#exited) return;
    this.#exited = true;
    const words = this.#endReason ? `${this.#endReason}, ${how}` : how;
    this.#onReady.reject(new Error(`A cell ${words}. ${this.lastWords}`));
    const marks = this.#marks.read();
    this.#marks.close();
    const lost = [...this.#given];
    for (const [, given] of lost)
      if (cutShort || marks.unsure || marks.touched.has(given.task.owner)) given.begin();
    // Replaced first: whoever tries again on hearing of the crash finds the next cell.
    this.#owner.exited(this, words, this.#death(signal, marks));
    for (const [id, given] of lost) {
      this.#given.delete(id);
      if (given.movable && this.#owner.requeue?.(given) === true) continue;
      given.task.end({ outcome: 'cellCrashed', cpuMs: 0, detail: `The cell ${words}.` });
    }
    this.#owners.clear();
  }

  #death(signal: NodeJS.Signals | null, { executing, holder }: ExecutionJournalRead): CellDeath {
    if (this.#killedFor === 'retired') return { suspects: [] };
    const reason = this.#killedFor ?? this.#deathByItself(signal);
    if (reason === 'killed') return { reason, suspects: [] };
    // They were told of when it was found unwell: one end is not two.
    if (this.#culprits.length > 0) return { reason, suspects: this.#unwellTold ? [] : this.#culprits };
    // Attack: memory that one installation has filled over many calls, so that another one executes when it runs out.
    if (reason === 'memory' && holder !== undefined && this.#owners.has(holder))
      return { reason, suspects: [holder] };
    if (reason === 'memory' && !this.#leapt) return { reason, suspects: [] };
    const marked = [...executing].filter((owner) => this.#owners.has(owner));
    return { reason, suspects: marked.length > 0 ? marked : this.#waitingOwners() };
  }

  #deathByItself(signal: NodeJS.Signals | null): DeathReason {
    if (signal !== 'SIGKILL') return 'crashed';
    // Where the system does not tell, one that had grown is taken for a victim of its own size.
    const large = this.rssBytes > (this.#limits.cellRssMib * MIB) / 2;
    return (this.#owner.outOfMemory?.() ?? large) ? 'memory' : 'killed';
  }

  /** Owners of calls that have begun: what crashed it may be the late effect of one. */
  #waitingOwners(): string[] {
    const owners = new Set<string>();
    for (const given of this.#given.values()) if (given.begun) owners.add(given.task.owner);
    return owners.size > SUSPECTS_WITH_CALLS_MAX ? [] : [...owners];
  }
}
