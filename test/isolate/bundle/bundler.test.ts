/**
 * Bundling an upload: one script of the author's files and the SDK, and the author's line in every
 * problem.
 */
import { describe, expect, test } from 'vitest';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import {
  bundle,
  bundled,
  evaluate,
  fixture,
  runScript,
  scriptOf,
  uploaded,
} from '../../support/bundle/uploaded.ts';

const refused = async (files: Record<string, string>, entry = 'index.ts') => {
  const result = await bundled(uploaded(files), entry);
  if (result.ok) throw new Error('was bundled');
  return result.problems;
};

describe('a script', () => {
  test.each([
    ['hello', 'src/index.ts'],
    ['confirmation', 'src/index.ts'],
    ['counter', 'src/index.tsx'],
    ['plain-worker', 'worker.js'],
  ])(
    'of the fixture %s imports and exports nothing, and its entry has a default export',
    async (name, entry) => {
      const script = await scriptOf(fixture(name), entry);
      expect(script).not.toMatch(/^(import|export) /m);
      expect(await runScript(script)).toHaveProperty('fetch');
    },
  );

  test('may be named with a leading "./", as manifests often do', async () => {
    expect(await scriptOf(uploaded({ 'src/a.ts': 'export default 1' }), './src/a.ts')).toContain('default');
  });

  test('has bytes of files, by an import and by their URL from this one', async () => {
    const files = {
      'src/index.ts': `
        import bytes from './data.bin' with { type: 'bytes' };
        const url = new URL('./data.bin', import.meta.url);
        const other = new URL("../none.bin", import.meta.url);
        export default { bytes: [...bytes], isBytes: bytes instanceof Uint8Array, url: url.href, other: other.href };`,
      'src/data.bin': 'ab//# sourceMappingURL=x',
    };
    expect(await evaluate(files, 'src/index.ts')).toEqual({
      bytes: [...Buffer.from('ab//# sourceMappingURL=x')],
      isBytes: true,
      url: `data:application/octet-stream;base64,${btoa('ab//# sourceMappingURL=x')}`,
      other: 'file:///none.bin',
    });
  });

  test('is made of TypeScript, JSX, JSON and text', async () => {
    const files = {
      'index.ts': `
        import config from './config.json';
        import readme from './readme.md';
        import { tree } from './view';
        enum Size { Small = 1 }
        export default { config, readme, tree, size: Size.Small satisfies number };`,
      'config.json': '{"a": 1}',
      'readme.md': '# Read me',
      'view.tsx': 'export const tree = <block><text>{"a"}{1}{null}</text></block>;',
    };
    expect(await evaluate(files)).toEqual({
      config: { a: 1 },
      readme: '# Read me',
      size: 1,
      tree: { type: 'block', children: [{ type: 'text', children: ['a', '1'] }] },
    });
  });

  test('has code for browsers as its text, and any other file that it asks for so', async () => {
    const files = {
      'index.ts': `
        import script from './widget.raw.js'; import style from './widget.raw.css';
        import query from './a.graphql' with { type: 'text' }; import code from './b.ts' with { type: 'text' };
        import { b } from './b.ts';
        export default [script, style, query, code, b];`,
      'widget.raw.js': 'document.write(`<b>`)',
      'widget.raw.css': 'b { color: red }',
      'a.graphql': '{ a }',
      'b.ts': 'export const b = 1;',
    };
    expect(await evaluate(files)).toEqual([
      'document.write(`<b>`)',
      'b { color: red }',
      '{ a }',
      'export const b = 1;',
      1,
    ]);
  });

  const RUNTIME = {
    'node_modules/@acme/ui/package.json':
      '{"exports": {".": "./index.js", "./jsx-runtime": "./jsx-runtime.js"}}',
    'node_modules/@acme/ui/index.js': 'export const h = (type, props, ...children) => ["h", type, children];',
    'node_modules/@acme/ui/jsx-runtime.js': 'export const jsx = (type, props) => ["acme", type, props];',
    'node_modules/@acme/tsconfig/base.json': '{"compilerOptions": {"jsxImportSource": "@acme/ui"}}',
  };
  const VIEW = 'export default <a b="c" />;';
  test.each<[what: string, files: Record<string, string>, tree: unknown]>([
    [
      'its tsconfig',
      {
        'tsconfig.json': '{ // JSX\n"compilerOptions": {"jsxImportSource": "@acme/ui", }, }',
        'index.tsx': VIEW,
      },
      ['acme', 'a', { b: 'c' }],
    ],
    [
      'a tsconfig that its tsconfig extends',
      { 'tsconfig.json': '{"extends": "@acme/tsconfig/base.json"}', 'index.tsx': VIEW },
      ['acme', 'a', { b: 'c' }],
    ],
    ['a comment', { 'index.tsx': `/** @jsxImportSource @acme/ui */\n${VIEW}` }, ['acme', 'a', { b: 'c' }]],
    [
      'a comment with a function',
      { 'index.tsx': `/* @jsx h */\nimport { h } from '@acme/ui';\n${VIEW}` },
      ['h', 'a', []],
    ],
    [
      'the package that its entrypoint imports',
      {
        'package.json': '{"dependencies": {"other": "1", "@acme/ui": "1"}}',
        'index.tsx': `import { h } from '@acme/ui';\n${VIEW}`,
      },
      ['acme', 'a', { b: 'c' }],
    ],
  ])('has its JSX compiled as %s says', async (_what, files, tree) => {
    expect(await evaluate({ ...RUNTIME, ...files }, 'index.tsx')).toEqual(tree);
  });

  const FIELD = 'class A { x!: number; constructor() {} } export default Object.keys(new A());';
  const SEEN = 'import { a } from "~shared"; import { b } from "@/lib/b"; export default [a, b];';
  const SHARED = { 'shared/index.ts': 'export const a = 1;', 'src/lib/b.ts': 'export const b = 2;' };
  const PATHS = { '@/*': ['./gone/*', './src/*'], '~shared': ['./shared'] };
  test.each<[what: string, tsconfig: object, files: Record<string, string>, value: unknown]>([
    ['paths', { compilerOptions: { paths: PATHS } }, { ...SHARED, 'index.ts': SEEN }, [1, 2]],
    [
      'paths below baseUrl',
      { compilerOptions: { baseUrl: 'src', paths: { '~shared': ['../shared/index.ts'], '@/*': ['*'] } } },
      { ...SHARED, 'index.ts': SEEN },
      [1, 2],
    ],
    [
      'baseUrl, and packages besides',
      { compilerOptions: { baseUrl: './src' } },
      {
        ...{ ...SHARED, 'node_modules/c/index.js': 'exports.c = 3;' },
        'index.ts': 'import { b } from "lib/b.js"; import { c } from "c"; export default [b, c];',
      },
      [2, 3],
    ],
    [
      'the longest prefix of paths, and the main file of a folder',
      {
        compilerOptions: {
          paths: { '*': ['shared/*'], '#a/*': ['./packages/*'], '#a/x/*': ['./src/lib/*'] },
        },
      },
      {
        ...{
          ...SHARED,
          'packages/ui/package.json': '{"main": "./ui.ts"}',
          'packages/ui/ui.ts': 'export const ui = 4;',
        },
        'index.ts': 'import { b } from "#a/x/b"; import { ui } from "#a/ui"; export default [b, ui];',
      },
      [2, 4],
    ],
    [
      'files that it extends: packages, the last of many, the folder of the first one',
      { extends: ['@tsconfig/strictest', './configs/one', './configs/two.json'] },
      {
        'node_modules/@tsconfig/strictest/tsconfig.json':
          '{"compilerOptions": {"useDefineForClassFields": true}}',
        'configs/one.json':
          '{"extends": "./two.json", "compilerOptions": {"useDefineForClassFields": false}}',
        'configs/two.json':
          // biome-ignore lint/suspicious/noTemplateCurlyInString: so is it written
          '{"compilerOptions": {"paths": {"@/*": ["${configDir}/src/*"], "~shared": ["../shared"]}}}',
        ...{
          ...SHARED,
          'index.ts': `${FIELD.slice(0, FIELD.indexOf(' export'))} ${SEEN.replace('[', '[...Object.keys(new A()), ')}`,
        },
      },
      [1, 2],
    ],
    [
      'useDefineForClassFields',
      { compilerOptions: { useDefineForClassFields: false } },
      { 'index.ts': FIELD },
      [],
    ],
    [
      'its target for fields of classes',
      { compilerOptions: { target: 'ES2020' } },
      { 'index.ts': FIELD },
      [],
    ],
    ['nothing, for fields of classes', {}, { 'index.ts': FIELD }, ['x']],
    [
      'experimentalDecorators',
      { compilerOptions: { experimentalDecorators: true } },
      {
        'index.ts': `
          const log: unknown[] = [];
          const note = (target: any, key: any, at?: any) => { log.push([typeof target, key, typeof at]); };
          @((target: any) => note(target, 'class')) class A { @note name = 'n'; constructor(@note private db: any) {} }
          export default [...log, typeof A];`,
      },
      [
        ['object', 'name', 'undefined'],
        ['function', undefined, 'number'],
        ['function', 'class', 'undefined'],
        'function',
      ],
    ],
  ])('is compiled as its tsconfig says: %s', async (_what, tsconfig, files, value) => {
    expect(await evaluate({ 'tsconfig.json': JSON.stringify(tsconfig), ...files })).toEqual(value);
  });

  test('tells what a tsconfig says in vain', async () => {
    const tsconfig = '{"extends": "@tsconfig/gone", "compilerOptions": {"emitDecoratorMetadata": true}}';
    const files = { 'jsconfig.json': tsconfig, 'index.js': 'export default 1;' };
    expect(await bundled(uploaded(files), 'index.js')).toMatchObject({
      ok: true,
      warnings: [
        { message: 'jsconfig.json extends "@tsconfig/gone", which is not in the upload.' },
        { message: expect.stringContaining('"emitDecoratorMetadata" of jsconfig.json has no effect') },
      ],
    });
  });

  test('finds files as TypeScript does: without extension, by the ".js" of a ".ts", by the index of a folder', async () => {
    const files = {
      'index.ts': `
        import { a } from './a'; import { b } from './b.js'; import { c } from './c'; import { root } from './c/up.ts';
        export default [a, b, c, root];`,
      'a.ts': 'export const a = "a";',
      'b.ts': 'export const b = "b";',
      'c/index.ts': 'export const c = "c";',
      'c/up.ts': 'export { a as root } from "../a";',
    };
    expect(await evaluate(files)).toEqual(['a', 'b', 'c', 'a']);
  });

  test('may await at its top level and use decorators', async () => {
    const files = {
      'index.ts': `
        const tag = <T>(value: T, _context: unknown) => value;
        class A { @tag m() { return 1; } }
        export default await Promise.resolve(new A().m());`,
    };
    expect(await evaluate(files)).toBe(1);
  });

  test('sees its mode, "production" by default, and leaves out branches of other modes', async () => {
    const files = uploaded({
      'index.js': 'if (process.env.NODE_ENV !== "production") require("./check.js"); export default MODE;',
      'check.js': 'console.log("only in development");',
    });
    expect(await scriptOf(files, 'index.js')).not.toContain('only in development');
    const other = await bundle(files, 'index.js', { limits: DEFAULT_LIMITS, mode: 'development' });
    expect(other).toMatchObject({ ok: true, script: expect.stringContaining('only in development') });
  });

  test('takes a mode for a value, never for code', async () => {
    const mode = '"; globalThis.stolen = 1; "';
    const files = uploaded({ 'index.js': 'export default MODE' });
    const result = await bundle(files, 'index.js', { limits: DEFAULT_LIMITS, mode });
    expect(result.ok && (await runScript(result.script))).toBe(mode);
  });

  test('keeps the names of functions, for stack traces', async () => {
    const files = { 'index.js': 'function chargeCard() { throw 1; } export default chargeCard;' };
    expect(await scriptOf(uploaded(files), 'index.js')).toContain('function chargeCard()');
  });

  test("a text that looks like esbuild's replacement of generators stays as it is", async () => {
    const text = 'e==="return"?t:"next",r[1]?{done:';
    const files = uploaded({ 'a.js': `export default ${JSON.stringify(text)};` });
    expect(await runScript(await scriptOf(files, 'a.js'))).toBe(text);
  });

  test('leaves out unused parts of the SDK', async () => {
    const script = await scriptOf(fixture('confirmation'), 'src/index.ts');
    expect(script).not.toContain('createComponent:');
  });

  test('carries warnings that name the place', async () => {
    const result = await bundled(
      uploaded({ 'index.js': 'export default 1; let x, y;\nif (x === NaN) y();' }),
      'index.js',
    );
    expect(result).toMatchObject({
      ok: true,
      warnings: [{ severity: 'warning', file: 'index.js', line: 2, message: expect.stringContaining('NaN') }],
    });
  });

  test('carries no warning about a package, which its author cannot change', async () => {
    const files = {
      'index.js': 'import { a } from "odd";\nexport default a;',
      'node_modules/odd/package.json': '{ "main": "index.js", "sideEffects": false }',
      'node_modules/odd/index.js': 'import "./b.js";\nexport const a = (x) => x === NaN;',
      'node_modules/odd/b.js': 'export const b = 1;',
    };
    expect(await bundled(uploaded(files), 'index.js')).toMatchObject({ ok: true, warnings: [] });
  });
});

