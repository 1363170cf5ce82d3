/** `annex token`, `annex organizations`, `annex console` and `annex portal`. */
import { randomBytes } from 'node:crypto';
import type { CommandCase } from '../command-case.ts';
import { noService, noToken, unknownToken } from '../service-failures.ts';

export const TOKEN_CASES: readonly CommandCase[] = [
  {
    command: 'console',
    success: (world) => ({ words: ['console'], env: world.env }),
    shows: /^http:\/\/127\.0\.0\.1:\d+\/console\/#sign-in=annex_admin_[\w-]{43}\n$/,
    failures: [noService(['console']), noToken(['console']), unknownToken(['console'])],
  },
  {
    command: 'portal',
    success: (world) => ({ words: ['portal', 'acme', '--view', 'webhooks'], env: world.env }),
    shows: /^http:\/\/127\.0\.0\.1:\d+\/portal\/#sign-in=annex_organization_[\w-]{43}\n$/,
    failures: [
      {
        title: 'a view that there is not',
        run: (world) => ({ words: ['portal', 'acme', '--view', 'logs'], env: world.env }),
        code: 2,
        says: /--view must be one of .*; it is "logs"/,
      },
      {
        title: 'a session that is too long',
        run: (world) => ({ words: ['portal', 'acme', '--minutes', '1000'], env: world.env }),
        code: 2,
        says: /--minutes is a whole number from 1 to 720/,
      },
      noService(['portal', 'acme']),
      noToken(['portal', 'acme']),
      unknownToken(['portal', 'acme']),
    ],
  },
  {
    command: 'token create',
    success: (world) => ({
      words: ['token', 'create', '--kind', 'organization', '--organization', 'acme'],
      env: world.env,
    }),
    shows: /^annex_organization_[\w-]{43}\n$/,
    failures: [
      {
        title: 'a kind that there is not',
        run: (world) => ({ words: ['token', 'create', '--kind', 'admn'], env: world.env }),
        code: 2,
        says: /--kind must be one of .*; it is "admn"\. Did you mean admin\?/,
      },
      {
        title: 'a right that there is not',
        run: (world) => ({
          words: ['token', 'create', '--kind', 'platform', '--right', 'event:post'],
          env: world.env,
        }),
        code: 2,
        says: /--right must be one of .*Did you mean events:post\?/,
      },
      {
        title: 'a right that its kind has not',
        run: (world) => ({
          words: ['token', 'create', '--kind', 'platform', '--right', 'publish'],
          env: world.env,
        }),
        code: 1,
        says: /a token of kind platform cannot have the right "publish"/,
      },
      {
        title: 'an organization that is missing',
        run: (world) => ({ words: ['token', 'create', '--kind', 'organization'], env: world.env }),
        code: 2,
        says: /needs --organization/,
      },
      {
        title: 'a token that may not make tokens',
        run: (world) => ({
          words: ['token', 'create', '--kind', 'admin'],
          env: { ...world.env, ANNEX_TOKEN: world.service.platform },
        }),
        code: 1,
        says: /admin.*\nThe token is from ANNEX_TOKEN\./s,
      },
    ],
  },
  {
    command: 'token list',
    success: (world) => ({ words: ['token', 'list'], env: world.env }),
    shows: /^tok_\w+ +admin /m,
    failures: [noService(['token', 'list']), noToken(['token', 'list']), unknownToken(['token', 'list'])],
  },
  {
    command: 'token revoke',
    success: async (world) => {
      const json = { kind: 'platform' };
      const { body } = await world.service.api('POST', '/v1/tokens', { json });
      return { words: ['token', 'revoke', String(body['id'])], env: world.env };
    },
    shows: /^tok_\w+ is revoked\.$/m,
    failures: [
      {
        title: 'a token that there is not',
        run: (world) => ({ words: ['token', 'revoke', 'tok_none'], env: world.env }),
        code: 1,
        says: /There is no token "tok_none"/,
      },
      {
        title: 'no id',
        run: (world) => ({ words: ['token', 'revoke'], env: world.env }),
        code: 2,
        says: /Missing required argument 'id'/,
      },
      noService(['token', 'revoke', 'tok_none']),
    ],
  },
  {
    command: 'token recover',
    success: async (world) => ({ words: ['token', 'recover', '--data', world.data] }),
    shows: /^annex_admin_[\w-]{43}\n$/,
    failures: [
      {
        title: 'a folder without a database',
        run: async (world) => ({ words: ['token', 'recover', '--data', await world.folder()] }),
        code: 1,
        says: /annex\.db does not exist/,
      },
      {
        title: 'the keys of another vault',
        run: (world) => ({
          words: ['token', 'recover', '--data', world.data],
          env: { ANNEX_VAULT_KEYS: randomBytes(32).toString('base64url') },
        }),
        code: 1,
        says: /ANNEX_VAULT_KEYS lacks keys with which this store was sealed/,
      },
      {
        title: 'a word too many',
        run: () => ({ words: ['token', 'recover', 'data'] }),
        code: 2,
        says: /Too many arguments/,
      },
    ],
  },
  {
    command: 'organizations list',
    success: async (world) => {
      const json = { subdomain: 'cli-listed', title: 'Listed' };
      await world.service.api('PUT', '/v1/organizations/org_listed', { json });
      return { words: ['organizations', 'list'], env: world.env };
    },
    shows: /^org_listed +cli-listed +Listed /m,
    failures: [
      noService(['organizations', 'list']),
      noToken(['organizations', 'list']),
      unknownToken(['organizations', 'list']),
    ],
  },
  {
    command: 'organizations put',
    success: (world) => ({
      words: ['organizations', 'put', 'org_put', '--subdomain', 'cli-put', '--title', 'Acme Inc.'],
      env: world.env,
    }),
    shows: /^org_put is declared, in manifests also cli-put\.$/m,
    failures: [
      {
        title: 'a subdomain that is none',
        run: (world) => ({
          words: ['organizations', 'put', 'org_1', '--subdomain', 'Not One'],
          env: world.env,
        }),
        code: 1,
        says: /body\.subdomain must be 1 to 63 lower-case letters/,
      },
      {
        title: 'a subdomain that another has',
        run: async (world) => {
          await world.service.api('PUT', '/v1/organizations/org_first', { json: { subdomain: 'cli-first' } });
          return { words: ['organizations', 'put', 'org_2', '--subdomain', 'cli-first'], env: world.env };
        },
        code: 1,
        says: /The subdomain "cli-first" is that of the organization "org_first"/,
      },
      noService(['organizations', 'put', 'org_1']),
    ],
  },
  {
    command: 'organizations delete',
    success: async (world) => {
      await world.service.api('PUT', '/v1/organizations/org_gone', { json: {} });
      return { words: ['organizations', 'delete', 'org_gone'], env: world.env };
    },
    shows: /^org_gone is not declared any more\.$/m,
    failures: [
      {
        title: 'one that is not declared',
        run: (world) => ({ words: ['organizations', 'delete', 'org_none'], env: world.env }),
        code: 1,
        says: /The organization "org_none" is not declared/,
      },
      noService(['organizations', 'delete', 'org_1']),
      noToken(['organizations', 'delete', 'org_1']),
    ],
  },
];
