/** `annex event-types`. */
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CommandCase } from '../command-case.ts';
import type { CommandWorld } from '../command-world.ts';
import { noService, noToken, unknownToken } from '../service-failures.ts';

const TYPES = `invoice.paid:
  title: Invoice paid
  level: organization
  schema: { type: object, properties: { amount: { type: number } } }
  sample: { amount: 12.5 }
`;

/** A folder with the file. */
async function withFile(world: CommandWorld, text = TYPES) {
  const cwd = await world.folder();
  await writeFile(join(cwd, 'types.yaml'), text);
  return { cwd, env: world.env };
}

const declare = (world: CommandWorld) =>
  world.service.api('PUT', '/v1/event-types/invoice.paid', {
    json: { title: 'Invoice paid', level: 'organization' },
  });

export const EVENT_TYPE_CASES: readonly CommandCase[] = [
  {
    command: 'event-types list',
    success: async (world) => {
      await declare(world);
      return { words: ['event-types', 'list'], env: world.env };
    },
    shows: /^invoice\.paid +organization /m,
    failures: [
      noService(['event-types', 'list']),
      noToken(['event-types', 'list']),
      unknownToken(['event-types', 'list']),
    ],
  },
  {
    command: 'event-types push',
    success: async (world) => ({
      words: ['event-types', 'push', 'types.yaml', '--force'],
      ...(await withFile(world)),
    }),
    shows: /^(added|changed) +invoice\.paid$/m,
    failures: [
      noService(['event-types', 'delete', 'invoice.paid']),
      {
        title: 'a file that there is not',
        run: (world) => ({ words: ['event-types', 'push', 'none.yaml'], env: world.env }),
        code: 2,
        says: /There is no file none\.yaml/,
      },
      {
        title: 'a link out of its folder',
        run: async (world) => {
          const [{ cwd }, inside] = [await withFile(world), await world.folder()];
          await symlink(join(cwd, 'types.yaml'), join(inside, 'types.yaml'));
          return { words: ['event-types', 'push', 'types.yaml'], cwd: inside, env: world.env };
        },
        code: 2,
        says: /types\.yaml is a link out of its folder/,
      },
      {
        title: 'a file with a fault',
        run: async (world) => ({
          words: ['event-types', 'push', 'types.yaml'],
          ...(await withFile(world, `${TYPES}  wbhook: true\n`)),
        }),
        code: 1,
        says: /types\.yaml:\d+:\d+: invoice\.paid: .*wbhook/,
      },
    ],
  },
  {
    command: 'event-types delete',
    success: async (world) => {
      await declare(world);
      return { words: ['event-types', 'delete', 'invoice.paid'], env: world.env };
    },
    shows: /^invoice\.paid is deleted\.$/m,
    failures: [
      noService(['event-types', 'delete', 'invoice.paid']),
      noToken(['event-types', 'delete', 'invoice.paid']),
      {
        title: 'a type that is not declared',
        run: (world) => ({ words: ['event-types', 'delete', 'no.such'], env: world.env }),
        code: 1,
        says: /There is no event type "no\.such"/,
      },
    ],
  },
];