describe('problems', () => {
  test('are reported together, each with file, line and column', async () => {
    const problems = await refused({
      'index.ts': 'import "./a";\nimport "./missing";\nexport default 1;',
      'a.ts': 'const é = 1; const = 2;',
    });
    expect(problems).toMatchObject([
      { severity: 'error', file: 'a.ts', line: 1, column: 20 },
      {
        severity: 'error',
        file: 'index.ts',
        line: 2,
        column: 8,
        message: '"./missing" is not in the upload.',
      },
    ]);
  });

  test.each([
    ['const a = <block controls={[]}><text>Hi</text></block>;', 'src/panel.ts', 'panel.tsx'],
    ['export const draw = () => (\n  <text style="bold">Hi</text>\n);', 'src/panel.mts', 'panel.tsx'],
  ])('say that JSX needs a file of its own kind: %s', async (source, path, renamed) => {
    const problems = await refused({ [path]: source, 'index.ts': `import "./${path}"; export default 1;` });
    expect(problems).toMatchObject([
      {
        severity: 'error',
        file: path,
        line: expect.any(Number),
        message: 'This file has JSX, and the name of such a file has to end with .tsx.',
        hint: `Rename it to "${renamed}", also where it is named.`,
      },
    ]);
  });

  test('say nothing of JSX about other faults of TypeScript', async () => {
    const [found] = await refused({ 'index.ts': 'const a = <T,>(x: T) => x;\nconst = 1;' });
    expect(found).toMatchObject({ line: 2, message: expect.not.stringContaining('JSX') });
  });

  test('name an entry that was not uploaded', async () => {
    expect(await refused({ 'a.ts': '' }, 'b.ts')).toMatchObject([
      { message: 'The entrypoint "b.ts" is not among the uploaded files.' },
    ]);
  });

  test.each([
    ['node:fs', /is a module of Node\.js/, /web platform/],
    ['fs/promises', /is a module of Node\.js/, /web platform/],
    ['left-pad', /is not in the upload/, /upload their node_modules/],
    ['https://example.com/a.js', /not loaded from URLs/, /Download/],
    ['data:text/javascript,1', /not loaded from URLs/, /Download/],
    ['#internal', /is not among the "imports"/, /package\.json/],
    ['./picture.png', /of a kind that cannot be imported/, /Importable are/],
  ])('have a hint for an import of %s', async (specifier, message, hint) => {
    const [found] = await refused({
      'index.ts': `import x from ${JSON.stringify(specifier)}; export default x;`,
      'picture.png': '',
    });
    expect(found?.message).toMatch(message);
    expect(found?.hint).toMatch(hint);
  });

  test('are bounded in number and length', async () => {
    const lines = Array.from({ length: 500 }, (_, index) => `import "./${index}${'x'.repeat(900)}";`);
    const problems = await refused({ 'index.ts': lines.join('\n') });
    expect(problems).toHaveLength(101);
    expect(problems[0]?.message.length).toBeLessThanOrEqual(501);
    expect(problems[100]?.message).toBe('400 more were found and are not shown.');
  });
});

