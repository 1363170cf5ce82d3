/**
 * The rules of this repository that are checked automatically: layers, file heads, error codes,
 * file sizes, and that everything the documents name exists.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { limitVariable } from '../../../src/config.ts';
import { ERRORS } from '../../../src/errors.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import { anchors, DOCUMENTATION } from '../../support/repository/documents.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const LINES_MAX = 400;
const COMMENT_COLUMNS_MAX = 100;

const filesIn = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(tsx?|js)$/.test(path))
    .map((path) => join(folder, path));

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const sources = [...filesIn('src'), ...filesIn('sandbox')];
const benchmarks = filesIn('bench').filter((path) => !path.includes('node_modules/'));

/** Relative imports of a file, as paths from the project's root; type-only imports are marked. */
function imports(path: string): { path: string; typeOnly: boolean }[] {
  const pattern = /^(?:import|export)\s+(type\s)?[^;]*?from '(\.[^']+)'|import '(\.[^']+)'/gm;
  return [...read(path).matchAll(pattern)].map(([, typeOnly, from, bare]) => ({
    path: relative(ROOT, join(ROOT, dirname(path), from ?? bare ?? '')),
    typeOnly: typeOnly !== undefined,
  }));
}

/** Top to bottom: a file imports from its own layer or from those below. */
const LAYERS: readonly (readonly string[])[] = [
  ['src/main.ts', 'src/cli/'],
  ['src/service.ts', 'src/service-routes.ts'],
  ['src/config.ts'],
  ['src/http/'],
  ['src/publish/', 'src/delivery/'],
  ['src/calls/'],
  ['src/cells/'],
  ['src/launch/'],
  ['src/targets/'],
  ['src/bundle/', 'src/store/', 'src/egress/'],
  ['src/database/', 'src/confinement/'],
  ['src/model/'],
  ['src/protocol/bridge.ts'],
  ['src/protocol/wire.ts', 'src/protocol/parse-cell-message.ts', 'src/protocol/frames.ts'],
  ['src/errors.ts', 'src/limits.ts'],
];

/** Top to bottom within the store. */
const STORE_LAYERS: readonly (readonly string[])[] = [
  ['src/store/store.ts', 'src/store/backup.ts'],
  ['src/store/housekeeping.ts', 'src/store/target-source.ts', 'src/store/reseal/'],
  ['src/store/webhooks/'],
  ['src/store/events/'],
  ['src/store/installations/', 'src/store/deliveries/'],
  ['src/store/integrations/'],
  ['src/store/tokens.ts', 'src/store/logs.ts', 'src/store/audit.ts'],
  ['src/store/audit-rows.ts', 'src/store/vault/'],
];
const layerIn = (layers: readonly (readonly string[])[], path: string): number =>
  layers.findIndex((layer) => layer.some((prefix) => path.startsWith(prefix)));
const layerOf = (path: string): number => layerIn(LAYERS, path);

describe('layers', () => {
  test('every file of the host has one', () => {
    const homeless = filesIn('src').filter((path) => !path.startsWith('src/cell/') && layerOf(path) === -1);
    expect(homeless).toEqual([]);
  });

  test('a file of the host imports from its own layer and those below, and never a cell', () => {
    const breaches = filesIn('src')
      .filter((path) => !path.startsWith('src/cell/'))
      .flatMap((path) =>
        imports(path)
          .filter((target) => target.path.startsWith('src/'))
          .filter((target) => layerOf(target.path) < layerOf(path))
          .map((target) => `${path} → ${target.path}`),
      );
    expect(breaches).toEqual([]);
  });

  test('a file of the store imports from its own layer of the store and those below', () => {
    const files = filesIn('src/store');
    expect(files.filter((path) => layerIn(STORE_LAYERS, path) === -1)).toEqual([]);
    const breaches = files.flatMap((path) =>
      imports(path)
        .filter((target) => target.path.startsWith('src/store/'))
        .filter((target) => layerIn(STORE_LAYERS, target.path) < layerIn(STORE_LAYERS, path))
        .map((target) => `${path} → ${target.path}`),
    );
    expect(breaches).toEqual([]);
  });

  test('neighbours in one layer do not know each other: the bundler, the store and the egress', () => {
    const neighbours = ['src/bundle/', 'src/store/', 'src/egress/'];
    const crossing = neighbours.flatMap((home) =>
      filesIn(home).flatMap((path) =>
        imports(path)
          .filter((target) => neighbours.some((other) => other !== home && target.path.startsWith(other)))
          .map((target) => `${path} → ${target.path}`),
      ),
    );
    expect(crossing).toEqual([]);
  });

  test('the host takes no upload apart: what does is imported by the process of the upload alone', () => {
    const inHost = new Set<string>();
    const waiting = ['src/main.ts'];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      if (inHost.has(path) || !sources.includes(path)) continue;
      inHost.add(path);
      waiting.push(...imports(path).flatMap((target) => (target.typeOnly ? [] : [target.path])));
    }
    const parsers = ['archive', 'archive-links', 'archive-tree', 'tar', 'read-form', 'read-upload'];
    const apart = [...parsers.map((name) => `src/bundle/reading/${name}.ts`), 'src/bundle/bundle-code.ts'];
    expect(apart.filter((path) => !sources.includes(path))).toEqual([]);
    expect(inHost.has('src/bundle/bundler.ts')).toBe(true);
    expect(apart.filter((path) => inHost.has(path))).toEqual([]);
  });

  test('only the egress dials out', () => {
    const dialling = sources
      .filter((path) => path.startsWith('src/') && !path.startsWith('src/egress/'))
      .filter((path) => /from '(undici|node:(tls|https|http2|dns|dns\/promises))'/.test(read(path)));
    expect(dialling).toEqual([]);
  });

  test('a cell imports the wire, the bridge, errors and limits, and nothing else of the host', () => {
    const allowed = /^src\/(cell\/|protocol\/|errors\.ts|limits\.ts)/;
    const breaches = filesIn('src/cell').flatMap((path) =>
      imports(path)
        .filter((target) => !allowed.test(target.path))
        .map((target) => `${path} → ${target.path}`),
    );
    expect(breaches).toEqual([]);
  });

  test('the sandbox imports itself, and of the host only types of the wire and the bridge', () => {
    const breaches = filesIn('sandbox').flatMap((path) =>
      imports(path)
        .filter((target) => !target.path.startsWith('sandbox/'))
        .filter((target) => !(target.typeOnly && /^src\/protocol\/(wire|bridge)\.ts$/.test(target.path)))
        .map((target) => `${path} → ${target.path}`),
    );
    expect(breaches).toEqual([]);
  });
});

