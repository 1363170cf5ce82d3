/**
 * Test runner settings. Isolates inside the test process need V8 without Node's start-up snapshot.
 */
import './src/require-node.cjs';
import { LONG_ALONE, LONG_SUITES } from './test/support/vitest/long-suites.ts';
import { ABOUT_POSTGRES, ABOUT_SQLITE, POSTGRES_SUITES } from './test/support/vitest/postgres-suites.ts';

// After the check: without `npm ci` there is no such package.
const { configDefaults, defineConfig } = await import('vitest/config');
const sequencer = './test/support/vitest/slow-folders-first.ts';
// Not as a text, which Vitest would bundle with its imports.
const { SlowFoldersFirst } = await import(new URL(sequencer, import.meta.url).href);
const endOfRun = './test/support/vitest/end-of-run.ts';
const { EndOfRun } = await import(new URL(endOfRun, import.meta.url).href);

const SHARED = ['unit', 'store', 'isolate'].map((folder) => `test/${folder}/**/*.test.ts`);
const SERVICE = ['test/service/**/*.test.ts'];

export default defineConfig({
  test: {
    globalSetup: ['test/support/vitest/run-folder.ts'],
    pool: 'forks',
    execArgv: ['--no-node-snapshot'],
    // One more than the cores of a small machine: a test that waits for a deadline leaves one idle.
    maxWorkers: 3,
    sequence: { sequencer: SlowFoldersFirst },
    // These deadlines only bound a failure: a test ends with the event that it waits for, and on a
    // machine that is busy with other work that may take ten times as long as alone.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // The check of a change runs nine thousand tests with real processes on machines that other
    // work shares. One that fails once and then passes is listed at the end, and has to be mended;
    // it does not refuse a change that has nothing to do with it.
    retry: process.env['CI'] ? 1 : 0,
    reporters: ['default', new EndOfRun()],
    expect: { poll: { timeout: 90_000, interval: 10 } },
    projects: [
      // Their files leave nothing in the process: it is shared, and with it the imported modules.
      {
        extends: true,
        test: {
          name: 'shared',
          include: SHARED,
          exclude: [...configDefaults.exclude, ...ABOUT_POSTGRES, ...LONG_SUITES],
          isolate: false,
        },
      },
      // The same of files that start services. Their processes are others: tests of the first kind
      // measure memory.
      {
        extends: true,
        test: {
          name: 'service',
          include: SERVICE,
          exclude: [...configDefaults.exclude, ...ABOUT_POSTGRES, ...LONG_SUITES],
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'alone',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...SHARED, ...SERVICE, ...LONG_SUITES],
        },
      },
      {
        extends: true,
        test: {
          name: 'long',
          include: [...LONG_SUITES],
          exclude: [...configDefaults.exclude, ...LONG_ALONE],
        },
      },
      { extends: true, test: { name: 'long-alone', include: [...LONG_ALONE] } },
      // Suites of the others once more, with the stores and services on PostgreSQL.
      {
        extends: true,
        test: {
          name: 'postgres',
          globalSetup: ['test/support/vitest/postgres-server.ts'],
          setupFiles: ['test/support/vitest/on-postgres.ts'],
          include: [...POSTGRES_SUITES],
          exclude: [...configDefaults.exclude, ...ABOUT_SQLITE],
          isolate: false,
        },
      },
    ],
  },
});
