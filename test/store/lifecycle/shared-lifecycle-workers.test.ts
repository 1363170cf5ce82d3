/**
 * Lifecycle workers of several nodes over one database: what each delivers, and what becomes of
 * the events of one that stops or dies. The test controls the time.
 */
import { expect, test } from 'vitest';
import type { CallResult } from '../../../src/host/calls/call.ts';
import { LIFECYCLE_POLL_MS } from '../../../src/host/delivery/lifecycle/lifecycle-worker.ts';
import { turns } from '../../support/deliveries/delivery-worker.ts';
import { ANSWERED, sharedLifecycleEvents } from '../../support/store/shared-lifecycle-events.ts';

/** An interval of the poll with its longest jitter. */
const POLL_MS = LIFECYCLE_POLL_MS * 1.1;
/** Longer than any lease with the default limits. */
const LEASE_OVER_MS = 120_000;
const CUT_SHORT: CallResult = { outcome: 'canceled' };

test('together they deliver each event once, in order, one of an installation at a time', async () => {
  const { install, edit, worker, events, time } = await sharedLifecycleEvents();
  const ids: string[] = [];
  for (let count = 0; count < 6; count += 1) ids.push(await install());
  for (const id of ids) for (let count = 1; count <= 5; count += 1) await edit(id, count);

  const delivered = new Map<string, string[]>();
  const byNode = [0, 0];
  const inFlight: string[] = [];
  const atOnce: string[] = [];
  const workers = byNode.map((_, node) =>
    worker(async ({ installationId, eventId }) => {
      if (inFlight.includes(installationId)) atOnce.push(eventId);
      inFlight.push(installationId);
      await turns(3);
      inFlight.splice(inFlight.indexOf(installationId), 1);
      byNode[node] = (byNode[node] ?? 0) + 1;
      delivered.set(installationId, [...(delivered.get(installationId) ?? []), eventId]);
      return ANSWERED;
    }),
  );
  await Promise.all(workers.map((each) => each.start()));
  const store = events();
  await expect
    .poll(async () => {
      time.pass(1_000);
      return store.waiting();
    })
    .toBe(0);
  expect(atOnce).toEqual([]);
  for (const id of ids) {
    const { items } = await store.list({ installationId: id, limit: 100 });
    expect(delivered.get(id)).toEqual(items.map(({ eventId }) => eventId).toReversed());
  }
  expect(byNode.every((count) => count > 0)).toBe(true);
});

test('a stop in the middle of a call releases the event, and another node delivers it after its next poll', async () => {
  const { install, worker, events, time } = await sharedLifecycleEvents();
  const id = await install();
  const { promise: ended, resolve: end } = Promise.withResolvers<CallResult>();
  let began = 0;
  const stopping = worker(() => {
    began += 1;
    return ended;
  });
  await stopping.start();
  await expect.poll(() => began).toBe(1);
  const delivered: string[] = [];
  const other = worker(({ eventId }) => {
    delivered.push(eventId);
    return ANSWERED;
  });
  await other.start();
  const stopped = stopping.stop();
  end(CUT_SHORT);
  await stopped;
  const first = await events().first(id);
  expect(first?.leasedUntil).toBeUndefined();
  expect(await events().read(first?.eventId ?? '')).toMatchObject({ state: 'pending', attempts: 0 });
  expect(delivered).toEqual([]);
  time.pass(POLL_MS);
  await expect.poll(() => delivered).toEqual([first?.eventId]);
});

test('an event in flight in a node that died is delivered by another when its lease is over', async () => {
  const { install, worker, events, time } = await sharedLifecycleEvents();
  const id = await install();
  const dead = events();
  const first = await dead.first(id);
  if (first) await dead.claim(first);
  const delivered: string[] = [];
  const other = worker(({ eventId }) => {
    delivered.push(eventId);
    return ANSWERED;
  });
  await other.start();
  await turns();
  time.pass(POLL_MS);
  await turns();
  expect(delivered).toEqual([]);
  time.pass(LEASE_OVER_MS);
  await expect.poll(() => delivered).toEqual([first?.eventId]);
});

test('the poll finds events of which no node has told, however many installations wait', async () => {
  const { install, worker, time } = await sharedLifecycleEvents();
  const delivered = new Set<string>();
  const other = worker(({ installationId }) => {
    delivered.add(installationId);
    return ANSWERED;
  });
  await other.start();
  const ids: string[] = [];
  for (let count = 0; count < 130; count += 1) ids.push(await install());
  await turns();
  expect(delivered.size).toBe(0);
  time.pass(POLL_MS);
  // The first page; the others follow with pauses.
  await expect.poll(() => delivered.size).toBe(100);
  await turns();
  expect(delivered.size).toBe(100);
  time.pass(200);
  await expect.poll(() => delivered.size).toBe(ids.length);
});

test('a worker that stops polls no more, and one that has the database to itself never does', async () => {
  const { install, worker, events, time } = await sharedLifecycleEvents();
  const id = await install();
  const dead = events();
  const first = await dead.first(id);
  if (first) await dead.claim(first);
  const delivered: string[] = [];
  const handle = ({ eventId }: { eventId: string }) => {
    delivered.push(eventId);
    return ANSWERED;
  };
  const polling = worker(handle);
  await polling.start();
  expect(time.nextAt).toBeDefined();
  await polling.stop();
  expect(time.nextAt).toBeUndefined();

  // Every lease is of a process that has ended: it waits for none.
  const alone = worker(handle, { isShared: false });
  await alone.start();
  await expect.poll(() => delivered).toEqual([first?.eventId]);
  expect(time.nextAt).toBeUndefined();
});

test('an outcome whose claim is lost is not written, and the worker goes on with the next event', async () => {
  const { install, edit, worker, events, time } = await sharedLifecycleEvents();
  const id = await install();
  await edit(id, 1);
  const other = events();
  const calls: string[] = [];
  const slow = worker(async ({ eventId }) => {
    calls.push(eventId);
    if (calls.length > 1) return ANSWERED;
    time.now += LEASE_OVER_MS;
    const first = await other.first(id);
    const claim = first && (await other.claim(first));
    if (claim) await other.finish(claim, { state: 'failed', outcome: 'answered 500', called: true });
    return ANSWERED;
  });
  await slow.start();
  await expect.poll(() => other.waiting()).toBe(0);
  const { items } = await other.list({ installationId: id, limit: 9 });
  expect(items).toMatchObject([
    { state: 'delivered', outcome: 'answered 200', attempts: 1 },
    { state: 'failed', outcome: 'answered 500', attempts: 1 },
  ]);
  expect(calls).toHaveLength(2);
});