describe('files', () => {
  test('open with what they are', () => {
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

  test('are all used: each is imported, or is where a process or a bundle begins', () => {
    const roots =
      /^(src\/main\.ts|src\/cli\/demo\.ts|src\/cli\/types\.ts|src\/cli\/vault-rotate\.ts|src\/cli\/backup\.ts|src\/database\/files\/copy-check\.ts|src\/database\/integrity\/integrity-process\.ts|src\/cell\/main\.ts|src\/bundle\/bundler-process\.ts|sandbox\/entry\.ts|sandbox\/sdk\/|sandbox\/.*\.d\.ts)/;
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
  test('lists every error code with its status', () => {
    const missing = Object.entries(ERRORS).filter(
      ([code, { status }]) => !DOCUMENTATION.includes(`| \`${code}\` | ${status} |`),
    );
    expect(missing.map(([code]) => code)).toEqual([]);
  });

  test('lists every limit with its default and its variable', () => {
    const plain = DOCUMENTATION.replaceAll(',', '');
    const missing = Object.entries(DEFAULT_LIMITS).filter(
      ([name, value]) => !plain.includes(`| \`${limitVariable(name)}\` | ${value} |`),
    );
    expect(missing.map(([name]) => name)).toEqual([]);
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
    const readme = read('README.md');
    const names = Object.keys({ ...dependencies, ...optionalDependencies });
    expect(names.filter((name) => !readme.includes(`\`${name}\``))).toEqual([]);
  });
});

describe('SECURITY.md', () => {
  const security = read('SECURITY.md');
  const prose = security.replace(/^```$.*?^```$/gms, '');
  /** Names in code font, one each. */
  const names = [...new Set([...prose.matchAll(/`([^`]+)`/g)].flatMap(([, text = '']) => text.split(/\s+/)))];
  const attacks = readdirSync(join(ROOT, 'fixtures/hostile'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  const kinds = [...new Set(attacks.map((name) => name.split('-', 1)[0]))];
  const isAttack = (name: string): boolean => new RegExp(`^(${kinds.join('|')})-[a-z0-9-]+$`).test(name);

  test('names every attack of the corpus, and no other', () => {
    expect(names.filter(isAttack).sort()).toEqual(attacks.sort());
  });

  test('names every test of a wall', () => {
    const walls = /^test\/(security|service\/(listeners|egress))\//;
    const cited = filesIn('test')
      .filter((path) => walls.test(path) && path.endsWith('.test.ts'))
      .map((path) => basename(path));
    expect(cited.filter((name) => !names.includes(name))).toEqual([]);
  });

  test('names files, limits, and words of the documentation, and nothing that is not there', () => {
    const isWord = (name: string) =>
      new RegExp(`(?<![\\w-])${RegExp.escape(name)}(?![\\w-])`).test(DOCUMENTATION);
    const testNames = new Set(filesIn('test').map((path) => basename(path)));
    const isFile = (name: string) =>
      /\.(ts|json|md)$|\/$/.test(name) &&
      (testNames.has(name) || ['', 'src', 'test'].some((at) => existsSync(join(ROOT, at, name))));
    const known = (name: string) => isAttack(name) || isFile(name) || name in DEFAULT_LIMITS || isWord(name);
    expect(names.filter((name) => !known(name))).toEqual([]);
  });
});

describe('documents', () => {
  const pages = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`);
  const all = [...pages, 'README.md', 'SECURITY.md', 'ARCHITECTURE.md', 'CHANGELOG.md'];
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
