/**
 * The service with its layers: what it reports of them, which secrets its cells hold, and that its
 * calls are served.
 */
import { closeSync, mkdtempSync, openSync, readFileSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { buildCell } from '../../../src/host/launch/cell-build.ts';
import { startTemporaryService } from '../../../src/local/temporary-service.ts';
import { cellSources } from '../../support/built-once.ts';
import { confineHere, launch, runToEnd, script } from '../../support/cells/confined-cell.ts';
import { needs } from '../../support/programs.ts';
import { startTestService } from '../../support/service.ts';

interface Health {
  readonly status: string;
  readonly cells: {
    readonly count: number;
    readonly layers: Record<string, { on: boolean; detail: string }>;
  };
  readonly bundlers: { readonly layers: Record<string, { on: boolean; detail: string }> };
}

const healthOf = async (controlUrl: string) =>
  (await (await fetch(`${controlUrl}/healthz`)).json()) as Health;

test('/healthz reports the number of cells, and of every layer whether it is on, or why not', async () => {
  const annex = await startTestService({ cells: 2, flags: ['--cell-sandbox', 'off'] });
  const health = await healthOf(annex.service.controlUrl);
  expect([health.status, health.cells.count]).toEqual(['ok', 2]);
  const { layers } = health.cells;
  expect(Object.keys(layers).sort()).toEqual(
    ['permission', 'empty', 'jitless', 'limits', 'noNewPrivileges', 'user', 'namespaces'].sort(),
  );
  expect(layers['namespaces']).toEqual({ on: false, detail: 'turned off by --cell-sandbox' });
  for (const { detail } of Object.values(layers)) expect(detail).not.toBe('');
  const bundlers = health.bundlers.layers;
  expect(Object.keys(bundlers).sort()).toEqual(
    ['permission', 'empty', 'limits', 'noNewPrivileges', 'user', 'namespaces', 'disk'].sort(),
  );
  expect(bundlers['namespaces']).toEqual({ on: false, detail: 'turned off by --cell-sandbox' });
  expect(bundlers['user']?.on).toBe(layers['user']?.on);
  expect(bundlers['disk']?.on).toBe(process.platform === 'linux');
  for (const { detail } of Object.values(bundlers)) expect(detail).not.toBe('');
});

test('cells without a compiler serve calls like others', async () => {
  const annex = await startTestService({ flags: ['--cell-jitless', 'on'] });
  const { layers } = (await healthOf(annex.service.controlUrl)).cells;
  expect(layers['jitless']?.on).toBe(true);
  const { endpoint } = await annex.deploy(
    'interpreted',
    `export default { async fetch(request) {
       const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode('x'));
       const url = new URL('/a b?c=d', 'https://example.com');
       return Response.json([url.href.replace(/[aeiou]+/gu, '-'), new Uint8Array(digest)[0], typeof WebAssembly]);
     } };`,
  );
  for (let call = 0; call < 20; call++) {
    expect(await (await fetch(endpoint)).json()).toEqual(['https://-x-mpl-.c-m/-%20b?c=d', 45, 'undefined']);
  }
  const compiled = await annex.tryPublish('compiled', {
    'index.js': `import module from './empty.wasm'; export default { fetch: () => Response.json(!!module) };`,
    'empty.wasm': '\0asm\x01\0\0\0',
  });
  expect([compiled.status, JSON.stringify(compiled.body)]).toEqual([
    422,
    expect.stringContaining('WebAssembly is not available: the operator has turned off the compilers of V8'),
  ]);
  expect(await annex.metric('annex_cell_restarts_total')).toBe(0);
});

const machine = await buildCell(await cellSources());
const here = await confineHere(machine);
machine.remove();
const bubblewrap = here.confinement.namespaces?.kind === 'bubblewrap';

test.skipIf(bubblewrap)(
  `a service that requires bubblewrap and has none does not start${bubblewrap ? ' (skipped: there is one)' : ''}`,
  async () => {
    await expect(startTemporaryService({ flags: ['--cell-sandbox', 'required'] })).rejects.toThrow(
      'the package bubblewrap',
    );
  },
);

test.skipIf(!bubblewrap)(
  `a service that requires bubblewrap and has it starts, and answers${bubblewrap ? '' : ` (skipped: ${here.layers.namespaces.detail})`}`,
  needs('bwrap'),
  async () => {
    const annex = await startTestService({ flags: ['--cell-sandbox', 'required'] });
    const { endpoint } = await annex.deploy('boxed', `export default { fetch: () => new Response('ok') };`);
    expect(await (await fetch(endpoint)).text()).toBe('ok');
  },
);

const isRoot = process.getuid?.() === 0;

test.skipIf(!isRoot)(
  `the memory of a cell holds its own tenant's secret, and none of the host or of others${isRoot ? '' : ' (skipped: takes root)'}`,
  async () => {
    const planted = (name: string) => `planted-${name}-7f3a91`;
    vi.stubEnv('ANNEX_TEST_PLANTED', planted('environment'));
    onTestFinished(() => void vi.unstubAllEnvs());
    const annex = await startTestService();
    const source = 'export default { fetch: (request, env) => new Response(env.KEY) };';
    await annex.publish('own', { 'index.js': source }, `secrets:\n  KEY: ${planted('own')}`);
    await annex.publish('other', { 'index.js': source }, `secrets:\n  KEY: ${planted('other')}`);
    const [own, other] = [await annex.install('own'), await annex.install('other')];
    const key = new URL(other.endpoint).pathname.split('/').filter(Boolean).at(-1) ?? '';
    const signing = (await annex.service.targets.get(key))?.signingSecrets ?? [];
    expect(signing.length).toBeGreaterThan(0);
    expect(await (await fetch(own.endpoint)).text()).toBe(planted('own'));

    const secrets = [
      annex.admin,
      annex.platform,
      planted('environment'),
      planted('other'),
      ...signing,
      'annex.db',
      'vault.key',
    ];
    const found = search(annex.cellPids[0] ?? 0, [planted('own'), ...secrets]);
    expect(found).toEqual([planted('own')]);
  },
);

const PIECE_BYTES = 1024 * 1024;
const EMPTY = Buffer.alloc(PIECE_BYTES);

/** The texts that a process has in its memory, in Latin-1 or UTF-16. */
function search(pid: number, texts: readonly string[]): string[] {
  const memory = openSync(`/proc/${pid}/mem`, 'r');
  const found = new Set<string>();
  const piece = Buffer.alloc(PIECE_BYTES);
  for (const { start, end } of residentRegions(pid)) {
    // Pieces overlap, so that no text is missed at a boundary.
    for (let at = start; at < end; at += PIECE_BYTES - 256) {
      const bytes = readQuietly(memory, piece, Math.min(PIECE_BYTES, end - at), at);
      const held = piece.subarray(0, bytes);
      // Most reserved memory was never written to.
      if (held.equals(EMPTY.subarray(0, bytes))) continue;
      for (const text of texts) {
        if (held.includes(text, 0, 'latin1') || held.includes(text, 0, 'utf16le')) found.add(text);
      }
    }
  }
  closeSync(memory);
  return texts.filter((text) => found.has(text));
}

/** Ranges of addresses that are readable and not empty. */
function residentRegions(pid: number): { start: number; end: number }[] {
  const smaps = readFileSync(`/proc/${pid}/smaps`, 'latin1');
  return [...smaps.matchAll(/^([0-9a-f]+)-([0-9a-f]+) r[\s\S]*?^Rss:\s+(\d+)/gm)]
    .filter(([, , , rssKib]) => Number(rssKib) > 0)
    .map(([, start = '', end = '']) => ({
      start: Number.parseInt(start, 16),
      end: Number.parseInt(end, 16),
    }));
}

/** Reads memory. @returns 0 where the range cannot be read, as the kernel's own pages */
function readQuietly(memory: number, into: Buffer, length: number, at: number): number {
  try {
    return readSync(memory, into, 0, length, at);
  } catch {
    return 0;
  }
}

test('Node itself denies a cell files, child processes and workers', async () => {
  const build = await buildCell(await cellSources());
  const folder = mkdtempSync(join(tmpdir(), 'annex-script-'));
  onTestFinished(() => {
    build.remove();
    rmSync(folder, { recursive: true, force: true });
  });
  const scriptPath = join(folder, 'cell.cjs');
  writeFileSync(
    scriptPath,
    `const attempt = (attack) => { try { attack(); return 'done'; } catch (error) { return error.code; } };
     const results = [
       () => require('node:fs').readFileSync('/etc/passwd'),
       () => require('node:fs').writeFileSync('/tmp/annex-planted', ''),
       () => require('node:child_process').spawnSync('/bin/sh'),
       () => new (require('node:worker_threads').Worker)('1', { eval: true }),
     ].map(attempt);
     require('node:fs').writeSync(3, JSON.stringify(results));`,
  );
  const off = { ...here, confinement: { jitless: false } };
  const { output, stderr } = await runToEnd(launch(build, off, script(build, scriptPath)));
  expect(output === '' ? stderr : JSON.parse(output)).toEqual(Array(4).fill('ERR_ACCESS_DENIED'));
});
