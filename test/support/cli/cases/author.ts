/** `annex new`, `check`, `publish` and `secrets`. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { manifestOf, write } from '../author-folder.ts';
import type { CommandCase, FailingRun } from '../command-case.ts';
import type { CommandWorld } from '../command-world.ts';

const WORKS = 'export default { fetch: () => new Response("1") };';
// biome-ignore lint/suspicious/noTemplateCurlyInString: it is an expression of a manifest
const SECRETS = 'secrets:\n  API_KEY: ${{ env.SERVICE_KEY }}\n';

/** A folder that can be published. */
const integrationIn = async (world: CommandWorld, name: string, code = WORKS, more = ''): Promise<string> =>
  write(await world.folder(), {
    'platform-manifest.yaml': manifestOf(name, 'src/index.ts', more),
    'src/index.ts': code,
  });

/** Publishes an integration with the secret `API_KEY`, which has a value. */
async function published(world: CommandWorld): Promise<void> {
  const form = new FormData();
  form.append('manifest', manifestOf('with-secret', 'a.js', SECRETS));
  form.append('files', new Blob([WORKS]), 'a.js');
  form.append('secrets', '{"API_KEY": "one"}');
  const { status } = await world.service.api('POST', '/v1/integrations', { form });
  if (status !== 201) throw new Error(`publish answered ${status}`);
}

const stranger = (words: readonly string[]): FailingRun => ({
  title: 'a token that the service does not know',
  run: async (world) => ({
    words,
    env: world.envOfStranger,
    cwd: await integrationIn(world, 'mine'),
    stdin: 'x',
  }),
  code: 1,
  says: /does not accept the token/,
});
const noService = (words: readonly string[]): FailingRun => ({
  title: 'a service that does not run',
  run: async (world) => ({
    words,
    env: world.envOfNoService,
    cwd: await integrationIn(world, 'mine'),
    stdin: 'x',
  }),
  code: 1,
  says: /Nothing listens at/,
});
const emptyFolder = (word: string): FailingRun => ({
  title: 'a folder without a manifest',
  run: async (world) => ({ words: [word], env: world.env, cwd: await world.folder() }),
  code: 1,
  says: /The upload has no manifest/,
});
const unknownIntegration = (words: readonly string[]): FailingRun => ({
  title: 'an integration that nobody published',
  run: (world) => ({ words, env: world.env, stdin: 'value' }),
  code: 1,
  says: /no-such/,
});

