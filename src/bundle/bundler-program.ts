/**
 * The program that reads and bundles one upload: Node with the process's script, and esbuild, which it starts. How esbuild
 * is kept from the disk, and the rehearsal that shows whether all of that works from behind the layers.
 *
 * esbuild expands imports by a pattern on the disk, without asking the plugin that answers everything else. In a file system
 * of its own there is nothing to expand. Where that cannot be had, esbuild is started by a shell that first lowers the
 * bound on open descriptors to what esbuild has open anyway: so it can open no folder and no file.
 */
import type { ConfinedProgram, Confinement } from '../confinement/layers.ts';
import { DISKLESS_FLAG, ESBUILD_FLAG, SELF_TEST_FLAG } from './bundler-flags.ts';

/** The files that the program is made of, where they lie. */
export interface BundlerFiles {
  /** The script of the process. */
  readonly bundlerPath: string;
  /** esbuild's own program. */
  readonly esbuildPath: string;
  /** A shell script that starts esbuild without descriptors to spare. */
  readonly esbuildWithoutFilesPath: string;
  /** The shared libraries that Node is linked to. */
  readonly libraries: readonly string[];
}

/** Standard input, output and error; the event queue of Go's runtime and what wakes it. */
const ESBUILD_DESCRIPTORS = 5;

/** What the shell script says. Go's runtime would open files of its own to learn how many cores it has. */
export const esbuildWithoutFiles = (esbuildPath: string): string => `#!/bin/sh
ulimit -n ${ESBUILD_DESCRIPTORS} && GODEBUG=containermaxprocs=0,updatemaxprocs=0 exec '${esbuildPath.replaceAll("'", "'\\''")}' "$@"
`;

/** Whether the program has a file system of its own. */
export const hasOwnFiles = ({ namespaces }: Confinement): boolean => namespaces?.kind === 'bubblewrap';

/** Whether esbuild is started without descriptors to spare where the disk is in its reach: the number is that of Linux. */
export const CAN_STARVE = process.platform === 'linux';

export function bundlerProgram(
  files: BundlerFiles,
  confinement: Confinement,
  starve = CAN_STARVE,
): ConfinedProgram {
  return program(files, confinement, starve, []);
}

/** Starts everything, bundles one line, and ends. */
export function bundlerSelfTest(
  files: BundlerFiles,
  confinement: Confinement,
  starve = CAN_STARVE,
): ConfinedProgram {
  return program(files, confinement, starve, [SELF_TEST_FLAG]);
}

function program(
  { bundlerPath, esbuildPath, esbuildWithoutFilesPath, libraries }: BundlerFiles,
  confinement: Confinement,
  starve: boolean,
  flags: readonly string[],
): ConfinedProgram {
  const wrapped = hasOwnFiles(confinement);
  const esbuild = !wrapped && starve ? esbuildWithoutFilesPath : esbuildPath;
  const diskless = wrapped || starve ? [DISKLESS_FLAG] : [];
  return {
    path: process.execPath,
    args: [
      '--permission',
      `--allow-fs-read=${bundlerPath}`,
      `--allow-fs-read=${esbuild}`,
      '--allow-child-process',
      // It warns of the permission for children at every start; the one child is esbuild.
      '--disable-warning=SecurityWarning',
      bundlerPath,
      `${ESBUILD_FLAG}${esbuild}`,
      ...diskless,
      ...flags,
    ],
    files: [bundlerPath, esbuildPath, ...libraries],
  };
}
