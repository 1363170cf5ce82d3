/**
 * Starts the child process that a cell is, behind the layers of `confinement/`: its fourth descriptor is the scratch file of
 * its marks (`execution-journal-reader.ts`). What is said on the pipe is for `cell-process.ts`.
 */
import { type LaunchedProcess, Launcher } from '../confinement/launch.ts';
import { type ConfinedProgram, UNCONFINED } from '../confinement/layers.ts';
import type { CellBuild } from './cell-build.ts';
import { cellProgram } from './cell-program.ts';

export type LaunchedCell = LaunchedProcess;

/** What one cell is started with. */
export interface CellLaunchOptions {
  /** Descriptor of the file that the cell notes in which isolate is executing. */
  readonly marksFd: number;
  /** Its tenants burn CPU: it yields to the other cells, as these do to the host. */
  readonly yielding: boolean;
}

/** Starts cells. */
export class CellLauncher {
  readonly #launcher: Launcher;

  /** @param program what is started in a cell's place; by default the cell itself */
  constructor(
    build: CellBuild,
    confinement = UNCONFINED,
    program: ConfinedProgram = cellProgram(build, confinement),
  ) {
    this.#launcher = new Launcher(program, confinement);
  }

  launch({ marksFd, yielding }: CellLaunchOptions): LaunchedCell {
    return this.#launcher.launch({ inheritedFd: marksFd, yielding, stderr: 'pipe' });
  }
}
