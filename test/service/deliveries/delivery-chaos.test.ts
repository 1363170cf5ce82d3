/**
 * The delivery worker under random faults: a store that fails before or after its commit, receivers
 * that hang, break off or fail, stops and starts, pauses, redeliveries, and a clock that is set. In
 * any order, each delivery ends within its attempts, and none is lost.
 */
import { expect, test } from 'vitest';
import { AnnexError } from '../../../src/errors.ts';
import type { DeliveryWorker } from '../../../src/host/delivery/delivery-worker.ts';
import { wholeInstallation } from '../../../src/model/installation.ts';
import { Delivering, turns, type WorkerStore } from '../../support/deliveries/delivery-worker.ts';
import { HttpReceiver } from '../../support/receivers/http-receiver.ts';
import { OPERATOR } from '../../support/store/temporary-store.ts';

const ORGANIZATIONS = ['acme', 'umbrella', 'globex'];
const SITES = ['s0', 's1', 's2', 's3'];
const LIMITS = {
  deliveriesInFlight: 9,
  deliveriesInFlightPerOrganization: 4,
  deliveriesInFlightPerEndpoint: 2,
  failuresBeforeProbing: 3,
  deliveryLeaseMs: 3_000,
  webhookMs: 2_000,
};
/** Requests of one order: four attempts, and three of unknown end. */
const REQUESTS_MAX = 7;
const STEPS = 250;
/** Ten platform faults, a minute and more between them, and all other delays of a delivery. */
const END_MS = 15 * 60 * 1_000;

type Draw = (below: number) => number;

function drawing(seed: number): Draw {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * below);
  };
}

class Chaos extends Error {}

const codeOf = (error: unknown) => (error instanceof AnnexError ? error.code : String(error));

/** A store that fails at random, before or after its commit. */
function failing(deliveries: WorkerStore, fails: () => 'before' | 'after' | undefined): WorkerStore {
  const wrapped =
    <Args extends unknown[], Result>(ask: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      const when = fails();
      if (when === 'before') throw new Chaos();
      const result = await ask(...args);
      if (when === 'after') throw new Chaos();
      return result;
    };
  return {
    claim: wrapped(deliveries.claim),
    settle: wrapped(deliveries.settle),
    release: wrapped(deliveries.release),
    renew: wrapped(deliveries.renew),
    due: wrapped(deliveries.due),
    waitsSince: wrapped(deliveries.waitsSince),
    // If these fail at the start, there is no worker.
    recover: ({ all }) =>
      !all && fails() === 'before' ? Promise.reject(new Chaos()) : deliveries.recover({ all }),
    waitingEndpoints: deliveries.waitingEndpoints,
    dueEndpoints: deliveries.dueEndpoints,
  };
}

test.each([1, 2, 3, 4, 5, 6, 7, 8])('every delivery ends, with random seed %d', async (seed) => {
  const draw = drawing(seed);
  const delivering = await Delivering.begin(LIMITS);
  const { store, time } = delivering;
  let isCalm = false;
  const requests = new Map<string, number>();
  const receiver = await HttpReceiver.start(({ headers }) => {
    const id = String(headers['x-platform-delivery']);
    requests.set(id, (requests.get(id) ?? 0) + 1);
    return isCalm ? 200 : [200, 200, 500, 400, undefined][draw(5)];
  });
  const url = `${receiver.url}/hook`;
  const fails = () => (isCalm || draw(8) > 0 ? undefined : draw(2) === 0 ? 'before' : 'after');
  const start = async () => {
    const started = delivering.worker({ watching: (deliveries) => failing(deliveries, fails) });
    await started.start();
    return started;
  };
  const installed = new Map<string, string>();
  for (const organization of ORGANIZATIONS)
    installed.set(organization, await delivering.install(organization, SITES));
  /** How often each delivery was ordered. */
  const orders = new Map<string, number>();
  let worker: DeliveryWorker = await start();

  const refused = (cause: unknown) => {
    if (!(cause instanceof AnnexError)) throw cause;
  };
  const one = <Item>(items: readonly Item[]): Item => items[draw(items.length)] as Item;
  const happenings: (() => unknown)[] = [
    async () => {
      const urls = Array.from({ length: 1 + draw(6) }, () => url);
      for (const id of await delivering.accept(one(ORGANIZATIONS), one(SITES), urls)) orders.set(id, 1);
    },
    () => time.pass(draw(1_500)),
    () => turns(draw(30)),
    () => one([...receiver.requests, undefined])?.answer(one([200, 503])),
    async () => {
      const id = one([...orders.keys()]);
      if (id === undefined) return;
      await delivering.orders
        .redeliver(id, OPERATOR)
        .then(() => orders.set(id, (orders.get(id) ?? 0) + 1), refused);
    },
    async () => {
      const id = one([...orders.keys()]);
      if (id !== undefined) await delivering.orders.cancel(id, OPERATOR).catch(refused);
    },
    async () => {
      const site = {
        installationId: installed.get(one(ORGANIZATIONS)) ?? '',
        level: 'site',
        place: one(SITES),
      } as const;
      await store.installations[one(['pause', 'resume'] as const)](site, OPERATOR).catch(refused);
    },
    async () => {
      if (draw(4) > 0) return;
      const organization = one(ORGANIZATIONS);
      await store.installations.uninstall(wholeInstallation(installed.get(organization) ?? ''), OPERATOR);
      installed.set(organization, await delivering.install(organization, SITES));
    },
    async () => {
      if (draw(3) > 0) return;
      const stopped = worker.stop(draw(2) * 1_000);
      for (let waits = 0; waits < 10; waits += 1) {
        time.pass(250);
        await turns();
      }
      await stopped;
      worker = await start();
    },
    () => {
      if (draw(5) === 0) time.now += one([-86_400_000, -5_000, 5_000, 86_400_000]);
    },
  ];
  for (let step = 0; step < STEPS; step += 1) {
    await one([...happenings, happenings[0], happenings[1], happenings[2]])?.();
    expect(worker.inFlight).toBeLessThanOrEqual(LIMITS.deliveriesInFlight);
  }
  isCalm = true;
  const until = time.monotonicNow() + END_MS;
  while (store.backlog.waiting + worker.inFlight > 0 && time.monotonicNow() < until) {
    await turns();
    time.pass(500);
  }
  expect(store.backlog.waiting).toBe(0);
  expect(worker.inFlight).toBe(0);
  for (const id of orders.keys()) {
    const { state, attempts } = await delivering.read(id);
    expect({ id, state }).not.toEqual({ id, state: 'pending' });
    expect(requests.get(id) ?? 0).toBeLessThanOrEqual(REQUESTS_MAX * (orders.get(id) ?? 0));
    if (state === 'delivered') expect(attempts).toBeGreaterThan(0);
  }
  // A target that is deleted between two reads has no secret; nothing else in the store failed by
  // itself.
  const codes = delivering.errors.filter((error) => !(error instanceof Chaos)).map(codeOf);
  expect(codes.filter((code) => code !== 'INSTALLATION_UNKNOWN')).toEqual([]);
});
