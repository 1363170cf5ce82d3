/**
 * Values of secrets from files of variables, which are read as `dotenv` reads them, and manifests
 * of other tools in a folder (docs/contract/manifest.md#secrets).
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { manifestIn as manifestOfTypes } from '../../../src/cli/commands/types.ts';
import { manifestIn } from '../../../src/cli/upload/folder-upload.ts';
import { secretValues, variablesOf } from '../../../src/cli/upload/secret-values.ts';

/** A folder with these files. */
async function folderOf(files: Readonly<Record<string, string | Uint8Array>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'annex-secrets-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  return folder;
}

const valuesIn = (folder: string, secrets: Readonly<Record<string, string>>, file?: string) =>
  secretValues(secrets, { given: [], file, env: {}, cwd: folder, folder });

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: expressions of a manifest
test('a file that begins with a byte order mark has its first variable', async () => {
  const folder = await folderOf({ '.env': '\ufeffFIRST=bom\r\nSECOND=ok\r\n', more: '\ufeffFIRST=more' });
  const declared = { FIRST: '${{ env.FIRST }}', SECOND: '${{ env.SECOND }}' };
  expect((await valuesIn(folder, declared)).values).toEqual({ FIRST: 'bom', SECOND: 'ok' });
  expect((await valuesIn(folder, declared, 'more')).values).toEqual({ FIRST: 'more', SECOND: 'ok' });
});

test('a file in UTF-16 is refused by name', async () => {
  const folder = await folderOf({ '.env': Buffer.from('\ufeffFIRST=bom', 'utf16le') });
  await expect(valuesIn(folder, {})).rejects.toThrow(/\.env is in UTF-16/);
});

test('a secret may have the name of a member of objects, and an expression of another tool', async () => {
  const folder = await folderOf({ '.env': 'A=1' });
  const declared = { constructor: '${{ env.toString }}', OTHER: '${{ secrets.OTHER }}', TEXT: 'written' };
  const { values, open } = await valuesIn(folder, declared);
  expect(values).toEqual({});
  expect([...open]).toEqual([
    ['constructor', 'toString'],
    ['OTHER', undefined],
  ]);
});
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: expressions of a manifest

/** Values as `dotenv` 18.0.10 reads them. */
const AS_DOTENV: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ['A=1\nA=2', { A: '2' }],
  ['A=\nB=""', { A: '', B: '' }],
  ['  A  =  1  ', { A: '1' }],
  ['export A=1\nexportB=2', { A: '1', exportB: '2' }],
  ['A: 1\nB:2', { A: '1' }],
  ['a.b-c=1', { 'a.b-c': '1' }],
  ['# A=1\nB=1 # 2\nC=1#2\nD="1 # 2" # 3\nE=\'#\'', { B: '1', C: '1', D: '1 # 2', E: '#' }],
  ['A="1\n2"\nB=\'1\n2\'\nC=`1\n2`', { A: '1\n2', B: '1\n2', C: '1\n2' }],
  ['A="1\\n2"\nB=\'1\\n2\'\nC=1\\n2', { A: '1\n2', B: '1\\n2', C: '1\\n2' }],
  ['A="1\\t2"', { A: '1\\t2' }],
  ['A=`it\'s "x"`', { A: 'it\'s "x"' }],
  ['A={"b": "c"}', { A: '{"b": "c"}' }],
  ['A="open\nB=1', { A: '"open', B: '1' }],
  ['A=a=b==', { A: 'a=b==' }],
  ['A=$B $(B)', { A: '$B $(B)' }],
  ['A=1\rB=2\r\nC=3', { A: '1', B: '2', C: '3' }],
  ['A\nB=1', { B: '1' }],
  ['\ufeffA=1', { A: '1' }],
  ['\u00a0A=\u00a01\u00a0', { A: '1' }],
  ['__proto__=1', { ['__proto__']: '1' }],
];

test.each(AS_DOTENV)('%j is read as dotenv reads it', (text, variables) => {
  expect([...variablesOf(text)]).toEqual(Object.entries(variables));
});

// Attack: `.env` of a cloned folder on which the expression would take a quadratic time.
test.each(['\n', ' ', 'a', 'a\n', "A='\n", `A='\nB="\nC=\`\n`, "\\'", 'export\n', '=\n'])(
  'a mebibyte of %j is read',
  (part) => {
    expect(variablesOf(`A=${part.repeat(2 ** 20 / part.length)}`).size).toBeGreaterThan(0);
  },
);

const OURS = 'name: a\ntitle: A\norganization: acme\nscopes: []\n';
const KUBERNETES = 'apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  scopes: []\n';

test.each([
  [{ 'k8s-manifest.yaml': KUBERNETES, 'platform-manifest.yaml': OURS }, 'platform-manifest.yaml'],
  [{ 'a-manifest.yaml': 'name: web\nstart_url: /\n', 'z-manifest.yaml': `\ufeff${OURS}` }, 'z-manifest.yaml'],
  // Also one that is not valid.
  [{ 'a-manifest.yaml': KUBERNETES, 'b-manifest.yaml': '"organization" : "acme\n' }, 'b-manifest.yaml'],
  [{ 'only-manifest.yaml': KUBERNETES }, 'only-manifest.yaml'],
])('manifests of other tools are passed over: %j', async (files, found) => {
  const folder = await folderOf(files);
  expect(manifestIn(folder)).toBe(found);
  expect(await manifestOfTypes(folder)).toBe(found);
});

test('two manifests of ours, or two of which none is, are a problem', async () => {
  for (const text of [OURS, KUBERNETES]) {
    const folder = await folderOf({ 'a-manifest.yaml': text, 'b-manifest.yaml': text });
    expect(manifestIn(folder)).toMatchObject({ message: expect.stringContaining('has 2 manifests') });
  }
});
