/** The TypeScript compiler of a folder, as `annex check` runs it: its failures. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { compilerProblems } from '../../../src/cli/upload/compiler-check.ts';

/** A program in the place of a compiler. */
async function compiler(source: string): Promise<readonly [program: string, folder: string]> {
  const folder = await mkdtemp(join(tmpdir(), 'annex-compiler-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const program = join(folder, 'compiler.cjs');
  await writeFile(program, source);
  return [program, folder];
}

test('a compiler that does not end in time is no problem of the folder', async () => {
  const [program, folder] = await compiler('setInterval(() => {}, 1000);');
  await expect(compilerProblems(program, folder, new AbortController().signal, 500)).rejects.toMatchObject({
    ...{ name: 'Failure', message: 'The TypeScript compiler of the folder did not end within 0.5 s.' },
    details: { hint: expect.stringContaining('This machine may be busy') },
  });
});

test('a compiler that fails by itself is one', async () => {
  const [program, folder] = await compiler('console.log("It is broken."); process.exit(3);');
  expect(await compilerProblems(program, folder, new AbortController().signal)).toMatchObject([
    { message: 'The TypeScript compiler of the folder failed. It is broken.' },
  ]);
});
