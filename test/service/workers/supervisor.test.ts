/**
 * The supervisor with a small program: real processes, signals and sockets. `workers.test.ts` has
 * the same with the whole service.
 */
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../support/store/temporary-store.ts';
import { type Answered, Supervised } from '../../support/workers/supervised.ts';
import type { ProgramOptions } from '../../support/workers/supervised-program.ts';

const QUICK = { firstMs: 20, maxMs: 100, healthyMs: 60_000 };

/** Resolves when all workers serve. */
async function started(options: ProgramOptions): Promise<Supervised> {
  const supervised = new Supervised({ pace: QUICK, ...options });
  await expect.poll(() => supervised.logged('a worker serves').length).toBe(options.workers);
  await expect.poll(() => supervised.url).toBeDefined();
  return supervised;
}

/** As many requests as there are workers, on connections of their own. */
async function workersOf(supervised: Supervised, requests: number): Promise<Answered[]> {
  const answers: Answered[] = [];
  for (let request = 0; request < requests; request++) answers.push(await supervised.get());
  return answers.sort((one, other) => one.index - other.index);
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test('the workers take turns for the connections to one port, which may be any free one', async () => {
  const supervised = await started({ workers: 3 });
  const answers = await workersOf(supervised, 6);
  expect(answers.map(({ index }) => index)).toEqual([0, 0, 1, 1, 2, 2]);
  expect(new Set(answers.map(({ pid }) => pid)).size).toBe(3);
  // One line says where they listen, not one for each worker.
  expect(supervised.logged('ready')).toHaveLength(1);
});

test('the first worker starts alone; the others start once it serves', async () => {
  const supervised = await started({ workers: 3 });
  expect(supervised.logged('a worker serves')[0]).toMatchObject({ worker: 0 });
});

test('a worker that is killed is started again with its index, while the others serve', async () => {
  const supervised = await started({ workers: 2 });
  const [first, second] = await workersOf(supervised, 2);
  process.kill(first?.pid ?? 0, 'SIGKILL');
  await expect
    .poll(() => supervised.logged('a worker has ended and is started again'))
    .toMatchObject([{ level: 40, worker: 0, signal: 'SIGKILL', served: true, restartMs: 20 }]);
  expect((await supervised.get()).pid).toBe(second?.pid);
  await expect.poll(() => supervised.logged('a worker serves').length).toBe(3);
  const [again, same] = await workersOf(supervised, 2);
  expect(again).toMatchObject({ index: 0 });
  expect(again?.pid).not.toBe(first?.pid);
  expect(same).toEqual(second);
});

test('the workers serve on the same port again after all of them were killed', async () => {
  const free = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => free.once('listening', resolve));
  const { port } = free.address() as AddressInfo;
  await new Promise((resolve) => free.close(resolve));
  const supervised = await started({ workers: 2, ports: [port, 0] });
  for (const { pid } of await workersOf(supervised, 2)) process.kill(pid, 'SIGKILL');
  await expect.poll(() => supervised.logged('a worker serves').length).toBe(4);
  expect((await workersOf(supervised, 2)).map(({ index }) => index)).toEqual([0, 1]);
});

test('a worker that keeps failing is started ever more slowly, up to a bound, and the others serve', async () => {
  const refuseWhile = join(await temporaryFolder(), 'refuse');
  const supervised = await started({ workers: 2, refuseWhile });
  const [, second] = await workersOf(supervised, 2);
  await writeFile(refuseWhile, '');
  process.kill(second?.pid ?? 0, 'SIGKILL');
  const ends = () => supervised.logged('a worker has ended and is started again');
  await expect.poll(() => ends().length).toBeGreaterThanOrEqual(5);
  expect(
    ends()
      .map(({ restartMs }) => restartMs)
      .slice(0, 5),
  ).toEqual([20, 40, 80, 100, 100]);
  expect(ends()[1]).toMatchObject({ worker: 1, exitCode: 7, served: false });
  expect((await supervised.get()).index).toBe(0);
});

test('after a time of health the pauses begin anew', async () => {
  const supervised = await started({ workers: 2, pace: { ...QUICK, healthyMs: 1 } });
  for (const times of [1, 2, 3]) {
    const [first] = await workersOf(supervised, 2);
    process.kill(first?.pid ?? 0, 'SIGKILL');
    await expect.poll(() => supervised.logged('a worker serves').length).toBe(2 + times);
  }
  const ends = supervised.logged('a worker has ended and is started again');
  expect(ends.map(({ restartMs }) => restartMs)).toEqual([20, 20, 20]);
});

test('if the first worker cannot start, its error is shown once and the exit code is 1', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void taken.close());
  await new Promise((resolve) => taken.once('listening', resolve));
  const { port } = taken.address() as AddressInfo;
  const supervised = new Supervised({ workers: 4, ports: [port, 0] });
  expect(await supervised.ended).toBe(1);
  const lines = (await supervised.complaints).trim().split('\n');
  expect(lines).toEqual([
    expect.stringContaining('EADDRINUSE'),
    'The first worker ended before it served: exit code 1.',
  ]);
});

