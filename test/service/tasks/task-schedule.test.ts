/**
 * Tasks with a real store, a delivery worker and a clock of the test: each is delivered at its
 * time, also after a restart, and delays no event of the product.
 */
import { expect, onTestFinished, test } from 'vitest';
import type { Attempts } from '../../../src/host/delivery/attempts.ts';
import type { TargetName } from '../../../src/model/installation.ts';
import { wholeInstallation } from '../../../src/model/installation.ts';
import { Delivering, turns } from '../../support/deliveries/delivery-worker.ts';
import { OPERATOR } from '../../support/store/temporary-store.ts';
import { storedRows } from '../../support/store/test-engine.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Attempts that are delivered at once, noted by what was delivered. */
function handled(): { readonly make: Attempts['make']; readonly bodies: string[] } {
  const bodies: string[] = [];
  const make: Attempts['make'] = async ({ claim }) => {
    bodies.push(claim.eventBody);
    return { ending: { end: 'delivered', outcome: 'answered 200' }, recorded: { status: 200 } };
  };
  return { make, bodies };
}

/** Advances the time in steps, each of which lets the worker go on. */
async function pass(delivering: Delivering, ms: number, stepMs = 600_000): Promise<void> {
  for (let left = ms; left > 0; left -= stepMs) {
    delivering.time.pass(Math.min(left, stepMs));
    await turns();
  }
}

async function begun(limits: Parameters<typeof Delivering.begin>[0] = {}) {
  const delivering = await Delivering.begin(limits);
  const whole = wholeInstallation(await delivering.install('acme', ['s1']));
  return { delivering, whole };
}

test.each([1_000, HOUR_MS, DAY_MS])('a task of %i ms is delivered then, and not before', async (ms) => {
  const { delivering, whole } = await begun();
  const { make, bodies } = handled();
  await delivering.worker({ attempting: make }).start();
  const id = String(await delivering.queueTask(whole, ms, '{"a":1}'));
  await pass(delivering, ms - 1);
  expect(bodies).toEqual([]);
  expect(await delivering.read(id)).toMatchObject({ state: 'pending', type: 'task', kind: 'handler' });
  await pass(delivering, 1);
  await expect.poll(() => delivering.settled).toEqual(['delivered']);
  expect(bodies.map((body) => JSON.parse(body))).toEqual([
    { eventId: expect.stringMatching(/^evt_/), type: 'task', task: { a: 1 } },
  ]);
});

test('tasks are delivered in the order of their times, whatever the order in which they are queued', async () => {
  const { delivering, whole } = await begun();
  const { make, bodies } = handled();
  await delivering.worker({ attempting: make }).start();
  for (const s of [30, 10, 20]) await delivering.queueTask(whole, s * 1_000, String(s));
  await delivering.queueTask(whole, 0, '0');
  await pass(delivering, 40_000, 1_000);
  await expect.poll(() => bodies.map((body) => JSON.parse(body).task)).toEqual([0, 10, 20, 30]);
});

test('a task that waits during a restart is delivered at its time, at both levels', async () => {
  const { delivering, whole } = await begun();
  const first = delivering.worker({ attempting: handled().make });
  await first.start();
  await delivering.queueTask(whole, 2 * HOUR_MS, '"installed"');
  await delivering.queueTask('integration', HOUR_MS, '"own"');
  await first.stop(0);
  const { make, bodies } = handled();
  await delivering.worker({ attempting: make }).start();
  await turns();
  expect(bodies).toEqual([]);
  await pass(delivering, HOUR_MS);
  await expect.poll(() => bodies.map((body) => JSON.parse(body).task)).toEqual(['own']);
  await pass(delivering, HOUR_MS);
  await expect.poll(() => bodies.map((body) => JSON.parse(body).task)).toEqual(['own', 'installed']);
});

test('a task whose time came while no process ran is delivered at the start', async () => {
  const { delivering, whole } = await begun();
  await delivering.queueTask(whole, HOUR_MS);
  delivering.time.pass(2 * HOUR_MS);
  await delivering.worker({ attempting: handled().make }).start();
  await expect.poll(() => delivering.settled).toEqual(['delivered']);
});

test.each([
  [59_999, 3],
  [60_000, 10],
])('of tasks that queue each other %i ms ahead, %i run in ten hours', async (ms, runs) => {
  const { delivering, whole } = await begun({ taskGenerations: 3 });
  const { make, bodies } = handled();
  const goOn: Attempts['make'] = async (delivery) => {
    if (bodies.length < 9) await delivering.queueTask(whole, ms, '1', delivery.caller.generation);
    return make(delivery);
  };
  await delivering.worker({ attempting: goOn }).start();
  await delivering.queueTask(whole, ms);
  await pass(delivering, 15 * ms, ms);
  await expect.poll(() => bodies).toHaveLength(runs);
});

test('after the clock is set forward, a task is late by ten minutes at most', async () => {
  const { delivering, whole } = await begun();
  await delivering.worker({ attempting: handled().make }).start();
  await delivering.queueTask(whole, 2 * HOUR_MS);
  await turns();
  delivering.time.now += 2 * HOUR_MS;
  await pass(delivering, 600_000);
  await expect.poll(() => delivering.settled).toEqual(['delivered']);
});