describe('the host', () => {
  // Each names a file that exists on this machine: served, it would be a leak of the operator's
  // files.
  test.each([
    '/etc/passwd',
    '/etc/hostname',
    'file:///etc/passwd',
    '../../../../../../../../../etc/passwd',
    './a/../../../../../../../../etc/passwd',
    process.execPath,
    new URL('../../../package.json', import.meta.url).pathname,
    new URL('../../../package.json', import.meta.url).href,
    'esbuild',
    'yaml',
  ])('does not serve %s', async (specifier) => {
    for (const statement of ['import x from', 'const x = 1; export * from', 'import * as x from']) {
      const code = `${statement} ${JSON.stringify(specifier)}; export default x;`;
      const [found] = await refused({ 'index.js': code }, 'index.js');
      expect(found).toMatchObject({ file: 'index.js', line: 1 });
    }
    const [required] = await refused(
      { 'index.js': `export default require(${JSON.stringify(specifier)})` },
      'index.js',
    );
    expect(required).toMatchObject({ file: 'index.js', line: 1 });
  });

  test("finds nothing by a tenant's tsconfig that is not in the upload", async () => {
    const tsconfig = {
      extends: ['/etc/passwd', '../../../package.json', './tsconfig.json', './circle.json'],
      compilerOptions: {
        ...{ jsxImportSource: 'evil', target: 'es1"', baseUrl: '../..', experimentalDecorators: 'yes' },
        paths: { '*': ['/*', '../../../../../etc/*'], esbuild: [process.execPath], 'a*b*': ['*'], bad: 1 },
      },
    };
    const circle = '{"extends": "./tsconfig.json", "compilerOptions": {"paths": {"*": ["../*"]}}}';
    const files = { 'tsconfig.json': JSON.stringify(tsconfig), 'circle.json': circle };
    const script = await scriptOf(
      uploaded({ ...files, 'index.tsx': 'export default <block />;' }),
      'index.tsx',
    );
    expect(script).toContain('jsx("block"');
    for (const specifier of ['passwd', 'esbuild', 'yaml', '/etc/passwd', 'aabb']) {
      const index = `import x from ${JSON.stringify(specifier)}; export default x;`;
      const [found] = await refused({ ...files, 'index.ts': index });
      expect(found?.message).toMatch(/leads to no file of the upload/);
    }
  });

  test('does not expose the other files of the SDK', async () => {
    for (const specifier of ['@annex/sdk/envelope.ts', '@annex/sdk/../web/url.ts', 'sdk:envelope.ts']) {
      expect(await refused({ 'index.ts': `import ${JSON.stringify(specifier)}` })).toHaveLength(1);
    }
  });

  test('uses its own SDK even if the upload has one of the same name', async () => {
    const files = {
      'index.ts': 'import { createIntegration } from "@annex/sdk"; export default createIntegration.name;',
      'node_modules/@annex/sdk/index.js': 'export const createIntegration = "forged";',
    };
    expect(await evaluate(files)).toBe('createIntegration');
  });
});

