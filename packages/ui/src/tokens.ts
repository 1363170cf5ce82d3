/**
 * The design tokens of everything that people see: roles of colours for both schemes, type, spacing,
 * radii and motion. No other file has a colour; `test/unit/ui/contrast.test.ts` measures the pairs.
 *
 * Each role is a custom property, `--text`, which a page replaces by the public one, `--annex-text`.
 * `light-dark()` follows `color-scheme`, which is inherited: a widget in a page has its scheme.
 */

/** Role → its colour in the light and in the dark scheme. */
export const ROLES = {
  /** The page, and the steps above it: what lies on it, what is pointed at, what floats. */
  canvas: ['#fbfcfd', '#181b21'],
  surface: ['#ffffff', '#1f232a'],
  raised: ['#f3f5f8', '#282c35'],
  floating: ['#ffffff', '#262b33'],
  line: ['#dde1e8', '#3a404b'],
  /** The edge of what takes input. */
  'field-line': ['#858d9d', '#818a9b'],
  text: ['#1a1f2b', '#f0f2f6'],
  'quiet-text': ['#525b6b', '#b9c0cd'],
  'faint-text': ['#626b7c', '#a3abba'],
  /** Actions, focus and selection alone. */
  accent: ['#3451cf', '#a3b6ff'],
  'on-accent': ['#ffffff', '#0f1840'],
  'accent-tint': ['#edf0fd', '#272e4b'],
  danger: ['#b3261e', '#ffb4ab'],
  'on-danger': ['#ffffff', '#410002'],
  'danger-tint': ['#fdf0ee', '#3d2624'],
  good: ['#1a6b40', '#8adba8'],
  'good-tint': ['#eaf7ef', '#1e3529'],
  warn: ['#835000', '#f2c677'],
  'warn-tint': ['#fdf4e2', '#3a2e1a'],
  info: ['#1d5a9e', '#9bcaff'],
  'info-tint': ['#eaf3fc', '#1f3147'],
} as const satisfies Record<string, readonly [light: string, dark: string]>;

export type Role = keyof typeof ROLES;

const GROUNDS = ['canvas', 'surface', 'raised', 'floating'] as const;
const over = (role: Role, grounds: readonly Role[], min: number) =>
  grounds.map((ground) => [role, ground, min] as const);

/** Pairs that stand on one another, with the least contrast by WCAG 2. */
export const CONTRASTS: readonly (readonly [role: Role, on: Role, min: number])[] = [
  ...over('text', GROUNDS, 12),
  ...over('quiet-text', GROUNDS, 5.5),
  ...over('faint-text', GROUNDS, 4.5),
  ...over('accent', GROUNDS, 4.5),
  ...over('danger', GROUNDS, 4.5),
  ...over('field-line', ['canvas', 'surface', 'floating'], 3),
  ['on-accent', 'accent', 4.5],
  ['on-danger', 'danger', 4.5],
  ['surface', 'field-line', 3],
  ...(['accent', 'danger', 'good', 'warn', 'info'] as const).flatMap((tone) => [
    ...over(tone, GROUNDS, 4.5),
    ...over(tone, [`${tone}-tint`], 4.5),
    ...over('text', [`${tone}-tint`], 10),
    ...over('quiet-text', [`${tone}-tint`], 4.5),
  ]),
];

/** Relative luminance of `#rrggbb`, by WCAG 2. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = partsOf(colour).map((part) => {
    const value = part / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

const partsOf = (colour: string): readonly number[] =>
  [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));

/** Contrast of two colours, by WCAG 2. */
export function contrast(one: string, other: string): number {
  const [first, second] = [luminance(one), luminance(other)];
  return (Math.max(first, second) + 0.05) / (Math.min(first, second) + 0.05);
}

/** Shares of black or white that are mixed into a colour until it can be read. */
const SHARES = Array.from({ length: 21 }, (_, step) => step / 20);

/**
 * A pair of `accent` and `on-accent` near a colour that a product chose, with the contrast that the
 * design promises: a colour that is too light or too dark for the scheme is mixed until it has it.
 */
export function accentFrom(colour: string, scheme: 'light' | 'dark'): readonly [string, string] {
  const at = scheme === 'light' ? 0 : 1;
  const end = scheme === 'light' ? 0 : 255;
  const wanted = CONTRASTS.filter(([role]) => role === 'accent');
  const mixed = SHARES.map((share) => {
    const parts = partsOf(colour).map((part) => Math.round(part + (end - part) * share));
    return `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
  });
  const accent = mixed.find((one) => wanted.every(([, on, min]) => contrast(one, ROLES[on][at]) >= min));
  const found = accent ?? ROLES.accent[at];
  return [found, contrast(found, '#000000') > contrast(found, '#ffffff') ? '#000000' : '#ffffff'];
}

/** Sizes of type, in pixels: 14 for text, 13 beside it, 12 in small labels, the others for heads. */
const TYPE = { 'text-s': 12, 'text-m': 13, 'text-l': 14, 'head-s': 16, 'head-m': 20, 'head-l': 28 };
/** Steps of spacing, in pixels. */
const SPACES = [4, 8, 12, 16, 24, 32, 48];

const OTHERS: Readonly<Record<string, string>> = {
  radius: 'var(--annex-radius, 6px)',
  'radius-surface': 'calc(var(--radius) + 4px)',
  gap: 'var(--annex-gap, 12px)',
  font: 'var(--annex-font, system-ui, sans-serif)',
  mono: 'var(--annex-font-mono, ui-monospace, monospace)',
  motion: '140ms ease-out',
  /** The one shadow, of what floats. */
  shadow: '0 8px 24px rgb(0 0 0 / 18%), 0 1px 3px rgb(0 0 0 / 12%)',
  shade: 'rgb(0 0 0 / 45%)',
};

/** The declarations of all tokens. */
export const TOKENS = [
  ...Object.entries(ROLES).map(
    ([role, [light, dark]]) => `--${role}: var(--annex-${role}, light-dark(${light}, ${dark}));`,
  ),
  ...Object.entries(TYPE).map(([name, size]) => `--${name}: ${size}px;`),
  ...SPACES.map((size) => `--space-${size}: ${size}px;`),
  ...Object.entries(OTHERS).map(([name, value]) => `--${name}: ${value};`),
].join('\n  ');
