/**
 * `annex test`: runs the tests of a folder with its own test runner, on the Node that comes with
 * Annex.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import Type from 'typebox';
import { type Command, defineCommand } from '../../cli/command.ts';
import type { CommandContext } from '../../cli/context.ts';
import { EXIT } from '../../cli/terminal/failure.ts';
import { type TestRunner, testRunnerOf } from './test-runner.ts';

export const test: Command = defineCommand({
  name: 'test',
  summary: 'run the tests of an integration',
  description: [
    'Runs the tests of a folder with vitest, where its package.json has it, else with `node --test`, on the Node that comes with Annex. Tests that use @annex/testing run the integration in a real isolate with the limits of production.',
  ],
  arguments: {
    folder: { help: 'folder of the integration; default: this one', optional: true },
    files: { help: 'test files to run; default: all', optional: true, variadic: true },
  },
  options: {},
  examples: [
    { line: 'annex test', does: 'run all tests of this folder' },
    { line: 'annex test hello test/index.test.ts', does: 'run one file of the folder hello' },
  ],
  exits: { 1: 'a test failed, or there are none' },
  json: Type.Object(
    { runner: Type.Enum(['vitest', 'node --test']), ok: Type.Boolean() },
    { description: 'What the runner prints is on standard error then.' },
  ),
  async run(context, { folder: given, files }) {
    const { output, cwd } = context;
    const folder = resolve(cwd, given ?? '.');
    const runner = await testRunnerOf(folder);
    const ok = (await runTests(context, { runner, folder, files: files ?? [] })) === 0;
    output.result({ runner: runner.name, ok }, () => undefined);
    return ok ? EXIT.ok : EXIT.failed;
  },
});

interface Run {
  readonly runner: TestRunner;
  readonly folder: string;
  readonly files: readonly string[];
}

/**
 * On a terminal the output of the tests passes through this process, which leaves its colours and
 * shows other control characters: what an integration logs or answers is in there.
 *
 * @returns the exit code of the runner; null where a signal has ended it
 */
async function runTests(
  { output, env, signal }: CommandContext,
  { runner, folder, files }: Run,
): Promise<number | null> {
  const shown = output.isJson ? 'stderr' : 'stdout';
  const isGiven = !output.isJson && output.isGiven('stdout') && output.isGiven('stderr');
  const child = spawn(process.execPath, [...runner.words, ...files], {
    cwd: folder,
    env: { ...env, ...(output.hasColours(shown) && { FORCE_COLOR: env['FORCE_COLOR'] ?? '1' }) },
    stdio: isGiven ? ['ignore', 'inherit', 'inherit'] : ['ignore', 'pipe', 'pipe'],
    signal,
    killSignal: 'SIGTERM',
  });
  // All at once: where the runner cannot be started, its output fails, too.
  const [code] = await Promise.all([
    ended(child, signal),
    child.stdout && output.copy(child.stdout, shown),
    child.stderr && output.copy(child.stderr, 'stderr'),
  ]);
  return code;
}

function ended(child: ChildProcess, signal: AbortSignal): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', (cause) => {
      if (!signal.aborted) reject(cause);
    });
    child.once('close', (code) => resolve(code));
  });
}
