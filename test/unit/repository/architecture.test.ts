/**
 * The pages for engineers name what exists: each path, each name to search for in a file, each
 * folder of the code map.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT, read } from '../../support/repository/sources.ts';

const PAGE = 'ARCHITECTURE.md';
const decisions = readdirSync(join(ROOT, 'docs/decisions')).map((name) => `docs/decisions/${name}`);

/** Names in code font outside of blocks. */
const namesIn = (text: string): string[] =>
  [...text.replace(/^```.*?^```$/gms, '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);

const sectionOf = (title: string): string => read(PAGE).split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? '';

const foldersOf = (path: string): string[] =>
  readdirSync(join(ROOT, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !/^(\.|node_modules$|dist$)/.test(entry.name))
    .map(({ name }) => name);

test.each([PAGE, 'CONTRIBUTING.md', ...decisions])('%s names only paths that exist', (path) => {
  const isPath = (name: string) =>
    /^(src|sandbox|test|fixtures|bench|packages|deploy|docs)\/[\w./-]*$/.test(name) ||
    (path === PAGE && /^[\w-]+(\/[\w./-]*|\.ts)$/.test(name));
  const exists = (name: string) =>
    ['.', ...(path === PAGE ? ['src', 'src/host'] : [])].some((folder) =>
      existsSync(join(ROOT, folder, name)),
    );
  expect(namesIn(read(path)).filter((name) => isPath(name) && !exists(name))).toEqual([]);
});

describe(PAGE, () => {
  test('says behind a path what the file has', () => {
    const said = [...sectionOf('Where to enter').matchAll(/`([^`]+)` \(`([^`]+)`\)/g)];
    expect(said.length).toBeGreaterThan(5);
    const absent = said.filter(([, file = '', name = '']) => !read(file).includes(name));
    expect(absent.map(([text]) => text)).toEqual([]);
  });

  test('has every folder in its code map, and no other', () => {
    const map = sectionOf('Code map');
    const mapped = (indent: string) =>
      [...map.matchAll(new RegExp(`^${indent}([\\w-]+)/ `, 'gm'))].map(([, name]) => name).sort();
    expect(mapped('  ')).toEqual(foldersOf('src').sort());
    expect(mapped('    ')).toEqual(foldersOf('src/host').sort());
    expect(mapped('')).toEqual(foldersOf('.').sort());
  });
});
