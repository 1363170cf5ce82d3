/**
 * Packages in an uploaded `node_modules` resolve by their package.json, and never outside of
 * themselves.
 */
import { describe, expect, test } from 'vitest';
import { packageEntry } from '../../../src/imports/package-entry.ts';
import { resolveImport } from '../../../src/imports/resolve-import.ts';
import { evaluate, uploaded } from '../../support/bundle/uploaded.ts';

const resolved = (files: Record<string, string>, specifier: string, importer = 'src/index.ts') => {
  const found = resolveImport(uploaded(files), specifier, importer, 'import');
  return 'path' in found ? found.path : undefined;
};

test('a package of the upload is bundled', async () => {
  const files = {
    'src/index.ts':
      'import pad from "pad"; import { scoped } from "@acme/tools/deep"; export default pad + scoped;',
    'node_modules/pad/package.json': '{"main": "lib"}',
    'node_modules/pad/lib/index.js': 'module.exports = "pad ";',
    'node_modules/@acme/tools/package.json': '{"exports": {"./deep": {"import": "./deep.mjs"}}}',
    'node_modules/@acme/tools/deep.mjs': 'export const scoped = "scoped";',
  };
  expect(await evaluate(files, 'src/index.ts')).toBe('pad scoped');
});

test('unused modules of a package that declares no side effects are left out', async () => {
  const files = (sideEffects: boolean) => ({
    'index.js': 'import { a } from "pkg"; export default () => globalThis.seen;',
    'node_modules/pkg/package.json': JSON.stringify({ module: './m.js', sideEffects }),
    'node_modules/pkg/m.js': 'globalThis.seen = true; export const a = 1;',
  });
  delete (globalThis as { seen?: boolean }).seen;
  expect((await evaluate<() => unknown>(files(false), 'index.js'))()).toBeUndefined();
  expect((await evaluate<() => unknown>(files(true), 'index.js'))()).toBe(true);
  delete (globalThis as { seen?: boolean }).seen;
});

test('the nearest node_modules wins', () => {
  const files = { 'node_modules/a/index.js': '', 'src/node_modules/a/index.js': '' };
  expect(resolved(files, 'a')).toBe('src/node_modules/a/index.js');
  expect(resolved(files, 'a', 'other/index.ts')).toBe('node_modules/a/index.js');
});

test('an entry that climbs out of its package is not followed', () => {
  for (const main of ['../../secret.js', '/secret.js/../../../secret.js']) {
    const files = { 'secret.js': '', 'node_modules/a/package.json': JSON.stringify({ main }) };
    expect(resolved(files, 'a')).toBeUndefined();
  }
  const files = { 'secret.js': '', 'node_modules/a/package.json': '{"exports": "./../../secret.js"}' };
  expect(resolved(files, 'a')).toBeUndefined();
  expect(resolved({ 'secret.js': '', 'node_modules/a/b.js': '' }, 'a/../../secret.js')).toBeUndefined();
});

test('a package.json that is not JSON, or not an object, counts as absent', () => {
  for (const manifest of ['{', '[]', 'null', '"x"', '{"exports": null, "main": 5}']) {
    const files = { 'node_modules/a/package.json': manifest, 'node_modules/a/index.js': '' };
    expect(resolved(files, 'a')).toBe('node_modules/a/index.js');
  }
});

describe('exports', () => {
  const exports = {
    '.': {
      node: './node.js',
      require: './index.cjs',
      import: { worker: './worker.mjs', default: './index.mjs' },
    },
    './features/*': './src/features/*.js',
    './features/*.js': './src/features/*.js',
    './features/private/*': null,
    './list': [{ node: './node.js' }, './list.js'],
    './forbidden': { import: null, default: './forbidden.js' },
    './outside': '../outside.js',
    './constructor': './own.js',
  };
  test.each([
    ['.', 'import', './worker.mjs'],
    ['.', 'require', './index.cjs'],
    ['./features/a', 'import', './src/features/a.js'],
    ['./features/a.js', 'import', './src/features/a.js'],
    ['./features/private/a', 'import', undefined],
    ['./list', 'import', './list.js'],
    ['./forbidden', 'import', undefined],
    ['./forbidden', 'require', './forbidden.js'],
    ['./outside', 'import', undefined],
    ['./absent', 'import', undefined],
    ['./toString', 'import', undefined],
    ['./constructor', 'import', './own.js'],
  ] as const)('%s by %s is %s', (subpath, kind, path) => {
    expect(packageEntry({ exports }, subpath, kind)?.path).toBe(path);
  });

  test('may be one file or only conditions, and then has no subpaths', () => {
    expect(packageEntry({ exports: './a.js' }, '.', 'import')?.path).toBe('./a.js');
    expect(packageEntry({ exports: { default: './a.js' } }, '.', 'import')?.path).toBe('./a.js');
    expect(packageEntry({ exports: './a.js' }, './b', 'import')).toBeUndefined();
  });

  test('are ignored if nested too deeply', () => {
    let nested: object = { default: './a.js' };
    for (let depth = 0; depth < 10; depth++) nested = { default: nested };
    expect(packageEntry({ exports: nested }, '.', 'import')?.path).toBe('./a.js');
    for (let depth = 0; depth < 1_000; depth++) nested = { default: nested };
    expect(packageEntry({ exports: nested }, '.', 'import')).toBeUndefined();
  });

  test('a "$" in the place of the star stays a "$"', () => {
    expect(packageEntry({ exports: { './*': './x/*.js' } }, "./$&$'", 'import')?.path).toBe("./x/$&$'.js");
  });
});

