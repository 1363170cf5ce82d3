/**
 * Runs the TypeScript compiler of a folder over it and reads what it reports. The compiler is the
 * author's own: the one that the folder, or the workspace above it, has installed.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { type Problem, problem } from '../../model/problem.ts';
import { realPath } from '../../real-files.ts';
import { Failure } from '../terminal/failure.ts';
import { foldersAbove } from './package-reach.ts';

const COMPILER = 'node_modules/typescript/bin/tsc';
const SETTINGS = 'tsconfig.json';
const COMPILE_MS = 180_000;
/** Largest output of the compiler that is read. */
const OUTPUT_BYTES_MAX = 8 * 1024 * 1024;
/** Between the place and the text of what the compiler reports. */
const MARK = '): error ';
const POSITION = /^(\d+),(\d+)$/;

/** The compiler of a folder; undefined where the folder has none, or no settings for one. */
export function compilerOf(folder: string): string | undefined {
  if (!existsSync(join(folder, SETTINGS))) return undefined;
  // Attack: another user's `/tmp/node_modules`, above a folder that is looked at there.
  return [folder, ...foldersAbove(realPath(folder) ?? folder)]
    .map((at) => join(at, COMPILER))
    .find((compiler) => existsSync(compiler));
}

/**
 * @returns the problems that the compiler reports, with paths in the folder
 * @throws Failure if it does not end in time: a busy machine is no problem of the folder
 */
export async function compilerProblems(
  compiler: string,
  folder: string,
  signal: AbortSignal,
  withinMs = COMPILE_MS,
): Promise<Problem[]> {
  const { promise, resolve } = Promise.withResolvers<{
    failed: boolean;
    late: boolean;
    output: string;
  }>();
  const options = { cwd: folder, timeout: withinMs, maxBuffer: OUTPUT_BYTES_MAX, signal };
  execFile(
    process.execPath,
    [compiler, '--noEmit', '--pretty', 'false', '-p', SETTINGS],
    options,
    (error, stdout, stderr) =>
      resolve({
        failed: error !== null,
        late: error?.killed === true && error.code === null,
        output: `${stdout}\n${stderr}`,
      }),
  );
  const { failed, late, output } = await promise;
  signal.throwIfAborted();
  if (late)
    throw new Failure(`The TypeScript compiler of the folder did not end within ${withinMs / 1_000} s.`, {
      hint: 'This machine may be busy: check again, or leave the compiler out with --skip-types.',
    });
  const found = reports(output, folder);
  if (!failed || found.length > 0) return found;
  const [first = 'It printed nothing.'] = output.split('\n').filter((line) => line.trim() !== '');
  const hint = 'Run it by itself, "npx tsc --noEmit", or leave it out with --skip-types.';
  return [problem(`The TypeScript compiler of the folder failed. ${first}`, { hint })];
}

interface Report {
  readonly place: { readonly file: string; readonly line?: number; readonly column?: number };
  readonly lines: string[];
}

function reports(output: string, folder: string): Problem[] {
  const found: Report[] = [];
  for (const line of output.split('\n')) {
    const report = reportIn(line.trimEnd(), folder);
    if (report !== undefined) found.push(report);
    else if (line.startsWith('  ')) found.at(-1)?.lines.push(line.trim());
  }
  return found.map(({ place, lines }) => problem(lines.join(' '), place));
}

/** `src/a.ts(1,2): error TS1005: ';' expected.`, or an error without a place. */
function reportIn(line: string, folder: string): Report | undefined {
  if (line.startsWith('error TS')) return { place: { file: SETTINGS }, lines: [line.slice('error '.length)] };
  const end = line.indexOf(MARK);
  const start = line.lastIndexOf('(', end);
  const [, row, column] = POSITION.exec(line.slice(start + 1, end)) ?? [];
  if (end < 0 || start < 0 || row === undefined) return undefined;
  const file = relative(folder, join(folder, line.slice(0, start)))
    .split(sep)
    .join('/');
  return {
    place: { file, line: Number(row), column: Number(column) },
    lines: [line.slice(end + MARK.length)],
  };
}
