/**
 * Delivery workers of several nodes over one database: what a node does for another that died, is
 * busy, or works on the same endpoint. The test controls the time.
 */
import { expect, test } from 'vitest';
import type { Attempts } from '../../../src/host/delivery/attempts.ts';
import { Delivering, turns } from '../../support/deliveries/delivery-worker.ts';

const URLS = (count: number): string[] => Array.from({ length: count }, () => 'http://127.0.0.1:1/hook');
const DELIVERED = {
  ending: { end: 'delivered', outcome: 'answered 200' },
  recorded: { status: 200 },
} as const;

/** Attempts that succeed, with the ids of what was attempted. */
function attempted() {
  const ids: string[] = [];
  const make: Attempts['make'] = async ({ claim }) => {
    ids.push(claim.id);
    return DELIVERED;
  };
  return { ids, make };
}

/** Advances the time second by second, and lets the workers go on. */
async function seconds(delivering: Delivering, count: number): Promise<void> {
  for (let second = 0; second < count; second += 1) {
    delivering.time.pass(1_000);
    await turns();
  }
}

test('a node finds what another one accepted and left, whether that was before its start or after', async () => {
  const delivering = await Delivering.begin();
  await delivering.install('acme', ['s1']);
  const before = await delivering.accept('acme', 's1', URLS(3));
  const { ids, make } = attempted();
  await delivering.worker({ attempting: make, isShared: true }).start();
  await seconds(delivering, 10);
  await expect.poll(() => ids.toSorted()).toEqual(before.toSorted());
  // Another node is the latest from here on: it is told of new deliveries, and never starts.
  delivering.worker({ isShared: true });
  const after = await delivering.accept('acme', 's1', URLS(3));
  await seconds(delivering, 10);
  await expect.poll(() => ids.length).toBe(6);
  expect(ids.slice(3).toSorted()).toEqual(after.toSorted());
});

/** Attempts that last until they are let go. */
function lasting() {
  const ids: string[] = [];
  const letGo: (() => void)[] = [];
  const make: Attempts['make'] = ({ claim }) => {
    ids.push(claim.id);
    return new Promise((resolve) => letGo.push(() => resolve(DELIVERED)));
  };
  const letAllGo = () => {
    for (const go of letGo.splice(0)) go();
  };
  return { ids, make, letGo: letAllGo };
}

test('an endpoint that a node works on is left to it, until its deliveries are late', async () => {
  const delivering = await Delivering.begin({ deliveriesInFlightPerEndpoint: 2 });
  await delivering.install('acme', ['s1']);
  const [busy, idle] = [lasting(), attempted()];
  await delivering.worker({ attempting: busy.make, isShared: true }).start();
  const accepted = await delivering.accept('acme', 's1', URLS(6));
  await expect.poll(() => busy.ids).toEqual(accepted.slice(0, 2));
  await delivering.worker({ attempting: idle.make, isShared: true }).start();
  await seconds(delivering, 8);
  expect(idle.ids).toEqual([]);
  await seconds(delivering, 10);
  await expect.poll(() => idle.ids.toSorted()).toEqual(accepted.slice(2));
  busy.letGo();
});

test('a node that is asked for help works on endpoints of others, unless it is busy itself', async () => {
  const delivering = await Delivering.begin({
    ...{ deliveriesInFlight: 4, deliveriesInFlightPerEndpoint: 2, deliveriesInFlightPerOrganization: 4 },
  });
  await delivering.install('acme', ['s1']);
  await delivering.install('umbrella', ['s2']);
  const [first, second] = [lasting(), lasting()];
  await delivering.worker({ attempting: first.make, isShared: true }).start();
  const accepted = await delivering.accept('acme', 's1', URLS(4));
  await expect.poll(() => first.ids).toEqual(accepted.slice(0, 2));
  const helper = delivering.worker({ attempting: second.make, isShared: true });
  await helper.start();
  const own = await delivering.accept('umbrella', 's2', URLS(2));
  await expect.poll(() => second.ids).toEqual(own);
  await seconds(delivering, 2);
  // Half of its places are in use.
  helper.help();
  await seconds(delivering, 2);
  expect(second.ids).toEqual(own);
  second.letGo();
  await expect.poll(() => helper.inFlight).toBe(0);
  helper.help();
  await seconds(delivering, 1);
  await expect.poll(() => second.ids.slice(2).toSorted()).toEqual(accepted.slice(2));
  first.letGo();
  second.letGo();
});

test('a node that has the database to itself looks for nothing', async () => {
  const delivering = await Delivering.begin();
  await delivering.install('acme', ['s1']);
  const { ids, make } = attempted();
  await delivering.worker({ attempting: make }).start();
  delivering.worker();
  await delivering.accept('acme', 's1', URLS(1));
  await seconds(delivering, 60);
  expect(ids).toEqual([]);
});

test('nodes that work on the same endpoint attempt each delivery once', async () => {
  const delivering = await Delivering.begin();
  await delivering.install('acme', ['s1']);
  const accepted = await delivering.accept('acme', 's1', URLS(60));
  const both = [attempted(), attempted()];
  const workers = both.map(({ make }) => delivering.worker({ attempting: make, isShared: true }));
  await Promise.all(workers.map((worker) => worker.start()));
  await seconds(delivering, 30);
  await expect.poll(() => both.flatMap(({ ids }) => ids).toSorted()).toEqual(accepted.toSorted());
});

test('the leases of a node that died are taken back when they have ended, and not before', async () => {
  const delivering = await Delivering.begin();
  await delivering.install('acme', ['s1']);
  await delivering.accept('acme', 's1', URLS(2));
  // This node claims and then does nothing any more.
  const claimed: string[] = [];
  const stuck: Attempts['make'] = ({ claim }) => {
    claimed.push(claim.id);
    return new Promise(() => undefined);
  };
  const renewing = new Error('this node is dead');
  const dead = delivering.worker({
    attempting: stuck,
    isShared: true,
    watching: (deliveries) => ({ ...deliveries, renew: () => Promise.reject(renewing) }),
  });
  await dead.start();
  await seconds(delivering, 5);
  await expect.poll(() => claimed.length).toBe(2);
  const { ids, make } = attempted();
  await delivering.worker({ attempting: make, isShared: true }).start();
  await seconds(delivering, 20);
  expect(ids).toEqual([]);
  await seconds(delivering, 40);
  await expect.poll(() => ids.toSorted()).toEqual(claimed.toSorted());
});

test('a node with half of its places in use asks the others for help, once a second', async () => {
  const delivering = await Delivering.begin({ deliveriesInFlight: 4 });
  await delivering.install('acme', ['s1']);
  let calls = 0;
  const never: Attempts['make'] = () => new Promise(() => undefined);
  const callForHelp = () => {
    calls += 1;
  };
  const busy = delivering.worker({ attempting: never, isShared: true, callForHelp });
  await busy.start();
  await delivering.accept('acme', 's1', URLS(6));
  await seconds(delivering, 5);
  await expect.poll(() => busy.inFlight).toBeGreaterThanOrEqual(2);
  expect(calls).toBe(0);
  for (let event = 0; event < 3; event += 1) await delivering.accept('acme', 's1', URLS(1));
  expect(calls).toBe(1);
  await seconds(delivering, 1);
  await delivering.accept('acme', 's1', URLS(1));
  expect(calls).toBe(2);
});
