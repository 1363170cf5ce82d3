/**
 * Starts a child process behind the layers that this machine allows (`layers.ts`). It inherits
 * nothing of the host: no environment, no working directory, no descriptor but its pipe and one
 * that the caller names. Measures the process from outside and ends it; the messages on the pipe
 * are the caller's business.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import type { Duplex, Readable } from 'node:stream';
import { childPidOf, endBehind } from './bubblewrap.ts';
import type { ConfinedProgram } from './confined-program.ts';
import { type Confinement, confinedCommand, UNCONFINED } from './layers.ts';

/** Value of `clear_refs` that resets the peak of resident memory (proc_pid_clear_refs(5)). */
const FORGET_PEAK = '5';
const PAGE_BYTES = 4_096;
const NS_PER_MS = 1_000_000;
/** Unit of CPU in `stat` of a process (proc_pid_stat(5)): a hundredth of a second on Linux. */
const TICK_MS = 10;
/** Its fields for CPU, counted from behind the name: own, and of children that have ended. */
const CPU_FIELDS = [11, 12, 13, 14];
/**
 * Descriptor on which bubblewrap reports the process that it has started; the program does not get
 * it.
 */
const INFO_FD = 5;
/**
 * The turns of user ids begin at a random number below this, so that two services on one machine
 * rarely share one.
 */
const TURNS = 1_048_576;

/** Options for the start of one process. */
export interface LaunchOptions {
  /** A descriptor of the host that the process gets as number 4. */
  readonly inheritedFd?: number;
  /** It uses much CPU: it yields to the others of its kind, as these do to the host. */
  readonly yielding?: boolean;
  /** It starts child processes, which end with it: on POSIX they are a process group. */
  readonly ownGroup?: boolean;
  /** Bound on the data segment of each of its processes. */
  readonly dataKib?: number;
  /** Whether the host reads its standard error. */
  readonly stderr: 'pipe' | 'ignore';
}

/** Starts processes of one program. */
export class Launcher {
  readonly #program: ConfinedProgram;
  readonly #confinement: Confinement;
  #turn = randomInt(TURNS);

  constructor(program: ConfinedProgram, confinement = UNCONFINED) {
    this.#program = program;
    this.#confinement = confinement;
  }

  /** Starts a process; each gets the next user id, where there are any. */
  launch(options: LaunchOptions): LaunchedProcess {
    const { inheritedFd, yielding = false, ownGroup = false, dataKib, stderr } = options;
    const wrapped = this.#confinement.namespaces?.kind === 'bubblewrap';
    this.#turn += 1;
    const command = confinedCommand(this.#confinement, this.#program, { turn: this.#turn, infoFd: INFO_FD });
    const [path = '', ...args] = [...preamble(yielding, dataKib), ...command];
    const child = spawn(path, args, {
      stdio: [
        ...(['ignore', 'ignore', stderr, 'pipe'] as const),
        inheritedFd ?? 'ignore',
        ...(wrapped ? (['pipe'] as const) : []),
      ],
      env: {},
      cwd: '/',
      detached: ownGroup && process.platform !== 'win32',
      windowsHide: true,
    });
    return new LaunchedProcess(child, { wrapped, yielding, ownGroup });
  }
}

/** One child process; with bubblewrap, that and its child, which is the program. */
export class LaunchedProcess {
  readonly child: ChildProcess;
  readonly pipe: Duplex;
  readonly #wrapped: boolean;
  readonly #yielding: boolean;
  readonly #ownGroup: boolean;
  #pid: number | undefined;
  #killed = false;

