/**
 * Starts the child process that a cell is, with nothing of the host inherited: no environment, no working directory, no
 * descriptor but the pipe. Knows how to look at it from outside and how to end it; what is said on the pipe is for
 * `cell-process.ts`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import type { Duplex } from 'node:stream';
import type { CellBuild } from './cell-build.ts';

const PAGE_BYTES = 4_096;

/** Starts cells. */
export class CellLauncher {
  readonly #build: CellBuild;

  constructor(build: CellBuild) {
    this.#build = build;
  }

  launch(): LaunchedCell {
    const { scriptPath, addonPath } = this.#build;
    const child = spawn(
      process.execPath,
      [
        // isolated-vm needs V8 without Node's start-up snapshot.
        '--no-node-snapshot',
        // V8's collector, for the prelude's use. Under a name of its own it could not be taken off the global object again;
        // under that of a built-in that the prelude takes off in any case, it can (`sandbox/web/memory-escapes.ts`).
        '--expose-gc-as=Atomics',
        '--permission',
        '--allow-addons',
        `--allow-fs-read=${scriptPath}`,
        `--allow-fs-read=${addonPath}`,
        // The permission model warns about addons at every start; the one addon is ours.
        '--disable-warning=SecurityWarning',
        scriptPath,
        addonPath,
      ],
      { stdio: ['ignore', 'ignore', 'pipe', 'pipe'], env: {}, cwd: '/' },
    );
    if (child.pid !== undefined) lowerPriority(child.pid);
    return new LaunchedCell(child);
  }
}

/** One child process. */
export class LaunchedCell {
  readonly child: ChildProcess;
  /** The way in and out. */
  readonly pipe: Duplex;

  constructor(child: ChildProcess) {
    this.child = child;
    this.pipe = child.stdio[3] as Duplex;
  }

  /** The process that runs the cell's script; undefined where it could not be started. */
  get pid(): number | undefined {
    return this.child.pid;
  }

  /** SIGKILL: the only end that a broken engine cannot delay. */
  kill(): void {
    this.child.kill('SIGKILL');
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
}

/** Tenants yield to the host: its doors stay responsive whatever cells do. */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // A child that is already gone has no priority to lower.
  }
}
