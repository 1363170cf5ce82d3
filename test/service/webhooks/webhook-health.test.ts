/**
 * Health of webhooks with a real receiver, and the time of the test: what is written of failures
 * and recoveries, and what becomes of deliveries to a webhook that is disabled
 * (docs/contract/webhooks.md#health).
 */
import { expect, test, vi } from 'vitest';
import type { TargetName } from '../../../src/model/installation.ts';
import { Delivering, turns } from '../../support/deliveries/delivery-worker.ts';
import { HttpReceiver } from '../../support/receivers/http-receiver.ts';
import { OPERATOR } from '../../support/store/temporary-store.ts';

const POLL = { interval: 1, timeout: 90_000 };
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A webhook in a site, its receiver, and a record of what is told of it. */
async function begin(rules?: { afterMs?: number; onGone: boolean }) {
  const delivering = await Delivering.begin({}, rules && { webhookRules: rules });
  const installationId = await delivering.install('acme', ['s1']);
  const target: TargetName = { installationId, level: 'site', place: 's1' };
  const { store, time } = delivering;
  const told: string[] = [];
  store.changes.on('webhooks', (changes) => {
    for (const { change, place } of changes) told.push(`${change} ${place}`);
  });
  let status = 200;
  const receiver = await HttpReceiver.start(() => status);
  /** Accepts events, and lets all their attempts end. @returns the states of the deliveries */
  const deliver = async (count = 1) => {
    const ids = await delivering.accept(
      'acme',
      's1',
      Array.from({ length: count }, () => `${receiver.url}/hook`),
    );
    await vi.waitFor(async () => {
      await turns();
      const states = await Promise.all(ids.map(async (id) => (await delivering.read(id)).state));
      if (states.includes('pending')) time.pass(5_000);
      expect(states).not.toContain('pending');
    }, POLL);
    return ids;
  };
  const health = () => store.webhookHealths.read(target);
  const answer = (next: number) => {
    status = next;
  };
  return { delivering, store, time, target, told, receiver, deliver, health, answer };
}

test('a receiver that is down for 26 hours is told of once, and of its recovery once', async () => {
  const { delivering, time, told, deliver, health, answer } = await begin();
  await delivering.worker().start();
  await deliver();
  expect(await health()).toEqual({ state: 'healthy' });
  answer(503);
  const failingSince = time.now;
  for (let hour = 0; hour < 26; hour += 1) {
    await deliver(hour % 5 === 0 ? 7 : 1);
    time.pass(HOUR_MS);
  }
  expect(told).toEqual(['failing s1']);
  expect(await health()).toEqual({
    state: 'failing',
    since: failingSince,
    failing: { since: failingSince, outcome: 'answered 503' },
  });
  answer(204);
  await deliver(12);
  expect(told).toEqual(['failing s1', 'recovered s1']);
  expect(await health()).toEqual({ state: 'healthy', since: expect.any(Number) });
});

test('deliveries that fail together on two nodes are told of once, also over a restart', async () => {
  const { delivering, time, told, deliver, health, answer, receiver } = await begin();
  const first = delivering.worker({ isShared: true });
  const second = delivering.worker({ isShared: true });
  await Promise.all([first.start(), second.start()]);
  answer(500);
  await deliver(40);
  await first.stop(0);
  await second.stop(0);
  await delivering.worker().start();
  await deliver(3);
  expect(told).toEqual(['failing s1']);
  expect(receiver.requests.length).toBe(4 * 43);
  answer(200);
  time.pass(HOUR_MS);
  await deliver(9);
  expect(told).toEqual(['failing s1', 'recovered s1']);
  expect((await health()).state).toBe('healthy');
});

test('attack: a receiver that fails and accepts in turn is told of once a minute at most', async () => {
  const { delivering, time, told, deliver, answer } = await begin();
  await delivering.worker().start();
  for (let round = 0; round < 20; round += 1) {
    answer(round % 2 === 0 ? 400 : 200);
    await deliver();
  }
  expect(told).toEqual(['failing s1', 'recovered s1']);
  time.pass(60_000);
  answer(400);
  await deliver();
  expect(told).toEqual(['failing s1', 'recovered s1', 'failing s1']);
});

test('an answer 410 only counts as a failure, unless the operator lets it disable the webhook', async () => {
  const kept = await begin();
  await kept.delivering.worker().start();
  kept.answer(410);
  await kept.deliver(2);
  expect(kept.told).toEqual(['failing s1']);
  expect(kept.receiver.requests.length).toBe(2);

  const gone = await begin({ onGone: true });
  await gone.delivering.worker().start();
  gone.answer(410);
  const [first = ''] = await gone.deliver();
  expect(await gone.delivering.read(first)).toMatchObject({ state: 'failed', outcome: 'answered 410' });
  const held = await gone.deliver(3);
  expect(gone.told).toEqual(['disabled s1']);
  expect(gone.receiver.requests.length).toBe(1);
  for (const id of held)
    expect(await gone.delivering.read(id)).toMatchObject({ state: 'held', outcome: 'disabled', attempts: 0 });
  expect(await gone.health()).toMatchObject({
    state: 'disabled',
    disabled: { by: 'service', reason: 'gone' },
  });
});

test('a webhook that is failing for as long as the operator allows is disabled, and not before', async () => {
  const { delivering, time, told, deliver, health, answer, receiver } = await begin({
    afterMs: 5 * DAY_MS,
    onGone: false,
  });
  await delivering.worker().start();
  answer(503);
  await deliver();
  time.pass(5 * DAY_MS - HOUR_MS);
  await deliver();
  expect(told).toEqual(['failing s1']);
  time.pass(2 * HOUR_MS);
  await deliver();
  expect(told).toEqual(['failing s1', 'disabled s1']);
  expect(await health()).toMatchObject({
    state: 'disabled',
    failing: { outcome: 'answered 503' },
    disabled: { by: 'service', reason: 'failing' },
  });
  const before = receiver.requests.length;
  await deliver(5);
  expect(receiver.requests.length).toBe(before);
});

test('what was held is posted once each, a few at a time, and stays held while it is disabled', async () => {
  const { delivering, store, target, deliver, health, answer, receiver } = await begin({ onGone: true });
  const { installationId } = target;
  await delivering.worker().start();
  answer(410);
  await deliver();
  const held = await deliver(60);
  expect(await store.webhookHealths.details(target, undefined)).toEqual({ outcomes: [], held: 60 });
  const place = { level: 'site', place: 's1' } as const;
  const replay = () => delivering.orders.replay({ installationId, place, state: 'held' }, OPERATOR);
  const ended = async () =>
    vi.waitFor(async () => {
      await turns();
      const states = await Promise.all(held.map(async (id) => (await delivering.read(id)).state));
      expect(states).not.toContain('pending');
      return new Set(states);
    }, POLL);
  // A replay without enabling posts nothing.
  expect(await replay()).toEqual({ replayed: 60 });
  expect(await ended()).toEqual(new Set(['held']));
  answer(200);
  receiver.requests.length = 0;
  await store.webhookHealths.enable(target, OPERATOR);
  expect(await health()).toEqual({ state: 'healthy' });
  expect(await replay()).toEqual({ replayed: 60 });
  expect(await ended()).toEqual(new Set(['delivered']));
  const posted = receiver.requests.map(({ headers }) => headers['x-platform-delivery']);
  expect(posted.toSorted()).toEqual(held.toSorted());
});
