/** `annex profile`. */
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { CommandCase, FailingRun } from '../command-case.ts';
import type { CommandWorld } from '../command-world.ts';

const PROFILES = {
  current: 'local',
  profiles: {
    local: { url: 'http://127.0.0.1:7700', token: 'annex_admin_local' },
    staging: { url: 'https://annex.example.com', token: 'annex_admin_staging' },
  },
};

/** Variables of a user who has this file of profiles. */
async function userWith(world: CommandWorld, text = JSON.stringify(PROFILES), mode = 0o600) {
  const folder = await world.folder();
  const file = join(folder, 'annex/profiles.json');
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  await chmod(file, mode);
  return { XDG_CONFIG_HOME: folder };
}

const unknownName = (words: readonly string[]): FailingRun => ({
  title: 'a name that no profile has',
  run: async (world) => ({ words: [...words, 'stagin'], env: await userWith(world) }),
  code: 2,
  says: /There is no profile "stagin"\. Did you mean staging\?/,
});
const openFile = (words: readonly string[]): FailingRun => ({
  title: 'a file that others can read',
  run: async (world) => ({ words, env: await userWith(world, undefined, 0o640) }),
  code: 1,
  says: /other users can read or change it\.\nClose it \(chmod 600 /,
});
const damagedFile = (words: readonly string[]): FailingRun => ({
  title: 'a damaged file',
  run: async (world) => ({ words, env: await userWith(world, '{"profiles": []}') }),
  code: 1,
  says: /profiles\.json is damaged/,
});
const excess = (words: readonly string[]): FailingRun => ({
  title: 'a word too many',
  run: async (world) => ({ words: [...words, 'more'], env: await userWith(world) }),
  code: 2,
  says: /Too many arguments/,
});

export const PROFILE_CASES: readonly CommandCase[] = [
  {
    command: 'profile list',
    success: async (world) => ({ words: ['profile', 'list'], env: await userWith(world) }),
    shows: /^\* +local +http:\/\/127\.0\.0\.1:7700 +yes$/m,
    failures: [openFile(['profile', 'list']), damagedFile(['profile', 'list']), excess(['profile', 'list'])],
  },
  {
    command: 'profile show',
    success: async (world) => ({ words: ['profile', 'show'], env: await userWith(world) }),
    shows: /http:\/\/127\.0\.0\.1:7700 \(profile "local"\)/,
    failures: [
      openFile(['profile', 'show']),
      damagedFile(['profile', 'show']),
      unknownName(['profile', 'show', '--profile']),
    ],
  },
  {
    command: 'profile use',
    success: async (world) => ({ words: ['profile', 'use', 'staging'], env: await userWith(world) }),
    shows: /now talk to https:\/\/annex\.example\.com/,
    failures: [
      unknownName(['profile', 'use']),
      openFile(['profile', 'use', 'staging']),
      excess(['profile', 'use', 'staging']),
    ],
  },
  {
    command: 'profile remove',
    success: async (world) => ({ words: ['profile', 'remove', 'staging'], env: await userWith(world) }),
    shows: /"staging" is forgotten/,
    failures: [
      unknownName(['profile', 'remove']),
      damagedFile(['profile', 'remove', 'staging']),
      excess(['profile', 'remove', 'staging']),
    ],
  },
];
