/**
 * What the links of a cloned folder bring into its upload: packages where package managers keep
 * them, and nothing else of the publisher's disk.
 */
import { execFileSync } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { readAt, realPath } from '../../../src/cli/real-files.ts';
import { type FolderRequest, folderUpload } from '../../../src/cli/upload/folder-upload.ts';
import { secretValues } from '../../../src/cli/upload/secret-values.ts';
import { folderWith, manifestOf, write } from '../../support/cli/author-folder.ts';

const SECRET = 'annex_admin_planted';
const TOKENS = `{"token":"${SECRET}"}`;
const pkg = (name: string, members: object = {}) => JSON.stringify({ name, ...members });
const entry = (code: string) => ({
  'platform-manifest.yaml': manifestOf('cloned', 'index.ts'),
  'index.ts': code,
});
const takes = (specifier: string) => entry(`import a from ${JSON.stringify(specifier)}; export default a;`);
const takesText = (specifier: string) =>
  entry(`import a from ${JSON.stringify(specifier)} with { type: "text" }; export default a;`);

/** A home with what its user keeps in it, and a folder `src/clone` that came with Git. */
async function home(): Promise<{ home: string; clone: string }> {
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
afterEach(() => void vi.unstubAllEnvs());

type Links = Readonly<Record<string, string>>;

async function link(folder: string, links: Links): Promise<void> {
  for (const [path, target] of Object.entries(links)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await symlink(target, join(folder, path));
  }
}

async function uploadOf(folder: string, request: Partial<FolderRequest> = {}) {
  const upload = await folderUpload({ folder, ...request });
  const files = 'files' in upload ? [...upload.files.values()] : [];
  const script = 'files' in upload && upload.script ? [upload.script] : [];
  const text = [...files, ...script].map(({ bytes }) => Buffer.from(bytes).toString()).join('\n');
  return { upload, text, messages: upload.problems.map(({ message, hint }) => `${message} ${hint}`) };
}

interface Trick {
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
const TRICKS: readonly Trick[] = [
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

describe('nothing of the disk is uploaded by', () => {
  test.each(TRICKS)('$title', async ({ files, links = {}, below = '', request = {} }) => {
    const { clone } = await home();
    await write(clone, files);
    await link(clone, links);
    const { text, messages } = await uploadOf(join(clone, below), request);
    expect(text).not.toContain(SECRET);
    expect(messages).not.toEqual([]);
  });

  test('a clone without its repository, where node_modules above has other things than packages', async () => {
    const { home: folder } = await home();
    const clone = await write(join(folder, 'src/unpacked'), takes('x/tokens.json'));
    await write(folder, { 'src/node_modules/.cache/tokens.json': TOKENS });
    await link(clone, { 'node_modules/x': '../../node_modules/.cache' });
    const { text, messages } = await uploadOf(clone);
    expect(text).not.toContain(SECRET);
    expect(messages).toEqual([expect.stringMatching(/src\/node_modules\/\.cache, which is no package/)]);
  });

  test.each([
    ['a folder that has the home folder', '..', /has your home folder in it/],
    ['the home folder, for a manifest below', '', /is of another folder: .*src\/clone/],
    ['the folder of all clones, for a manifest below', 'src', /is of another folder: .*src\/clone/],
    ['a folder of settings', '.config', /holds settings of your programs/],
    ['a link to the folder of all clones', 'src/clone/app', /is a link to a folder above it/],
  ])('an upload of %s', async (_what, below, says) => {
    const { home: folder, clone } = await home();
    await write(join(folder, '.config'), takes('./annex/profiles.json'));
    await write(clone, takes('../other/tokens.json'));
    await link(clone, { app: '..' });
    const { upload, messages } = await uploadOf(join(folder, below));
    expect(upload).not.toHaveProperty('files');
    expect(messages).toEqual([expect.stringMatching(says)]);
  });

  test('an upload of the home folder, for its settings', async () => {
    const { home: folder } = await home();
    await write(folder, takes('./.config/annex/profiles.json'));
    const { text, messages } = await uploadOf(folder);
    expect(text).not.toContain(SECRET);
    expect(messages).toEqual([expect.stringMatching(/profiles\.json" is never uploaded/)]);
  });

  test('variables in a link, which the manifest makes a secret', async () => {
    const { clone } = await home();
    await link(clone, { '.env': '../../.aws/credentials', 'more.env': '../../.aws/credentials' });
    const values = (file?: string) =>
      secretValues(
        // biome-ignore lint/suspicious/noTemplateCurlyInString: it is an expression of a manifest
        { KEY: '${{ env.aws_secret_access_key }}' },
        { given: [], file, env: {}, cwd: clone, folder: clone },
      );
    await expect(values()).rejects.toThrow(/\.env is a link to a file outside of the folder/);
    await expect(values('more.env')).rejects.toThrow(/more\.env is a link to a file outside/);
    // A path out of the folder is the publisher's own word.
    expect((await values('../../.aws/credentials').catch(String)).toString()).toMatch(/\.env is a link/);
  });

  test('a file that becomes a link between the look and the reading', async () => {
    const { home: folder, clone } = await home();
    await write(clone, { 'a/one.json': '{}', 'b.json': '{}' });
    const [one, other] = [join(clone, 'a/one.json'), join(clone, 'b.json')].map(
      (path) => realPath(path) ?? '',
    );
    expect(String(readAt(one ?? ''))).toBe('{}');
    execFileSync(
      'sh',
      ['-c', 'rm -r a b.json; ln -s ../../.config/annex a; ln -s ../../tokens.json b.json'],
      {
        cwd: clone,
      },
    );
    await writeFile(join(folder, '.config/annex/one.json'), TOKENS);
    expect(readAt(one ?? '')).toBeUndefined();
    expect(readAt(other ?? '')).toBeUndefined();
  });
});

test('pipes, devices, circles and links to nothing hold no upload up', async () => {
  const { clone } = await home();
  await write(clone, {
    'platform-manifest.yaml': manifestOf('cloned', 'index.ts', 'icon: icon.png\n'),
    'index.ts':
      'import "./pipe.json"; import "./zero.json"; import "./circle.json"; import "nothing"; import "x";',
  });
  await link(clone, {
    'zero.json': '/dev/zero',
    'circle.json': 'circle.json',
    'node_modules/nothing': 'gone',
    'node_modules/x/package.json': '/dev/zero',
  });
  execFileSync('mkfifo', ['pipe.json', 'icon.png', '.annexignore', '.env', 'package.json'], { cwd: clone });
  const { upload } = await uploadOf(clone);
  expect(upload.problems.length).toBeGreaterThan(4);
  await secretValues({}, { given: [], env: {}, cwd: clone, folder: clone });
});

test('a refusal says where the package is, and what to do', async () => {
  const { home: folder, clone } = await home();
  await write(clone, takes('linked'));
  await link(clone, { 'node_modules/linked': '../../tools' });
  expect((await uploadOf(clone)).upload.problems).toMatchObject([
    {
      file: 'index.ts',
      line: 1,
      message: `"linked" leads to ${join(folder, 'src/tools')}, which is no package of the folder or of its workspace.`,
      hint: expect.stringMatching(/npm install --install-links.*"workspaces" of a package\.json above/),
    },
  ]);
});
