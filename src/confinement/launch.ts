/**
 * Starts a child process behind the layers that this machine allows (`layers.ts`) and with nothing of the host inherited:
 * no environment, no working directory, no descriptor but its pipe and one that the caller names. Knows how to look at the
 * process from outside and how to end it; what is said on the pipe is the caller's business.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import type { Duplex, Readable } from 'node:stream';
import { childPidOf, endBehind } from './bubblewrap.ts';
import { type ConfinedProgram, type Confinement, confinedCommand, UNCONFINED } from './layers.ts';
import { lowerPriority, lowerPriorityOfThreads, preamble } from './priority.ts';

/** What `clear_refs` takes for that (proc_pid_clear_refs(5)). */
const FORGET_PEAK = '5';
const PAGE_BYTES = 4_096;
/** Where bubblewrap tells the process it has started; it keeps this from the program. */
const INFO_FD = 5;
/** Where the turns of user ids begin, so that two services on one machine rarely share one. */
const TURNS = 1_048_576;

/** What one process is started with. */
export interface LaunchOptions {
  /** Descriptor of the host's that the process gets as its fourth. */
  readonly inheritedFd?: number;
  /** It burns CPU: it yields to the others of its kind, as these do to the host. */
  readonly yielding?: boolean;
  /** It starts processes of its own, which end with it: on POSIX they are a process group. */
  readonly ownGroup?: boolean;
  /** Bound on the data segment of each of its processes. */
  readonly dataKib?: number;
  /** Whether the host hears what it prints on standard error. */
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

/** One child process; behind bubblewrap, that and the child of it that is the program. */
export class LaunchedProcess {
  readonly child: ChildProcess;
  /** The way in and out. */
  readonly pipe: Duplex;
  readonly #wrapped: boolean;
  readonly #yielding: boolean;
  readonly #ownGroup: boolean;
  #pid: number | undefined;
  #doomed = false;

  constructor(
    child: ChildProcess,
    options: { readonly wrapped: boolean; readonly yielding: boolean; readonly ownGroup: boolean },
  ) {
    this.child = child;
    this.pipe = child.stdio[3] as Duplex;
    this.#wrapped = options.wrapped;
    this.#yielding = options.yielding;
    this.#ownGroup = options.ownGroup;
    // A group of its own is a session of its own: Linux shares cores out by session first, so a priority says nothing there.
    if (child.pid !== undefined && !this.#ownGroup) lowerPriority(child.pid, this.#yielding);
    // The type of `stdio` ends at five.
    const extra = child.stdio as readonly unknown[];
    if (this.#wrapped) this.#learnPid(extra[INFO_FD] as Readable);
    else this.#pid = child.pid;
  }

  /** The process that runs the program; undefined where it could not be started, or has not been yet. */
  get pid(): number | undefined {
    return this.#pid;
  }

  /** From now on it yields to the others of its kind. */
  yieldCores(): void {
    if (this.#pid !== undefined) lowerPriorityOfThreads(this.#pid);
  }

  /** SIGKILL: the only end that a broken engine cannot delay. Processes that it has started end too. */
  kill(): void {
    const { child } = this;
    this.#doomed = true;
    // The first process may be gone while others of its group still run.
    if (this.#ownGroup && !this.#wrapped && process.platform !== 'win32') {
      if (child.pid !== undefined) killQuietly(-child.pid);
      return;
    }
    if (child.exitCode !== null || child.signalCode !== null) return;
    // bubblewrap lives as long as its program and ends right after it: the number is the program's until then. Before
    // there is one, the kill waits for it: a bubblewrap that is killed in the middle of its start leaves its child behind.
    // The program is the first process of its namespace; the kernel ends the others with it.
    if (!this.#wrapped) child.kill('SIGKILL');
    else if (this.#pid !== undefined) killQuietly(this.#pid);
  }

  /** How the program ended, from how the child did; `how` in words for the operator. */
  endOf(
    exitCode: number | null,
    exitSignal: NodeJS.Signals | null,
  ): { readonly how: string; readonly signal: NodeJS.Signals | null } {
    const { code, signal } = this.#wrapped
      ? endBehind(exitCode, exitSignal)
      : { code: exitCode, signal: exitSignal };
    return { how: signal === null ? `exited with ${code}` : `ended by ${signal}`, signal };
  }

  /** Resident memory as the system tells it; 0 where it does not. */
  residentBytes(): number {
    const { pid } = this;
    if (pid === undefined || process.platform !== 'linux') return 0;
    try {
      return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * PAGE_BYTES;
    } catch {
      return 0;
    }
  }

  /** Has the system forget how large the process was before, so that it can tell how it grows from now on. */
  forgetPeak(): void {
    const { pid } = this;
    if (pid === undefined || process.platform !== 'linux') return;
    try {
      writeFileSync(`/proc/${pid}/clear_refs`, FORGET_PEAK);
    } catch {
      // Where the system does not let us, the process learns less.
    }
  }

  #learnPid(info: Readable): void {
    let said = '';
    info.on('error', () => undefined);
    info.on('data', (chunk: Buffer) => {
      if (this.#pid !== undefined) return;
      said += chunk.toString('latin1');
      this.#pid = childPidOf(said);
      if (this.#pid === undefined) return;
      if (this.#doomed) killQuietly(this.#pid);
      else if (!this.#ownGroup) lowerPriority(this.#pid, this.#yielding);
    });
  }
}

/** @param pid of a process, or of a process group as a negative number */
function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
