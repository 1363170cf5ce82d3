/**
 * What is built once in a run of the tests, and used by every file of it: the same code would come of it again and again.
 * Whichever file needs it first builds it.
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';
import { buildSources, type CellSources } from '../../src/runtime/cell-build.ts';

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

let program: Promise<string> | undefined;

/** The file of the process that bundles an upload. */
export function bundlerProgram(): Promise<string> {
  program ??= cellSources().then(async ({ bundler }) => {
    const path = join(inject('runFolder'), `bundler-process-${process.pid}.mjs`);
    await writeFile(path, bundler);
    return path;
  });
  return program;
}
