/**
 * The delivery worker with a real store, real receivers and a clock of the test: fairness, and no
 * delivery is lost or repeated without need, whatever stops, dies, hangs or fails.
 */
import { describe, expect, test } from 'vitest';
import { DatabaseUnavailable } from '../../../src/host/database/unavailable.ts';
import { UNREAD } from '../../../src/host/delivery/in-flight.ts';
import { type TargetName, wholeInstallation } from '../../../src/model/installation.ts';
import { verifySignature } from '../../../src/model/signature.ts';
import { Delivering, turns } from '../../support/deliveries/delivery-worker.ts';
import { HttpReceiver } from '../../support/receivers/http-receiver.ts';
import { OPERATOR } from '../../support/store/temporary-store.ts';

const sites = (count: number) => Array.from({ length: count }, (_, index) => `s${index}`);
const urls = (url: string, count: number) => Array.from({ length: count }, (_, index) => `${url}/${index}`);

test('each attempt posts the same bytes and headers, signed anew', async () => {
  const delivering = await Delivering.begin();
  const { store, time } = delivering;
  await delivering.install('acme', ['s1']);
  time.pass(999);
  const statuses = [500, 204];
  const receiver = await HttpReceiver.start(() => statuses.shift());
  const [id = ''] = await delivering.accept('acme', 's1', [`${receiver.url}/hook?key=secret`]);
  const worker = delivering.worker({ random: () => 0 });
  await worker.start();
  await expect.poll(() => delivering.settled).toEqual(['pending']);
  await turns();
  time.pass(1_000);
  await expect.poll(() => delivering.settled).toEqual(['pending', 'delivered']);
  const { target } = await delivering.read(id);
  const secrets = await store.webhookSecrets.signing(target as TargetName);
  const stamps = receiver.requests.map(({ headers, body, path }, index) => {
    const signature = String(headers['x-platform-signature']);
    expect(verifySignature(signature, Buffer.from(body), secrets)).toBe(true);
    expect(path).toBe('/hook?key=secret');
    expect(JSON.parse(body)).toEqual({ eventId: 'evt_1', type: 'site_view', siteId: 's1' });
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      'user-agent': expect.stringMatching(/^Annex-Webhook\/\d+\.\d+\.\d+/),
      'x-platform-event': 'site_view',
      'x-platform-delivery': id,
      'x-platform-attempt': String(index + 1),
    });
    return Number(/^t=(\d+),/.exec(signature)?.[1]);
  });
  // Never a time of the future: the clock is 0.999 s past the second.
  const first = Math.floor((time.now - 1_000) / 1_000);
  expect(stamps).toEqual([first, first + 1]);
  expect(await store.deliveryList.attempts(id)).toMatchObject([
    {
      number: 1,
      result: 'failed',
      status: 500,
      destination: `${receiver.url}/hook`,
      response: '{"received":true}',
    },
    { number: 2, result: 'succeeded', status: 204, destination: `${receiver.url}/hook` },
  ]);
});

