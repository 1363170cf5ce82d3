/**
 * What the links of a cloned folder bring into its upload: packages where package managers keep
 * them, and nothing else of the publisher's disk.
 */
import { execFileSync } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { compilerOf } from '../../../src/cli/upload/compiler-check.ts';
import { type FolderRequest, folderUpload } from '../../../src/cli/upload/folder-upload.ts';
import { secretValues } from '../../../src/cli/upload/secret-values.ts';
import { readAt, realPath } from '../../../src/real-files.ts';
import { manifestOf, write } from '../../support/cli/author-folder.ts';
import { home, link, SECRET, TOKENS, TRICKS, takes } from '../../support/cli/cloned-folder.ts';

afterEach(() => void vi.unstubAllEnvs());

async function uploadOf(folder: string, request: Partial<FolderRequest> = {}) {
  const upload = await folderUpload({ folder, ...request });
  const files = 'files' in upload ? [...upload.files.values()] : [];
  const script = 'files' in upload && upload.script ? [upload.script] : [];
  const text = [...files, ...script].map(({ bytes }) => Buffer.from(bytes).toString()).join('\n');
  return { upload, text, messages: upload.problems.map(({ message, hint }) => `${message} ${hint}`) };
}

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

  test('an upload of a folder with the home folder in it, as a machine for builds has it', async () => {
    const { home: folder } = await home();
    await write(folder, takes('./src/other/tokens.json'));
    expect((await uploadOf(folder)).messages).toEqual([]);
    vi.stubEnv('HOME', join(folder, 'src'));
    const { text, messages } = await uploadOf(folder);
    expect(text).not.toContain(SECRET);
    expect(messages).toEqual([expect.stringMatching(/tokens\.json" is never uploaded/)]);
  });

  test('what .annexignore excludes, where that is a link', async () => {
    const { clone } = await home();
    await write(clone, takes('./notes.json'));
    await write(clone, { 'notes.json': TOKENS, '../ignored': 'notes.json' });
    await link(clone, { '.annexignore': '../ignored' });
    expect((await uploadOf(clone)).messages).toEqual([
      expect.stringMatching(/\.annexignore is a link to a file outside of the folder/),
    ]);
  });

  test('the compiler of another user, above a folder for temporary files', async () => {
    const { home: folder } = await home();
    const compiler = 'node_modules/typescript/bin/tsc';
    await write(folder, {
      [`shared/${compiler}`]: '',
      'shared/own/tsconfig.json': '{}',
      [`src/${compiler}`]: '',
    });
    await write(join(folder, 'src/clone'), { 'tsconfig.json': '{}' });
    await chmod(join(folder, 'shared'), 0o1777);
    expect(compilerOf(join(folder, 'shared/own'))).toBeUndefined();
    expect(compilerOf(join(folder, 'src/clone'))).toBe(join(folder, 'src', compiler));
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

  test('the own variables of Annex, which the manifest makes a secret', async () => {
    const { clone } = await home();
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is an expression of a manifest
    const declared = { KEY: '${{ env.ANNEX_TOKEN }}', OTHER: '${{ env.OTHER }}' };
    const env = { ANNEX_TOKEN: SECRET, OTHER: 'other' };
    const { values, open } = await secretValues(declared, { given: [], env, cwd: clone, folder: clone });
    expect([values, [...open]]).toEqual([{ OTHER: 'other' }, [['KEY', 'ANNEX_TOKEN']]]);
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
