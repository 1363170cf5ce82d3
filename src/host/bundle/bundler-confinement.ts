/**
 * Determines once, at start, which confinement layers work on this machine for the processes of
 * uploads, and reports them to the operator.
 */
import { confine, inspectMachine, tryProgram } from '../confinement/confine.ts';
import type { ConfinedProgram } from '../confinement/confined-program.ts';
import {
  BUNDLER_USERS,
  CELL_USERS,
  type Confinement,
  type HardeningSettings,
  type LayerName,
  type LayerState,
} from '../confinement/layers.ts';
import {
  type BundlerFiles,
  bundlerProgram,
  bundlerSelfTest,
  CAN_STARVE,
  hasOwnFiles,
} from './bundler-program.ts';

/**
 * The layers of cells without `jitless`, because parsing needs V8's compilers; `disk`: whether
 * esbuild cannot read the disk.
 */
export type BundlerLayers = Readonly<Record<Exclude<LayerName, 'jitless'> | 'disk', LayerState>>;

export interface ConfinedBundlers {
  readonly confinement: Confinement;
  readonly program: ConfinedProgram;
  readonly layers: BundlerLayers;
}

/** @throws an Error that names what is missing where bubblewrap is required and does not work */
export async function confineBundlers(
  settings: Pick<HardeningSettings, 'sandbox' | 'firstUser' | 'cellRssMib'>,
  files: BundlerFiles,
): Promise<ConfinedBundlers> {
  // Separate user ids. Attack: without namespaces, a process reads the memory of another process of
  // its user.
  const firstUser = settings.firstUser + CELL_USERS;
  const hardening = { ...settings, firstUser, users: BUNDLER_USERS, jitless: false };
  const settle = (starve: boolean) =>
    confine('bundlers', hardening, (tried) => bundlerSelfTest(files, tried, starve));
  let starve = CAN_STARVE;
  let settled = await settle(starve);
  if (starve && !hasOwnFiles(settled.confinement)) {
    const { confinement } = settled;
    starve = (await tryProgram(confinement, bundlerSelfTest(files, confinement, true))) === undefined;
    if (!starve) settled = await settle(false);
  }
  const { confinement } = settled;
  const { jitless: _none, permission, ...layers } = settled.layers;
  return {
    confinement,
    program: bundlerProgram(files, confinement, starve),
    layers: {
      ...layers,
      permission: {
        ...permission,
        detail: `${permission.detail}; not of esbuild, which is a native program`,
      },
      disk: diskState(hasOwnFiles(confinement), starve),
    },
  };
}

function diskState(ownFiles: boolean, starve: boolean): LayerState {
  if (ownFiles)
    return { on: true, detail: 'esbuild has a file system of its own, with nothing in it to find' };
  if (starve) return { on: true, detail: 'esbuild has no descriptor left to open a file or a folder with' };
  const why = inspectMachine().linux ? 'esbuild does not start without descriptors to spare' : 'needs Linux';
  return { on: false, detail: why };
}
