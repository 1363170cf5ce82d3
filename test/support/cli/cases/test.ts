/** `annex test`. */

import { write } from '../author-folder.ts';
import type { CommandCase } from '../command-case.ts';
import type { CommandWorld } from '../command-world.ts';

const folder = async (world: CommandWorld, files: Readonly<Record<string, string>>): Promise<string> =>
  write(await world.folder(), files);
const PASSES = "import { test } from 'node:test';\ntest('one and one', () => {});\n";

export const TEST_CASES: readonly CommandCase[] = [
  {
    command: 'test',
    success: async (world) => ({ words: ['test'], cwd: await folder(world, { 'sum.test.js': PASSES }) }),
    shows: /one and one/,
    failures: [
      {
        title: 'a folder without tests',
        run: async (world) => ({ words: ['test'], cwd: await world.folder() }),
        code: 1,
        says: /has no tests that can be run\.\nAdd vitest to the devDependencies/,
      },
      {
        title: 'a folder whose vitest is not installed',
        run: async (world) => ({
          words: ['test'],
          cwd: await folder(world, { 'package.json': '{"devDependencies":{"vitest":"^4"}}' }),
        }),
        code: 1,
        says: /tested with vitest, which is not installed\.\nRun `npm install` in it\./,
      },
      {
        title: 'a folder that is none',
        run: async (world) => ({ words: ['test', 'nowhere'], cwd: await world.folder() }),
        code: 1,
        says: /There is no folder .*nowhere\./,
      },
    ],
  },
];