export const AUTHOR_CASES: readonly CommandCase[] = [
  {
    command: 'new',
    success: async (world) => ({
      words: ['new', 'oauth', 'my-account'],
      cwd: await world.folder(),
      env: world.home,
    }),
    shows: /^my-account\/platform-manifest\.yaml$/m,
    failures: [
      {
        title: 'a folder that is not empty',
        run: async (world) => {
          const cwd = await world.folder();
          await mkdir(join(cwd, 'hello'));
          await writeFile(join(cwd, 'hello/notes.txt'), '');
          return { words: ['new', 'hello'], cwd, env: world.home };
        },
        code: 1,
        says: /hello is not empty\.\nGive the name of a new folder/,
      },
      {
        title: 'a misspelt template',
        run: async (world) => ({ words: ['new', 'helo'], cwd: await world.folder(), env: world.home }),
        code: 2,
        says: /Did you mean hello\?/,
      },
      {
        title: 'a name that no integration has',
        run: async (world) => ({
          words: ['new', 'hello', '--name', 'My App'],
          cwd: await world.folder(),
          env: world.home,
        }),
        code: 2,
        says: /lower-case letters and digits/,
      },
    ],
  },
  {
    command: 'import',
    success: async (world) => ({
      words: ['import'],
      cwd: await write(await world.folder(), { 'wrangler.toml': 'name = "a-worker"\nmain = "a.js"\n' }),
      env: world.home,
    }),
    shows: /^platform-manifest\.yaml written\.$/m,
    failures: [
      {
        title: 'a folder without a wrangler file',
        run: async (world) => ({ words: ['import'], cwd: await world.folder(), env: world.home }),
        code: 1,
        says: /has no wrangler\.json, wrangler\.jsonc, wrangler\.toml/,
      },
      {
        title: 'a file that is no TOML',
        run: async (world) => ({
          words: ['import'],
          cwd: await write(await world.folder(), { 'wrangler.toml': 'name = ' }),
          env: world.home,
        }),
        code: 1,
        says: /wrangler\.toml cannot be read/,
      },
      {
        title: 'a manifest that is there',
        run: async (world) => ({
          words: ['import'],
          cwd: await write(await world.folder(), {
            'wrangler.toml': 'main = "a.js"',
            'platform-manifest.yaml': manifestOf('mine', 'a.js'),
          }),
          env: world.home,
        }),
        code: 1,
        says: /is there already/,
      },
    ],
  },
  {
    command: 'check',
    success: async (world) => ({
      words: ['check'],
      cwd: await integrationIn(world, 'checked-here'),
      env: world.env,
    }),
    shows: /^checked-here can be published: 2 files/m,
    failures: [emptyFolder('check'), stranger(['check']), noService(['check'])],
  },
  {
    command: 'publish',
    success: async (world) => ({
      words: ['publish', '--install', 'acme', '--secret', 'API_KEY'],
      cwd: await integrationIn(world, 'published-here', WORKS, SECRETS),
      env: { ...world.env, API_KEY: 'one' },
    }),
    shows: /^published published-here, version \d+\n(?:is )?installed for acme: ins_\w+\nhttp:/m,
    failures: [
      emptyFolder('publish'),
      stranger(['publish']),
      {
        title: 'code with an error, at its place',
        run: async (world) => ({
          words: ['publish'],
          cwd: await integrationIn(world, 'broken', 'export default ;'),
          env: world.env,
        }),
        code: 1,
        says: /^src\/index\.ts:1:16: error: Unexpected ";"\n +1 \| export default ;\n +\| {16}\^$.*broken is not published: it has 1 error/ms,
      },
      {
        title: 'a secret without a value',
        run: async (world) => ({
          words: ['publish'],
          cwd: await integrationIn(world, 'without-value', WORKS, SECRETS),
          env: world.env,
        }),
        code: 1,
        says: /needs the variable "SERVICE_KEY", which has no value\..*Set SERVICE_KEY in the environment/s,
      },
      {
        title: 'a secret that the manifest does not declare',
        run: async (world) => ({
          words: ['publish', '--secret', 'API_KYE=1'],
          cwd: await integrationIn(world, 'misspelt', WORKS, SECRETS),
          env: world.env,
        }),
        code: 2,
        says: /declares no secret "API_KYE"\.\nDid you mean API_KEY\?/,
      },
    ],
  },
  {
    command: 'secrets list',
    success: async (world) => {
      await published(world);
      return { words: ['secrets', 'list', 'with-secret'], env: world.env };
    },
    shows: /^API_KEY +set/m,
    failures: [
      stranger(['secrets', 'list', 'with-secret']),
      noService(['secrets', 'list', 'with-secret']),
      unknownIntegration(['secrets', 'list', 'no-such']),
    ],
  },
  {
    command: 'secrets set',
    success: async (world) => {
      await published(world);
      return { words: ['secrets', 'set', 'with-secret', 'API_KEY'], env: world.env, stdin: 'two\n' };
    },
    shows: /^API_KEY of with-secret is set\.$/m,
    failures: [
      unknownIntegration(['secrets', 'set', 'no-such', 'API_KEY']),
      {
        title: 'no value on standard input',
        run: (world) => ({ words: ['secrets', 'set', 'with-secret', 'API_KEY'], env: world.env }),
        code: 2,
        says: /There is no value for API_KEY\.\nSend it on standard input/,
      },
      {
        title: 'a variable without a value',
        run: (world) => ({
          words: ['secrets', 'set', 'with-secret', 'API_KEY', '--from-env', 'NO_SUCH'],
          env: world.env,
        }),
        code: 2,
        says: /The variable NO_SUCH has no value/,
      },
      {
        title: 'a secret that the manifest does not declare',
        run: async (world) => {
          await published(world);
          return { words: ['secrets', 'set', 'with-secret', 'API_KYE'], env: world.env, stdin: 'two' };
        },
        code: 1,
        says: /no secret "API_KYE"\. Did you mean "API_KEY"\?/,
      },
    ],
  },
  {
    command: 'secrets remove',
    success: async (world) => {
      await published(world);
      const form = new FormData();
      form.append('manifest', manifestOf('with-secret', 'a.js'));
      form.append('files', new Blob([WORKS]), 'a.js');
      await world.service.api('POST', '/v1/integrations', { form });
      return { words: ['secrets', 'remove', 'with-secret', 'API_KEY'], env: world.env };
    },
    shows: /^API_KEY of with-secret is removed\.$/m,
    failures: [
      stranger(['secrets', 'remove', 'with-secret', 'API_KEY']),
      unknownIntegration(['secrets', 'remove', 'no-such', 'API_KEY']),
      {
        title: 'a secret that is needed',
        run: async (world) => {
          await published(world);
          return { words: ['secrets', 'remove', 'with-secret', 'API_KEY'], env: world.env };
        },
        code: 1,
        says: /API_KEY/,
      },
    ],
  },
];
