/**
 * Starts the child process that a cell is, behind the layers that this machine allows (`cell-layers.ts`) and with nothing
 * of the host inherited: no environment, no working directory, no descriptor but the pipe and the scratch file of its
 * marks (`cell-marks.ts`). Knows how to look at it from outside and how to end it; what is said on the pipe is for
 * `cell-process.ts`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Duplex, Readable } from 'node:stream';
import { childPidOf, endBehind } from './bubblewrap.ts';
import type { CellBuild } from './cell-build.ts';
import { type CellProgram, type Confinement, confinedCommand, UNCONFINED } from './cell-layers.ts';
import { lowerPriority, lowerPriorityOfThreads, preamble } from './cell-priority.ts';
import { cellProgram } from './cell-program.ts';

const PAGE_BYTES = 4_096;
/** Where bubblewrap tells the process it has started; it keeps this from the cell. */
const INFO_FD = 5;
/** Where the turns of user ids begin, so that two services on one machine rarely share one. */
const TURNS = 1_048_576;

/** What one cell is started with. */
export interface LaunchOptions {
  /** Descriptor of the file that the cell notes in who is executing: its fourth. */
  readonly marksFd: number;
  /** Its tenants burn CPU: it yields to the other cells, as these do to the host. */
  readonly yielding: boolean;
}

/** Starts cells. */
export class CellLauncher {
  readonly #confinement: Confinement;
  readonly #program: CellProgram;
  #turn = randomInt(TURNS);

  /** @param program what is started in a cell's place; the cell itself unless told otherwise */
  constructor(build: CellBuild, confinement = UNCONFINED, program = cellProgram(build, confinement)) {
    this.#confinement = confinement;
    this.#program = program;
  }

  launch({ marksFd, yielding }: LaunchOptions): LaunchedCell {
    const wrapped = this.#confinement.namespaces?.kind === 'bubblewrap';
    this.#turn += 1;
    const command = confinedCommand(this.#confinement, this.#program, { turn: this.#turn, infoFd: INFO_FD });
    const [path = '', ...args] = [...preamble(yielding), ...command];
    const child = spawn(path, args, {
      stdio: ['ignore', 'ignore', 'pipe', 'pipe', marksFd, ...(wrapped ? (['pipe'] as const) : [])],
      env: {},
      cwd: '/',
    });
    return new LaunchedCell(child, { wrapped, yielding });
  }
}

/** One child process; behind bubblewrap, that and the child of it that is the cell. */
export class LaunchedCell {
  readonly child: ChildProcess;
  /** The way in and out. */
  readonly pipe: Duplex;
  readonly #wrapped: boolean;
  readonly #yielding: boolean;
  #pid: number | undefined;
  #doomed = false;

  constructor(
    child: ChildProcess,
    { wrapped, yielding }: { readonly wrapped: boolean; readonly yielding: boolean },
  ) {
    this.child = child;
    this.pipe = child.stdio[3] as Duplex;
    this.#wrapped = wrapped;
    this.#yielding = yielding;
    if (child.pid !== undefined) lowerPriority(child.pid, yielding);
    // The type of `stdio` ends at five.
    const extra = child.stdio as readonly unknown[];
    if (wrapped) this.#learnPid(extra[INFO_FD] as Readable);
    else this.#pid = child.pid;
  }

  /** The process that runs the cell's script; undefined where it could not be started, or has not been yet. */
  get pid(): number | undefined {
    return this.#pid;
  }

  /** From now on it yields to the other cells. */
  yieldCores(): void {
    if (this.#pid !== undefined) lowerPriorityOfThreads(this.#pid);
  }

  /** SIGKILL: the only end that a broken engine cannot delay. */
  kill(): void {
    const { child } = this;
    if (child.exitCode !== null || child.signalCode !== null) return;
    this.#doomed = true;
    // bubblewrap lives as long as the cell and ends right after it: the number is the cell's until then. Before there
    // is one, the kill waits for it: a bubblewrap that is killed in the middle of its start leaves its child behind.
    if (!this.#wrapped) child.kill('SIGKILL');
    else if (this.#pid !== undefined) killQuietly(this.#pid);
  }

  /** How the cell ended, from how the child did; `how` in words for the operator. */
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

  #learnPid(info: Readable): void {
    let said = '';
    info.on('error', () => undefined);
    info.on('data', (chunk: Buffer) => {
      if (this.#pid !== undefined) return;
      said += chunk.toString('latin1');
      this.#pid = childPidOf(said);
      if (this.#pid === undefined) return;
      if (this.#doomed) killQuietly(this.#pid);
      else lowerPriority(this.#pid, this.#yielding);
    });
  }
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
