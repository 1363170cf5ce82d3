/**
 * A folder for one run of the tests: for results that are built once (`built-once.ts`), and for
 * Node's compile cache, because most processes of the tests load the same code. It is removed after
 * the run, so nothing in it is older than the code.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    runFolder: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'annex-run-'));
  // Processes that are about to exit may still write to the cache.
  const remove = () => rm(folder, { recursive: true, force: true, maxRetries: 10 });
  project.provide('runFolder', folder);
  process.env['NODE_COMPILE_CACHE'] = join(folder, 'compiled');
  project.onTestsRerun(async () => {
    await remove();
    await mkdir(folder);
  });
  return remove;
}
