/**
 * Puts what a cell needs to start into a folder: its one JavaScript file and the isolated-vm addon;
 * and the files of the process that bundles an upload. Keeps the prelude for the isolates in
 * memory. Also checks that Node and isolated-vm are new enough for the sandbox.
 */
import { chmodSync, copyFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { type BundlerFiles, esbuildWithoutFiles } from '../bundle/bundler-program.ts';
import { sharedLibraries } from '../confinement/bubblewrap.ts';
import { makeCellFolder } from './cell-folder.ts';
import { type CellSources, cellSources } from './cell-sources.ts';

/** Oldest Node whose V8 the sandbox is built on. */
const NODE_MAJOR_MIN = 26;
/** Older ones can be escaped from through `ExternalCopy` (GHSA-864f-rcv7-6rh4). */
const ISOLATED_VM_MAJOR_MIN = 7;

export interface CellBuild {
  /** The cell's script. */
  readonly scriptPath: string;
  /** Files of the process that bundles an upload. */
  readonly bundlerFiles: BundlerFiles;
  /** The isolated-vm addon that fits this Node: a copy, where any user can read it. */
  readonly addonPath: string;
  /** The shared libraries that Node is linked to. */
  readonly libraries: readonly string[];
  /** The prelude, which every blank isolate runs first, then its parts. */
  readonly sources: readonly Buffer[];
  /** Removes the folder of all of them. */
  remove(): void;
}

/**
 * Builds all files of a cell and puts them into a folder of their own.
 *
 * @param built an earlier result of `cellSources`, for callers that start many services
 * @throws an Error that says what to do where Node or isolated-vm is too old
 */
export async function buildCell(built?: CellSources): Promise<CellBuild> {
  const addon = findAddon();
  const { script, bundler, isolate } = built ?? (await cellSources());
  const sources = isolate.map((text) => Buffer.from(text));
  // Attack: another user puts code into the cells. So only this user can write to the folder.
  // Others can read it, because cells may run as another user.
  const folder = await makeCellFolder();
  const { scriptPath, bundlerPath, esbuildPath, esbuildWithoutFilesPath, addonPath } = folder;
  const libraries = sharedLibraries();
  writeFileSync(scriptPath, script);
  writeFileSync(bundlerPath, bundler);
  writeFileSync(esbuildWithoutFilesPath, esbuildWithoutFiles(esbuildPath));
  copyFileSync(addon, addonPath);
  copyFileSync(findEsbuild(), esbuildPath);
  chmodSync(folder.path, 0o755);
  for (const path of [scriptPath, bundlerPath, addonPath]) chmodSync(path, 0o644);
  for (const path of [esbuildPath, esbuildWithoutFilesPath]) chmodSync(path, 0o755);
  return {
    scriptPath,
    bundlerFiles: { bundlerPath, esbuildPath, esbuildWithoutFilesPath, libraries },
    addonPath,
    libraries,
    sources,
    remove: () => folder.remove(),
  };
}

/** Path of esbuild's own program, in the package for this platform. */
export function findEsbuild(): string {
  const library = createRequire(import.meta.url).resolve('esbuild');
  const name = `@esbuild/${process.platform}-${process.arch}`;
  const program = process.platform === 'win32' ? 'esbuild.exe' : 'bin/esbuild';
  return createRequire(library).resolve(`${name}/${program}`);
}

function findAddon(): string {
  const nodeMajor = Number(process.versions.node.split('.')[0]);
  if (nodeMajor < NODE_MAJOR_MIN) {
    throw new Error(
      `Annex needs Node ${NODE_MAJOR_MIN}; this is ${process.version}. Start it with \`npm start\`, which uses the Node that npm installed.`,
    );
  }
  const require = createRequire(import.meta.url);
  const { version } = require('isolated-vm/package.json') as { version: string };
  if (Number(version.split('.')[0]) < ISOLATED_VM_MAJOR_MIN) {
    throw new Error(
      `isolated-vm ${version} has a known escape; version ${ISOLATED_VM_MAJOR_MIN} or later is needed.`,
    );
  }
  const manifest = require.resolve('isolated-vm/package.json');
  // isolated-vm's own dependency finds the build that fits. It runs here, because a cell may not
  // read folders.
  const builds = createRequire(manifest)('node-gyp-build') as { path(folder: string): string };
  return builds.path(dirname(manifest));
}
