/** The texts that cells run are made of their sources once, and again when one of these changes. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CellSources, cellSources } from '../../../src/host/launch/cell-sources.ts';

interface Kept {
  made: Record<string, string>;
  value: CellSources;
}

let folder: string;
let kept: string;
let built: CellSources;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'annex-sources-'));
  kept = join(folder, 'new', 'cell-sources.json');
  built = await cellSources(kept);
});
afterAll(() => rm(folder, { recursive: true }));

const read = async (): Promise<Kept> => JSON.parse(await readFile(kept, 'utf8'));

test('a later start takes what an earlier one has made', async () => {
  const marked = await read();
  await writeFile(kept, JSON.stringify({ ...marked, value: { ...marked.value, script: 'of before' } }));
  expect(await cellSources(kept)).toEqual({ ...built, script: 'of before' });
});

test('the sources of cells and isolates, the packages in them and their lock file decide', async () => {
  const files = Object.keys((await read()).made);
  for (const end of [
    'src/cell/main.ts',
    'sandbox/entry.ts',
    'parts/names.ts',
    'package-lock.json',
    'cell-sources.ts',
  ])
    expect(files.filter((path) => path.endsWith(end))).toHaveLength(1);
  expect(files.filter((path) => path.includes('/node_modules/')).length).toBeGreaterThan(10);
});

test.each<[string, (kept: Kept) => string]>([
  [
    'a file has changed',
    ({ made, value }) => JSON.stringify({ made: { ...made, [Object.keys(made)[0] ?? '']: '' }, value }),
  ],
  ['a file is gone', ({ made, value }) => JSON.stringify({ made: { ...made, '/no/such.ts': '' }, value })],
  ['half of it was written', (all) => JSON.stringify(all).slice(0, 5_000)],
])('they are made anew where %s', async (_, damaged) => {
  const marked = await read();
  await writeFile(kept, damaged({ ...marked, value: { ...marked.value, script: 'of before' } }));
  expect(await cellSources(kept)).toEqual(built);
  expect((await read()).value).toEqual(built);
});

test('a folder that cannot be written to keeps nothing, and the start goes on', async () => {
  expect(await cellSources(join(kept, 'below-a-file.json'))).toEqual(built);
});
