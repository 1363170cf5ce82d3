/**
 * A folder for one run of the tests, which its projects share: for results that are built once
 * (`built-once.ts`), and for Node's compile cache, because most processes of the tests load the
 * same code. It is removed after the run, so nothing in it is older than the code.
 *
 * Node writes its cache when a process exits in order. Hosts of tests are mostly killed: without a
 * process that exits, each of them would compile all code anew.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { useMemory } from './memory-folder.ts';

declare module 'vitest' {
  interface ProvidedContext {
    runFolder: string;
  }
}

const MAIN = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));
/** Names the folder: each project of the run has a setup, one after the other. */
const SHARED = 'ANNEX_TEST_RUN_FOLDER';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Workers, and the processes that they start, find it here.
  await useMemory();
  const shared = process.env[SHARED];
  if (shared !== undefined) {
    project.provide('runFolder', shared);
    return async () => undefined;
  }
  const folder = await mkdtemp(join(tmpdir(), 'annex-run-'));
  process.env[SHARED] = folder;
  // Processes that are about to exit may still write to the cache.
  const remove = () => rm(folder, { recursive: true, force: true, maxRetries: 10 });
  project.provide('runFolder', folder);
  process.env['NODE_COMPILE_CACHE'] = join(folder, 'compiled');
  let compiled = compile();
  project.onTestsRerun(async () => {
    await compiled;
    await remove();
    await mkdir(folder);
    compiled = compile();
  });
  return async () => {
    await compiled;
    await remove();
    delete process.env[SHARED];
  };
}

/** Has a process load the code of the host and exit, beside the first tests. */
async function compile(): Promise<void> {
  const host = spawn(process.execPath, [MAIN, '--help'], { stdio: 'ignore' });
  await once(host, 'exit');
}