describe('fairness', () => {
  // Attack: an organization with many endpoints whose receivers never answer.
  test('an organization whose receivers all hang delays only its own deliveries', async () => {
    const delivering = await Delivering.begin({
      ...{ deliveriesInFlight: 16, deliveriesInFlightPerOrganization: 8, deliveriesInFlightPerEndpoint: 2 },
    });
    const receiver = await HttpReceiver.start(({ path }) => (path.startsWith('/slow') ? undefined : 200));
    await delivering.install('slow', sites(50));
    await delivering.install('good', ['s1']);
    for (const site of sites(50)) await delivering.accept('slow', site, [`${receiver.url}/slow`]);
    const good = await delivering.accept('good', 's1', urls(receiver.url, 30));
    const worker = delivering.worker();
    await worker.start();
    await expect.poll(() => delivering.settled).toHaveLength(good.length);
    expect(new Set(delivering.settled)).toEqual(new Set(['delivered']));
    expect(receiver.paths.filter((path) => path === '/slow')).toHaveLength(8);
    expect(worker.inFlight).toBe(8);
  });

  // Attack: two hundred hanging receivers, each of its own organization, with a backlog from before
  // a restart. All use the same integration, and took each place of it for ten seconds at a time.
  test('after a start with hanging receivers of many organizations, another organization waits for none of them', async () => {
    const delivering = await Delivering.begin({ deliveriesInFlight: 16 });
    const receiver = await HttpReceiver.start(({ path }) => (path.startsWith('/slow') ? undefined : 200));
    for (const site of sites(20)) {
      await delivering.install(`slow-${site}`, [site]);
      await delivering.accept(`slow-${site}`, site, urls(`${receiver.url}/slow`, 3));
    }
    await delivering.install('good', ['s1']);
    const worker = delivering.worker();
    await worker.start();
    await expect.poll(() => receiver.requests).toHaveLength(9);
    await turns();
    expect([receiver.requests.length, worker.inFlight]).toEqual([9, 9]);
    await delivering.accept('good', 's1', [receiver.url]);
    await expect.poll(() => delivering.settled).toEqual(['delivered']);
    expect(worker.inFlight).toBe(9);
  });

  test('slow receivers leave places for those that answer in time, until they do, too', async () => {
    const delivering = await Delivering.begin({ deliveriesInFlight: 16 });
    const receiver = await HttpReceiver.start(({ path }) => (path.startsWith('/slow') ? undefined : 200));
    for (const site of sites(20)) await delivering.install(`slow-${site}`, [site]);
    const worker = delivering.worker();
    await worker.start();
    const all = async () => {
      for (const site of sites(20)) await delivering.accept(`slow-${site}`, site, [`${receiver.url}/slow`]);
    };
    await all();
    await expect.poll(() => receiver.requests).toHaveLength(12);
    // They answer late.
    for (const [from, to] of [
      [0, 12],
      [12, 20],
    ] as const) {
      await expect.poll(() => receiver.requests).toHaveLength(to);
      delivering.time.pass(1_500);
      for (const request of receiver.requests.slice(from, to)) request.answer(200);
    }
    await expect.poll(() => delivering.settled).toHaveLength(20);
    await all();
    await expect.poll(() => receiver.requests).toHaveLength(29);
    await turns();
    expect([receiver.requests.length, worker.inFlight]).toEqual([29, 9]);
    // Each that answers in time leaves the quota of slow endpoints.
    for (let index = 20; index < 40; index += 1) {
      await expect.poll(() => receiver.requests.length).toBeGreaterThan(index);
      receiver.requests[index]?.answer(200);
    }
    await expect.poll(() => delivering.settled).toHaveLength(40);
    await all();
    await expect.poll(() => receiver.requests).toHaveLength(52);
    expect(worker.inFlight).toBe(12);
  });

  test('a hanging endpoint has a quota in flight; others of its organization are served', async () => {
    const delivering = await Delivering.begin({ deliveriesInFlightPerEndpoint: 3 });
    const receiver = await HttpReceiver.start(({ path }) => (path.startsWith('/slow') ? undefined : 200));
    await delivering.install('acme', ['s1', 's2']);
    await delivering.accept('acme', 's1', urls(`${receiver.url}/slow`, 20));
    const good = await delivering.accept('acme', 's2', urls(receiver.url, 20));
    const worker = delivering.worker();
    await worker.start();
    await expect.poll(() => delivering.settled).toHaveLength(good.length);
    // The last of the good ones may not have left yet when its outcome is stored.
    await expect.poll(() => worker.inFlight).toBe(3);
    await turns();
    expect(worker.inFlight).toBe(3);
  });

  test('an endpoint that fails repeatedly is probed, one delivery at a time, until one succeeds', async () => {
    const delivering = await Delivering.begin({ failuresBeforeProbing: 4, deliveriesInFlightPerEndpoint: 4 });
    let status: number | undefined = 400;
    const receiver = await HttpReceiver.start(() => status);
    await delivering.install('acme', ['s1']);
    const worker = delivering.worker();
    await worker.start();
    await delivering.accept('acme', 's1', urls(receiver.url, 4));
    await expect.poll(() => delivering.settled).toHaveLength(4);
    status = undefined;
    await delivering.accept('acme', 's1', urls(receiver.url, 10));
    await expect.poll(() => receiver.requests).toHaveLength(5);
    await turns();
    expect([receiver.requests.length, worker.inFlight]).toEqual([5, 1]);
    receiver.requests[4]?.answer(200);
    await expect.poll(() => receiver.requests).toHaveLength(9);
    expect(worker.inFlight).toBe(4);
  });

  test('more deliveries than hints in memory are delivered, each once', async () => {
    const delivering = await Delivering.begin();
    const receiver = await HttpReceiver.start();
    await delivering.install('acme', ['s1', 's2']);
    const worker = delivering.worker();
    await worker.start();
    await delivering.accept('acme', 's1', urls(`${receiver.url}/a`, 600));
    await delivering.accept('acme', 's2', urls(`${receiver.url}/b`, 300));
    await expect.poll(() => delivering.settled).toHaveLength(900);
    expect(new Set(receiver.paths).size).toBe(900);
    expect(receiver.paths).toHaveLength(900);
    expect(delivering.store.backlog.waiting).toBe(0);
  });
});

