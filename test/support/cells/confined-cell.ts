/**
 * A cell that has been taken over completely: any program, started by the same launcher behind the
 * same layers.
 */
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { confine, type Settled } from '../../../src/host/confinement/confine.ts';
import type { ConfinedProgram } from '../../../src/host/confinement/confined-program.ts';
import { CELL_USERS, type HardeningSettings } from '../../../src/host/confinement/layers.ts';
import type { CellBuild } from '../../../src/host/launch/cell-build.ts';
import { CellLauncher, type LaunchedCell } from '../../../src/host/launch/cell-launch.ts';
import { cellProgram, selfTestProgram } from '../../../src/host/launch/cell-program.ts';
import { pathOf } from '../programs.ts';

export const HARDENING = {
  sandbox: 'auto',
  firstUser: 60_600,
  users: CELL_USERS,
  jitless: false,
  cellRssMib: 2_048,
} as const;

/** The layers of this machine, found as the service finds them. */
export const confineHere = (
  build: CellBuild,
  settings: Partial<HardeningSettings> = {},
): Promise<Settled> => {
  const hardening = { ...HARDENING, ...settings };
  return confine('cells', hardening, (tried) => selfTestProgram(build, tried));
};

/**
 * Perl is on every Debian, and Node's permission model does not apply to it: what stops it stops
 * native code.
 *
 * @param scriptPath a file that any user can read; not `-e`, for which Perl wants `/dev/null`
 * @throws where there is no Perl
 */
export function perl(scriptPath: string): ConfinedProgram {
  const path = pathOf('perl');
  if (path === undefined) throw new Error('This test is written in Perl.');
  const libraries = spawnSync('ldd', [path], { encoding: 'utf8' }).stdout.match(/\/\S+/g) ?? [];
  const modules = spawnSync(path, ['-e', 'print join "\\n", grep { -d } @INC'], { encoding: 'utf8' });
  return { path, args: [scriptPath], files: [scriptPath, ...libraries, ...modules.stdout.split('\n')] };
}

/** A script in place of the cell's, with all that Node's permission model allows a cell. */
export const script = (build: CellBuild, scriptPath: string): ConfinedProgram =>
  cellProgram({ ...build, scriptPath }, { jitless: false });

/** Starts a program with the pipe as descriptor 3 and a file as descriptor 4, like a cell. */
export function launch(build: CellBuild, { confinement }: Settled, program: ConfinedProgram): LaunchedCell {
  const journal = join(tmpdir(), `annex-journal-${process.pid}-${performance.now()}`);
  const journalFd = openSync(journal, 'wx+', 0o600);
  try {
    return new CellLauncher(build, confinement, program).launch({ journalFd, yielding: false });
  } finally {
    closeSync(journalFd);
    rmSync(journal);
  }
}

/** All that a cell writes to the pipe and to standard error before it ends, and how it ended. */
export async function runToEnd(cell: LaunchedCell): Promise<{ output: string; stderr: string; how: string }> {
  let output = '';
  let stderr = '';
  cell.pipe
    .on('error', () => undefined)
    .on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8');
    });
  cell.child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString('utf8');
  });
  const how = await new Promise<string>((resolve) =>
    cell.child.once('close', (code, signal) => resolve(cell.endOf(code, signal).how)),
  );
  return { output, stderr, how };
}
