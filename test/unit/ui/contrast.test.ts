/**
 * The colours of the design: each pair of roles has its contrast in both schemes, and no other file
 * has a colour.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { accentFrom, CONTRASTS, contrast, ROLES } from '../../../packages/ui/src/tokens.ts';

const PACKAGES = fileURLToPath(new URL('../../../packages', import.meta.url));
const SCHEMES = ['light', 'dark'] as const;

describe.each(SCHEMES)('in the %s scheme', (scheme) => {
  const of = (role: keyof typeof ROLES) => ROLES[role][SCHEMES.indexOf(scheme)] ?? '';

  test.each(CONTRASTS)('%s on %s has a contrast of %d', (role, on, min) => {
    expect(contrast(of(role), of(on))).toBeGreaterThanOrEqual(min);
  });
});

test('contrast is that of WCAG', () => {
  expect(contrast('#000000', '#ffffff')).toBeCloseTo(21);
  expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2);
});

test.each(['#ffee00', '#ffffff', '#000000', '#ff8800', '#3451cf', '#808080'])(
  'a product that chooses %s has the contrast of the design',
  (colour) => {
    for (const [at, scheme] of SCHEMES.entries()) {
      const [accent, onAccent] = accentFrom(colour, scheme);
      const pairs = CONTRASTS.filter(([role]) => role === 'accent');
      for (const [, on, min] of pairs)
        expect([on, contrast(accent, ROLES[on][at] ?? '') >= min]).toEqual([on, true]);
      expect(contrast(onAccent, accent)).toBeGreaterThanOrEqual(4.5);
    }
  },
);

test('a colour that can be read stays as it was chosen', () => {
  expect(accentFrom('#aa0000', 'light')).toEqual(['#aa0000', '#ffffff']);
  expect(accentFrom('#ff8800', 'dark')).toEqual(['#ff8800', '#000000']);
});

test('each role is measured, or is only a ground or a border', () => {
  const measured = new Set<unknown>(CONTRASTS.flat());
  expect(Object.keys(ROLES).filter((role) => !measured.has(role))).toEqual(['line']);
});

test('the tokens are the one set of colours', () => {
  const files = globSync('{ui,components,dev-page}/src/**/*.{ts,tsx,css}', { cwd: PACKAGES });
  expect(files.length).toBeGreaterThan(20);
  const coloured = files.filter((file) =>
    /#[\da-f]{6}\b|rgb\(/i.test(readFileSync(join(PACKAGES, file), 'utf8')),
  );
  expect(coloured).toEqual(['ui/src/tokens.ts']);
});