describe('a stop', () => {
  test('starts nothing, and waits for deliveries in flight', async () => {
    const delivering = await Delivering.begin({ deliveriesInFlightPerEndpoint: 1 });
    const receiver = await HttpReceiver.start(() => undefined);
    await delivering.install('acme', ['s1']);
    const [first = '', second = ''] = await delivering.accept('acme', 's1', urls(receiver.url, 2));
    const worker = delivering.worker();
    await worker.start();
    await expect.poll(() => receiver.requests).toHaveLength(1);
    const stopped = worker.stop(5_000);
    await turns();
    receiver.requests[0]?.answer(200);
    await stopped;
    await turns();
    expect(delivering.settled).toEqual(['delivered']);
    expect(await delivering.read(first)).toMatchObject({ state: 'delivered', attempts: 1 });
    expect(await delivering.read(second)).toMatchObject({ state: 'pending', attempts: 0, unknowns: 0 });
    expect(delivering.time.nextAt).toBeUndefined();
  });

  test('gives them limited time; a post that a receiver may have got has an unknown outcome, and is repeated', async () => {
    const delivering = await Delivering.begin();
    const receiver = await HttpReceiver.start(() => undefined);
    await delivering.install('acme', ['s1']);
    const [id = ''] = await delivering.accept('acme', 's1', urls(receiver.url, 1));
    const worker = delivering.worker();
    await worker.start();
    await expect.poll(() => receiver.requests).toHaveLength(1);
    const stopped = worker.stop(5_000);
    delivering.time.pass(4_999);
    await turns();
    expect(await delivering.read(id)).toMatchObject({ unknowns: 0 });
    delivering.time.pass(1);
    await stopped;
    expect(await delivering.read(id)).toMatchObject({
      state: 'pending',
      attempts: 0,
      unknowns: 1,
      retries: 0,
    });
    // A later answer is ignored.
    receiver.requests[0]?.answer(500);
    await turns();
    const next = delivering.worker();
    await next.start();
    await expect.poll(() => receiver.requests).toHaveLength(2);
    expect(receiver.requests[1]?.headers['x-platform-attempt']).toBe('1');
    receiver.requests[1]?.answer(200);
    await expect.poll(() => delivering.settled).toEqual(['pending', 'delivered']);
    expect(await delivering.read(id)).toMatchObject({ state: 'delivered', attempts: 1, unknowns: 1 });
  });
});