describe('a package for workers', () => {
  test.each([
    [{ worker: './w.js', browser: './b.js', module: './m.js', main: './n.js' }, 'w'],
    [{ browser: './b.js', module: './m.js', main: './n.js' }, 'b'],
    [{ module: './m.js', main: './n.js' }, 'm'],
    [{ main: './n.js' }, 'n'],
    [{ exports: { production: './w.js', default: './n.js' } }, 'w'],
    [{ exports: { development: './b.js', browser: './m.js', default: './n.js' } }, 'm'],
  ])('is entered by %j', (manifest, file) => {
    const files = Object.fromEntries(['w', 'b', 'm', 'n'].map((name) => [`node_modules/a/${name}.js`, '']));
    files['node_modules/a/package.json'] = JSON.stringify(manifest);
    expect(resolved(files, 'a')).toBe(`node_modules/a/${file}.js`);
  });

  test('has its browser map obeyed: for its entry, its files, and what it imports', async () => {
    const browser = {
      './main.js': './web.js',
      './lib/disk.js': './lib/memory.js',
      // The file that is replaced need not be uploaded.
      './lib/absent.js': './lib/memory.js',
      fs: false,
      net: './net.js',
    };
    const files = {
      'index.js': 'import a from "a"; export default a;',
      'node_modules/a/package.json': JSON.stringify({ main: './main.js', browser }),
      'node_modules/a/main.js': 'module.exports = "main";',
      'node_modules/a/web.js':
        'import disk from "./lib/disk"; import same from "./lib/absent"; import * as fs from "fs"; import net from "net"; export default [disk, same, typeof fs.readFileSync, net];',
      'node_modules/a/lib/disk.js': 'module.exports = "disk";',
      'node_modules/a/lib/memory.js': 'export default "memory";',
      'node_modules/a/net.js': 'export default "net";',
    };
    expect(await evaluate(files, 'index.js')).toEqual(['memory', 'memory', 'undefined', 'net']);
  });

  test('resolves its own names, and those of the upload', async () => {
    const files = {
      'package.json': '{"imports": {"#config": {"worker": "./config.ts"}, "#lib/*": "a/*"}}',
      'config.ts': 'export default "config" as string;',
      'index.ts':
        'import config from "#config"; import deep from "#lib/deep"; export default [config, deep];',
      'node_modules/a/package.json': '{"imports": {"#own": "./own.js"}}',
      'node_modules/a/deep.js': 'export { default } from "#own";',
      'node_modules/a/own.js': 'export default "own";',
    };
    expect(await evaluate(files)).toEqual(['config', 'own']);
  });

  test('may be written in TypeScript', async () => {
    const files = {
      'index.ts': 'import { one } from "a"; import { two } from "b"; export default [one, two];',
      'node_modules/a/package.json': '{"main": "./src/index.ts"}',
      'node_modules/a/src/index.ts': 'export const one = 1 satisfies number; export type { T } from "./t";',
      'node_modules/b/package.json': '{"exports": {"import": "./src/index.js"}}',
      'node_modules/b/src/index.ts': 'enum E { Two = 2 } export const two: number = E.Two;',
    };
    expect(await evaluate(files)).toEqual([1, 2]);
  });

  test('leads out of the upload by none of these', () => {
    const manifest = {
      browser: { './a.js': '../../../etc/passwd', b: '/etc/passwd' },
      imports: { '#a': '/etc/passwd', '#b': '#b', '#c': 'file:///etc/passwd', '#d': './../../../x' },
    };
    const files = { 'package.json': JSON.stringify(manifest), 'a.js': '', 'secret.js': '' };
    for (const specifier of ['./a.js', 'b', '#a', '#b', '#c', '#d', '#e'])
      expect(resolved(files, specifier, 'index.js'), specifier).toBeUndefined();
  });
});
