/**
 * The upload of a folder: exactly the files that the entrypoint reaches, wherever a package manager
 * keeps them, and never credentials.
 */
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type FolderRequest, folderUpload } from '../../../src/cli/upload/folder-upload.ts';
import { sizeProblems } from '../../../src/cli/upload/upload-form.ts';
import { resolveImport } from '../../../src/imports/resolve-import.ts';
import { folderWith, manifestOf, write } from '../../support/cli/author-folder.ts';

const MANIFEST = { 'platform-manifest.yaml': manifestOf('sent') };
const entry = (code: string) => ({ ...MANIFEST, 'src/index.ts': code });
const pkg = (name: string, members: object = {}) => JSON.stringify({ name, version: '1.0.0', ...members });

async function uploadOf(folder: string, request: Partial<FolderRequest> = {}) {
  const upload = await folderUpload({ folder, ...request });
  if (!('files' in upload)) throw new Error(JSON.stringify(upload.problems));
  const problems = upload.problems.map(({ message }) => message);
  return { upload, problems, paths: [...upload.files.keys()].sort() };
}

describe('an upload has', () => {
  test('the manifest, what the entrypoint imports, and nothing beside it', async () => {
    const folder = await folderWith({
      ...entry('import "./used"; import page from "./page.html"; export default page;'),
      'src/used.ts': 'export {};',
      'src/page.html': '<p>',
      'src/unused.ts': 'export {};',
      'README.md': '',
      'package.json': '{}',
      'tsconfig.json': '{"extends": "./base.json"}',
      'base.json': '{"compilerOptions": {"jsx": "react-jsx"}}',
    });
    const { paths, problems } = await uploadOf(folder);
    expect(problems).toEqual([]);
    expect(paths).toEqual([
      ...['base.json', 'package.json', 'platform-manifest.yaml'],
      ...['src/index.ts', 'src/page.html', 'src/used.ts', 'tsconfig.json'],
    ]);
  });

  test('the images that the manifest names', async () => {
    const folder = await folderWith({
      'platform-manifest.yaml': manifestOf('sent', 'index.js', 'icon: a.png\npreviewImages: [b.png]\n'),
      ...{ 'index.js': '', 'a.png': 'a', 'c.png': 'c' },
    });
    const { paths, upload } = await uploadOf(folder);
    expect(paths).toEqual(['a.png', 'index.js', 'platform-manifest.yaml']);
    expect(upload.problems).toMatchObject([
      { message: 'The image "b.png" does not exist.', line: 9, hint: 'Did you mean "a.png"?' },
    ]);
  });

  test('the images of `public`, and those beside an image that the manifest names', async () => {
    const folder = await folderWith({
      'platform-manifest.yaml': manifestOf('sent', 'index.js', 'icon: art/a.png\n'),
      ...{ 'index.js': '', 'art/a.png': 'a', 'art/b.svg': 'b', 'other/c.png': 'c', 'art/notes.txt': '' },
      ...{ 'public/deep/d.gif': 'd', 'public/page.html': '', 'public/.git/e.png': 'e', 'public/f.png': 'f' },
      '.annexignore': 'public/f.png',
    });
    // Attack: a cloned folder whose picture is a link to a file of the machine.
    const outside = await folderWith({ 'secret.png': 'secret' });
    await symlink(join(outside, 'secret.png'), join(folder, 'public/deep/link.png'));
    const sent = ['art/a.png', 'art/b.svg', 'platform-manifest.yaml', 'public/deep/d.gif'];
    expect((await uploadOf(folder)).paths).toEqual([...sent, 'index.js'].sort());
    await write(folder, { 'built.js': 'export default {};' });
    expect((await uploadOf(folder, { script: 'built.js' })).paths).toEqual(sent);
  });

  test('of a package the files that are reached, by its conditions, and its package.json', async () => {
    const folder = await folderWith({
      ...entry('import "a"; import "a/sub";'),
      'node_modules/a/package.json': pkg('a', {
        exports: { '.': { node: './node.js', browser: './browser.js' }, './sub': './sub.js' },
      }),
      'node_modules/a/node.js': '',
      'node_modules/a/browser.js': 'require("./deep/one")',
      'node_modules/a/deep/package.json': '{"type": "commonjs"}',
      'node_modules/a/deep/one.js': '',
      'node_modules/a/sub.js': '',
      'node_modules/a/README.md': '',
    });
    const { paths } = await uploadOf(folder);
    expect(paths.filter((path) => path.startsWith('node_modules/'))).toEqual([
      ...['node_modules/a/browser.js', 'node_modules/a/deep/one.js', 'node_modules/a/deep/package.json'],
      ...['node_modules/a/package.json', 'node_modules/a/sub.js'],
    ]);
  });

  test('no module of a branch that production does not take', async () => {
    const code = 'if (process.env.NODE_ENV !== "production") require("./debug"); export default 1;';
    const { paths } = await uploadOf(await folderWith({ ...entry(code), 'src/debug.ts': '' }));
    expect(paths).not.toContain('src/debug.ts');
  });
});

