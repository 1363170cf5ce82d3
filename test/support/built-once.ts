/**
 * Results that are built once in a run of the tests and shared by all files. The first file that
 * needs one builds it.
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';
import { bundlerProgram, esbuildWithoutFiles } from '../../src/host/bundle/bundler-program.ts';
import { Launcher } from '../../src/host/confinement/launch.ts';
import { UNCONFINED } from '../../src/host/confinement/layers.ts';
import { findEsbuild } from '../../src/host/launch/cell-build.ts';
import { type CellSources, cellSources as makeCellSources } from '../../src/host/launch/cell-sources.ts';

/**
 * Returns a result from the folder of the run, or builds it. @param name file in which it is kept;
 * the result is JSON
 */
export async function builtOnce<T>(name: string, build: () => Promise<T>): Promise<T> {
  const path = join(inject('runFolder'), name);
  const kept = await readFile(path, 'utf8').catch(() => undefined);
  if (kept !== undefined) return JSON.parse(kept) as T;
  const built = await build();
  // Two files may build it at once while others read: renaming lets them find all of it or nothing.
  const part = `${path}.${process.pid}`;
  await writeFile(part, JSON.stringify(built));
  await rename(part, path);
  return built;
}

let sources: Promise<CellSources> | undefined;

/** The sources that cells run. */
export function cellSources(): Promise<CellSources> {
  sources ??= makeCellSources();
  return sources;
}

let launcher: Promise<Launcher> | undefined;

/** Starts the process that reads and bundles an upload, without layers of confinement. */
export function bundlerLauncher(): Promise<Launcher> {
  launcher ??= cellSources().then(async ({ bundler }) => {
    const folder = inject('runFolder');
    const files = {
      bundlerPath: join(folder, `bundler-process-${process.pid}.cjs`),
      esbuildPath: findEsbuild(),
      esbuildWithoutFilesPath: join(folder, `esbuild-without-files-${process.pid}`),
      libraries: [],
    };
    await writeFile(files.bundlerPath, bundler);
    await writeFile(files.esbuildWithoutFilesPath, esbuildWithoutFiles(files.esbuildPath), { mode: 0o755 });
    return new Launcher(bundlerProgram(files, UNCONFINED));
  });
  return launcher;
}
