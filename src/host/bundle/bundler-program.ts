/**
 * Command line of the process that reads and bundles one upload (Node, which starts esbuild), and
 * of its self-test, which shows whether both start inside the confinement. Keeps esbuild from
 * reading the disk.
 *
 * Attack: a glob import, which esbuild expands on the disk without the plugin, finds files of the
 * host. In its own file system esbuild finds none. Where namespaces are not available, a shell
 * script starts esbuild with a descriptor limit equal to what it needs to run, so it cannot open
 * another file or folder.
 */
import type { ConfinedProgram } from '../confinement/confined-program.ts';
import type { LaunchOptions } from '../confinement/launch.ts';
import type { Confinement } from '../confinement/layers.ts';
import { DISKLESS_FLAG, ESBUILD_FLAG, SELF_TEST_FLAG } from './bundler-flags.ts';

/**
 * Memory limit of each process of a build: twice the measured need of the largest script within the
 * limits.
 */
const BUILD_DATA_MIB = 1_536;

/** How the process is started. */
export const BUNDLER_LAUNCH: LaunchOptions = {
  ownGroup: true,
  dataKib: BUILD_DATA_MIB * 1024,
  stderr: 'ignore',
};

/** Paths of the files that the program consists of. */
export interface BundlerFiles {
  /** The script of the process. */
  readonly bundlerPath: string;
  /** esbuild's own program. */
  readonly esbuildPath: string;
  /** A shell script that starts esbuild without spare descriptors. */
  readonly esbuildWithoutFilesPath: string;
  /** The shared libraries that Node is linked to. */
  readonly libraries: readonly string[];
}

/**
 * Standard input, output and error; the epoll descriptor of Go's runtime and the one that wakes it.
 */
const ESBUILD_DESCRIPTORS = 5;

/** Text of the shell script. `GODEBUG` stops Go's runtime from opening files to count cores. */
export const esbuildWithoutFiles = (esbuildPath: string): string => `#!/bin/sh
ulimit -n ${ESBUILD_DESCRIPTORS} && GODEBUG=containermaxprocs=0,updatemaxprocs=0 exec '${esbuildPath.replaceAll("'", "'\\''")}' "$@"
`;

/** Whether the program has its own file system. */
export const hasOwnFiles = ({ namespaces }: Confinement): boolean => namespaces?.kind === 'bubblewrap';

/**
 * Whether esbuild can be started without spare descriptors; `ESBUILD_DESCRIPTORS` holds on Linux
 * only.
 */
export const CAN_STARVE = process.platform === 'linux';

export function bundlerProgram(
  files: BundlerFiles,
  confinement: Confinement,
  starve = CAN_STARVE,
): ConfinedProgram {
  return program(files, confinement, starve, []);
}

/** The self-test: starts Node and esbuild, bundles one line, and exits. */
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
      // Node warns about child-process permission at each start; esbuild is the only child.
      '--disable-warning=SecurityWarning',
      bundlerPath,
      `${ESBUILD_FLAG}${esbuild}`,
      ...diskless,
      ...flags,
    ],
    files: [bundlerPath, esbuildPath, ...libraries],
  };
}
