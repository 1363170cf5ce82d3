/**
 * A folder for one run of the tests, which its projects share: for results that are built once
 * (`built-once.ts`), and for Node's compile cache, because most processes of the tests load the
 * same code. It is removed after the run, so nothing in it is older than the code.
 *
 * Node writes its cache when a process exits in order. Hosts of tests are mostly killed: without a
 * process that exits, each of them would compile all code anew.
 *
 * Temporary files are in memory where there is room: thousands of short-lived databases cost three
 * times as much CPU on a disk, and each commit waits for it. Tests of what reaches a disk watch the
 * system calls, which are the same.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    runFolder: string;
  }
}

/** A file system in memory, on Linux. */
const MEMORY = '/dev/shm';
/** The folders of a run need less than a quarter of it. */
const MEMORY_BYTES_MIN = 4 * 1024 ** 3;
const MAIN = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));
/** Names the folder: each project of the run has a setup, one after the other. */
const SHARED = 'ANNEX_TEST_RUN_FOLDER';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Workers, and the processes that they start, find it here.
  if (process.env['TMPDIR'] === undefined && (await hasMemory())) process.env['TMPDIR'] = MEMORY;
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

async function hasMemory(): Promise<boolean> {
  const found = await statfs(MEMORY).catch(() => undefined);
  return found !== undefined && found.bavail * found.bsize >= MEMORY_BYTES_MIN;
}

/** Has a process load the code of the host and exit, beside the first tests. */
async function compile(): Promise<void> {
  const host = spawn(process.execPath, [MAIN, '--help'], { stdio: 'ignore' });
  await once(host, 'exit');
}
