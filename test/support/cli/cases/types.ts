/** `annex types`. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CommandCase } from '../command-case.ts';
import type { CommandWorld } from '../command-world.ts';

const MANIFEST =
  'name: typed\ntitle: Typed\ndescription: For a test.\norganization: acme\nvisibility: private\nscopes: []\nscript: index.ts\n';

/** A folder with this manifest. */
async function folderWith(world: CommandWorld, manifest = MANIFEST): Promise<string> {
  const folder = await world.folder();
  await writeFile(join(folder, 'platform-manifest.yaml'), manifest);
  return folder;
}

export const TYPES_CASES: readonly CommandCase[] = [
  {
    command: 'types',
    success: async (world) => ({ words: ['types'], cwd: await folderWith(world) }),
    shows: /^annex-env\.d\.ts written$/m,
    failures: [
      {
        title: 'a folder without a manifest',
        run: async (world) => ({ words: ['types'], cwd: await world.folder() }),
        code: 2,
        says: /There is no platform-manifest\.yaml\.\nGive the folder of an integration\./,
      },
      {
        title: 'a manifest with errors',
        run: async (world) => ({
          words: ['types'],
          cwd: await folderWith(world, MANIFEST.replace('private', 'privat')),
        }),
        code: 1,
        says: /^platform-manifest\.yaml:5:13: error: /m,
      },
      {
        title: 'two folders',
        run: async (world) => ({ words: ['types', 'a', 'b'], cwd: await world.folder() }),
        code: 2,
        says: /Too many arguments/i,
      },
    ],
  },
];