describe('a lease', () => {
  test('is renewed while its attempt runs', async () => {
    const delivering = await Delivering.begin({ deliveryLeaseMs: 3_000 });
    const receiver = await HttpReceiver.start(() => undefined);
    await delivering.install('acme', ['s1']);
    const [id = ''] = await delivering.accept('acme', 's1', urls(receiver.url, 1));
    const worker = delivering.worker();
    await worker.start();
    await expect.poll(() => receiver.requests).toHaveLength(1);
    for (let second = 0; second < 9; second += 1) {
      delivering.time.pass(1_000);
      await turns();
    }
    receiver.requests[0]?.answer(200);
    await expect.poll(() => delivering.settled).toEqual(['delivered']);
    expect(receiver.requests).toHaveLength(1);
    expect(await delivering.read(id)).toMatchObject({ state: 'delivered', unknowns: 0 });
  });

  test('deliveryLeaseMs: of a dead worker is taken back when it expires, and not before', async () => {
    const delivering = await Delivering.begin({ deliveryLeaseMs: 3_000 });
    const receiver = await HttpReceiver.start();
    await delivering.install('acme', ['s1']);
    const [id = ''] = await delivering.accept('acme', 's1', urls(receiver.url, 1));
    await delivering.store.deliveryClaims.claim([id]);
    // Without a start, which takes back all leases.
    const other = delivering.worker({
      watching: (deliveries) => ({
        ...deliveries,
        recover: ({ all }) => (all ? Promise.resolve([]) : deliveries.recover({ all })),
      }),
    });
    await other.start();
    delivering.time.pass(2_999);
    await turns();
    expect(receiver.requests).toHaveLength(0);
    delivering.time.pass(1);
    await expect.poll(() => delivering.settled).toEqual(['delivered']);
    expect(await delivering.read(id)).toMatchObject({ unknowns: 1, attempts: 1 });
  });

  // By the wall clock alone it would expire in a day, and renewed ones would seem to last as long.
  test('of a dead worker is taken back although the clock was set back, and none that is renewed', async () => {
    const delivering = await Delivering.begin({ deliveryLeaseMs: 3_000 });
    const { store, time } = delivering;
    const receiver = await HttpReceiver.start(({ path }) => (path === '/gone/0' ? 200 : undefined));
    await delivering.install('acme', ['s1']);
    const [kept = ''] = await delivering.accept('acme', 's1', urls(`${receiver.url}/kept`, 1));
    const worker = delivering.worker();
    await worker.start();
    await expect.poll(() => receiver.paths).toEqual(['/kept/0']);
    const ids = await delivering.accept('acme', 's1', urls(`${receiver.url}/gone`, 1));
    await store.deliveryClaims.claim(ids);
    time.now -= 24 * 60 * 60 * 1_000;
    for (let second = 0; second < 3; second += 1) {
      time.pass(1_000);
      await turns();
    }
    await expect.poll(() => delivering.settled).toEqual(['delivered']);
    receiver.requests[0]?.answer(200);
    await expect.poll(() => delivering.settled).toEqual(['delivered', 'delivered']);
    expect(receiver.paths).toEqual(['/kept/0', '/gone/0']);
    expect(await delivering.read(kept)).toMatchObject({ attempts: 1, unknowns: 0 });
  });

  test('of a dead process is taken back at the next start, before the first claim', async () => {
    const delivering = await Delivering.begin();
    const receiver = await HttpReceiver.start();
    await delivering.install('acme', ['s1']);
    const [id = ''] = await delivering.accept('acme', 's1', urls(receiver.url, 1));
    await delivering.store.deliveryClaims.claim([id]);
    const worker = delivering.worker();
    await worker.start();
    await expect.poll(() => delivering.settled).toEqual(['delivered']);
    expect(await delivering.read(id)).toMatchObject({ attempts: 1, unknowns: 1, retries: 0 });
  });

  test('of unknown end for the fourth time is a failed attempt, and is not repeated at once', async () => {
    const delivering = await Delivering.begin();
    const { time, store } = delivering;
    const receiver = await HttpReceiver.start();
    await delivering.install('acme', ['s1']);
    const [id = ''] = await delivering.accept('acme', 's1', urls(receiver.url, 1));
    for (let death = 0; death < 4; death += 1) {
      await store.deliveryClaims.claim([id]);
      await store.deliveryClaims.recover({ all: true });
    }
    const worker = delivering.worker({ random: () => 0 });
    await worker.start();
    await expect.poll(() => delivering.settled).toEqual(['pending']);
    expect(await delivering.read(id)).toMatchObject({
      retries: 1,
      unknowns: 3,
      attempts: 0,
      dueAt: time.now + 1_000,
    });
    expect(receiver.requests).toEqual([]);
    await turns();
    time.pass(1_000);
    await expect.poll(() => delivering.settled).toEqual(['pending', 'delivered']);
    expect(receiver.requests[0]?.headers['x-platform-attempt']).toBe('2');
  });
});

