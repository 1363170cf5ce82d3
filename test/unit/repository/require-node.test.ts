/**
 * `npm start` with an older Node, or without `npm ci`, ends with words that say what to do. The
 * file that checks this runs before any TypeScript, on every Node.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ROOT, read } from '../../support/repository/sources.ts';

/** Loads the check in a folder with these files. @returns exit code and what was printed */
function started(files: readonly string[], version = process.versions.node) {
  const folder = mkdtempSync(join(tmpdir(), 'annex-node-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'src'));
  cpSync(join(ROOT, 'src/require-node.cjs'), join(folder, 'src/require-node.cjs'));
  for (const file of files) {
    mkdirSync(join(folder, file, '..'), { recursive: true });
    writeFileSync(join(folder, file), '');
  }
  const versions = `Object.defineProperty(process, 'versions', { value: { node: '${version}' } });`;
  const code = `${versions} require('./src/require-node.cjs'); console.log('went on')`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', code], {
    cwd: folder,
    encoding: 'utf8',
  });
  return { status, said: `${stdout}${stderr}`.replaceAll(folder, '…') };
}

const PACKAGES = 'node_modules/fastify/package.json';
const NODE = 'node_modules/.bin/node';

test('without packages, on any Node', () => {
  const said =
    'Annex cannot start: its packages are not installed. Run "npm ci" in …. It brings Node 26, too.\n';
  expect(started([])).toEqual({ status: 1, said });
  expect(started([], '20.20.2')).toEqual({ status: 1, said });
});

test('on Node 20 with the packages, but past npm', () => {
  expect(started([PACKAGES, NODE], '20.20.2')).toEqual({
    status: 1,
    said: 'Annex cannot start: this is Node 20.20.2. Start it with npm ("npm start", "npx vitest"), which uses the Node 26 that "npm ci" has installed.\n',
  });
});

test('on Node 24 with packages that brought no Node', () => {
  expect(started([PACKAGES], '24.1.0')).toEqual({
    status: 1,
    said: 'Annex cannot start: this is Node 24.1.0. Run "npm ci" in …, without --omit=optional: it installs Node 26.\n',
  });
});

test('on Node 26 with the packages, it starts', () => {
  expect(started([PACKAGES, NODE])).toEqual({ status: 0, said: 'went on\n' });
});

test('every program of the package loads the check first', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const programs = Object.values(scripts).filter((script) =>
    /^node .*(?:src\/main|packages\/(?!annex\/)|test\/)/.test(script),
  );
  expect(programs.length).toBeGreaterThan(3);
  expect(programs.filter((script) => !script.startsWith('node -r ./src/require-node.cjs '))).toEqual([]);
  expect(read('vitest.config.ts')).toMatch(/^\/\*\*[\s\S]*?\*\/\nimport '\.\/src\/require-node\.cjs';/);
});
