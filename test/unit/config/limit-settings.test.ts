/** The settings of limits: `ANNEX_LIMIT_…`. */
import { expect, test } from 'vitest';
import { ConfigError, readConfig } from '../../../src/host/config.ts';

function problemsOf(env: NodeJS.ProcessEnv): readonly string[] {
  try {
    readConfig([], env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

test('a limit is a whole number of at least its minimum', () => {
  const { limits } = readConfig([], { ANNEX_LIMIT_ISOLATE_HEAP_MIB: '8', ANNEX_LIMIT_CALL_CPU_MS: '1' });
  expect(limits).toMatchObject({ isolateHeapMib: 8, callCpuMs: 1 });
});

test.each([
  ['ANNEX_LIMIT_CALL_CPU_MS', '0', 'ANNEX_LIMIT_CALL_CPU_MS must be a whole number above 0; it is "0".'],
  ['ANNEX_LIMIT_CALL_CPU_MS', '1.5', 'ANNEX_LIMIT_CALL_CPU_MS must be a whole number above 0; it is "1.5".'],
  // V8 makes no isolate with less heap.
  [
    'ANNEX_LIMIT_ISOLATE_HEAP_MIB',
    '7',
    'ANNEX_LIMIT_ISOLATE_HEAP_MIB must be a whole number of at least 8; it is "7".',
  ],
  [
    'ANNEX_LIMIT_CAL_CPU_MS',
    '9',
    'ANNEX_LIMIT_CAL_CPU_MS is not the name of a limit (did you mean ANNEX_LIMIT_CALL_CPU_MS?); docs/limits.md lists them.',
  ],
])('%s=%s is refused with a sentence', (name, value, problem) => {
  expect(problemsOf({ [name]: value })).toEqual([problem]);
});
