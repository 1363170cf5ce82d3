/**
 * `npm run bench`: what it answers without measuring, and that the documents name what there is.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { absent, rowOf, table } from '../../../bench/figures.ts';
import { DOCUMENTATION } from '../../support/repository/documents.ts';
import { ROOT, read } from '../../support/repository/sources.ts';

const bench = (...words: string[]) =>
  spawnSync(process.execPath, [join(ROOT, 'bench/bench.ts'), ...words], { cwd: ROOT, encoding: 'utf8' });

const names = bench('--list')
  .stdout.split('\n')
  .flatMap((line) => /^\w+/.exec(line) ?? []);

describe('npm run bench', () => {
  test('answers an unknown name with what there is', () => {
    const { status, stderr } = bench('envelop');
    expect(status).toBe(2);
    expect(stderr).toContain('There is no benchmark envelop.');
    for (const name of names) expect(stderr).toContain(`\n${name} `);
  });

  test('has a row in CONTRIBUTING.md for each benchmark, and no document names another', () => {
    const page = read('CONTRIBUTING.md');
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
    const named = [...DOCUMENTATION.matchAll(/npm run bench -- ([a-z][\w: -]*)/g)]
      .flatMap(([, words = '']) => words.trim().split(' '))
      .map((word) => word.split(':')[0] ?? '');
    expect(named).toContain('copy');
    expect(named.filter((name) => !names.includes(name))).toEqual([]);
  });

  test('has the median of the ratios of its rounds, their spread, and whether the aim is met', () => {
    const figure = { row: 'calls', unit: '/s', to: 'a peer', aim: { least: 2 } };
    const rounds = [
      { ...figure, annex: 300, other: 100 },
      { ...figure, annex: 10, other: 10 },
      { ...figure, annex: 1_500, other: 1_000 },
    ];
    const row = rowOf(rounds);
    expect(row).toMatchObject({ annex: 300, other: 100, ratio: 1.5, low: 1, high: 3 });
    expect(table([row])).toMatch(/^calls +300 \/s +a peer 100 +1\.50 × +1\.00–3\.00 +≥ 2 × +missed$/m);
  });

  test('says why a figure of a peer is missing', () => {
    const row = rowOf([{ row: 'calls', unit: '/s', annex: 1, to: 'a peer', missing: 'it is not installed' }]);
    expect(table([row])).toMatch(/^a peer: it is not installed$/m);
    const without = rowOf([absent('calls of a server', 'it is not installed')]);
    expect(table([without])).toMatch(/^calls of a server +-$/m);
    expect(table([without])).toMatch(/^calls of a server: it is not installed$/m);
  });
});
