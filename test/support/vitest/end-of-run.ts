/**
 * What the end of a run lists:
 *
 * - tests that were not run, because a program is missing (`programs.ts`)
 * - tests that failed once and passed when they were repeated. Such a test depends on chance or
 *   time, and has to be mended; without the list a retry would hide it.
 */
import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node';
import { PROGRAMS, type ProgramName } from '../programs.ts';
import { WITHOUT_POSTGRES } from './postgres-suites.ts';

export class EndOfRun implements Reporter {
  #hasPostgres = false;

  onInit({ projects }: Vitest): void {
    this.#hasPostgres = projects.some(({ name }) => name === 'postgres');
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const retried = tests.filter(isRetried).map((test) => `${fileOf(test)} > ${test.fullName}`);
    if (retried.length > 0) print('Passed at the second attempt, and to be mended:', retried);
    const lines = notRun(tests, this.#hasPostgres ? WITHOUT_POSTGRES : []);
    if (lines.length > 0) print('Not run, because programs are missing:', lines);
  }
}

const print = (title: string, lines: readonly string[]): void =>
  console.log(`\n${title}\n  ${lines.join('\n  ')}`);

const fileOf = (test: TestCase): string => test.module.relativeModuleId;

const isRetried = (test: TestCase): boolean =>
  (test.diagnostic()?.retryCount ?? 0) > 0 && test.result().state === 'passed';

/**
 * Each missing program, and below it the files, with the number of their tests.
 *
 * @param suites patterns of those that would run once more on PostgreSQL
 */
function notRun(tests: readonly TestCase[], suites: readonly string[]): string[] {
  const ofPrograms = new Map<ProgramName, string[]>();
  const add = (program: ProgramName, line: string) =>
    ofPrograms.set(program, [...(ofPrograms.get(program) ?? []), `  ${line}`]);
  for (const [file, those] of Map.groupBy(tests, fileOf)) {
    const missing = those.flatMap((test) => test.meta().missing ?? []);
    for (const [program, { length }] of Map.groupBy(missing, (name) => name))
      add(program, `${file} (${length} ${length === 1 ? 'test' : 'tests'})`);
  }
  for (const suite of suites) add('postgres', `${suite} (on PostgreSQL)`);
  return [...ofPrograms].flatMap(([program, lines]) => {
    const { package: wanted, use } = PROGRAMS[program];
    return [`${program} (Debian's package ${wanted}), for ${use}`, ...lines.sort()];
  });
}
