/**
 * A machine that lacks programs which tests need (`test/support/programs.ts`) runs the other tests
 * and says which it left out.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { userVariables } from '../../support/packages/nodes.ts';
import { ROOT } from '../../support/repository/sources.ts';

/** Runs the tests of completions on a machine that has bash alone. */
async function bareRun(variables: Record<string, string>): Promise<{ code: number; printed: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'annex-bare-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await symlink('/bin/bash', join(folder, 'bash'));
  const { CI: _, ...env } = userVariables();
  const flags = ['run', '--project', 'long', 'test/service/cli/shell-completions.test.ts'];
  const program = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const options = { cwd: ROOT, env: { ...env, PATH: folder, NO_COLOR: '1', ...variables } };
  const run = promisify(execFile)(process.execPath, [program, ...flags], options);
  const { stdout, stderr, code } = await run.then(
    (ran) => ({ ...ran, code: 0 }),
    (failed) => failed,
  );
  return { code, printed: stdout + stderr };
}

test('a run on a bare machine passes, and ends with a list of what it left out', async () => {
  const { code, printed } = await bareRun({ CI: 'true', ANNEX_TEST_BARE: 'true' });
  expect({ code, end: printed.split('Not run, ')[1] }, printed).toEqual({
    code: 0,
    end: expect.stringMatching(
      /^because programs are missing:\n {2}zsh \(Debian's package zsh\).*\n {4}\S*\/shell-completions\.test\.ts \(8 tests\)\n {2}fish/,
    ),
  });
});

test('in continuous integration it fails with what to install, unless it is said to be bare', async () => {
  const { code, printed } = await bareRun({ CI: 'true' });
  expect({ code, printed }).toEqual({
    code: 1,
    printed: expect.stringMatching(/Tests need [a-z]+: install [a-z]+\./),
  });
});
