/** `annex dev`, against the running service: its own service has a test of its own. */
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { manifestOf, write } from '../author-folder.ts';
import type { CommandCase } from '../command-case.ts';
import type { CommandWorld } from '../command-world.ts';

const FREE = ['--port', '0', '--page-port', '0'];
let folders = 0;

async function folderIn(world: CommandWorld): Promise<string> {
  folders += 1;
  return write(await world.folder(), {
    'platform-manifest.yaml': manifestOf(`dev-case-${folders}`, 'index.js'),
    'index.js': 'export default { fetch: () => new Response("ok") };',
  });
}

export const DEV_CASES: readonly CommandCase[] = [
  {
    command: 'dev',
    success: async (world) => ({
      words: ['dev', await folderIn(world), '--service', ...FREE],
      env: world.env,
      stopWhen: /^live |"event":"live"/m,
    }),
    shows:
      /annex dev watches .*page {2}http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}\/.*live dev-case-\d+, version 1/s,
    failures: [
      {
        title: 'a folder that has no manifest',
        run: async (world) => ({ words: ['dev', await world.folder(), ...FREE], env: world.home }),
        code: 1,
        says: /cannot be uploaded/,
      },
      {
        title: 'a port that is none',
        run: () => ({ words: ['dev', '--port', '70000'] }),
        code: 2,
        says: /--port: "70000" is not a port\./,
      },
      {
        title: 'debuggers for a running service',
        run: () => ({ words: ['dev', '--inspect', '--service'] }),
        code: 2,
        says: /--inspect lets debuggers into a service of this command; a running one lets none in\./,
      },
      {
        title: 'no running service, which was asked for',
        run: async (world) => ({
          words: ['dev', await folderIn(world), '--service', ...FREE],
          env: world.envOfNoService,
        }),
        code: 1,
        says: /Nothing listens at http:\/\/127\.0\.0\.1:\d+\./,
      },
      {
        title: 'a data folder that is no folder',
        run: async (world) => {
          const folder = await folderIn(world);
          await writeFile(join(folder, '.annex'), 'no folder');
          return { words: ['dev', folder, ...FREE], env: world.home };
        },
        code: 1,
        says: /\.annex is not a folder of yours, so it is not used\./,
      },
      {
        title: 'a data folder with a link, as Git has it',
        run: async (world) => {
          const folder = await folderIn(world);
          await chmod(folder, 0o755);
          await mkdir(join(folder, '.annex'), { mode: 0o700 });
          await symlink('../index.js', join(folder, '.annex/.gitignore'));
          return { words: ['dev', folder, ...FREE], env: world.home };
        },
        code: 1,
        says: /\.gitignore is a link, and `annex dev` makes none/,
      },
    ],
  },
];
