/**
 * "Did you mean …?": which typing errors are recognised, and that no input makes suggestions
 * expensive.
 */
import { expect, test } from 'vitest';
import { inspectExports } from '../../../src/host/publish/probe-check.ts';
import { parseManifest } from '../../../src/model/manifest/manifest.ts';
import { nearest } from '../../../src/model/spelling-hint.ts';
import { cpuMs } from '../../support/measure/cpu-time.ts';
import { manifestYaml, parsed } from '../../support/store/temporary-store.ts';

test.each([
  ['unfurll', 'unfurl'],
  ['nfurl', 'unfurl'],
  ['Unfurl', 'unfurl'],
  ['ufnurl', 'unfurl'],
  ['xunfur', 'unfurl'],
  ['unfurlab', 'unfurl'],
  ['unfurlabc', undefined],
  ['unf', undefined],
  ['abcurl', undefined],
])('%j is taken for %j', (word, meant) => {
  expect(nearest(word, ['clock', 'unfurl'])).toBe(meant);
});

test('the nearest of several wins, and the first of equals', () => {
  expect(nearest('card', ['cards2', 'cart', 'carb'])).toBe('cart');
  expect(nearest('CARD', ['cart', 'card'])).toBe('card');
  expect(nearest('', ['abc', 'ab', 'a'])).toBe('a');
});

test('words of sixty-four characters are compared, longer ones are not', () => {
  expect(nearest('a'.repeat(63), ['a'.repeat(64)])).toBe('a'.repeat(64));
  expect(nearest('a'.repeat(64), ['a'.repeat(65)])).toBeUndefined();
  expect(nearest('a'.repeat(65), ['a'.repeat(64)])).toBeUndefined();
});

test('the two-hundredth known word is compared, the next one is not', () => {
  const strangers = Array.from({ length: 200 }, (_, i) => `stranger-${i}`);
  expect(nearest('clok', [...strangers.slice(1), 'clock'])).toBe('clock');
  expect(nearest('clok', [...strangers, 'clock'])).toBeUndefined();
});

// Attack: a 63 KB manifest whose unknown ids are each compared with each component blocks the host
// for 30 s.
test('a manifest full of unknown blocks and a script full of components are compared in little time', () => {
  // They differ only at their ends, so no comparison can stop early.
  const id = (kind: string, i: number) => `${kind}${'a'.repeat(18)}${String(i).padStart(4, '0')}`;
  const blocks = Array.from({ length: 1_500 }, (_, i) => `- {id: ${id('b', i)}, title: T}`).join('\n');
  const manifest = parsed(manifestYaml({}, `blocks:\n${blocks}`));
  const components = Array.from({ length: 1_000 }, (_, i) => `c${'a'.repeat(57)}${9_000 - i}`);
  const alike = components.map((_, i) => id('c', 9_000 - i));
  for (const declared of [components, alike]) {
    const exports = { fetch: true, sdk: true, components: declared, events: [] };
    const work = () => expect(inspectExports(exports, 'index.ts', manifest)).toHaveLength(1_500);
    expect(cpuMs(work)).toBeLessThan(500);
  }
});

test('the first hundred missing components have a suggestion, and later ones have none', () => {
  const id = (i: number) => `clock-${String(i).padStart(3, '0').repeat(3)}`;
  const blocks = Array.from({ length: 101 }, (_, i) => `- {id: ${id(i)}, title: T}`).join('\n');
  const against = parsed(manifestYaml({}, `blocks:\n${blocks}`));
  const components = against.manifest.blocks.map((block) => `${block.id}y`);
  const exports = { fetch: true, sdk: true, components, events: [] };
  const hints = inspectExports(exports, 'index.ts', against).map(({ hint }) => hint);
  expect(hints[99]).toBe(`Did you mean "${components[99]}"?`);
  expect(hints[100]).toBe('Give a component this componentId.');
});

// Attack: the same with unknown keys of the manifest.
test('a manifest full of unknown keys is checked in little time', () => {
  const keys = Array.from({ length: 3_000 }, (_, i) => `organizatio${i}: 1`).join('\n');
  expect(cpuMs(() => expect(parseManifest(manifestYaml({}, keys)).ok).toBe(true))).toBeLessThan(1_500);
});