test('a later worker that fails at its first start is started again, and ends nothing', async () => {
  const refuseOnce = join(await temporaryFolder(), 'refuse');
  await writeFile(refuseOnce, '');
  const supervised = await started({ workers: 2, refuseOnce });
  expect(supervised.logged('a worker has ended and is started again')).toMatchObject([
    { worker: 1, exitCode: 7, served: false },
  ]);
});

test('SIGTERM stops the workers after what they have in flight, and the exit code is 0', async () => {
  const supervised = await started({ workers: 2 });
  const pids = (await workersOf(supervised, 2)).map(({ pid }) => pid);
  const slow = [supervised.get('/slow'), supervised.get('/slow')];
  await expect.poll(() => supervised.metric('requests_total')).toBe(4);
  supervised.kill('SIGTERM');
  expect((await Promise.all(slow)).map(({ pid }) => pid).sort()).toEqual(pids.sort());
  expect(await supervised.ended).toBe(0);
  expect(pids.filter(isAlive)).toEqual([]);
  expect(supervised.logged('a worker has ended and is started again')).toEqual([]);
});

test('a worker that does not stop in time is killed, and the exit code is still 0', async () => {
  const supervised = await started({ workers: 2, killAfterMs: 100, hang: true });
  supervised.kill('SIGTERM');
  expect(await supervised.ended).toBe(0);
  expect(supervised.logged('workers did not stop in time and are killed')).toMatchObject([
    { workers: [0, 1] },
  ]);
});

test('a worker that is stopped alone finishes what it has in flight, and another takes its place', async () => {
  const supervised = await started({ workers: 2 });
  const slow = supervised.get('/slow');
  await expect.poll(() => supervised.metric('requests_total')).toBe(1);
  const [first] = await workersOf(supervised, 2);
  process.kill(first?.pid ?? 0, 'SIGTERM');
  await expect(slow).resolves.toBeDefined();
  await expect.poll(() => supervised.logged('a worker serves').length).toBe(3);
  expect(supervised.logged('a worker has ended and is started again')).toMatchObject([{ exitCode: 0 }]);
});

test('workers end with their supervisor, however it ends', async () => {
  const supervised = await started({ workers: 2 });
  const pids = (await workersOf(supervised, 2)).map(({ pid }) => pid);
  supervised.kill('SIGKILL');
  await expect.poll(() => pids.filter(isAlive)).toEqual([]);
});

test('a scrape of any worker has the sum over all, and counters that never fall', async () => {
  const supervised = await started({ workers: 3 });
  const [first] = await workersOf(supervised, 6);
  expect(await supervised.metric('requests_total')).toBe(6);
  expect(await supervised.metric('alive')).toBe(3);
  expect(await supervised.metric('annex_life_events_waiting')).toBe(5);
  expect(await supervised.metric('annex_workers')).toBe(3);
  expect(await supervised.metric('annex_worker_restarts_total')).toBe(0);
  process.kill(first?.pid ?? 0, 'SIGKILL');
  await expect.poll(() => supervised.logged('a worker has ended and is started again').length).toBe(1);
  expect(await supervised.metric('requests_total')).toBe(6);
  expect(await supervised.metric('annex_worker_restarts_total')).toBe(1);
  await expect.poll(() => supervised.metric('annex_workers')).toBe(3);
  expect(await supervised.metric('alive')).toBe(3);
  await workersOf(supervised, 3);
  expect(await supervised.metric('requests_total')).toBe(9);
});

test('a worker that answers no scrape counts as at its last one', async () => {
  const supervised = await started({ workers: 2 });
  const [first] = await workersOf(supervised, 4);
  expect(await supervised.metric('requests_total')).toBe(4);
  const { pid = 0 } = first ?? {};
  process.kill(pid, 'SIGSTOP');
  try {
    // Connections that the paused worker was given wait, so several ask.
    expect(await Promise.any([1, 2, 3].map(() => supervised.metric('requests_total')))).toBe(4);
  } finally {
    process.kill(pid, 'SIGKILL');
  }
});

test('a client whose connection was on its way to a worker that dies is not left waiting', async () => {
  const supervised = await started({ workers: 2 });
  const [first] = await workersOf(supervised, 2);
  const { pid = 0 } = first ?? {};
  process.kill(pid, 'SIGSTOP');
  const requests = [1, 2, 3].map(() => supervised.get());
  // The paused worker is given one of them; the other worker serves the rest.
  const served = await Promise.race([Promise.all(requests.slice(1)), Promise.all(requests.slice(0, 2))]);
  expect(served.map(({ pid }) => pid)).not.toContain(pid);
  process.kill(pid, 'SIGKILL');
  const outcomes = await Promise.allSettled(requests);
  expect(outcomes.filter(({ status }) => status === 'rejected').length).toBeLessThanOrEqual(1);
});
