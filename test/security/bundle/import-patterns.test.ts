/**
 * Imports by a pattern, which esbuild expands on the disk without asking the plugin: the answer
 * does not depend on the files of the host, behind every layer and without any.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { confineBundlers } from '../../../src/host/bundle/bundler-confinement.ts';
import { bundlerProgram } from '../../../src/host/bundle/bundler-program.ts';
import { Launcher } from '../../../src/host/confinement/launch.ts';
import { UNCONFINED } from '../../../src/host/confinement/layers.ts';
import { buildCell, type CellBuild } from '../../../src/host/launch/cell-build.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import type { Problem } from '../../../src/model/problem.ts';
import { cellSources } from '../../support/built-once.ts';
import { processes, SLOW_SOURCE } from '../../support/bundle/bundler-processes.ts';
import { bundle, uploaded } from '../../support/bundle/uploaded.ts';
import { HARDENING } from '../../support/cells/confined-cell.ts';
import { needs } from '../../support/programs.ts';

let build: CellBuild;
let folder: string;
const launchers = new Map<string, Launcher>();

beforeAll(async () => {
  build = await buildCell(await cellSources());
  folder = mkdtempSync(join(tmpdir(), 'annex-pattern-'));
  writeFileSync(join(folder, 'planted-one.js'), 'export default 1');
  writeFileSync(join(folder, 'planted-two.js'), 'export default 2');
  const here = await confineBundlers(HARDENING, build.bundlerFiles);
  launchers.set('behind every layer of this machine', new Launcher(here.program, here.confinement));
  const bare = await confineBundlers({ ...HARDENING, sandbox: 'off' }, build.bundlerFiles);
  launchers.set('without namespaces', new Launcher(bare.program, bare.confinement));
  expect(bare.layers.namespaces.on).toBe(false);
  expect([here, bare].map(({ layers }) => layers.disk.on)).toEqual(
    Array(2).fill(process.platform === 'linux'),
  );
  const without = (starve: boolean) => new Launcher(bundlerProgram(build.bundlerFiles, UNCONFINED, starve));
  launchers.set('without a descriptor to spare', without(true));
  launchers.set('with the disk in its reach', without(false));
});
afterAll(() => {
  build.remove();
  rmSync(folder, { recursive: true });
});

const UP = '../'.repeat(20);

/** The problems of an upload that imports by these patterns; `*` stands for a variable name. */
async function problemsOf(
  launcher: Launcher | undefined,
  patterns: readonly string[],
): Promise<readonly Problem[]> {
  const imports = patterns.map((pattern, at) => {
    const path = pattern.replaceAll('*', () => '$' + '{n}');
    return `const l${at} = (n) => ${at % 2 === 0 ? 'import' : 'require'}(\`${path}\`);\nexport { l${at} };`;
  });
  const result = await bundle(uploaded({ 'index.js': imports.join('\n') }), 'index.js', {
    limits: DEFAULT_LIMITS,
    ...(launcher && { launcher }),
  });
  if (result.ok) throw new Error('It was bundled.');
  return result.problems;
}

describe.each([
  'behind every layer of this machine',
  'without namespaces',
  'without a descriptor to spare',
  'with the disk in its reach',
])('a bundler %s', (layers) => {
  const at = (pattern: string) => `${UP}${folder.slice(1)}/${pattern}`;

  test('answers a pattern that matches as one that matches nothing', async () => {
    const launcher = launchers.get(layers);
    // Two patterns that match the same file, the narrower one second: esbuild reports each file
    // once.
    const problems = await problemsOf(launcher, [at('planted-*.js'), at('planted-o*.js')]);
    expect(problems.length).toBeGreaterThan(0);
    for (const { message } of problems)
      expect(message).toBe('An import path must be a fixed text, not a pattern.');
    expect(JSON.stringify(problems)).not.toContain('planted');
    const nothing = [at('absent-*.js'), at('planted-x*.js')];
    expect(await problemsOf(launcher, nothing)).toEqual(problems);
    const noFolder = [at('absent/planted-*.js'), at('absent/planted-o*.js')];
    expect(await problemsOf(launcher, noFolder)).toEqual(problems);
    expect(await problemsOf(launcher, [at('planted-*.js'), at('absent-*.js')])).toEqual(problems);
  });

  test('bundles an upload without patterns', async () => {
    const files = uploaded({ 'index.js': 'export { default } from "./a.js";', 'a.js': 'export default 1;' });
    const launcher = launchers.get(layers);
    const result = await bundle(files, 'index.js', { limits: DEFAULT_LIMITS, ...(launcher && { launcher }) });
    expect(result).toMatchObject({ ok: true });
  });
});

