/**
 * A home with what its user keeps in it, and the links by which a folder that came with Git could
 * take it along.
 */
import { mkdir, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { vi } from 'vitest';
import type { FolderRequest } from '../../../src/cli/upload/folder-upload.ts';
import { folderWith, manifestOf } from './author-folder.ts';

export const SECRET = 'annex_admin_planted';
export const TOKENS = `{"token":"${SECRET}"}`;
const pkg = (name: string, members: object = {}) => JSON.stringify({ name, ...members });
const entry = (code: string) => ({
  'platform-manifest.yaml': manifestOf('cloned', 'index.ts'),
  'index.ts': code,
});
export const takes = (specifier: string) =>
  entry(`import a from ${JSON.stringify(specifier)}; export default a;`);
const takesText = (specifier: string) =>
  entry(`import a from ${JSON.stringify(specifier)} with { type: "text" }; export default a;`);

/** The home of this process from now on, and its folder `src/clone`. */
export async function home(): Promise<{ home: string; clone: string }> {
  const folder = await folderWith({
    '.config/annex/profiles.json': TOKENS,
    '.config/tool/package.json': pkg('tool', { token: SECRET }),
    '.aws/credentials': `aws_secret_access_key = ${SECRET}\n`,
    '.docker/config.json': TOKENS,
    'tokens.json': TOKENS,
    'node_modules/of-home/package.json': pkg('of-home'),
    'node_modules/of-home/index.js': `"${SECRET}"`,
    'src/other/tokens.json': TOKENS,
    'src/other/package.json': pkg('other', { token: SECRET }),
    'src/node_modules/of-others/package.json': pkg('of-others'),
    'src/node_modules/of-others/index.js': `"${SECRET}"`,
    'src/clone/.git/config': `[remote "origin"] url = https://user:${SECRET}@git.example`,
    'src/clone/.annex/admin-token': SECRET,
    'src/tools/package.json': pkg('linked'),
    'src/tools/index.js': `"${SECRET}"`,
  });
  vi.stubEnv('HOME', folder);
  return { home: folder, clone: join(folder, 'src/clone') };
}

export type Links = Readonly<Record<string, string>>;

export async function link(folder: string, links: Links): Promise<void> {
  for (const [path, target] of Object.entries(links)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await symlink(target, join(folder, path));
  }
}

export interface Trick {
  readonly title: string;
  readonly files: Readonly<Record<string, string>>;
  readonly links?: Links;
  /** Folder of the integration in the clone. */
  readonly below?: string;
  readonly request?: Partial<FolderRequest>;
}

const IN_CONFIG = '../../../.config';
const WORKSPACE = ['../../.config', '../../.config/*', '../*', '../../*', '**', 'packages/*'];
const inPackages = (files: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(files).map(([path, text]) => [`packages/app/${path}`, text]));

// Attack: a link of a cloned folder leads to what its publisher keeps elsewhere.
export const TRICKS: readonly Trick[] = [
  {
    title: 'a package that is a link to a folder of settings',
    files: takes('x/annex/profiles.json'),
    links: { 'node_modules/x': IN_CONFIG },
  },
  {
    title: 'a package that is a link to the home folder',
    files: takes('x/tokens.json'),
    links: { 'node_modules/x': '../../..' },
  },
  {
    title: 'a package of a scope that is a link',
    files: takes('@a/x/annex/profiles.json'),
    links: { 'node_modules/@a/x': '../../../../.config' },
  },
  {
    title: 'a scope that is a link',
    files: takes('@a/annex/profiles.json'),
    links: { 'node_modules/@a': IN_CONFIG },
  },
  {
    title: 'all of node_modules as a link',
    files: takes('annex/profiles.json'),
    links: { node_modules: '../../.config' },
  },
  {
    title: 'a chain of links',
    files: takes('x/annex/profiles.json'),
    links: { 'node_modules/x': '../one', one: 'two', two: '../../.config' },
  },
  {
    title: 'a link to the folder above',
    files: takes('x/other/tokens.json'),
    links: { 'node_modules/x': '../..' },
  },
  {
    title: 'a link to another project, which has a package.json of that name',
    files: takes('other/tokens.json'),
    links: { 'node_modules/other': '../../other' },
  },
  {
    title: 'a link to a folder of settings, which has a package.json of that name',
    files: takes('tool/package.json'),
    links: { 'node_modules/tool': `${IN_CONFIG}/tool` },
  },
  {
    title: 'a dependency by the path of a folder, which its package manager has linked',
    files: {
      ...takes('other/tokens.json'),
      'package.json': pkg('clone', { dependencies: { other: 'file:../other' } }),
    },
    links: { 'node_modules/other': '../../other' },
  },
  {
    title: 'a workspace of the clone that has all of the disk',
    files: {
      ...inPackages(takes('tool/package.json')),
      'package.json': pkg('clone', { workspaces: WORKSPACE }),
    },
    links: { 'node_modules/tool': `${IN_CONFIG}/tool` },
    below: 'packages/app',
  },
  {
    title: 'the same by pnpm',
    files: {
      ...inPackages(takes('other/tokens.json')),
      'pnpm-workspace.yaml': `packages: ${JSON.stringify(WORKSPACE)}`,
    },
    links: { 'packages/app/node_modules/other': '../../../../other' },
    below: 'packages/app',
  },
  {
    title: 'a member of the workspace that is a link',
    files: {
      ...inPackages(takes('other/tokens.json')),
      'package.json': pkg('clone', { workspaces: ['packages/*'] }),
    },
    links: { 'packages/other': '../../other', 'node_modules/other': '../packages/other' },
    below: 'packages/app',
  },
  {
    title: 'a package by the path of a file in it',
    files: takes('./node_modules/x/annex/profiles.json'),
    links: { 'node_modules/x': IN_CONFIG },
  },
  {
    title: 'a package of a package',
    files: { ...takes('a'), 'node_modules/a/index.js': 'require("x/annex/profiles.json")' },
    links: { 'node_modules/a/node_modules/x': '../../../../../.config' },
  },
  {
    title: 'a folder of a package that is a link',
    files: { ...takes('a'), 'node_modules/a/index.js': 'require("./x/annex/profiles.json")' },
    links: { 'node_modules/a/x': '../../../../.config' },
  },
  {
    title: 'a package.json whose entry leaves its package',
    files: {
      ...takes('a'),
      'node_modules/a/package.json': pkg('a', {
        main: '../../../../.config/annex/profiles.json',
        exports: { '.': '../../../../.config/annex/profiles.json' },
      }),
    },
  },
  {
    title: 'a name of a package.json for a path that leaves the folder',
    files: { ...takes('#a'), 'package.json': pkg('clone', { imports: { '#a': '../../tokens.json' } }) },
  },
  {
    title: 'a replacement for browsers that leaves the folder',
    files: {
      ...takes('./a.js'),
      'package.json': pkg('clone', { browser: { './a.js': '../../tokens.json' } }),
    },
  },
  { title: 'a path that leaves the folder', files: takes('../../tokens.json') },
  { title: 'a path that leaves a package', files: takes('a/../../../../tokens.json') },
  {
    title: 'a folder that is a link',
    files: takes('./x/annex/profiles.json'),
    links: { x: '../../.config' },
  },
  { title: 'a file that is a link', files: takes('./x.json'), links: { 'x.json': '../../tokens.json' } },
  {
    title: 'a text that is a link',
    files: takes('./x.raw.js'),
    links: { 'x.raw.js': '../../.aws/credentials' },
  },
  {
    title: 'the code itself as a link',
    files: { 'platform-manifest.yaml': manifestOf('cloned', 'index.json') },
    links: { 'index.json': '../../tokens.json' },
  },
  {
    title: 'code outside of the folder',
    files: { 'platform-manifest.yaml': manifestOf('cloned', '../../tokens.json') },
  },
  {
    title: 'settings of TypeScript that are elsewhere',
    files: { ...takes('@/tokens.json'), 'tsconfig.json': '{"extends":"../../.config/tool/package.json"}' },
    links: { 'base.json': '../../tokens.json' },
  },
  {
    title: 'paths of TypeScript',
    files: {
      ...takes('@/tokens.json'),
      'tsconfig.json': '{"compilerOptions":{"baseUrl":"../..","paths":{"@/*":["./*"]}}}',
    },
  },
  {
    title: 'an image that is a link, and one below a link',
    files: {
      'platform-manifest.yaml': manifestOf(
        'cloned',
        'index.js',
        'icon: a.png\npreviewImages: [x/annex/profiles.json]\n',
      ),
      'index.js': '',
    },
    links: { 'a.png': '../../tokens.json', x: '../../.config' },
  },
  {
    title: 'the manifest as a link',
    files: { 'index.js': '' },
    links: { 'platform-manifest.yaml': '../../tokens.json' },
  },
  {
    title: 'a ready script that is a link',
    files: takes('./x'),
    links: { 'dist.js': '../../tokens.json' },
    request: { script: 'dist.js' },
  },
  {
    title: 'the folder of Git as a package',
    files: takesText('x/config'),
    links: { 'node_modules/x': '../.git' },
  },
  {
    title: 'the data of annex dev as a package',
    files: takesText('x/admin-token'),
    links: { 'node_modules/x': '../.annex' },
  },
  { title: 'a package that another project has above', files: takes('of-others') },
  { title: 'a package that is above in the home folder', files: takes('of-home') },
  {
    title: 'a package above by a link',
    files: takes('of-others'),
    links: { 'node_modules/of-others': '../../node_modules/of-others' },
  },
  {
    title: 'a package that npm link has linked',
    files: takes('linked'),
    links: { 'node_modules/linked': '../../tools' },
  },
];
