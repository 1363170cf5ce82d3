/**
 * The templates of `annex new`: each passes a check with no warning, its code has no error of the
 * compiler, and its own test passes, outside of Annex's cells.
 */
import { execFile } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TEMPLATE_SUMMARIES } from '../../../src/cli/new-folder.ts';
import { SDK_SETTINGS } from '../../../src/cli/typed-folder.ts';
import { annex } from '../../support/cli/annex-run.ts';
import { folderWith } from '../../support/cli/author-folder.ts';
import { TestService } from '../../support/service.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** Package → its place; the SDK is the source of the one that is published. */
const INSTALLED = ['vitest', 'typescript', 'vite', 'esbuild'];

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
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const { stdout } = await promisify(execFile)(process.execPath, [vitest, 'run', '--root', folder], {
    cwd: folder,
  });
  expect(stdout).toMatch(/Tests .*\d passed/);
});