/** Number of live bundler processes of this test, including esbuild's. */
const alive = (): number =>
  processes().filter(({ command }) => command.includes(build.bundlerFiles.esbuildPath)).length;

test.each(['behind every layer of this machine', 'without namespaces'])(
  'a bundler %s ends with all its child processes',
  async (layers) => {
    const launcher = launchers.get(layers);
    const building = bundle(uploaded({ 'a.ts': SLOW_SOURCE }), 'a.ts', {
      limits: { ...DEFAULT_LIMITS, bundleMs: 2_500 },
      ...(launcher && { launcher }),
    });
    await expect.poll(alive).toBeGreaterThan(1);
    expect(await building).toMatchObject({ ok: false, problems: [{ limit: { name: 'bundleMs' } }] });
    await expect.poll(alive).toBe(0);
  },
);

test('the position of each pattern is reported where the disk is out of reach', async () => {
  const problems = await problemsOf(launchers.get('without a descriptor to spare'), ['./a/*.js', './b/*.js']);
  expect(problems).toMatchObject([
    { file: 'index.js', line: 1, column: 26 },
    { file: 'index.js', line: 3, column: 27 },
  ]);
});

test('esbuild opens nothing that an upload names', needs('strace'), async () => {
  const trace = join(folder, 'trace');
  const { path, args, files } = bundlerProgram(build.bundlerFiles, UNCONFINED, true);
  const launcher = new Launcher({
    path: 'strace',
    args: ['-f', '-qq', '-s', '300', '-e', 'trace=%file', '-o', trace, '--', path, ...args],
    files,
  });
  const source = [
    `const l = (n) => import(\`${UP}${folder.slice(1)}/planted-\${n}.js\`);`,
    `import a from '${folder}/planted-one.js';`,
    `import b from 'file://${folder}/planted-one.js';`,
    `import c from 'data:text/javascript,export%20default%201';`,
    `import d from '${UP}${folder.slice(1)}/planted-one.js' with { type: 'json' };`,
    `export default [l, a, b, c, d, new URL('${UP}${folder.slice(1)}/planted-one.js', import.meta.url)];`,
    `/// <reference path="${folder}/planted-one.js" />`,
    `/** @jsxImportSource ${folder} */`,
    `//# sourceMappingURL=${folder}/planted-one.js`,
  ];
  const configuration = JSON.stringify({
    extends: `${folder}/planted-one.js`,
    compilerOptions: { paths: { '*': [`${folder}/*`] }, jsxImportSource: folder },
    sideEffects: [`${folder}/*`],
  });
  const upload = uploaded({
    'src/index.tsx': source.join('\n'),
    'tsconfig.json': configuration,
    'package.json': configuration,
    'src/package.json': configuration,
  });
  const result = await bundle(upload, 'src/index.tsx', { limits: DEFAULT_LIMITS, launcher });
  expect(result.ok).toBe(false);
  expect(existsSync(trace)).toBe(true);
  const opened = readFileSync(trace, 'utf8').split('\n');
  expect(opened.some((line) => line.includes('esbuild'))).toBe(true);
  const named = opened.filter((line) => line.includes('planted') || /(tsconfig|package)\.json/.test(line));
  expect(named.filter((line) => !/ENOENT|EMFILE/.test(line))).toEqual([]);
  expect(named.filter((line) => line.includes('planted'))).toEqual([]);
});
