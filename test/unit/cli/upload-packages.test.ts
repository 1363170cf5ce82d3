/**
 * The packages of an upload: found where package managers keep them, by links too, and listed with
 * the places that they are from.
 */
import { mkdir, symlink } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { folderUpload } from '../../../src/cli/upload/folder-upload.ts';
import { annex } from '../../support/cli/annex-run.ts';
import { folderWith, manifestOf } from '../../support/cli/author-folder.ts';

const pkg = (name: string, members: object = {}) => JSON.stringify({ name, ...members });

type Texts = Readonly<Record<string, string>>;

async function laidOut(files: Texts, links: Texts): Promise<string> {
  const root = await folderWith(files);
  for (const [path, target] of Object.entries(links)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await symlink(target, join(root, path));
  }
  return root;
}

describe('a package is uploaded from where package managers keep it:', () => {
  const app = (specifier: string) => ({
    'packages/app/platform-manifest.yaml': manifestOf('app', 'index.ts'),
    'packages/app/index.ts': `import ${JSON.stringify(specifier)};`,
  });
  const tools = {
    'packages/tools/package.json': pkg('@acme/tools', { main: './main.ts' }),
    'packages/tools/main.ts': 'import "deep"; export {};',
    'packages/tools/node_modules/deep/package.json': pkg('deep'),
    'packages/tools/node_modules/deep/index.js': '',
  };
  const TOOLS = ['@acme/tools/main.ts', '@acme/tools/package.json', 'deep/index.js', 'deep/package.json'];

  test.each([
    [
      'a member of an npm workspace',
      { 'package.json': pkg('all', { workspaces: ['packages/*'] }), ...tools, ...app('@acme/tools') },
      { 'node_modules/@acme/tools': '../../packages/tools' },
      TOOLS,
    ],
    [
      'a member of a Yarn workspace that is above the repository, as a submodule is',
      {
        'package.json': pkg('all', { workspaces: { packages: ['./packages/*/', '!packages/none'] } }),
        ...{ 'packages/app/.git': 'gitdir: elsewhere', ...tools, ...app('@acme/tools') },
      },
      { 'node_modules/@acme/tools': '../../packages/tools' },
      TOOLS,
    ],
    [
      'a member of a pnpm workspace',
      { 'pnpm-workspace.yaml': 'packages:\n  - packages/**\n', ...tools, ...app('@acme/tools') },
      { 'packages/app/node_modules/@acme/tools': '../../../tools' },
      TOOLS,
    ],
    [
      'the store of pnpm in the workspace, under another name, too',
      {
        '.git/HEAD': '',
        'node_modules/.pnpm/a@1/node_modules/a/package.json': pkg('a'),
        'node_modules/.pnpm/a@1/node_modules/a/index.js': '',
        ...app('renamed'),
      },
      { 'packages/app/node_modules/renamed': '../../../node_modules/.pnpm/a@1/node_modules/a' },
      ['renamed/index.js', 'renamed/package.json'],
    ],
    [
      'node_modules above, under another name, too',
      {
        '.git/HEAD': '',
        'node_modules/renamed/package.json': pkg('a'),
        'node_modules/renamed/index.js': '',
        ...app('renamed'),
      },
      {},
      ['renamed/index.js', 'renamed/package.json'],
    ],
    [
      'a folder of the integration',
      {
        'packages/app/lib/package.json': pkg('lib'),
        'packages/app/lib/index.js': '',
        ...app('lib'),
      },
      { 'packages/app/node_modules/lib': '../lib' },
      ['lib/index.js', 'lib/package.json'],
    ],
  ])('%s', async (_what, files, links, expected) => {
    const upload = await folderUpload({ folder: join(await laidOut(files, links), 'packages/app') });
    expect(upload.problems).toEqual([]);
    const paths = 'files' in upload ? [...upload.files.keys()] : [];
    const packages = paths.flatMap((path) => path.split('node_modules/').slice(1, 2)).sort();
    expect(packages).toEqual(expected);
  });
});

// As in a container whose user has a number alone.
test('an upload is made where the system knows no home folder of the user', async () => {
  vi.spyOn(os, 'homedir').mockImplementation(() => {
    throw new Error('uv_os_homedir returned ENOENT');
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });
  const root = await folderWith({
    'node_modules/above/index.js': '',
    'node_modules/above/package.json': pkg('above'),
    'app/platform-manifest.yaml': manifestOf('app', 'index.ts'),
    'app/index.ts': 'import "above";',
  });
  const upload = await folderUpload({ folder: join(root, 'app') });
  expect(upload.problems).toEqual([]);
});

test('annex publish --list shows where each package and each linked file is, and the variables', async () => {
  const root = await laidOut(
    {
      'package.json': pkg('all', { workspaces: ['app', 'tools'] }),
      'tools/package.json': pkg('tools'),
      'tools/index.js': '',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is an expression of a manifest
      'app/platform-manifest.yaml': manifestOf('app', 'index.ts', 'secrets: { KEY: "${{ env.ID }}" }\n'),
      'app/index.ts': 'import "tools"; import "inside"; import "./one.ts";',
      'app/two.ts': 'export {};',
      'app/node_modules/inside/index.js': '',
    },
    { 'node_modules/tools': '../tools', 'app/one.ts': 'two.ts' },
  );
  const words = ['publish', join(root, 'app'), '--list'];
  const { stdout } = await annex({ words });
  expect(stdout).toMatch(new RegExp(`node_modules/tools \\(2 files\\)  from ${join(root, 'tools')}$`, 'm'));
  expect(stdout).toMatch(/node_modules\/inside \(1 files\)$/m);
  expect(stdout).toMatch(/ {2}one\.ts {2}from two\.ts$/m);
  expect(stdout.match(/ from /g)).toHaveLength(2);
  expect(stdout).toMatch(/^the secret KEY, if it is new: the variable ID$/m);
  const listed = (await annex({ words: [...words, '--json'] })).json<{
    files: { path: string; from: string }[];
  }>();
  expect(listed.files).toContainEqual(
    expect.objectContaining({ path: 'node_modules/tools/index.js', from: join(root, 'tools/index.js') }),
  );
});