describe('a delivery whose target', () => {
  test.each([
    [
      'is paused',
      'paused',
      async ({ store }: Delivering, id: string) =>
        void (await store.installations.pause(wholeInstallation(id), OPERATOR)),
    ],
    [
      'was paused and resumed',
      'paused',
      async ({ store }: Delivering, id: string) => {
        await store.installations.pause(wholeInstallation(id), OPERATOR);
        await store.installations.resume(wholeInstallation(id), OPERATOR);
      },
    ],
    [
      'is deleted',
      'deleted',
      async ({ store }: Delivering, id: string) =>
        void (await store.installations.uninstall(wholeInstallation(id), OPERATOR)),
    ],
  ])('%s since it was accepted is canceled: %s', async (_, outcome, change) => {
    const delivering = await Delivering.begin();
    const receiver = await HttpReceiver.start();
    const installationId = await delivering.install('acme', ['s1']);
    const [id = ''] = await delivering.accept('acme', 's1', urls(receiver.url, 1));
    await change(delivering, installationId);
    const worker = delivering.worker();
    await worker.start();
    await expect.poll(() => delivering.settled).toEqual(['canceled']);
    expect(await delivering.read(id)).toMatchObject({ state: 'canceled', outcome, attempts: 0 });
    expect(receiver.requests).toEqual([]);
  });
});

describe('a store that fails', () => {
  test('when a delivery is settled is written again, and nothing is posted again', async () => {
    const delivering = await Delivering.begin();
    const receiver = await HttpReceiver.start();
    await delivering.install('acme', ['s1']);
    const [id = ''] = await delivering.accept('acme', 's1', urls(receiver.url, 1));
    let failures = 2;
    const worker = delivering.worker({
      watching: (deliveries) => ({
        ...deliveries,
        settle: (settlement) =>
          failures-- > 0 ? Promise.reject(new Error('disk')) : deliveries.settle(settlement),
      }),
    });
    await worker.start();
    for (let count = 1; count <= 2; count += 1) {
      await expect.poll(() => delivering.errors).toHaveLength(count);
      delivering.time.pass(5_000);
    }
    await expect.poll(() => delivering.settled).toEqual(['delivered']);
    expect(receiver.requests).toHaveLength(1);
    expect(await delivering.read(id)).toMatchObject({ attempts: 1, unknowns: 0 });
  });

  test('because the database is away is written when that is back, beyond the lease, and nothing is posted again', async () => {
    const delivering = await Delivering.begin({ deliveryLeaseMs: 6_000 });
    const receiver = await HttpReceiver.start();
    await delivering.install('acme', ['s1']);
    const [id = ''] = await delivering.accept('acme', 's1', urls(receiver.url, 1));
    let isAway = false;
    const unless =
      <Args extends unknown[], Result>(method: (...args: Args) => Promise<Result>) =>
      (...args: Args): Promise<Result> =>
        isAway ? Promise.reject(new DatabaseUnavailable(new Error('away'))) : method(...args);
    const worker = delivering.worker({
      watching: ({ settle, renew, recover, ...deliveries }) => ({
        ...deliveries,
        settle: (settlement) => {
          isAway ||= receiver.requests.length === 1 && delivering.errors.length === 0;
          return unless(settle)(settlement);
        },
        renew: unless(renew),
        recover: unless(recover),
      }),
    });
    await worker.start();
    for (let count = 1; count <= 5; count += 1) {
      await expect.poll(() => delivering.errors.length).toBeGreaterThanOrEqual(count);
      delivering.time.pass(5_000);
    }
    isAway = false;
    worker.retryNow();
    await expect.poll(() => delivering.settled).toEqual(['delivered']);
    expect(receiver.requests).toHaveLength(1);
    expect(await delivering.read(id)).toMatchObject({ attempts: 1, unknowns: 0 });
  });

  test('when a target is read costs a delivery none of its repetitions', async () => {
    const delivering = await Delivering.begin();
    await delivering.install('acme', ['s1']);
    const [id = ''] = await delivering.accept('acme', 's1', urls('http://localhost', 1));
    let unread = 12;
    const worker = delivering.worker({
      attempting: async () =>
        unread-- > 0 ? UNREAD : { ending: { end: 'delivered', outcome: 'answered 200' } },
    });
    await worker.start();
    while (unread > 0) {
      await turns();
      delivering.time.pass(1_000);
    }
    await expect.poll(() => delivering.settled).toEqual(['delivered']);
    expect(await delivering.read(id)).toMatchObject({ faults: 0, unknowns: 0, retries: 0 });
  });

  // A commit of unknown end: the repeated write changes nothing, and the first one had the due
  // time.
  test('after it has settled a delivery is queried for the next due time', async () => {
    const delivering = await Delivering.begin();
    const statuses = [500, 200];
    const receiver = await HttpReceiver.start(() => statuses.shift());
    await delivering.install('acme', ['s1']);
    const [id = ''] = await delivering.accept('acme', 's1', urls(receiver.url, 1));
    let isBroken = true;
    const worker = delivering.worker({
      random: () => 0,
      watching: (deliveries) => ({
        ...deliveries,
        async settle(settlement) {
          const isSettled = await deliveries.settle(settlement);
          if (!isBroken) return isSettled;
          isBroken = false;
          throw new Error('disk');
        },
      }),
    });
    await worker.start();
    await expect.poll(() => delivering.errors).toHaveLength(1);
    for (let second = 0; second < 6; second += 1) {
      delivering.time.pass(1_000);
      await turns();
    }
    await expect.poll(() => delivering.settled).toEqual(['delivered']);
    expect(receiver.requests).toHaveLength(2);
    expect(await delivering.read(id)).toMatchObject({ attempts: 2, retries: 1, unknowns: 0 });
  });

  test('when deliveries are claimed or refilled is not queried for a while', async () => {
    const delivering = await Delivering.begin();
    const receiver = await HttpReceiver.start();
    await delivering.install('acme', ['s1']);
    await delivering.accept('acme', 's1', urls(receiver.url, 3));
    const broken = new Set(['claim', 'due']);
    const worker = delivering.worker({
      watching: (deliveries) => ({
        ...deliveries,
        claim: (...args) =>
          broken.delete('claim') ? Promise.reject(new Error('disk')) : deliveries.claim(...args),
        due: (...args) =>
          broken.delete('due') ? Promise.reject(new Error('disk')) : deliveries.due(...args),
      }),
    });
    await worker.start();
    for (let count = 1; count <= 2; count += 1) {
      await expect.poll(() => delivering.errors).toHaveLength(count);
      await turns();
      expect(receiver.requests).toEqual([]);
      delivering.time.pass(5_000);
    }
    await expect.poll(() => delivering.settled).toHaveLength(3);
    expect(receiver.requests).toHaveLength(3);
    expect(delivering.errors).toHaveLength(2);
  });
});

