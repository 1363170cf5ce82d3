/**
 * Finds out, once at start, which layers hold on this machine for the processes of uploads, and says so to the operator.
 */
import { confine, inspectMachine, tryProgram } from '../confinement/confine.ts';
import {
  BUNDLER_USERS,
  CELL_USERS,
  type ConfinedProgram,
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

/** As cells have them, but for V8's compilers, which parsing needs; and whether esbuild is kept from the disk. */
export type BundlerLayers = Readonly<Record<Exclude<LayerName, 'jitless'> | 'disk', LayerState>>;

export interface ConfinedBundlers {
  readonly confinement: Confinement;
  readonly program: ConfinedProgram;
  readonly layers: BundlerLayers;
}

/** @throws an Error that says what is missing where bubblewrap is required and does not work */
export async function confineBundlers(
  settings: Pick<HardeningSettings, 'sandbox' | 'firstUser' | 'cellRssMib'>,
  files: BundlerFiles,
): Promise<ConfinedBundlers> {
  // Ids of their own: without namespaces, a process can read the memory of another one of its user.
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
      permission: { ...permission, detail: `${permission.detail}; not of esbuild, which is no JavaScript` },
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