test('the content of a task is removed when it has ended', async () => {
  const { delivering, whole } = await begun();
  const kept: TargetName = whole;
  const done = String(await delivering.queueTask(kept, 0, '"done"'));
  await delivering.worker({ attempting: handled().make }).start();
  await expect.poll(() => delivering.settled).toEqual(['delivered']);
  const canceled = String(await delivering.queueTask(kept, HOUR_MS, '"canceled"'));
  await delivering.orders.cancel(canceled, OPERATOR);
  const rows = await storedRows(delivering.folder, 'events');
  expect(rows.filter(({ type }) => type === 'task')).toMatchObject([{ body: '' }, { body: '' }]);
  // Neither can be claimed again, by a redelivery or a replay: there is nothing to deliver.
  const query = { installationId: kept.installationId, state: 'delivered' } as const;
  expect(await delivering.orders.replay(query, OPERATOR)).toEqual({ replayed: 0 });
  await expect(delivering.orders.redeliver(done, OPERATOR)).rejects.toMatchObject({
    code: 'DELIVERY_PENDING',
  });
  expect(delivering.store.backlog.waiting).toBe(0);
});

test('a target that is paused before the time of a task does not get it', async () => {
  const { delivering, whole } = await begun();
  const id = String(await delivering.queueTask(whole, HOUR_MS));
  await delivering.worker().start();
  await delivering.store.installations.pause(whole, OPERATOR);
  delivering.time.pass(1);
  await delivering.store.installations.resume(whole, OPERATOR);
  await pass(delivering, HOUR_MS);
  await expect.poll(() => delivering.settled).toEqual(['canceled']);
  expect(await delivering.read(id)).toMatchObject({ state: 'canceled', outcome: 'paused' });
});

test('a removed target does not get its tasks, nor does one that is installed after it', async () => {
  const { delivering, whole } = await begun();
  const id = String(await delivering.queueTask(whole, HOUR_MS));
  await delivering.worker().start();
  await delivering.store.installations.uninstall(whole, OPERATOR);
  await delivering.install('acme', ['s1']);
  await pass(delivering, HOUR_MS);
  await expect.poll(() => delivering.settled).toEqual(['canceled']);
  expect(await delivering.read(id)).toMatchObject({ state: 'canceled', outcome: 'deleted' });
});

// Attack: a name is left with thousands of tasks, so that its next owner can queue none for a day.
test('a deleted integration takes its tasks with it, at both levels', async () => {
  const { delivering, whole } = await begun({ tasksPendingPerIntegration: 2 });
  const { store } = delivering;
  const ids = [await delivering.queueTask(whole, DAY_MS), await delivering.queueTask('integration', DAY_MS)];
  const followed: string[] = [];
  const end = store.deliveryFeed.follow({
    filter: {},
    changed: (changes) => followed.push(...changes.map(({ change, delivery }) => `${change} ${delivery.id}`)),
    lost: () => followed.push('lost'),
  });
  onTestFinished(end);
  const { organization } = (await store.registry.integration('hooks')) ?? { organization: '' };
  await store.registry.delete({ name: 'hooks', organization }, { cascade: true }, OPERATOR);
  await expect.poll(() => followed.toSorted()).toEqual(ids.map((id) => `canceled ${id}`).toSorted());
  for (const id of ids)
    expect(await delivering.read(String(id))).toMatchObject({ state: 'canceled', outcome: 'deleted' });
  expect(store.backlog.waiting).toBe(0);
});

test('tasksPendingPerTarget: the tasks of one target, and not those of another', async () => {
  const { delivering, whole } = await begun({ tasksPendingPerTarget: 2 });
  await delivering.queueTask(whole, DAY_MS);
  await delivering.queueTask(whole, DAY_MS);
  expect(await delivering.queueTask(whole, 0)).toEqual({ name: 'tasksPendingPerTarget', max: 2, used: 3 });
  expect(await delivering.queueTask({ ...whole, level: 'site', place: 's1' }, 0)).toEqual(expect.any(String));
});

test('tasksPendingPerIntegration: the tasks of all targets, also if they are queued together', async () => {
  const { delivering, whole } = await begun({ tasksPendingPerIntegration: 3 });
  const site = { ...whole, level: 'site', place: 's1' } as const;
  const queued = await Promise.all(
    [whole, site, 'integration' as const, whole, site].map((name) => delivering.queueTask(name, DAY_MS)),
  );
  const full = { name: 'tasksPendingPerIntegration', max: 3, used: 4 };
  expect(queued.filter((one) => typeof one !== 'string')).toEqual([full, full]);
  // A task that ends makes room.
  await delivering.orders.cancel(String(queued.find((one) => typeof one === 'string')), OPERATOR);
  expect(await delivering.queueTask(site, 0)).toEqual(expect.any(String));
});

// Attack: an integration whose tasks run for long, to delay the product's events.
test('a thousand tasks that do not end delay no event, of their own target neither', async () => {
  const { delivering, whole } = await begun({ deliveriesInFlight: 8, deliveriesInFlightPerOrganization: 4 });
  const site = { ...whole, level: 'site', place: 's1' } as const;
  let tasks = 0;
  const attempting: Attempts['make'] = ({ claim }) => {
    if (claim.type !== 'task')
      return Promise.resolve({ ending: { end: 'delivered', outcome: 'answered 200' } as const });
    tasks += 1;
    return new Promise(() => undefined);
  };
  await delivering.worker({ attempting }).start();
  await Promise.all(
    Array.from({ length: 1_000 }, (_, index) => delivering.queueTask(index % 2 ? site : whole, 0)),
  );
  await turns();
  expect(tasks).toBe(2);
  for (let event = 0; event < 10; event += 1) await delivering.accept('acme', 's1', ['https://a.example/']);
  await expect.poll(() => delivering.settled).toHaveLength(10);
  expect(tasks).toBe(2);
});
