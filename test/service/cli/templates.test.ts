/**
 * The templates of `annex new`: each passes a check with no warning, its code has no error of the
 * compiler, and its own test passes with vitest, in a cell of Annex. Three of the tests pass with
 * `node:test`, too.
 */
import { execFile } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SDK_SETTINGS } from '../../../packages/sdk/declarations.ts';
import { TEMPLATE_SUMMARIES } from '../../../src/cli/commands/new.ts';
import { annex } from '../../support/cli/annex-run.ts';
import { folderWith } from '../../support/cli/author-folder.ts';
import { TestService } from '../../support/service.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** Packages; the SDK and the test kit are the sources of those that are published. */
const INSTALLED = ['vitest', 'typescript', 'vite', 'esbuild'];

/** Template → a test of it for the runner of Node. */
const NODE_TESTS: Readonly<Record<string, string>> = {
  hello: nodeTest(`
    const answer = await installation.fetch('/?name=Ada');
    assert.deepEqual(await answer.json(), { hello: 'Ada', from: 'mine' });`),
  component: nodeTest(`
    const counter = await installation.render('counter');
    await installation.press('Pressed 0 times');
    assert.deepEqual(counter.state, { count: 1 });`),
  'event-handler': nodeTest(`
    await installation.emit('space_content_updated', { spaceId: 'garden', revisionId: 'r1' });
    assert.deepEqual(installation.logs.map(({ text }) => text), ['garden is at revision r1']);`),
};

function nodeTest(steps: string): string {
  return `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from '@annex/testing';
test('the template', async () => {
  const installation = await (await load('.')).install();
  ${steps}
});
`;
}

let service: TestService;
beforeAll(async () => {
  service = await TestService.start();
});
afterAll(() => service.stop());

/** What `npm install` of a new folder makes, without a registry. */
async function install(folder: string): Promise<void> {
  const sdk = join(folder, 'node_modules/@annex/sdk');
  await mkdir(sdk, { recursive: true });
  await writeFile(
    join(sdk, 'package.json'),
    JSON.stringify({
      name: '@annex/sdk',
      type: 'module',
      exports: {
        '.': './sdk/index.ts',
        './jsx-runtime': './sdk/jsx-runtime.ts',
        './jsx-dev-runtime': './sdk/jsx-runtime.ts',
        './tsconfig.json': './tsconfig.json',
      },
    }),
  );
  await symlink(join(ROOT, 'sandbox/sdk'), join(sdk, 'sdk'));
  await writeFile(join(sdk, 'tsconfig.json'), SDK_SETTINGS);
  const testing = join(folder, 'node_modules/@annex/testing');
  await mkdir(testing);
  const manifest = { name: '@annex/testing', type: 'module', exports: './src/index.ts' };
  await writeFile(join(testing, 'package.json'), JSON.stringify(manifest));
  await symlink(join(ROOT, 'packages/testing/src'), join(testing, 'src'));
  for (const name of INSTALLED)
    await symlink(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
}

test.each(Object.keys(TEMPLATE_SUMMARIES))('%s', async (template) => {
  const cwd = await folderWith({});
  const env = { ANNEX_URL: service.service.controlUrl, ANNEX_TOKEN: service.admin, HOME: cwd };
  expect(await annex({ words: ['new', template, 'mine'], cwd, env })).toMatchObject({ code: 0 });
  const folder = join(cwd, 'mine');
  const secrets = { OAUTH_ISSUER: 'https://id.example.com', CLIENT_ID: 'id', CLIENT_SECRET: 'secret' };
  const words = ['check', 'mine', '--skip-types', '--json'];
  const checked = await annex({ words, cwd, env: { ...env, ...secrets } });
  expect({ ...checked, problems: checked.json()['problems'] }).toMatchObject({ code: 0, problems: [] });
  await install(folder);
  const tested = await annex({
    words: ['test', 'mine'],
    cwd,
    env: { ...env, PATH: process.env['PATH'] ?? '' },
  });
  expect(tested).toMatchObject({ code: 0, stdout: expect.stringMatching(/Tests .*\d passed/) });
  const code = NODE_TESTS[template];
  if (code === undefined) return;
  await writeFile(join(folder, 'test/node.mjs'), code);
  const { stdout } = await promisify(execFile)(process.execPath, ['--test', 'test/node.mjs'], {
    cwd: folder,
  });
  expect(stdout).toMatch(/pass 1\b/);
});
