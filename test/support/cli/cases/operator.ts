/** Commands of an operator that work on a data folder, and `annex doctor`. */
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Invocation } from '../annex-run.ts';
import type { CommandCase } from '../command-case.ts';
import type { CommandWorld } from '../command-world.ts';
import { noService, unknownToken } from '../service-failures.ts';

/** A data folder with a vault key. */
async function dataFolder(world: CommandWorld): Promise<string> {
  const data = await world.folder();
  const key = `${randomBytes(32).toString('base64url')}\n`;
  await writeFile(join(data, 'vault.key'), key, { mode: 0o600 });
  return data;
}

/** A backup of the data folder of the running service. */
async function backup(world: CommandWorld): Promise<Invocation> {
  return { words: ['backup', '--data', world.data, '--to', join(await world.folder(), 'annex.db')] };
}

export const OPERATOR_CASES: readonly CommandCase[] = [
  {
    command: 'doctor',
    success: (world) => ({ words: ['doctor', '--only', 'service'], env: world.env }),
    shows: /^ok {2}service: answers, with 1 cells$.*^ok {2}versions: .*^ok {2}token: accepted/ms,
    failures: [
      {
        title: 'a part that there is not',
        run: () => ({ words: ['doctor', '--only', 'servce'] }),
        code: 2,
        says: /--only must be one of all, machine, service; it is "servce"\. Did you mean service\?/,
      },
      {
        title: 'a word too many',
        run: () => ({ words: ['doctor', 'service'] }),
        code: 2,
        says: /Too many arguments/,
      },
      {
        title: 'an option that there is not',
        run: () => ({ words: ['doctor', '--onyl', 'service'] }),
        code: 2,
        says: /Did you mean --only\?/,
      },
    ],
  },
  {
    command: 'api',
    success: (world) => ({ words: ['api', 'get', '/v1/integrations?limit=1'], env: world.env }),
    shows: /^\{"items":\[/,
    failures: [
      {
        title: 'a path that is none of the API',
        run: (world) => ({ words: ['api', 'GET', 'https://example.com/v1'], env: world.env }),
        code: 2,
        says: /<path>: a path begins with \/v1\//,
      },
      {
        title: 'a body that is not JSON, which is not quoted',
        run: (world) => ({ words: ['api', 'POST', '/v1/tokens', '--data', '{secret'], env: world.env }),
        code: 2,
        says: /^(?!.*secret).*--data is not JSON\./s,
      },
      {
        title: 'a route that there is not',
        run: (world) => ({ words: ['api', 'GET', '/v1/nothing'], env: world.env }),
        code: 1,
        says: /No route GET \/v1\/nothing.*\n`annex api GET \/v1\/openapi\.json` lists the routes\./,
      },
      noService(['api', 'GET', '/v1/integrations']),
      unknownToken(['api', 'GET', '/v1/integrations']),
    ],
  },
  {
    command: 'backup',
    success: backup,
    shows: /annex\.db: [\d.]+ MiB, checked\./,
    failures: [
      {
        title: 'no file to make',
        run: () => ({ words: ['backup'] }),
        code: 2,
        says: /Required option '--to <file>' not specified/,
      },
      {
        title: 'a folder without a database',
        run: async (world) => ({
          words: ['backup', '--data', await world.folder(), '--to', join(await world.folder(), 'annex.db')],
        }),
        code: 1,
        says: /annex\.db does not exist/,
      },
      {
        title: 'a store in PostgreSQL',
        run: () => ({
          words: ['backup', '--to', 'annex.db'],
          env: { ANNEX_DATABASE_URL: 'postgres://localhost/annex' },
        }),
        code: 2,
        says: /pg_dump/,
      },
    ],
  },
  {
    command: 'copy',
    successIn: 'test/store/copy/annex-copy.test.ts',
    failures: [
      {
        title: 'no database to copy to',
        run: async (world) => ({ words: ['copy', '--data', await world.folder()] }),
        code: 2,
        says: /ANNEX_DATABASE_URL must name the PostgreSQL database to copy to\./,
      },
      {
        title: 'a database of another kind',
        run: () => ({ words: ['copy'], env: { ANNEX_DATABASE_URL: 'mysql://localhost/annex' } }),
        code: 2,
        says: /ANNEX_DATABASE_URL/,
      },
      {
        title: 'a folder without a store',
        run: async (world) => ({
          words: ['copy', '--data', await world.folder()],
          env: { ANNEX_DATABASE_URL: 'postgres://localhost:1/annex' },
        }),
        code: 1,
        says: /does not exist/,
      },
    ],
  },
  {
    command: 'vault rotate',
    success: async (world) => ({ words: ['vault', 'rotate', '--data', await dataFolder(world)] }),
    shows: /vault\.key begins with a new key, [0-9a-f]+\./,
    failures: [
      {
        title: 'keys in a variable',
        run: () => ({
          words: ['vault', 'rotate'],
          env: { ANNEX_VAULT_KEYS: randomBytes(32).toString('base64url') },
        }),
        code: 1,
        says: /Put a new one before them there/,
      },
      {
        title: 'a folder without a key',
        run: async (world) => ({ words: ['vault', 'rotate', '--data', await world.folder()] }),
        code: 1,
        says: /vault\.key/,
      },
      {
        title: 'an option that there is not',
        run: () => ({ words: ['vault', 'rotate', '--dta', 'x'] }),
        code: 2,
        says: /Did you mean --data\?/,
      },
    ],
  },
];
