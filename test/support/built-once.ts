/**
 * What is built once in a run of the tests, and used by every file of it: the same code would come of it again and again.
 * Whichever file needs it first builds it.
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';
import { bundlerProgram, esbuildWithoutFiles } from '../../src/bundle/bundler-program.ts';
import { Launcher } from '../../src/confinement/launch.ts';
import { UNCONFINED } from '../../src/confinement/layers.ts';
import { buildSources, type CellSources, findEsbuild } from '../../src/launch/cell-build.ts';

/** @param name of the file that it is kept in */
export async function builtOnce<T>(name: string, build: () => Promise<T>): Promise<T> {
  const path = join(inject('runFolder'), name);
  const kept = await readFile(path, 'utf8').catch(() => undefined);
  if (kept !== undefined) return JSON.parse(kept) as T;
  const built = await build();
  // Two files may build it at once, and others read meanwhile: they find all of it or nothing.
  const part = `${path}.${process.pid}`;
  await writeFile(part, JSON.stringify(built));
  await rename(part, path);
  return built;
}

let sources: Promise<CellSources> | undefined;

/** What cells run. */
export function cellSources(): Promise<CellSources> {
  sources ??= builtOnce('cell-sources.json', buildSources);
  return sources;
}

let launcher: Promise<Launcher> | undefined;

/** Starts the process that reads and bundles an upload, with no layer around it. */
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
