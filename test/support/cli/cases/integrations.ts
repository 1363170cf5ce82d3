/** `annex integrations`, `annex versions`, `annex rollback`, `annex review`. */
import type { CommandCase, FailingRun } from '../command-case.ts';
import type { CommandWorld } from '../command-world.ts';
import { noService, noToken, unknownToken } from '../service-failures.ts';

const unknown = (words: readonly string[]): FailingRun => ({
  title: 'a misspelt integration',
  run: async (world) => {
    await world.shared();
    return { words: [...words, 'cli-shraed'], env: world.env };
  },
  code: 1,
  says: /There is no integration "cli-shraed".*\nDid you mean cli-shared\?/,
});

/** The shared integration, with its second version active again. */
async function rollable(world: CommandWorld): Promise<string> {
  const name = await world.shared();
  await world.service.api('POST', `/v1/integrations/${name}/versions/2/activate`);
  return name;
}

export const INTEGRATION_CASES: readonly CommandCase[] = [
  {
    command: 'integrations list',
    success: async (world) => {
      await rollable(world);
      return { words: ['integrations', 'list'], env: world.env };
    },
    shows: /^INTEGRATION +VERSION.*\n.*^cli-shared +2 +acme +public /ms,
    failures: [
      noService(['integrations', 'list']),
      noToken(['integrations', 'list']),
      unknownToken(['integrations', 'list']),
    ],
  },
  {
    command: 'integrations show',
    success: async (world) => ({
      words: ['integrations', 'show', await world.shared()],
      env: world.env,
    }),
    shows: /^organization +acme$/m,
    failures: [
      unknown(['integrations', 'show']),
      noService(['integrations', 'show', 'hello']),
      unknownToken(['integrations', 'show', 'hello']),
    ],
  },
  {
    command: 'integrations delete',
    success: async (world) => ({
      words: ['integrations', 'delete', await world.own()],
      env: world.env,
    }),
    shows: /^cli-\d+ is deleted\.$/m,
    failures: [
      unknown(['integrations', 'delete']),
      {
        title: 'one that is installed',
        run: async (world) => {
          const name = await world.shared();
          await world.service.install(name);
          return { words: ['integrations', 'delete', name], env: world.env };
        },
        code: 1,
        says: /installed/,
      },
      noToken(['integrations', 'delete', 'hello']),
    ],
  },
  {
    command: 'versions',
    success: async (world) => ({ words: ['versions', await rollable(world)], env: world.env }),
    shows: /^2 +active .*\n1 /m,
    failures: [unknown(['versions']), noService(['versions', 'hello']), noToken(['versions', 'hello'])],
  },
  {
    command: 'source-map',
    success: async (world) => ({
      words: ['source-map', await rollable(world), '1', '--out', await world.folder()],
      env: world.env,
    }),
    shows: /cli-shared@1\.js\n.*cli-shared@1\.js\.map\n/,
    failures: [
      unknown(['source-map']),
      {
        title: 'a version that there is not',
        run: async (world) => ({ words: ['source-map', await world.shared(), '9'], env: world.env }),
        code: 1,
        says: /no version 9/,
      },
      {
        title: 'a version that is no number',
        run: async (world) => ({ words: ['source-map', await world.shared(), 'last'], env: world.env }),
        code: 2,
        says: /a version is a whole number/,
      },
    ],
  },
  {
    command: 'rollback',
    success: async (world) => ({ words: ['rollback', await rollable(world)], env: world.env }),
    shows: /runs version 1 \(before: 2\)/,
    failures: [
      unknown(['rollback']),
      {
        title: 'a version that there is not',
        run: async (world) => ({ words: ['rollback', await world.shared(), '9'], env: world.env }),
        code: 1,
        says: /no version 9/,
      },
      {
        title: 'a version that is no number',
        run: (world) => ({ words: ['rollback', 'hello', 'v1'], env: world.env }),
        code: 2,
        says: /<version>: a version is a whole number from 1 on; it is "v1"\./,
      },
    ],
  },
  {
    command: 'review',
    success: async (world) => ({ words: ['review', await world.own(), '1', '--approve'], env: world.env }),
    shows: /^cli-\d+, version 1, is approved\.$/m,
    failures: [
      {
        title: 'a version that runs, refused',
        run: async (world) => ({
          words: ['review', await world.own(), '1', '--refuse', 'No.'],
          env: world.env,
        }),
        code: 1,
        says: /Version 1 of "cli-\d+" is the active one/,
      },
      {
        title: 'neither of both said',
        run: (world) => ({ words: ['review', 'hello', '1'], env: world.env }),
        code: 2,
        says: /say either --approve or --refuse/,
      },
      {
        title: 'no version',
        run: (world) => ({ words: ['review', 'hello', '--approve'], env: world.env }),
        code: 2,
        says: /name the version/,
      },
      noToken(['review']),
    ],
  },
];
