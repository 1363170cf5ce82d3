/**
 * No regular expression of the service takes more than linear time, for any text.
 *
 * Attack: a header of 16,000 blanks, against a pattern of blanks around a comma, takes quadratic
 * time: 0.3 s of the event loop for one request. Each literal of `src` and `sandbox` runs against
 * texts made from its own repetitions. The test counts steps, so its result does not depend on the
 * load of the machine.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { patternLiterals } from '../../support/repository/pattern-literals.ts';
import { worstGrowth } from '../../support/repository/pattern-steps.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/** Growth of the steps for four times the text: 4 if they are linear, 16 if quadratic. */
const GROWTH_MAX = 5;

const filesIn = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(tsx?|js)$/.test(path))
    .map((path) => join(folder, path));

describe('the measure', () => {
  test.each<[pattern: RegExp, why: string]>([
    [/\s*,\s*/, 'blanks before what does not come'],
    [/\/+$/, 'a run that is looked through from each of its characters'],
    [/^[a-z]+[a-z0-9]+$/, 'two neighbours that match the same'],
    [/^(?:a|b|ab)*$/, 'alternatives that are each other'],
    [/^(\w+\s?)*$/, 'a repetition of a repetition'],
    [/[ \t]*;?[ \t]*$/y, 'two neighbours with something between them that need not be there'],
    [/x[^y]*y/, 'a beginning that the repetition matches too'],
  ])('%s grows faster than its text: %s', (pattern) => {
    expect(worstGrowth(pattern).ratio).toBeGreaterThan(GROWTH_MAX);
  });

  test.each<[RegExp]>([
    [/^[a-z0-9]+(-[a-z0-9]+)*$/],
    [/^\s*env\.(\w+)\s*$/],
    [/\n +at [^\n]*/g],
    [/,/],
    [/[ \t]*;[ \t]*$/y],
    [/(?<!\w)@/g],
    [/^(?:[^,]*,){3}$/],
  ])('%s does not', (pattern) => {
    expect(worstGrowth(pattern).ratio).toBeLessThan(GROWTH_MAX);
  });

  test('finds literals where they are, and takes no division or comment for one', () => {
    const source =
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text of a program
      "const a = from / PART / d; // /no/\nconst e = [/x+/g, `${f(/y/)} / ${g / h}`];\nreturn /[/]\\//u.test('/no/');";
    expect(patternLiterals(source).map(({ line, pattern }) => [line, String(pattern)])).toEqual([
      [2, '/x+/g'],
      [2, '/y/'],
      [3, '/[/]\\//u'],
    ]);
  });
});

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const literals = [...filesIn('src'), ...filesIn('sandbox')].flatMap((path) =>
  patternLiterals(read(path)).map((literal) => ({ ...literal, path })),
);

test('finds more than two hundred expressions in the repository', () => {
  expect(literals.length).toBeGreaterThan(200);
});

test('no regular expression grows faster than its text', () => {
  const grown = literals
    .map(({ path, line, pattern }) => ({
      at: `${path}:${line}`,
      pattern: String(pattern),
      ...worstGrowth(pattern),
    }))
    .filter(({ ratio }) => ratio > GROWTH_MAX);
  expect(grown).toEqual([]);
});

const TAG = String.raw`(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"`;
/**
 * Patterns that are built at run time: the file, the code that builds them, and examples of the
 * result.
 */
const MADE: readonly (readonly [path: string, code: string, ...examples: RegExp[]])[] = [
  [
    'src/model/runtime-token-format.ts',
    'RUNTIME_TOKEN_PREFIX',
    /^annex_run_([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{43})$/,
  ],
  ['src/model/contentkit/contentkit-values-check.ts', "pattern, 'u'"],
  [
    'src/host/calls/prelude-stack-frames.ts',
    'RegExp.escape(PRELUDE_URL)',
    /\n +at [^\n]*annex:\/prelude\.js:[^\n]*/g,
  ],
  [
    'src/host/bundle/source-map.ts',
    'RegExp.escape(scriptUrl)',
    /script:([1-9]\d{0,8}):([1-9]\d{0,8})(?!\d)/g,
  ],
  ['src/host/http/control/entity-tag.ts', "TAG, 'g'", new RegExp(TAG, 'g')],
  [
    'src/host/http/control/entity-tag.ts',
    'String.raw`^[',
    new RegExp(String.raw`^[\t ]*(?:${TAG}[\t ]*)?(?:,[\t ]*(?:${TAG}[\t ]*)?)*$`),
  ],
  ['src/host/store/tokens.ts', 'TOKEN_KINDS', /^annex_(admin|platform|organization)_[A-Za-z0-9_-]{43}$/],
  ['src/host/store/reseal/sealed-columns.ts', 'KEY_ID_CHARS', /^[0-9a-f]{16}$/],
  ['src/host/store/installations/install-links.ts', 'PREFIX', /^annex_install_[A-Za-z0-9_-]{43}$/],
  // One class of characters, for one character; and a pattern that is parsed, and never matched.
  ['src/model/linear-pattern.ts', 'written', /^\p{L}$/u, /^\s$/u],
  ['src/model/linear-pattern.ts', 'source'],
  // The pattern of a tenant, which runs inside its isolate and uses its own CPU time.
  ['sandbox/web/url/pattern/component.ts', "options.ignoreCase ? 'vi'"],
];

test('no regular expression that is built at run time grows faster either', () => {
  const sites = [...filesIn('src'), ...filesIn('sandbox')].flatMap((path) =>
    read(path)
      .split('\n')
      .filter((line) => line.includes('new RegExp('))
      .map((line) => ({ path, line })),
  );
  const unknown = sites.filter(
    ({ path, line }) => !MADE.some(([at, code]) => at === path && line.includes(code)),
  );
  expect(unknown).toEqual([]);
  const ratios = MADE.flatMap(([, , ...examples]) => examples.map((pattern) => worstGrowth(pattern).ratio));
  expect(Math.max(...ratios)).toBeLessThan(GROWTH_MAX);
});

test('no pattern of a schema grows faster either', () => {
  const texts = filesIn('src').flatMap((path) =>
    [...read(path).matchAll(/(?:pattern: |^const [A-Z_]+ = )('\^(?:[^'\\\n]|\\.)*\$')/gm)].map(
      ([, text = '']) => text,
    ),
  );
  expect(texts.length).toBeGreaterThanOrEqual(7);
  const grown = texts
    // The text is a JavaScript literal in single quotes; JSON needs double quotes.
    .map((text) => new RegExp(JSON.parse(`"${text.slice(1, -1).replaceAll('"', '\\"')}"`)))
    .filter((pattern) => worstGrowth(pattern).ratio > GROWTH_MAX);
  expect(grown).toEqual([]);
});
