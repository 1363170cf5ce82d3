/**
 * `annex types`: the files it writes, the files it leaves unchanged, and the problems it reports.
 */
import { lstat, readdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { uploadFolder } from '../../../src/local/demo/folder-form-data.ts';
import { AuthorFolder, runTypes } from '../../support/sdk/author.ts';
import { startTestService } from '../../support/service.ts';

const MANIFEST = `name: typed
title: Typed
description: For a test.
organization: acme
visibility: public
scopes: []
script: index.ts
configurations:
  account:
    properties:
      word: { type: string, default: hello }
`;
const CODE = `import { createIntegration } from '@annex/sdk';
export default createIntegration({
  fetch: (_request, { environment }) => new Response(environment.installation?.configuration.word),
});
`;
const EVENT_TYPES = `invoice.paid:
  title: 'Invoice paid */ @deprecated'
  level: organization
  scope: { name: invoices:read }
  schema:
    type: object
    required: [amount, lines, method]
    properties:
      amount: { type: number }
      method: { enum: [card, cash] }
      note: { type: string }
      lines: { type: array, items: { $ref: '#/$defs/line' } }
    $defs: { line: { type: object, required: [count], properties: { count: { type: integer } } } }
ticket_opened:
  title: Ticket opened
  level: space
  schema: { type: object, required: [by], properties: { by: { anyOf: [{ type: string }, { $ref: '#' }] } } }
`;
const MADE = ['annex-env.d.ts', 'annex-sdk.d.ts', 'tsconfig.json'];

const folderOf = (manifest = MANIFEST) =>
  AuthorFolder.make({ 'platform-manifest.yaml': manifest, 'index.ts': CODE });

describe('annex types', () => {
  test.each([
    'hello',
    'counter',
    'confirmation',
    'greeter',
    'receiver',
    'plain-worker',
    'oauth',
    'poll',
    'embed',
    'settings',
    'webhook',
  ])('makes of fixtures/%s a project that compiles as it is', async (name) => {
    const folder = await AuthorFolder.ofFixture(name);
    const { code, stdout } = await folder.types();
    expect(code).toBe(0);
    expect(stdout.split('\n').filter(Boolean)).toEqual(MADE.map((file) => `${file} written`));
    expect(await folder.compile()).toEqual([]);
  });

  test('types the data of event types that the product has declared', async () => {
    const folder = await folderOf(MANIFEST.replace('scopes: []', 'scopes: [invoices:read]'));
    await folder.write({
      'types.yaml': EVENT_TYPES,
      'index.ts': `import { createIntegration } from '@annex/sdk';
export default createIntegration({
  events: {
    'invoice.paid': ({ data, organizationId }) => {
      const sum: number = data.amount + data.lines.reduce((all, { count }) => all + count, 0);
      const paid: 'card' | 'cash' = data.method;
      console.log(sum, paid, data.note?.length, organizationId);
      data.amont;
    },
    'other.type': ({ data }) => data.amount,
    ticket_opened: ({ data }) => console.log(data.by),
  },
});
`,
    });
    const { code, stderr } = await runTypes(['.', '--event-types', 'types.yaml'], folder.path);
    expect([code, stderr]).toEqual([0, '']);
    const found = await folder.compile();
    expect(found.map(({ line }) => line)).toEqual([8]);
  });

  test('declares the constants of the bundler, and nothing of Node', async () => {
    const folder = await folderOf();
    const code = "export const isLive: boolean = MODE === 'production';\nexport const env = process.env;\n";
    await folder.write({ 'mode.ts': code });
    await folder.types();
    expect(await folder.compile()).toMatchObject([{ file: 'mode.ts', line: 2 }]);
    expect(await folder.read('tsconfig.json')).toContain('"skipLibCheck": true');
  });

  test('resolves a folder against the working directory of the user', async () => {
    const folder = await folderOf();
    expect(await runTypes(['.'], folder.path)).toMatchObject({ code: 0 });
    expect(await readdir(folder.path)).toEqual(expect.arrayContaining(MADE));
  });

  test('writes the same again, and leaves settings of the author alone', async () => {
    const folder = await folderOf();
    await folder.write({ 'tsconfig.json': '{}' });
    const first = await folder.types();
    expect(first.stdout).toContain('tsconfig.json left as it is');
    const env = await folder.read('annex-env.d.ts');
    const second = await folder.types();
    expect(second.stdout).toContain('annex-env.d.ts is up to date');
    expect(second.stdout).toContain('annex-sdk.d.ts is up to date');
    expect(await folder.read('annex-env.d.ts')).toBe(env);
    expect(await folder.read('tsconfig.json')).toBe('{}');
  });

  test('writes through no link: a folder from elsewhere may have one to a file of the user', async () => {
    const folder = await folderOf();
    await folder.write({ 'precious.txt': 'precious' });
    await symlink('precious.txt', join(folder.path, 'annex-env.d.ts'));
    expect(await folder.types()).toMatchObject({ code: 0 });
    expect(await folder.read('precious.txt')).toBe('precious');
    expect((await lstat(join(folder.path, 'annex-env.d.ts'))).isFile()).toBe(true);
  });

  test('lists what is wrong with a manifest, each with its place, and writes nothing', async () => {
    const folder = await folderOf(MANIFEST.replace('visibility: public', 'visibility: pubic'));
    const { code, stdout, stderr } = await folder.types();
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^platform-manifest\.yaml:5:13: error: .*public/m);
    expect(await readdir(folder.path)).not.toContain('annex-env.d.ts');
  });

  test('prints a warning and continues', async () => {
    const folder = await folderOf(`${MANIFEST}colour: red\n`);
    const { code, stderr } = await folder.types();
    expect(code).toBe(0);
    expect(stderr).toMatch(/^platform-manifest\.yaml:12:\d+: warning: /m);
  });

  test('attack: text of a manifest sends no control sequence to the terminal', async () => {
    const folder = await folderOf(`${MANIFEST}"\\e[2J\\u202e": red\n"\\e[2J\\u202e": red\n`);
    const { code, stderr } = await folder.types();
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('The key "[2J" has an invisible character in it: U+001B'),
    });
    expect(stderr).not.toMatch(/[\p{Bidi_Control}]|[^\P{Cc}\n]/u);
  });

  test.each([
    ['no manifest', [], /no platform-manifest\.yaml/],
    ['two folders', ['a', 'b'], /too many arguments/i],
    ['an unknown flag', ['a', '--chekc'], /--chekc/],
    ['a folder that is not there', ['not-there'], /no not-there\/platform-manifest\.yaml/],
  ])('ends with 2 for %s, and says so', async (_, args, words) => {
    const { path } = await AuthorFolder.make();
    const { code, stdout, stderr } = await runTypes(args, path);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(words);
  });

  test('writes no copy of the SDK where its package is installed, and removes its own', async () => {
    const folder = await folderOf();
    await folder.types();
    await folder.write({ 'node_modules/@annex/sdk/package.json': '{}' });
    expect(await folder.types('--check')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('annex-sdk.d.ts is not up to date'),
    });
    const { stdout, stderr } = await folder.types();
    expect(stdout).toBe(
      'annex-env.d.ts is up to date\nannex-sdk.d.ts removed\ntsconfig.json left as it is\n',
    );
    expect(stderr).toContain('"extends": "@annex/sdk/tsconfig.json"');
    await rm(join(folder.path, 'tsconfig.json'));
    expect((await folder.types()).stdout).toBe('annex-env.d.ts is up to date\ntsconfig.json written\n');
    expect(JSON.parse(await folder.read('tsconfig.json'))).toEqual({ extends: '@annex/sdk/tsconfig.json' });
  });
});

