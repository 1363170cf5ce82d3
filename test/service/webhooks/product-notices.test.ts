/**
 * Notices to the host product, with the time of the test: each change is told once, also when the
 * receiver of notices is down for long (docs/contract/notices.md).
 */
import { expect, test, vi } from 'vitest';
import type { DeliveryWorker } from '../../../src/host/delivery/delivery-worker.ts';
import { verifySignature } from '../../../src/model/signature.ts';
import { Delivering, turns, type VirtualTime } from '../../support/deliveries/delivery-worker.ts';
import { HttpReceiver } from '../../support/receivers/http-receiver.ts';
import { OPERATOR } from '../../support/store/temporary-store.ts';

const POLL = { interval: 1, timeout: 90_000 };
const HOUR_MS = 3_600_000;
const SECRET = 'a-secret-of-the-product-0123456789';

async function begin(more: Parameters<typeof Delivering.begin>[1] = { hasNoticeReceiver: true }) {
  const delivering = await Delivering.begin({}, more);
  let [ofHook, ofProduct] = [200, 200];
  const hook = await HttpReceiver.start(() => ofHook);
  const product = await HttpReceiver.start(() => ofProduct);
  const notices = { url: `${product.url}/notices?key=1`, secrets: [SECRET] };
  const installationId = await delivering.install('acme', ['s1']);
  const { time, store } = delivering;
  const answer = (hooks: number, products = 200) => {
    [ofHook, ofProduct] = [hooks, products];
  };
  /** Accepts events, and lets all that is pending end. */
  const deliver = async (count: number) => {
    await delivering.accept(
      'acme',
      's1',
      Array.from({ length: count }, () => `${hook.url}/hook`),
    );
    await ended();
  };
  const ended = () =>
    vi.waitFor(async () => {
      await turns();
      if (store.backlog.waiting > 0) time.pass(5_000);
      expect(store.backlog.waiting).toBe(0);
    }, POLL);
  const posted = () => product.requests.map(({ headers }) => String(headers['x-platform-event']));
  const listed = async () =>
    (await store.productNotices.list({ limit: 100 })).items
      .map(({ body, delivery }) => ({ ...(JSON.parse(body) as Record<string, unknown>), delivery }))
      .reverse();
  return {
    delivering,
    time,
    store,
    installationId,
    product,
    notices,
    answer,
    deliver,
    ended,
    posted,
    listed,
  };
}

/** Of a version, and of a site before its webhook is set. */
const SETUP = ['integration.published', 'installation.pending'];

test('a webhook that is down for 26 hours is told of once, and its recovery once, on two nodes', async () => {
  const { delivering, time, installationId, product, notices, answer, deliver, posted, listed } =
    await begin();
  const nodes = [1, 2].map(() => delivering.worker({ isShared: true, notices }));
  await Promise.all(nodes.map((node) => node.start()));
  answer(503);
  for (let hour = 0; hour < 26; hour += 1) {
    await deliver(hour % 6 === 0 ? 9 : 1);
    time.pass(HOUR_MS);
  }
  answer(200);
  await deliver(9);
  const told = posted().filter((type) => type.startsWith('webhook.'));
  expect(told).toEqual(['webhook.failing', 'webhook.recovered']);
  const [failing] = product.requests.filter(
    ({ headers }) => headers['x-platform-event'] === 'webhook.failing',
  );
  expect(failing?.path).toBe('/notices?key=1');
  const signature = String(failing?.headers['x-platform-signature']);
  expect(verifySignature(signature, Buffer.from(failing?.body ?? ''), [SECRET])).toBe(true);
  expect(JSON.parse(failing?.body ?? '')).toEqual({
    id: expect.stringMatching(/^ntc_[a-z2-7]{24}$/),
    ...{ type: 'webhook.failing', createdAt: expect.stringMatching(/^\d{4}-.*Z$/) },
    ...{ organization: 'acme', integration: 'hooks', installation: installationId, site: 's1' },
    details: { outcome: 'answered 503', failingSince: expect.stringMatching(/Z$/) },
  });
  // The list has the same, and what became of each post.
  const items = await listed();
  expect(items.map((item) => ('type' in item ? item['type'] : ''))).toEqual([
    ...SETUP,
    ...['webhook.failing', 'webhook.recovered'],
  ]);
  expect(items[2]).toMatchObject({ ...JSON.parse(failing?.body ?? ''), delivery: { state: 'delivered' } });
});

