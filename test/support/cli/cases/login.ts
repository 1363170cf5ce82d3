/** `annex login`. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CommandCase } from '../command-case.ts';
import type { CommandWorld } from '../command-world.ts';

/** A user without profiles, and the words of a login to the service. */
async function newUser(world: CommandWorld, ...words: string[]) {
  const cwd = await world.folder();
  const { controlUrl } = world.service.service;
  return { words: ['login', controlUrl, ...words], env: { XDG_CONFIG_HOME: cwd }, cwd };
}

export const LOGIN_CASES: readonly CommandCase[] = [
  {
    command: 'login',
    success: async (world) => ({
      ...(await newUser(world, '--token', '-')),
      stdin: `${world.service.admin}\n`,
    }),
    shows: /^Logged in to http:\/\/127\.0\.0\.1:\d+ as profile "default" with a token of kind admin\.$/m,
    failures: [
      {
        title: 'a token that the service does not know',
        run: async (world) => ({ ...(await newUser(world, '--token-stdin')), stdin: 'annex_admin_none' }),
        code: 1,
        says: /does not accept the token from the login/,
      },
      {
        title: 'no token, and no terminal to ask',
        run: (world) => newUser(world),
        code: 2,
        says: /There is no token, and no terminal to ask for it\./,
      },
      {
        title: 'a data folder whose token others can read',
        run: async (world) => {
          const user = await newUser(world, '--data', 'data');
          await mkdir(join(user.cwd, 'data'));
          await writeFile(join(user.cwd, 'data/admin-token'), world.service.admin, { mode: 0o644 });
          return user;
        },
        code: 1,
        says: /admin-token holds a token, and other users can read or change it/,
      },
      {
        title: 'a URL of another scheme',
        run: (world) => ({ words: ['login', 'ftp://example.com', '--token', 'x'], env: world.home }),
        code: 2,
        says: /The URL must begin with http:\/\/ or https:\/\//,
      },
    ],
  },
];
