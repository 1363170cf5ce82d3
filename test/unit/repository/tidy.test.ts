/**
 * The rules of this repository that are checked automatically: file heads, error codes, file sizes,
 * and that everything the documents name exists. `layers.test.ts` checks the imports.
 */
import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ERRORS } from '../../../src/errors.ts';
import { anchors, DOCUMENTATION } from '../../support/repository/documents.ts';
import { filesIn, imports, ROOT, read, sources } from '../../support/repository/sources.ts';

const LINES_MAX = 600;
const COMMENT_COLUMNS_MAX = 100;
const benchmarks = filesIn('bench').filter((path) => !path.includes('node_modules/'));

describe('files', () => {
  test('open with a comment that says what they are', () => {
    expect([...sources, ...filesIn('test')].filter((path) => !/^\/\*\*/.test(read(path)))).toEqual([]);
  });

  test(`have at most ${LINES_MAX} lines`, () => {
    expect(sources.filter((path) => read(path).split('\n').length > LINES_MAX)).toEqual([]);
  });

  test(`have comments of at most ${COMMENT_COLUMNS_MAX} columns`, () => {
    const isWide = (line: string) => line.length > COMMENT_COLUMNS_MAX && /^\s*(\/\/|\/\*|\*)/.test(line);
    const wide = [...sources, ...filesIn('test'), ...benchmarks].flatMap((path) =>
      read(path)
        .split('\n')
        .flatMap((line, index) => (isWide(line) ? [`${path}:${index + 1}`] : [])),
    );
    expect(wide).toEqual([]);
  });

  test('are all used: each is imported, or is the entry of a process or a bundle', () => {
    const roots =
      /^(src\/main\.ts|src\/local\/annex\.ts|src\/local\/testing\/test-service\.ts|src\/host\/database\/sqlite\/files\/copy-check\.ts|src\/host\/database\/sqlite\/integrity\/integrity-process\.ts|src\/cell\/main\.ts|src\/host\/bundle\/bundler-process\.ts|sandbox\/entry\.ts|sandbox\/sdk\/|sandbox\/worker\/|sandbox\/node\/|sandbox\/.*\.d\.ts)/;
    // A lazy `require` is an import too, and `parts/names.ts` names files for esbuild.
    const named = (path: string) =>
      path.startsWith('sandbox/parts/') ||
      sources.some(
        (other) => other.startsWith('sandbox/web/') && read(other).includes(`/${basename(path)}'`),
      );
    const imported = new Set(sources.flatMap((path) => imports(path).map((target) => target.path)));
    expect(sources.filter((path) => !roots.test(path) && !imported.has(path) && !named(path))).toEqual([]);
  });
});

describe('the documentation', () => {
  test('lists every error code with its status and its meaning', () => {
    const missing = Object.entries(ERRORS).filter(
      ([code, { status, meaning }]) => !DOCUMENTATION.includes(`| \`${code}\` | ${status} | ${meaning} |`),
    );
    expect(missing.map(([code]) => code)).toEqual([]);
  });

  test('names every global of the web platform in its table, and no other', () => {
    const page = read('docs/web-platform.md');
    const table = page.slice(page.indexOf('| globals | standard |'), page.indexOf('\n## Streaming'));
    const named = [...table.matchAll(/^\| (`.*?`) \| \[/gm)].flatMap(([, names = '']) =>
      [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name),
    );
    // The test that holds this list compares it with the globals of a real isolate.
    const [, platform = ''] =
      /const PLATFORM = `([^`]*)`/.exec(read('test/isolate/web/globals.test.ts')) ?? [];
    expect(named.sort()).toEqual(platform.trim().split(/\s+/).sort());
  });

  test('has a line for every dependency', () => {
    const { dependencies, optionalDependencies } = JSON.parse(read('package.json')) as Record<
      string,
      Record<string, string>
    >;
    const page = read('CONTRIBUTING.md');
    const names = Object.keys({ ...dependencies, ...optionalDependencies });
    expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });
});

describe('documents', () => {
  const pages = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`);
  const ofPackages = readdirSync(join(ROOT, 'packages'))
    .map((name) => `packages/${name}/README.md`)
    .filter((path) => existsSync(join(ROOT, path)));
  const roots = ['README.md', 'SECURITY.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md'];
  const all = [...pages, ...ofPackages, ...roots];
  const leadsNowhere = (file: string, anchor: string | undefined): boolean => {
    if (!existsSync(join(ROOT, file))) return true;
    return anchor !== undefined && !anchors(read(file)).includes(anchor);
  };

  test.each(all)('%s leads to files and headings that exist', (path) => {
    const links = [...read(path).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g)];
    const broken = links.filter(([, file, anchor]) =>
      leadsNowhere(file ? join(dirname(path), file) : path, anchor),
    );
    expect(broken.map(([link]) => link)).toEqual([]);
  });

  test('every page and heading that the code or a page cites exists', () => {
    const citing = [...sources, ...filesIn('test'), ...filesIn('fixtures'), ...all];
    const broken = citing.flatMap((path) =>
      [...read(path).matchAll(/(?<![\w./-])(docs\/[\w/-]+\.md)(?:#([\w-]+))?/g)]
        .filter(([, file = '', anchor]) => leadsNowhere(file, anchor))
        .map(([citation]) => `${path}: ${citation}`),
    );
    expect(broken).toEqual([]);
  });

  // What is for fewer readers is on a page of its own.
  test.each([
    ['README.md', 10],
    ['SECURITY.md', 16],
    ['ARCHITECTURE.md', 16],
  ])('%s has at most %i KiB', (path, kib) => {
    expect(Buffer.byteLength(read(path))).toBeLessThanOrEqual(kib * 1024);
  });

  test('the picture of the README differs in its colours alone, light and dark', () => {
    const drawn = (name: string) => read(`docs/pictures/flow-${name}.svg`).replaceAll(/#[0-9a-f]{6}/g, '#');
    expect(drawn('dark')).toBe(drawn('light'));
  });

  test('every title of a test that a page cites exists', () => {
    const tests = filesIn('test').map(read).join('\n');
    const stale = all.flatMap((path) =>
      [...read(path).matchAll(/\.test\.ts`\s+\("([^"]+)"\)/g)]
        .map(([, title = '']) => title.replace(/\s+/g, ' '))
        .filter((title) => !tests.includes(title))
        .map((title) => `${path}: ${title}`),
    );
    expect(stale).toEqual([]);
  });

  test('every page of docs/ is reached by links from the README', () => {
    const reached = new Set<string>();
    const waiting = ['README.md'];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      if (reached.has(path)) continue;
      reached.add(path);
      for (const [, file = ''] of read(path).matchAll(/\]\((?!https?:)([^)#\s]+\.md)(?:#[^)\s]*)?\)/g))
        waiting.push(join(dirname(path), file));
    }
    expect(pages.filter((path) => !reached.has(path))).toEqual([]);
  });
});
