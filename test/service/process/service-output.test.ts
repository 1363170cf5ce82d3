/** Where the log of a service goes: a reader that ends, a full disk, a pipe, and a terminal. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../support/free-port.ts';
import { needs, pathOf } from '../../support/programs.ts';
import { temporaryFolder } from '../../support/store/temporary-store.ts';

const sourceOf = (path: string) => fileURLToPath(new URL(`../../../src/${path}`, import.meta.url));
const PROGRAMS = { 'npm start': [sourceOf('main.ts')], 'annex serve': [sourceOf('local/annex.ts'), 'serve'] };
type Program = keyof typeof PROGRAMS;

async function started(program: Program, run: (words: readonly string[]) => ChildProcess) {
  const data = join(await temporaryFolder(), 'data');
  const port = await freePort();
  const places = ['--data', data, '--control-port', String(port), '--public-port', '0'];
  const child = run([...PROGRAMS[program], ...places, '--built-ins', 'none', '--cells', '1']);
  const exited = once(child, 'exit') as Promise<[number | null, string | null]>;
  let hasEnded = false;
  void exited.then(() => (hasEnded = true));
  onTestFinished(() => void child.kill('SIGKILL'));
  const status = (path: string) =>
    fetch(`http://127.0.0.1:${port}${path}`)
      .then((answer) => answer.status)
      .catch(() => hasEnded);
  await expect.poll(() => status('/readyz')).toBe(200);
  return { data, port, child, exited, status };
}

const ALL: readonly Program[] = ['npm start', 'annex serve'];

test.each(ALL)(
  'the reader of `%s` ends before its first line: it starts, serves and stops',
  async (program) => {
    const { data, child, exited, status, port } = await started(program, (words) => {
      const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'] });
      child.stdout.destroy();
      child.stderr.destroy();
      return child;
    });
    const token = (await readFile(join(data, 'admin-token'), 'utf8')).trim();
    const refused = await fetch(`http://127.0.0.1:${port}/v1/tokens`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect([refused.status, await status('/healthz')]).toEqual([200, 200]);
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  },
);

test.each(ALL)('the disk behind the output of `%s` is full: it starts, serves and stops', async (program) => {
  const full = openSync('/dev/full', 'w');
  const { child, exited } = await started(program, (words) =>
    spawn(process.execPath, words, { stdio: ['ignore', full, full] }),
  );
  child.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
});

test.each(ALL)(
  'a terminal shows the log of `%s` in words, a pipe gets JSON',
  needs('script'),
  async (program) => {
    for (const isTerminal of [true, false]) {
      let text = '';
      const { child, exited } = await started(program, (words) => {
        const command = [process.execPath, ...words].map((word) => `'${word}'`).join(' ');
        const child = isTerminal
          ? spawn(pathOf('script') ?? '', ['-qefc', command, '/dev/null'], {
              stdio: ['pipe', 'pipe', 'pipe'],
            })
          : spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'] });
        child.stdout.on('data', (part) => (text += part));
        return child;
      });
      await expect.poll(() => text).toContain('annex is ready');
      const lines = text.split(/\r?\n/).filter((line) => line.includes('annex is ready'));
      if (isTerminal)
        expect(lines.join()).toMatch(
          /^\d\d:\d\d:\d\d annex is ready {2}control http:\S+ {2}public http:\S+ {2}data \S+$/,
        );
      else expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 30, msg: 'annex is ready' });
      child.kill('SIGTERM');
      await exited;
    }
  },
);
