/**
 * The folder from which cells are started: the next host removes that of a host that was killed,
 * and nothing else.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { makeCellFolder } from '../../../src/host/launch/cell-folder.ts';
import { temporaryFolder } from '../../support/store/temporary-store.ts';

const PROCESS = fileURLToPath(new URL('../../support/cells/cell-folder-process.ts', import.meta.url));

/** Makes a folder in a process of its own. */
async function madeElsewhere(root: string): Promise<{ path: string; kill(): Promise<void> }> {
  const child = spawn(process.execPath, [PROCESS, root], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [path] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const kill = async () => {
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  return { path, kill };
}

test('the next host removes the folder of a host that was killed; that of a live host stays', async () => {
  const root = await temporaryFolder();
  const [dead, living] = [await madeElsewhere(root), await madeElsewhere(root)];
  for (const { path } of [dead, living])
    for (const name of ['cell.cjs', 'isolated-vm.node']) writeFileSync(join(path, name), 'x');
  expect(readdirSync(dead.path)).toContain('alive');
  await dead.kill();
  const own = await makeCellFolder(root);
  expect(
    readdirSync(root)
      .map((name) => join(root, name))
      .toSorted(),
  ).toEqual([living.path, own.path].toSorted());
  expect(readdirSync(living.path).toSorted()).toEqual(['alive', 'cell.cjs', 'isolated-vm.node']);
  // No other user can read a folder that is being made, or connect to its socket.
  expect(statSync(own.path).mode & 0o777).toBe(0o700);
  expect(statSync(join(own.path, 'alive')).mode & 0o777).toBe(0o600);
  own.remove();
  expect(existsSync(own.path)).toBe(false);
});

test('attack: links, and folders with other files in them, do not get other files removed', async () => {
  const [root, elsewhere] = [await temporaryFolder(), await temporaryFolder()];
  const dead = await madeElsewhere(elsewhere);
  await dead.kill();
  symlinkSync(dead.path, join(root, 'annex-cell-link'));
  // A folder without a socket may be one that is being made; a file of another name is never
  // removed.
  mkdirSync(join(root, 'annex-cell-young'));
  writeFileSync(join(root, 'annex-cell-file'), '');
  const more = await madeElsewhere(root);
  mkdirSync(join(more.path, 'cell'));
  writeFileSync(join(more.path, 'cell', 'kept'), '');
  await more.kill();
  const own = await makeCellFolder(root);
  onTestFinished(() => own.remove());
  expect(existsSync(join(dead.path, 'alive'))).toBe(true);
  for (const name of ['annex-cell-link', 'annex-cell-young', 'annex-cell-file'])
    expect(readdirSync(root)).toContain(name);
  expect(existsSync(join(more.path, 'cell', 'kept'))).toBe(true);
});

test.runIf(process.getuid?.() === 0)('attack: a folder of another user is not touched', async () => {
  const root = await temporaryFolder();
  const dead = await madeElsewhere(root);
  await dead.kill();
  chownSync(dead.path, 65_534, 65_534);
  const own = await makeCellFolder(root);
  onTestFinished(() => own.remove());
  expect(existsSync(join(dead.path, 'alive'))).toBe(true);
});

test('a host starts although the path of its folder is too long for a socket', async () => {
  const root = join(await temporaryFolder(), 'x'.repeat(120));
  mkdirSync(root);
  const own = await makeCellFolder(root);
  expect(readdirSync(own.path)).toEqual([]);
  own.remove();
  expect(readdirSync(root)).toEqual([]);
});