test('a receiver of notices that is down for two days gets each one once, also over a restart', async () => {
  const { delivering, time, notices, answer, deliver, product, listed } = await begin();
  const first = delivering.worker({ notices });
  await first.start();
  answer(500, 503);
  await delivering.accept('acme', 's1', ['http://127.0.0.1:1/hook']);
  await pass(first, time, 47);
  await first.stop(0);
  const second = delivering.worker({ notices });
  await second.start();
  await turns();
  const refused = product.requests.length;
  // A receiver that fails gets one request at a time, and few.
  expect(refused).toBeLessThan(60);
  answer(200, 200);
  await pass(second, time, 24);
  await deliver(1);
  const posted = product.requests.slice(refused).map(({ headers }) => headers['x-platform-delivery']);
  const items = await listed();
  expect(items.map(({ delivery }) => delivery?.state)).toEqual(items.map(() => 'delivered'));
  expect(posted.toSorted()).toEqual(items.map(({ delivery }) => delivery?.id).toSorted());
});

/** Lets hours pass, in steps within which timers can be set anew and attempts can end. */
async function pass(worker: DeliveryWorker, time: VirtualTime, hours: number): Promise<void> {
  for (let step = 0; step < hours * 6; step += 1) {
    time.pass(HOUR_MS / 6);
    await vi.waitFor(async () => {
      await turns(8);
      expect(worker.inFlight).toBe(0);
    }, POLL);
  }
}

test('without a receiver, notices are listed and nothing waits for one', async () => {
  const { delivering, answer, deliver, product, listed, store } = await begin({});
  await delivering.worker().start();
  answer(500);
  await deliver(1);
  const items = await listed();
  expect(items.map((item) => ('type' in item ? item['type'] : ''))).toEqual([...SETUP, 'webhook.failing']);
  expect(items.every(({ delivery }) => delivery === undefined)).toBe(true);
  expect(product.requests).toEqual([]);
  // Lists of events leave them out, also for the operator.
  const events = await store.eventList.list({ limit: 100 });
  expect(events.items.map(({ type }) => type)).toEqual(['site_view']);
});

test('a webhook that is disabled, and a version that is published, are told of once', async () => {
  const { delivering, store, installationId, listed } = await begin({});
  const target = { installationId, level: 'site', place: 's1' } as const;
  await store.webhookHealths.disable(target, 'text of a <person>', OPERATOR);
  const [last] = (await listed()).slice(-1);
  expect(last).toMatchObject({
    type: 'webhook.disabled',
    details: { reason: 'request', by: 'admin' },
    delivery: undefined,
  });
  // Text of people is not passed on.
  expect(JSON.stringify(last)).not.toContain('person');
  expect(delivering.errors).toEqual([]);
});

test('what each node notices by itself is told once in a while', async () => {
  const { store, installationId, time, listed } = await begin({});
  const target = { installationId, level: 'organization', place: '' } as const;
  const notice = {
    ...({ type: 'integration.quarantined', organization: 'acme', integration: 'hooks', target } as const),
    details: { deaths: 2 },
  };
  await Promise.all([1, 2, 3].map(() => store.productNotices.tell(notice, 600_000)));
  const quarantined = async () =>
    (await listed()).filter((item) => 'type' in item && item['type'] === 'integration.quarantined').length;
  expect(await quarantined()).toBe(1);
  time.pass(600_001);
  await store.productNotices.tell(notice, 600_000);
  expect(await quarantined()).toBe(2);
});