test('a redelivery is delivered at once', async () => {
  const delivering = await Delivering.begin();
  const statuses = [400, 200];
  const receiver = await HttpReceiver.start(() => statuses.shift());
  await delivering.install('acme', ['s1']);
  const [id = ''] = await delivering.accept('acme', 's1', urls(receiver.url, 1));
  const worker = delivering.worker();
  await worker.start();
  await expect.poll(() => delivering.settled).toEqual(['failed']);
  await delivering.orders.redeliver(id, OPERATOR);
  await expect.poll(() => delivering.settled).toEqual(['failed', 'delivered']);
  expect(receiver.requests.map(({ body }) => body)).toEqual([
    receiver.requests[0]?.body,
    receiver.requests[0]?.body,
  ]);
});

// Attack: calls of a backlog fill the cells, and a single delivery of another organization waits
// for all of them.
test('calls of a backlog, and of deliveries due before the start, are background calls', async () => {
  const delivering = await Delivering.begin();
  await delivering.install('acme', ['s1', 's2', 's3']);
  await delivering.accept('acme', 's1', urls('https://example.com', 2));
  delivering.time.pass(1);
  const background: boolean[] = [];
  const worker = delivering.worker({
    attempting: async ({ caller }) => {
      background.push(caller.background);
      return { ending: { end: 'delivered', outcome: 'ok' } };
    },
  });
  const attempted = async (count: number) => {
    await expect.poll(() => delivering.settled).toHaveLength(count);
    return background.splice(0);
  };
  await worker.start();
  expect(await attempted(2)).toEqual([true, true]);
  await delivering.accept('acme', 's2', urls('https://example.com', 5));
  expect(await attempted(2 + 5)).toEqual(Array(5).fill(false));
  await delivering.accept('acme', 's3', urls('https://example.com', 20));
  expect((await attempted(7 + 20)).filter(Boolean)).toHaveLength(20 - 5);
});
