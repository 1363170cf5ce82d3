/**
 * Lists the tests that failed once and passed when they were repeated, at the end of a run. Such a
 * test depends on chance or time, and has to be mended; without the list a retry would hide it.
 */
import type { Reporter, TestCase } from 'vitest/node';

export class RetriedTests implements Reporter {
  readonly #names: string[] = [];

  onTestCaseResult(test: TestCase): void {
    const { retryCount = 0 } = test.diagnostic() ?? {};
    if (retryCount > 0 && test.result().state === 'passed')
      this.#names.push(`${test.module.relativeModuleId} > ${test.fullName}`);
  }

  onTestRunEnd(): void {
    if (this.#names.length === 0) return;
    console.log(`\nPassed at the second attempt, and to be mended:\n  ${this.#names.join('\n  ')}`);
  }
}
