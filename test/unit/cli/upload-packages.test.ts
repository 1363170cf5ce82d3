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
import { evaluate } from '../../support/bundle/uploaded.ts';
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

describe('the paths of a tsconfig', () => {
  const WORKSPACE = {
    'package.json': pkg('all', { workspaces: ['packages/*'] }),
    'tsconfig.base.json': JSON.stringify({
      compilerOptions: {
        ...{ experimentalDecorators: true, outDir: 'secret' },
        // biome-ignore lint/suspicious/noTemplateCurlyInString: so is it written
        paths: { '@acme/*': ['./packages/*/src'], '@/*': ['${configDir}/src/*'], '~key': ['./key.ts'] },
      },
    }),
    'key.ts': '',
    'packages/ui/package.json': pkg('@acme/ui'),
    'packages/ui/tsconfig.json': '{"compilerOptions": {"paths": {"@/*": ["./src/deep/*"]}}}',
    'packages/ui/src/index.ts': 'import { own } from "@/own"; export const ui = own;',
    'packages/ui/src/deep/own.ts': 'export const own = "own";',
    'packages/app/platform-manifest.yaml': manifestOf('app', 'src/index.ts'),
    'packages/app/src/index.ts':
      'import { ui } from "@acme/ui"; import { a } from "@/a"; export default [ui, a];',
    'packages/app/src/a.ts': 'export const a = "a";',
  };

  test.each([
    [
      'a folder above',
      {
        'tsconfig.json':
          '{"extends": "./tsconfig.base.json", "compilerOptions": {"paths": {"@acme/*": ["packages/*/src"], "@/*": ["packages/app/src/*"]}}}',
      },
    ],
    ['its own', { 'packages/app/tsconfig.json': '{"extends": "../../tsconfig.base.json"}' }],
  ])('lead into members of the workspace, also without links in node_modules: %s', async (_what, files) => {
    const root = await laidOut({ ...WORKSPACE, ...files }, {});
    const upload = await folderUpload({ folder: join(root, 'packages/app') });
    expect(upload.problems).toEqual([]);
    if (!('files' in upload)) throw new Error('no upload');
    const contents = new Map([...upload.files].map(([path, { bytes }]) => [path, String(bytes)]));
    expect(JSON.parse(contents.get('tsconfig.json') ?? '')).toEqual({
      compilerOptions: {
        experimentalDecorators: true,
        paths: { '@acme/ui': ['./node_modules/@acme/ui/src/index.ts'], '@/a': ['./src/a.ts'] },
      },
    });
    expect([...contents.keys()].sort()).toEqual([
      ...['@acme/ui/src/deep/own.ts', '@acme/ui/src/index.ts', '@acme/ui/tsconfig.json'].map(
        (path) => `node_modules/${path}`,
      ),
      ...['platform-manifest.yaml', 'src/a.ts', 'src/index.ts', 'tsconfig.json'],
    ]);
    expect(await evaluate(Object.fromEntries(contents), 'src/index.ts')).toEqual(['own', 'a']);
  });

  test('take no file along that is of no member, and name no package to install', async () => {
    const root = await laidOut(
      {
        ...WORKSPACE,
        'jsconfig.json': '{"extends": "./tsconfig.base.json"}',
        'packages/app/src/index.ts': 'import "~key";\nimport "~none";',
      },
      { 'packages/ui/src/index.tsx': '../../../key.ts' },
    );
    const { problems } = await folderUpload({ folder: join(root, 'packages/app') });
    expect(problems).toMatchObject([
      {
        ...{ file: 'src/index.ts', line: 1, hint: expect.stringContaining('a member of the same workspace') },
        message: '"~key" is mapped by "paths" of jsconfig.json, and leads to no file of the upload.',
      },
      { line: 2, message: '"~none" is no name of a package, and no tsconfig.json maps it.' },
    ]);
  });
});

test('an import that code expects to fail is no problem of a folder', async () => {
  const folder = await folderWith({
    'platform-manifest.yaml': manifestOf('app', 'index.js'),
    'index.js': `
      try { require('absent'); } catch {} import('gone').catch(() => 0);
      try { require('./build/native.node'); } catch {} try { require.resolve('there'); } catch {}`,
    ...{ 'build/native.node': 'ELF', 'node_modules/there/index.js': '' },
  });
  const upload = await folderUpload({ folder });
  expect(upload).toMatchObject({ problems: [] });
  const paths = 'files' in upload ? [...upload.files.keys()].sort() : [];
  expect(paths).toEqual(['index.js', 'node_modules/there/index.js', 'platform-manifest.yaml']);
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