describe('--check', () => {
  test('succeeds after the types were written, with any line ends', async () => {
    const folder = await folderOf();
    await folder.types();
    await folder.write({ 'annex-env.d.ts': (await folder.read('annex-env.d.ts')).replaceAll('\n', '\r\n') });
    expect(await folder.types('--check')).toMatchObject({ code: 0, stderr: '' });
  });

  test.each([
    ['the manifest has changed', { 'platform-manifest.yaml': MANIFEST.replace('word', 'term') }],
    ['the types were edited', { 'annex-env.d.ts': 'export {};\n' }],
    ['those of the SDK were edited', { 'annex-sdk.d.ts': 'export {};\n' }],
  ])('fails if %s, and changes nothing', async (_, change) => {
    const folder = await folderOf();
    await folder.types();
    await folder.write(change);
    const before = await Promise.all(MADE.map((file) => folder.read(file)));
    const { code, stderr } = await folder.types('--check');
    expect(code).toBe(1);
    expect(stderr).toMatch(/^annex-(env|sdk)\.d\.ts is not up to date: annex types \.$/m);
    expect(await Promise.all(MADE.map((file) => folder.read(file)))).toEqual(before);
  });

  test('fails if there are no types, and writes none', async () => {
    const folder = await folderOf();
    expect(await folder.types('--check')).toMatchObject({ code: 1 });
    expect((await readdir(folder.path)).sort()).toEqual(['index.ts', 'platform-manifest.yaml']);
  });
});

test('a folder with its types is published like one without them, and answers', async () => {
  const folder = await folderOf();
  await folder.types();
  const service = await startTestService();
  const form = await uploadFolder(folder.path);
  const published = await service.api('POST', '/v1/integrations', { form });
  expect(published).toMatchObject({ status: 201, body: { warnings: [] } });
  const { endpoint } = await service.install('typed');
  expect(await (await fetch(endpoint)).text()).toBe('hello');
});
