/**
 * The colours of the design: each pair of roles has its contrast in both schemes, and no other file
 * has a colour.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { CONTRASTS, ROLES } from '../../../packages/ui/src/tokens.ts';

const PACKAGES = fileURLToPath(new URL('../../../packages', import.meta.url));
const SCHEMES = ['light', 'dark'] as const;

/** Relative luminance by WCAG 2.2. */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [lighter, darker] = [luminance(one), luminance(other)].sort((a, b) => b - a) as [number, number];
  return (lighter + 0.05) / (darker + 0.05);
}

describe.each(SCHEMES)('in the %s scheme', (scheme) => {
  const of = (role: keyof typeof ROLES) => ROLES[role][SCHEMES.indexOf(scheme)] ?? '';

  test.each(CONTRASTS)('%s on %s has a contrast of %d', (role, on, min) => {
    expect(contrast(of(role), of(on))).toBeGreaterThanOrEqual(min);
  });
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
