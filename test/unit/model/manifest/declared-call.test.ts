/** `calls` of a manifest: what is read, and what is refused. */
import { expect, test } from 'vitest';
import { callMs } from '../../../../src/model/manifest/declared-call.ts';
import { parseManifest } from '../../../../src/model/manifest/manifest.ts';
import { manifestYaml, parsed } from '../../../support/store/temporary-store.ts';

const yaml = (calls: string) => manifestYaml({}, `calls:\n${calls}`);
const problemsOf = (calls: string): string[] => {
  const read = parseManifest(yaml(calls));
  return read.ok ? [] : read.problems.map(({ message }) => message);
};

test('a call has a name, and may have a description and a time', () => {
  const { calls = [] } = parsed(
    yaml('  - {name: invoice.total, description: d, timeout: 90s}\n  - {name: b}'),
  ).manifest;
  expect(calls).toEqual([{ name: 'invoice.total', description: 'd', timeout: '90s' }, { name: 'b' }]);
  expect(calls.map(callMs)).toEqual([90_000, undefined]);
});

test('a manifest without calls has no such member', () => {
  expect(parsed(manifestYaml()).manifest).not.toHaveProperty('calls');
});

test.each([
  ['  - {name: a}\n  - {name: a}', 'is that of another call'],
  ['  - {name: a/b}', 'letters, digits'],
  ['  - {name: ..}', 'letters, digits'],
  [`  - {name: ${'a'.repeat(65)}}`, 'letters, digits'],
  ['  - {description: d}', 'name'],
  ['  - {name: a, timeout: soon}', 'a time such as 5s'],
  ['  - {name: a, timeout: 0s}', 'a time such as 5s'],
  [Array.from({ length: 101 }, (_, at) => `  - {name: a${at}}`).join('\n'), '100'],
])('%.40s is refused', (calls, message) => {
  expect(problemsOf(calls).join('\n')).toContain(message);
});
