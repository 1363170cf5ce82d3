/**
 * `annex test`: runs the tests of a folder with its own test runner, on the Node that comes with
 * Annex.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import Type from 'typebox';
import { type Command, type CommandContext, defineCommand } from '../../cli/command.ts';
import { EXIT, Failure } from '../../cli/terminal/failure.ts';

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

type RunnerName = 'vitest' | 'node --test';

interface TestRunner {
  readonly name: RunnerName;
  /** What Node is started with, before the names of files. */
  readonly words: readonly string[];
}

const TESTS = '**/*.{test,spec}.{js,mjs,cjs,ts,mts,cts}';
const IMPORTS_NODE_TEST = /['"]node:test['"]/;
const PACKAGES = '**/node_modules/**';

interface PackageFile {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** @throws Failure where the folder has no tests, or its runner is not installed */
async function testRunnerOf(folder: string): Promise<TestRunner> {
  if (!existsSync(folder))
    throw new Failure(`There is no folder ${folder}.`, {
      code: 'FOLDER_INVALID',
      hint: 'Name the folder of an integration.',
    });
  const file = join(folder, 'package.json');
  const declared = existsSync(file) ? readPackage(await readFile(file, 'utf8'), file) : {};
  const usesVitest = 'vitest' in { ...declared.dependencies, ...declared.devDependencies };
  if (usesVitest) return { name: 'vitest', words: [vitestProgram(folder), 'run'] };
  if (await usesNodeTest(folder)) return { name: 'node --test', words: ['--test'] };
  throw new Failure(`${folder} has no tests that can be run.`, {
    code: 'TESTS_MISSING',
    hint: 'Add vitest to the devDependencies of its package.json, or write a file such as test/index.test.ts that imports node:test.',
  });
}

function readPackage(text: string, file: string): PackageFile {
  try {
    return JSON.parse(text) as PackageFile;
  } catch (cause) {
    throw new Failure(`${file} is not JSON: ${(cause as Error).message}`, { code: 'FOLDER_INVALID' });
  }
}

function vitestProgram(folder: string): string {
  try {
    const manifest = createRequire(join(folder, 'package.json')).resolve('vitest/package.json');
    return join(dirname(manifest), 'vitest.mjs');
  } catch {
    const hint = 'Run `npm install` in it.';
    throw new Failure(`${folder} is tested with vitest, which is not installed.`, {
      code: 'RUNNER_MISSING',
      hint,
    });
  }
}

async function usesNodeTest(folder: string): Promise<boolean> {
  for await (const path of glob(TESTS, { cwd: folder, exclude: [PACKAGES] }))
    if (IMPORTS_NODE_TEST.test(await readFile(join(folder, path), 'utf8'))) return true;
  return false;
}
