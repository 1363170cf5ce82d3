/**
 * The programs that tests start are those of a bare machine, and those of the table
 * (`test/support/programs.ts`), which says where one is missing.
 */
import { expect, test } from 'vitest';
import { PROGRAMS } from '../../support/programs.ts';
import { filesIn, read } from '../../support/repository/sources.ts';

/** What a bare machine has, beside Node: npm, a shell and the smallest tools of Debian. */
const BARE = ['npm', 'npx', 'sh', '/bin/sh', 'bash', 'env', 'tar', 'id', 'mkfifo', 'sleep'];
/** Of the same packages as a program of the table, without which they are not started. */
const BESIDE = ['ldd', 'umount'];

test('tests start no program that a bare machine lacks and the table does not have', () => {
  const known = [...Object.keys(PROGRAMS), ...BARE, ...BESIDE];
  const started = filesIn('test').flatMap((path) =>
    [...read(path).matchAll(/\b(?:spawn|execFile)(?:Sync)?\)?\(\s*'([^']+)'/g)].map(
      ([, program = '']) => `${path}: ${program}`,
    ),
  );
  expect(started.length).toBeGreaterThan(0);
  expect(started.filter((line) => !known.includes(line.split(': ')[1] ?? ''))).toEqual([]);
});
