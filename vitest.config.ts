/**
 * Test runner settings. Isolates inside the test process need V8 without Node's start-up snapshot.
 */
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/vitest/longest-first.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/vitest/run-folder.ts'],
    pool: 'forks',
    execArgv: ['--no-node-snapshot'],
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
