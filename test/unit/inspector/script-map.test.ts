/** The source map for debuggers: the author's texts, and nothing from outside the folder. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { scriptMapUrl } from '../../../src/host/inspector/script-map.ts';

const parent = mkdtempSync(join(tmpdir(), 'annex-map-'));
const folder = join(parent, 'own');
mkdirSync(folder);
writeFileSync(join(folder, 'index.ts'), 'own');
writeFileSync(join(parent, 'secret'), 'secret');
mkdirSync(join(parent, 'own-other'));
writeFileSync(join(parent, 'own-other', 'x.ts'), 'secret');
afterAll(() => rmSync(parent, { recursive: true }));

function mapOf(sources: string[], from: string | undefined) {
  const stored = JSON.stringify({ version: 3, sources, names: [], mappings: '' });
  const url = scriptMapUrl(stored, 'own@1', from);
  return JSON.parse(Buffer.from(url?.split('base64,')[1] ?? '', 'base64').toString());
}

test('a file of the folder has its text and its URL', () => {
  expect(mapOf(['index.ts', 'gone.ts'], folder)).toMatchObject({
    sources: [pathToFileURL(join(folder, 'index.ts')).href, pathToFileURL(join(folder, 'gone.ts')).href],
    sourcesContent: ['own', null],
    ignoreList: [],
  });
});

test('files outside the folder have no text and no URL of a file', () => {
  const outside = ['../secret', '../own-other/x.ts', 'a/../../secret'];
  const { sources, sourcesContent } = mapOf(outside, folder);
  expect(sourcesContent).toEqual([null, null, null]);
  expect(sources).toEqual(outside.map((path) => `annex:/own@1/${path}`));
});

test('a link that leaves the folder, and a pipe, have no text', () => {
  symlinkSync('../secret', join(folder, 'link.ts'));
  execFileSync('mkfifo', [join(folder, 'pipe.ts')]);
  expect(mapOf(['link.ts', 'pipe.ts'], folder).sourcesContent).toEqual([null, null]);
});

test('files of packages and of the SDK are marked for debuggers to skip', () => {
  const sources = ['index.ts', 'node_modules/zod/index.js', '@annex/sdk/index.ts', 'node:buffer', 'frame:x'];
  const { ignoreList } = mapOf(sources, folder);
  expect(ignoreList).toEqual([1, 2, 3, 4]);
});

test('without a folder there are names alone, and without sources there is no map', () => {
  expect(mapOf(['index.ts'], undefined)).toMatchObject({
    sources: ['annex:/own@1/index.ts'],
    sourcesContent: [null],
  });
  expect(scriptMapUrl('{"sources":[],"names":[],"mappings":""}', 'own@1', folder)).toBeUndefined();
});