  constructor(
    child: ChildProcess,
    options: { readonly wrapped: boolean; readonly yielding: boolean; readonly ownGroup: boolean },
  ) {
    this.child = child;
    this.pipe = child.stdio[3] as Duplex;
    this.#wrapped = options.wrapped;
    this.#yielding = options.yielding;
    this.#ownGroup = options.ownGroup;
    // A group of its own is a session of its own. Linux divides cores by session first, so a
    // priority has no effect there.
    if (child.pid !== undefined && !this.#ownGroup) lowerPriority(child.pid, this.#yielding);
    // The type of `stdio` ends at five.
    const extra = child.stdio as readonly unknown[];
    if (this.#wrapped) this.#learnPid(extra[INFO_FD] as Readable);
    else this.#pid = child.pid;
  }

  /**
   * The process that runs the program; undefined where it could not be started, or has not started
   * yet.
   */
  get pid(): number | undefined {
    return this.#pid;
  }

  /** From now on it yields to the others of its kind. */
  yieldCores(): void {
    if (this.#pid !== undefined) lowerPriorityOfThreads(this.#pid);
  }

  /** SIGKILL: the only end that a broken engine cannot delay. Ends the child processes too. */
  kill(): void {
    const { child } = this;
    this.#killed = true;
    // The first process may have ended while others of its group still run.
    if (this.#ownGroup && !this.#wrapped && process.platform !== 'win32') {
      if (child.pid !== undefined) killQuietly(-child.pid);
      return;
    }
    if (child.exitCode !== null || child.signalCode !== null) return;
    // bubblewrap lives as long as its program and ends right after it: until then the id is the
    // program's. Before the id is reported, the kill waits for it: a bubblewrap that is killed in
    // the middle of its start leaves its child behind. The program is the first process of its
    // namespace; the kernel ends the others with it.
    if (!this.#wrapped) child.kill('SIGKILL');
    else if (this.#pid !== undefined) killQuietly(this.#pid);
  }

  /** How the program ended, from how the child did; `how` is for the operator. */
  endOf(
    exitCode: number | null,
    exitSignal: NodeJS.Signals | null,
  ): { readonly how: string; readonly signal: NodeJS.Signals | null } {
    const { code, signal } = this.#wrapped
      ? endBehind(exitCode, exitSignal)
      : { code: exitCode, signal: exitSignal };
    return { how: signal === null ? `exited with ${code}` : `ended by ${signal}`, signal };
  }

  /** Resident memory as the system reports it; 0 where it does not. */
  residentBytes(): number {
    const { pid } = this;
    if (pid === undefined || process.platform !== 'linux') return 0;
    try {
      return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * PAGE_BYTES;
    } catch {
      return 0;
    }
  }

  /**
   * How long its main thread has been ready to run without a core since its start, in milliseconds
   * (the kernel's sched-stats); 0 where the system does not count it.
   */
  waitedForCoreMs(): number {
    const { pid } = this;
    if (pid === undefined || process.platform !== 'linux') return 0;
    try {
      const [, waitedNs = 0] = readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ').map(Number);
      return waitedNs / NS_PER_MS;
    } catch {
      return 0;
    }
  }

  /**
   * CPU of the process and of those that it has started, in milliseconds; undefined where the
   * system does not count it, or the process has ended.
   */
  cpuMs(): number | undefined {
    const { pid } = this;
    if (pid === undefined || process.platform !== 'linux') return undefined;
    try {
      return cpuTicks(pid) * TICK_MS;
    } catch {
      return undefined;
    }
  }

  /** Resets the peak of resident memory, so that the process can read how it grows from now on. */
  forgetPeak(): void {
    const { pid } = this;
    if (pid === undefined || process.platform !== 'linux') return;
    try {
      writeFileSync(`/proc/${pid}/clear_refs`, FORGET_PEAK);
    } catch {
      // Where the system does not allow it, the process sees its growth beyond the old peak alone.
    }
  }

  #learnPid(info: Readable): void {
    let report = '';
    info.on('error', () => undefined);
    info.on('data', (chunk: Buffer) => {
      if (this.#pid !== undefined) return;
      report += chunk.toString('latin1');
      this.#pid = childPidOf(report);
      if (this.#pid === undefined) return;
      if (this.#killed) killQuietly(this.#pid);
      else if (!this.#ownGroup) lowerPriority(this.#pid, this.#yielding);
    });
  }
}

/** @throws if the process, or one that it has started, ends meanwhile */
function cpuTicks(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const own = CPU_FIELDS.reduce((sum, at) => sum + Number(fields[at]), 0);
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean);
  return children.reduce((sum, child) => sum + cpuTicks(Number(child)), own);
}

/** @param pid of a process, or of a process group as a negative number */
function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

const { PRIORITY_LOW, PRIORITY_BELOW_NORMAL } = constants.priority;

/**
 * Priorities: cells yield to the host, so that its listeners stay responsive whatever tenants do,
 * and a cell of tenants that use much CPU yields to the other cells: it runs on idle cores alone,
 * and is preempted as soon as another process needs one.
 *
 * Cells share the host's session. A Linux that divides its cores by session first (autogroups)
 * would give a cell with a session of its own as much as the host, whatever its priority is.
 *
 * The shell command that starts a cell or a bundler, to be put before its own command. A terminal
 * or a supervisor sends signals to the whole process group; they are meant for the host, which lets
 * its cells finish and then ends them. The shell ignores them, which the tools and the program
 * inherit.
 *
 * @param dataKib bound on the data segment of each process
 * @returns an empty list on Windows
 */
function preamble(yielding: boolean, dataKib?: number): string[] {
  if (process.platform === 'win32') return [];
  const start = `${dataKib === undefined ? '' : `ulimit -d ${dataKib}; `}exec "$0" "$@"`;
  // `chrt` is part of util-linux, like `setpriv`; without it, the process has a low priority alone.
  const idle = yielding ? `command -v chrt >/dev/null && exec chrt --idle 0 "$0" "$@"; ${start}` : start;
  return ['/bin/sh', '-c', `trap "" HUP INT TERM; ${idle}`];
}

/**
 * To be called before the process has threads: threads that it starts later inherit the priority.
 */
function lowerPriority(pid: number, yielding: boolean): void {
  try {
    setPriority(pid, yielding ? PRIORITY_LOW : PRIORITY_BELOW_NORMAL);
  } catch {
    // The child has ended already.
  }
}

/**
 * Has a running cell yield to the other cells: the system keeps a priority for each of its threads.
 */
function lowerPriorityOfThreads(pid: number): void {
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) lowerPriority(Number(thread), true);
  } catch {
    // The system does not list threads, or the cell has ended.
  }
}
