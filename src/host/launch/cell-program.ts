/**
 * The program of a cell: Node with its switches and permissions, the cell's script and the
 * isolated-vm addon. And its self-test, which shows whether all of them can be read from behind the
 * layers.
 */

import type { ConfinedProgram } from '../confinement/confined-program.ts';
import type { CellBuild } from './cell-build.ts';

/** Loads the addon and reads the script, and nothing else. */
const SELF_TEST =
  "process.dlopen({ exports: {} }, process.argv[2]); require('node:fs').readFileSync(process.argv[1])";

/** The program of a cell. @param jitless V8 only interprets */
export function cellProgram(build: CellBuild, { jitless }: { readonly jitless: boolean }): ConfinedProgram {
  return nodeProgram(build, jitless, [build.scriptPath, build.addonPath]);
}

/** A program with the same switches and files that ends with 0 where it can read its files. */
export function selfTestProgram(
  build: CellBuild,
  { jitless }: { readonly jitless: boolean },
): ConfinedProgram {
  return nodeProgram(build, jitless, ['--eval', SELF_TEST, '--', build.scriptPath, build.addonPath]);
}

function nodeProgram(
  { scriptPath, addonPath, libraries }: CellBuild,
  jitless: boolean,
  run: readonly string[],
): ConfinedProgram {
  const switches = [
    // isolated-vm needs V8 without Node's start-up snapshot.
    '--no-node-snapshot',
    // V8's collector, for the prelude. Under a name of its own it could not be deleted from the
    // global object again; under that of a built-in that the prelude deletes in any case, it can
    // (`sandbox/web/memory/memory-escapes.ts`).
    '--expose-gc-as=Atomics',
    // WebAssembly (docs/decisions/webassembly.md): one compiler, whose time and memory follow the
    // size of a function, and no code that two isolates share; no reservation of gigabytes for each
    // memory, and no handler of signals.
    '--liftoff-only',
    '--no-wasm-native-module-cache',
    '--no-turbo-inline-js-wasm-calls',
    '--disable-wasm-trap-handler',
    '--permission',
    '--allow-addons',
    `--allow-fs-read=${scriptPath}`,
    `--allow-fs-read=${addonPath}`,
    // The permission model warns about addons at every start; the one addon here is trusted.
    '--disable-warning=SecurityWarning',
    // Of Ed448 and X448, which Node calls experimental.
    '--disable-warning=ExperimentalWarning',
  ];
  // Without compilers, a cell has none of their flaws, and no WebAssembly.
  if (jitless) switches.push('--jitless');
  return {
    path: process.execPath,
    args: [...switches, ...run],
    files: [scriptPath, addonPath, ...libraries],
  };
}