describe('packages are found', () => {
  /** What an import in a file of an upload leads to there. */
  async function found(folder: string, specifier: string, importer: string) {
    const { upload, problems } = await uploadOf(folder);
    expect(problems).toEqual([]);
    const contents = new Map([...upload.files].map(([path, { bytes }]) => [path, bytes]));
    const target = resolveImport(contents, specifier, importer, 'import');
    return 'path' in target ? Buffer.from(contents.get(target.path) ?? []).toString() : target;
  }

  test('where pnpm keeps them: linked, each beside its own dependencies', async () => {
    const store = 'node_modules/.pnpm';
    const folder = await folderWith({
      ...entry('import "a"; import "b";'),
      [`${store}/a@1/node_modules/a/package.json`]: pkg('a'),
      [`${store}/a@1/node_modules/a/index.js`]: 'import "b";',
      [`${store}/b@1/node_modules/b/package.json`]: pkg('b'),
      [`${store}/b@1/node_modules/b/index.js`]: '"b of a"',
      [`${store}/b@2/node_modules/b/package.json`]: pkg('b'),
      [`${store}/b@2/node_modules/b/index.js`]: '"b of the author"',
    });
    const link = (to: string, from: string) => symlink(join(folder, store, to), join(folder, from));
    await link('a@1/node_modules/a', 'node_modules/a');
    await link('b@2/node_modules/b', 'node_modules/b');
    await link('b@1/node_modules/b', `${store}/a@1/node_modules/b`);
    expect(await found(folder, 'b', 'src/index.ts')).toBe('"b of the author"');
    expect(await found(folder, 'b', 'node_modules/a/index.js')).toBe('"b of a"');
    expect((await uploadOf(folder)).paths.filter((path) => path.includes('.pnpm'))).toEqual([]);
  });

  test('in a workspace: in the folder above, and as linked sources', async () => {
    const workspace = await folderWith({
      'package.json': pkg('all', { workspaces: ['packages/*'] }),
      'node_modules/shared-dependency/package.json': pkg('shared-dependency'),
      'node_modules/shared-dependency/index.js': '"above"',
      'packages/tools/package.json': pkg('@acme/tools', { main: './src/index.ts' }),
      'packages/tools/src/index.ts': 'import "shared-dependency"; export const tools: number = 1;',
    });
    const folder = join(workspace, 'packages/integration');
    await write(folder, entry('import "@acme/tools"; import "shared-dependency";'));
    await write(workspace, { 'node_modules/@acme/.keep': '' });
    await symlink(join(workspace, 'packages/tools'), join(workspace, 'node_modules/@acme/tools'));
    expect(await found(folder, 'shared-dependency', 'src/index.ts')).toBe('"above"');
    const { paths } = await uploadOf(folder);
    expect(paths).toContain('node_modules/@acme/tools/src/index.ts');
  });

  test('by the path of a file of theirs', async () => {
    const folder = await folderWith({
      ...entry('import text from "../node_modules/a/style.css"; export default text;'),
      'node_modules/a/style.css': 'p {}',
    });
    expect(await found(folder, '../node_modules/a/style.css', 'src/index.ts')).toBe('p {}');
  });
});

