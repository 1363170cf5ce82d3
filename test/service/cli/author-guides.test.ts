/**
 * The pages for authors, by their commands: each block of `bash` runs in the folder of an
 * integration, against a real service, with packages of npm as npm has laid them.
 */
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  folderWith,
  installPackages,
  manifestOf,
  withInstalledPackages,
} from '../../support/cli/author-folder.ts';
import { Shell } from '../../support/repository/shell.ts';
import { read } from '../../support/repository/sources.ts';
import { TestService } from '../../support/service.ts';

const PROGRAM = fileURLToPath(new URL('../../../src/local/annex.ts', import.meta.url));

let annex: TestService;
beforeAll(async () => {
  annex = await TestService.start();
});
afterAll(() => annex.stop());

/** A walk of a page: some ten starts of the command line, each of which loads the program. */
const WALK_MS = 240_000;

/** The blocks of a page, without the lines that download packages. */
const blocksOf = (page: string): string[] =>
  [...read(page).matchAll(/^```bash\n(.*?)^```$/gms)].map(([, body = '']) =>
    body.replaceAll(/^npm .*\n/gm, ''),
  );

/** A shell in a folder, where `annex` is the program of this repository. */
async function shellIn(folder: string): Promise<Shell> {
  const bin = join(folder, '.bin');
  await mkdir(bin);
  await writeFile(join(bin, 'annex'), `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`);
  await chmod(join(bin, 'annex'), 0o755);
  const shell = new Shell(folder);
  const { controlUrl } = annex.service;
  await shell.run(`export PATH="${bin}:$PATH" ANNEX_URL=${controlUrl} ANNEX_TOKEN=${annex.admin}
API=${controlUrl}/v1
ADMIN="Authorization: Bearer ${annex.admin}"`);
  return shell;
}

const answerOf = async (name: string) => {
  const { endpoint } = await annex.install(name, 'acme');
  return (await fetch(`${endpoint}/`)).json();
};

describe('docs/npm-packages.md', () => {
  const [published = '', bundled = ''] = blocksOf('docs/npm-packages.md');

  test('zod, date-fns and @slack/web-api are published from node_modules, and answer', async () => {
    const folder = await folderWith({
      'platform-manifest.yaml': manifestOf('with-packages'),
      'src/index.ts': `import { createIntegration } from '@annex/sdk';
import { WebClient } from '@slack/web-api';
import { addDays, formatISO } from 'date-fns';
import { z } from 'zod';
const Input = z.object({ day: z.string() });
export default createIntegration({
  async fetch() {
    const { day } = Input.parse({ day: '2026-01-31' });
    const next = formatISO(addDays(new Date(day + 'T00:00:00Z'), 1), { representation: 'date' });
    const slack = new WebClient('xoxb-token', { retryConfig: { retries: 0 } });
    return Response.json({ next, refused: Input.safeParse({}).success, slack: typeof slack.chat.postMessage });
  },
});`,
    });
    await installPackages(folder, ['zod', 'date-fns', '@slack/web-api']);
    const shell = await shellIn(folder);
    const output = await shell.run(published);
    shell.end();
    expect(output).toMatch(/node_modules\/zod \(\d+ files\)/);
    expect(output).toMatch(/in all, \d{3} files\npublished with-packages, version 1$/);
    expect(await answerOf('with-packages')).toEqual({
      next: '2026-02-01',
      refused: false,
      slack: 'function',
    });
  });

  test('esbuild and curl publish the same without the command line', async () => {
    const folder = await folderWith({
      'platform-manifest.yaml': manifestOf('bundled-by-hand'),
      'src/index.ts': `import { createIntegration } from '@annex/sdk';
import { z } from 'zod';
export default createIntegration({ fetch: () => Response.json(z.number().safeParse(1)) });`,
    });
    await withInstalledPackages(folder);
    const shell = await shellIn(folder);
    const output = await shell.run(bundled);
    shell.end();
    expect(output).toBe('{"integration":"bundled-by-hand","version":1,"warnings":[]}');
    expect(await answerOf('bundled-by-hand')).toEqual({ success: true, data: 1 });
  });
});

test(
  'docs/how-to/ci-deploy.md: check, publish, set a secret and roll back',
  async () => {
    const [deployed = '', secret = '', back = ''] = blocksOf('docs/how-to/ci-deploy.md');
    const folder = await folderWith({
      'platform-manifest.yaml': manifestOf(
        'board',
        'index.js',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: it is an expression of a manifest
        'secrets:\n  CLIENT_SECRET: ${{ env.CLIENT_SECRET }}\n',
      ),
      'index.js': 'export default { fetch: (request, env) => Response.json(env.CLIENT_SECRET) };',
      '.env': 'CLIENT_SECRET=one\n',
    });
    const shell = await shellIn(folder);
    // The token that the page has the operator make.
    const json = { kind: 'organization', organization: 'acme', rights: ['publish', 'read'], name: 'ci' };
    const { body: made } = await annex.api('POST', '/v1/tokens', { json });
    await shell.run(`export ANNEX_TOKEN=${made['token']}`);
    expect(await shell.run(deployed)).toMatch(/^board can be published.*^published board, version 1$/ms);
    expect(await answerOf('board')).toBe('one');
    expect(await shell.run(`export NEW_CLIENT_SECRET=two\n${secret}`)).toMatch(
      /is set\.\n.*^CLIENT_SECRET +set/ms,
    );
    // The value of the folder does not replace the one that was rotated.
    expect(await shell.run('annex publish 2>&1')).toMatch(
      /keeps its stored value.*^published board, version 2$/ms,
    );
    expect(await shell.run(back)).toContain('board runs version 1');
    shell.end();
    const { body } = await annex.api('GET', '/v1/integrations/board/installations');
    const [{ urls }] = body['items'] as [{ urls: { publicEndpoint: string } }];
    expect(await (await fetch(`${urls.publicEndpoint}/`)).json()).toBe('two');
  },
  WALK_MS,
);
