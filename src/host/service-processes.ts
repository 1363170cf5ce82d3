/**
 * What the cells and bundlers of a service start from: their files, and the layers that confine
 * them on this machine. It depends on the settings of `hardeningOf` alone, so services in one
 * process can share it. No cell is started here.
 */

import type { ServiceTime } from '../model/service-time.ts';
import { confineBundlers } from './bundle/bundler-confinement.ts';
import { SpareBundler } from './bundle/spare-bundler.ts';
import type { Config } from './config.ts';
import { confine } from './confinement/confine.ts';
import { Launcher } from './confinement/launch.ts';
import { CELL_USERS, type HardeningSettings } from './confinement/layers.ts';
import { buildCell, type CellBuild } from './launch/cell-build.ts';
import { selfTestProgram } from './launch/cell-program.ts';
import type { CellSources } from './launch/cell-sources.ts';

/**
 * Builds the files, and finds out which layers hold. Its caller calls `build.remove()`.
 *
 * @param built the sources of cells, if they have been built before
 * @throws an Error that says what is missing where the settings require a layer
 */
export async function prepareProcesses(config: Config, built?: CellSources) {
  return confineProcesses(config, await buildCell(built));
}

/** Finds out which layers hold. Removes the files where it fails. */
export async function confineProcesses(config: Config, build: CellBuild) {
  try {
    const hardening = hardeningOf(config);
    const [cells, bundlers] = await Promise.all([
      confine('cells', hardening, (tried) => selfTestProgram(build, tried)),
      confineBundlers(hardening, build.bundlerFiles),
    ]);
    return { build, cells, bundlers };
  } catch (cause) {
    build.remove();
    throw cause;
  }
}
export type Processes = Awaited<ReturnType<typeof prepareProcesses>>;

/** All settings on which `prepareProcesses` depends. */
export const hardeningOf = ({ cellSandbox, cellUser, cellJitless, limits }: Config): HardeningSettings => ({
  sandbox: cellSandbox,
  firstUser: cellUser,
  users: CELL_USERS,
  jitless: cellJitless,
  cellRssMib: limits.cellRssMib,
});

/** Starts the processes of uploads. */
export function bundlersOf({ bundlers }: Processes, after: ServiceTime['after']): SpareBundler {
  const launcher = new Launcher(bundlers.program, bundlers.confinement);
  return new SpareBundler({ launcher, after });
}