describe('an import that cannot be uploaded is a problem with its place', () => {
  test.each([
    ['a package that is not installed', 'import "zud";', /package "zud" is not installed/, /npm install zud/],
    ['a misspelt file', 'import "./usd";', /"\.\/usd" does not exist/, /Did you mean "used"\?/],
    ['a file outside of the folder', 'import "../../x.ts";', /leaves the folder/, /make it a package/],
    ['variables', 'import a from "../.env" with { type: "text" }; a;', /".env" is never uploaded/, /secrets/],
    ['a private key', 'import a from "./id_ed25519" with { type: "text" }; a;', /never uploaded/, /secrets/],
    ['an ignored file', 'import "./drafts/one";', /\.annexignore excludes it/, /Remove the line/],
  ])('%s', async (_what, code, message, hint) => {
    const folder = await folderWith({
      ...entry(`\n${code}`),
      ...{ '.annexignore': 'drafts/\n', '.env': 'KEY=1', 'src/id_ed25519': 'key', 'src/used.ts': '' },
      'src/drafts/one.ts': '',
    });
    const { upload, paths } = await uploadOf(folder);
    expect(upload.problems).toMatchObject([
      { severity: 'error', file: 'src/index.ts', line: 2, message: expect.stringMatching(message) },
    ]);
    expect(upload.problems[0]?.hint).toMatch(hint);
    expect(paths).toEqual(['platform-manifest.yaml', 'src/index.ts']);
  });

  // Attack: a link in a folder from elsewhere makes its publisher upload a file of the machine.
  test('a link that leaves the folder', async () => {
    const outside = await folderWith({ 'secret.txt': 'secret' });
    const folder = await folderWith(entry('import a from "./a.txt"; export default a;'));
    await symlink(join(outside, 'secret.txt'), join(folder, 'src/a.txt'));
    const { problems, paths } = await uploadOf(folder);
    expect(problems).toEqual(['"./a.txt" is a link to a file outside of the folder.']);
    expect(paths).not.toContain('src/a.txt');
  });

  // Attack: a link of a harmless name to credentials that lie in the folder itself.
  test('a link to a file of credentials in the folder', async () => {
    const folder = await folderWith({
      ...entry('import a from "./a.txt"; export default a;'),
      '.env': 'KEY=secret',
    });
    await symlink(join(folder, '.env'), join(folder, 'src/a.txt'));
    const { problems, paths } = await uploadOf(folder);
    expect(problems).toEqual([expect.stringMatching(/is never uploaded/)]);
    expect(paths).not.toContain('src/a.txt');
  });

  // Attack: a manifest whose image is a link to a file of the machine, or has the name of a key.
  test('an image that is a link to elsewhere, or a key', async () => {
    const outside = await folderWith({ 'secret.png': 'secret' });
    const folder = await folderWith({
      'platform-manifest.yaml': manifestOf('sent', 'index.js', 'icon: a.png\npreviewImages: [id_rsa]\n'),
      ...{ 'index.js': '', id_rsa: 'secret' },
    });
    await symlink(join(outside, 'secret.png'), join(folder, 'a.png'));
    const { problems, paths } = await uploadOf(folder);
    expect(problems).toHaveLength(2);
    expect(paths).toEqual(['index.js', 'platform-manifest.yaml']);
  });

  // Attack: a package whose installed files link to a file of the machine.
  test('a link that leaves its package', async () => {
    const outside = await folderWith({ 'secret.txt': 'secret' });
    const folder = await folderWith({
      ...entry('import "a";'),
      'node_modules/a/index.js': 'require("./b.txt")',
    });
    await symlink(join(outside, 'secret.txt'), join(folder, 'node_modules/a/b.txt'));
    expect((await uploadOf(folder)).problems).toEqual([
      '"./b.txt" is a link to a file outside of its package.',
    ]);
  });
});

// Attack: code that imports the credentials of its author, which its version would then hold.
describe('a file is never uploaded by its name, whatever .annexignore says:', () => {
  test.each([
    ...['.env', '.env.production', '.ENV', '.npmrc', '.netrc', '.git-credentials', '.pgpass'],
    ...['.git/config', '.ssh/config', '.aws/credentials', '.annex/profiles.json'],
    ...['id_rsa', 'tls.key', 'tls.PEM', 'store.p12', 'service-account.json'],
  ])('%s', async (name) => {
    const folder = await folderWith({
      ...entry(`import a from "./${name}" with { type: "text" }; export default a;`),
      ...{ [`src/${name}`]: 'secret', '.annexignore': `!${name}\n!src/${name}\n` },
    });
    const { problems, paths } = await uploadOf(folder);
    expect(problems).toEqual([
      expect.stringMatching(/is never uploaded: files of this name hold credentials/),
    ]);
    expect(paths).toEqual(['platform-manifest.yaml', 'src/index.ts']);
  });

  test('also in a package', async () => {
    const folder = await folderWith({
      ...entry('import "a";'),
      'node_modules/a/index.js': 'require("./.env.json")',
      'node_modules/a/.env.json': '{"KEY": "secret"}',
    });
    const { problems, paths } = await uploadOf(folder);
    expect(problems).toEqual([expect.stringMatching(/is never uploaded/)]);
    expect(paths).not.toContain('node_modules/a/.env.json');
  });
});

test('faults of the code are left to the service, which lists them with its own', async () => {
  const folder = await folderWith(entry('import "./used"; const = 1;'));
  const { upload, problems } = await uploadOf(await write(folder, { 'src/used.ts': '' }));
  expect(problems).toEqual([]);
  expect(upload.files.has('src/index.ts')).toBe(true);
});

test.each([
  ['no folder', {}, 'nowhere', /no folder/],
  ['no manifest', { 'index.js': '' }, '', /no manifest/],
  ['two manifests', { 'a-manifest.yaml': '', 'b-manifest.yaml': '' }, '', /2 manifests/],
])('%s is a problem of the folder', async (_what, files, below, message) => {
  const folder = join(await folderWith(files), below);
  const upload = await folderUpload({ folder });
  expect(upload).toEqual({
    problems: [expect.objectContaining({ message: expect.stringMatching(message) })],
  });
});

test('an upload over the limits names the largest packages and files', async () => {
  const folder = await folderWith({
    ...entry('import "large";'),
    'node_modules/large/package.json': pkg('large'),
    'node_modules/large/index.js': `/*${' '.repeat(21 * 1024 * 1024)}*/`,
  });
  const { upload } = await uploadOf(folder);
  expect(await sizeProblems(upload)).toMatchObject([
    {
      message: expect.stringMatching(/the limit is 20 MiB \(uploadBytes\)\. It is not sent\./),
      hint: expect.stringMatching(/largest packages are large \(2 files, 21\.0 MiB\).*--script/s),
    },
  ]);
});