describe('a review of the own files', () => {
  const warned = async (files: Record<string, string>, entry = 'index.ts') => {
    const result = await bundled(uploaded(files), entry);
    if (!result.ok) throw new Error(JSON.stringify(result.problems));
    return result.warnings.map(({ file, line, column, message }) => `${file}:${line}:${column} ${message}`);
  };
  const of = (place: string, name: string) =>
    `${place} "${name}" is not defined: neither in this file, nor by the platform.`;

  test('names what nothing defines, with its place in TypeScript and JSX', async () => {
    expect(
      await warned({
        'index.ts': [
          'import { panel } from "./panel.tsx";',
          'interface Wide { readonly a: string }',
          'const kept = (text: string): Wide => ({ a: text });',
          'export default { fetch: (r: Request) => Responze.json(kept(tex)) , panel };',
          'export const again = () => tex;',
        ].join('\n'),
        'panel.tsx': 'export const panel = () => <block><text>{label}</text></block>;',
      }),
    ).toEqual(
      expect.arrayContaining([
        of('index.ts:4:41', 'Responze'),
        of('index.ts:4:60', 'tex'),
        of('panel.tsx:1:42', 'label'),
      ]),
    );
  });

  test.each([
    ['globals of an isolate', 'new URL("a:b"); structuredClone(Temporal); console.log(globalThis, self);'],
    [
      'names that the bundler gives',
      'Buffer.from(process.env.NODE_ENV + MODE); setImmediate(() => global + __dirname);',
    ],
    [
      'names that code asks for',
      'if (typeof window !== "undefined") window.alert(document2); var document2;',
    ],
    ['names whose absence is caught', 'try { localStorage.x = 1; } catch { }'],
    [
      'names that the code puts on the global object',
      'globalThis.shared = 1; later(); function later() { shared; }',
    ],
    [
      'arguments, labels, members, and names of functions',
      'a: for (;;) { break a; } ({ b: 1 }).b; (function c() { arguments; c; })();',
    ],
    ['names that evaluated code may declare', 'export const run = (text) => { eval(text); return made; };'],
    ['require of another file', 'export const d = () => require("./d.js");'],
    ['types', 'declare const e: string; type F = typeof e; enum G { H } G.H as unknown as F;'],
  ])('says nothing of %s', async (_, source) => {
    const files = {
      'index.ts': `${source}\nexport default 1;`,
      'd.js': 'module.exports = __filename2; var __filename2;',
    };
    const found = (await warned(files)).filter((text) => text.includes('is not defined'));
    expect(found).toEqual([]);
  });

  test('looks at no package, and at no file that the bundle leaves out', async () => {
    const files = {
      'index.ts': 'import { a } from "b"; export default a;',
      'c.ts': 'export const unused = () => nowhere;',
      'node_modules/b/package.json': '{"name":"b","main":"index.js"}',
      'node_modules/b/index.js': 'exports.a = () => nothing;',
    };
    expect(await warned(files)).toEqual([]);
  });

  test('names module.exports in a module, and not in CommonJS', async () => {
    expect(await warned({ 'index.js': 'module.exports = { fetch() {} };' }, 'index.js')).toEqual([]);
    const source = 'export const a = 1;\nconst later = () => { module.exports = a; };\nexport default later;';
    expect(await warned({ 'index.js': source }, 'index.js')).toEqual([
      'index.js:2:23 `module` and `exports` are not defined in a file that has `import` or `export`.',
    ]);
  });

  test('names where a text is thrown, which has no stack', async () => {
    const source = 'export default () => {\n  if (1) throw new Error("a");\n  throw `b`;\n};';
    expect(await warned({ 'index.ts': source })).toEqual([
      'index.ts:3:3 What is thrown here is no Error, so the log cannot show its place.',
    ]);
  });

  // Attack: a publish that takes long, or whose answer is large.
  test('is bounded in warnings and bytes, and in the depth of code', async () => {
    const many = Array.from({ length: 500 }, (_, i) => `none${i};`).join('\n');
    expect(await warned({ 'index.ts': `export default () => {${many}};` })).toHaveLength(20);
    const large = `export default () => none;//${'x'.repeat(128 * 1024)}`;
    expect(await warned({ 'index.ts': large })).toEqual([]);
    const deep = `export default () => ${'['.repeat(1_500)}none${']'.repeat(1_500)};`;
    expect((await bundled(uploaded({ 'index.ts': deep }), 'index.ts')).ok).toBe(true);
  });
});
