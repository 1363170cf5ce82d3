/**
 * Starts the child process of a cell, behind the layers of `confinement/`. Descriptor 4 is the
 * scratch file of its execution journal (`execution-journal-reader.ts`). The messages on the pipe
 * are the business of `cell-process.ts`.
 */

import type { ConfinedProgram } from '../confinement/confined-program.ts';
import { type LaunchedProcess, Launcher } from '../confinement/launch.ts';
import { UNCONFINED } from '../confinement/layers.ts';
import type { CellBuild } from './cell-build.ts';
import { cellProgram } from './cell-program.ts';

export type LaunchedCell = LaunchedProcess;

/** Options for the start of one cell. */
export interface CellLaunchOptions {
  /** The host's descriptor of the file of the cell's execution journal. */
  readonly journalFd: number;
  /** Its tenants use much CPU: it yields to the other cells, as these do to the host. */
  readonly yielding: boolean;
}

/** Starts cells. */
export class CellLauncher {
  readonly #launcher: Launcher;

  /** @param program started as the cell; a test may pass another one */
  constructor(
    build: CellBuild,
    confinement = UNCONFINED,
    program: ConfinedProgram = cellProgram(build, confinement),
  ) {
    this.#launcher = new Launcher(program, confinement);
  }

  /** Starts a cell. It makes isolates once the host has sent `hello`. */
  launch({ journalFd, yielding }: CellLaunchOptions): LaunchedCell {
    return this.#launcher.launch({ inheritedFd: journalFd, yielding, stderr: 'pipe' });
  }
}
