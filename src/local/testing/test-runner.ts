/**
 * Finds out with which test runner a folder is tested: vitest where the folder has it, else that of
 * Node where a test imports it. It reads the folder and starts nothing.
 */
import { existsSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Failure } from '../../cli/terminal/failure.ts';

export type RunnerName = 'vitest' | 'node --test';

export interface TestRunner {
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
export async function testRunnerOf(folder: string): Promise<TestRunner> {
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
