/**
 * A folder for one run of the tests: what is built once for all of them (`built-once.ts`), and Node's own cache of the code that
 * processes of the tests load, most of them the same. It goes with the run, so nothing is ever older than the code.
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
  // Processes that are about to end may still write to the cache.
  const remove = () => rm(folder, { recursive: true, force: true, maxRetries: 10 });
  project.provide('runFolder', folder);
  process.env['NODE_COMPILE_CACHE'] = join(folder, 'compiled');
  project.onTestsRerun(async () => {
    await remove();
    await mkdir(folder);
  });
  return remove;
}
