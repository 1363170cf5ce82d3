/** The process that waits for the next upload: real processes, which the test counts. */
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { SpareBundler } from '../../../src/host/bundle/spare-bundler.ts';
import type { LaunchedProcess, LaunchOptions } from '../../../src/host/confinement/launch.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import { bundlerLauncher } from '../../support/built-once.ts';
import { bundle, uploaded } from '../../support/bundle/uploaded.ts';

const FILES = uploaded({ 'index.ts': 'export default 1 as number;' });

async function prepared() {
  const real = await bundlerLauncher();
  const started: LaunchedProcess[] = [];
  /** What is to run later, and has not been cancelled. */
  const timers = new Set<() => void>();
  const spares = new SpareBundler({
    launcher: {
      launch(options: LaunchOptions) {
        const launched = real.launch(options);
        started.push(launched);
        return launched;
      },
    },
    after(_ms, run) {
      timers.add(run);
      return () => timers.delete(run);
    },
  });
  onTestFinished(() => spares.close());
  const upload = async () =>
    (await bundle(FILES, 'index.ts', { limits: DEFAULT_LIMITS, launcher: spares })).ok;
  return { spares, started, timers, upload };
}

test('a single upload leaves no process behind', async () => {
  const { started, upload } = await prepared();
  expect(await upload()).toBe(true);
  const [{ child } = {}] = started;
  if (child?.exitCode === null && child.signalCode === null) await once(child, 'close');
  expect(started).toHaveLength(1);
});

test('after the second upload one process waits, and the next upload uses it alone', async () => {
  const { started, upload } = await prepared();
  expect([await upload(), await upload()]).toEqual([true, true]);
  await expect.poll(() => started.length).toBe(3);
  expect(await upload()).toBe(true);
  // The fourth is for the upload after that.
  await expect.poll(() => started.length).toBe(4);
  expect(started.map(({ child }) => child.signalCode ?? child.exitCode)).toEqual([
    ...Array(3).fill('SIGKILL'),
    null,
  ]);
});

test('where uploads are expected, one process waits for the first of them', async () => {
  const { spares, started, upload } = await prepared();
  spares.expectUploads();
  expect(started).toHaveLength(1);
  expect(await upload()).toBe(true);
  // The second is for the next upload.
  await expect.poll(() => started.length).toBe(2);
});

test('after a pause an upload counts as the first again', async () => {
  const { started, timers, upload } = await prepared();
  await upload();
  for (const run of timers) run();
  await upload();
  const { child } = started[1] as LaunchedProcess;
  if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
  expect(started).toHaveLength(2);
});

test('a process that died while it waited is not used', async () => {
  const { started, upload } = await prepared();
  await upload();
  await upload();
  await expect.poll(() => started.length).toBe(3);
  const spare = started[2];
  spare?.kill();
  if (spare !== undefined) await once(spare.child, 'exit');
  expect(await upload()).toBe(true);
  expect(started.length).toBeGreaterThanOrEqual(4);
});

test('uploads at the same time each have their own process', async () => {
  const { started, upload } = await prepared();
  expect(await Promise.all([upload(), upload()])).toEqual([true, true]);
  await expect.poll(() => started.length).toBe(3);
});

test.each(['its time is over', 'the service stops'])('it ends when %s', async (reason) => {
  const { spares, started, timers, upload } = await prepared();
  await upload();
  await upload();
  await expect.poll(() => started.length).toBe(3);
  const ended = once(started[2]?.child as LaunchedProcess['child'], 'exit');
  if (reason === 'the service stops') spares.close();
  else for (const run of timers) run();
  await ended;
  expect(started).toHaveLength(3);
});
