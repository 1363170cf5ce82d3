/**
 * Schedules of hours and days, with a real receiver, real posts and a clock of the test: a receiver
 * that is down for 26 hours, restarts in between, and what waits for hours beside what is due
 * (docs/contract/webhooks.md#schedules).
 */
import { expect, test, vi } from 'vitest';
import { wholeInstallation } from '../../../src/model/installation.ts';
import { Delivering, turns } from '../../support/deliveries/delivery-worker.ts';
import { serveTcp } from '../../support/http/egress.ts';
import { HttpReceiver } from '../../support/receivers/http-receiver.ts';
import { OPERATOR } from '../../support/store/temporary-store.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Leases are looked after three times in each: with the default, ten thousand times in a day. */
const LEASE = { deliveryLeaseMs: DAY };
const POLL = { interval: 1, timeout: 60_000 };

/** The same numbers from 0 to 1 at each run. */
function drawing(): () => number {
  let state = 7;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

/** When the next delivery is due; undefined if none is pending. */
async function nextDue({ store }: Delivering): Promise<number | undefined> {
  const { items } = await store.deliveryQueue.waitingEndpoints({ limit: 100 });
  return items.length === 0 ? undefined : Math.min(...items.map(({ dueAt }) => dueAt));
}

/** Passes the time, from one due time to the next and at least a minute at once. */
async function passUntil(delivering: Delivering, until: number): Promise<void> {
  const { time } = delivering;
  for (;;) {
    // Until everything that is due has been attempted.
    await vi.waitFor(
      async () => expect((await nextDue(delivering)) ?? Number.POSITIVE_INFINITY).toBeGreaterThan(time.now),
      POLL,
    );
    await turns(2);
    const due = await nextDue(delivering);
    if (due === undefined || time.now >= until) return;
    time.pass(Math.min(Math.max(due - time.now, MINUTE), until - time.now));
  }
}

test('a receiver that is down for 26 hours gets each event once from "days", spread, also over restarts', async () => {
  const delivering = await Delivering.begin(LEASE, { retries: 'days' });
  const { time } = delivering;
  const start = time.now;
  const isDown = () => time.now < start + 26 * HOUR;
  const arrivals: { readonly at: number; readonly eventId: string }[] = [];
  let together = 0;
  let mostTogether = 0;
  const receiver = await HttpReceiver.start((request) => {
    if (isDown()) return 503;
    arrivals.push({ at: time.now, eventId: JSON.parse(request.body).eventId });
    together += 1;
    mostTogether = Math.max(mostTogether, together);
    setImmediate(() => {
      together -= 1;
      request.answer(200);
    });
    return undefined;
  });
  await delivering.install('acme', ['s1']);
  const random = drawing();
  let worker = delivering.worker({ random });
  await worker.start();
  const urls = Array.from({ length: 60 }, (_, index) => `${receiver.url}/${index}`);
  const ids = await delivering.accept('acme', 's1', urls);
  for (const hours of [1, 13]) {
    await passUntil(delivering, start + hours * HOUR);
    await worker.stop(0);
    // What the next process knows is in the database.
    worker = delivering.worker({ random });
    await worker.start();
  }
  await passUntil(delivering, start + 26 * HOUR);
  const before = receiver.requests.length;
  expect(before).toBeGreaterThanOrEqual(10 * ids.length);
  await passUntil(delivering, start + 4 * DAY);
  for (const id of ids)
    expect(await delivering.read(id)).toMatchObject({ state: 'delivered', outcome: 'answered 200' });
  expect(arrivals.map(({ eventId }) => eventId).sort()).toEqual(
    Array.from({ length: 60 }, (_, index) => `evt_${index + 1}`).sort(),
  );
  // Accepted in one second, and no tenth of them in one minute.
  const minutes = Object.values(Object.groupBy(arrivals, ({ at }) => Math.floor(at / MINUTE)));
  expect(Math.max(...minutes.map((some) => some?.length ?? 0))).toBeLessThanOrEqual(6);
  expect(mostTogether).toBeLessThanOrEqual(delivering.limits.deliveriesInFlightPerEndpoint);
  expect(delivering.errors).toEqual([]);
});

test('"contract" gives up after four requests while "days" has 16', async () => {
  const requests: Record<string, number> = {};
  for (const retries of ['contract', 'hours', 'days'] as const) {
    const delivering = await Delivering.begin(LEASE, { retries });
    const receiver = await HttpReceiver.start(() => 500);
    await delivering.install('acme', ['s1']);
    await delivering.worker({ random: () => 0 }).start();
    const [id = ''] = await delivering.accept('acme', 's1', [receiver.url]);
    const start = delivering.time.now;
    await passUntil(delivering, start + 8 * DAY);
    requests[retries] = receiver.requests.length;
    expect(await delivering.read(id)).toMatchObject({ state: 'failed', outcome: 'answered 500' });
    const numbers = receiver.requests.map(({ headers }) => Number(headers['x-platform-attempt']));
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  }
  expect(requests).toEqual({ contract: 4, hours: 12, days: 16 });
});

test('what is due in hours is neither held nor claimed, and nothing waits for it', async () => {
  const delivering = await Delivering.begin(LEASE, { retries: ['6h'] });
  const { time, store } = delivering;
  const receiver = await HttpReceiver.start(({ path }) => (path === '/fails' ? 500 : 200));
  await delivering.install('acme', ['s1', 's2']);
  const waiting = await delivering.accept('acme', 's1', Array(2_000).fill(`${receiver.url}/fails`));
  const claims = await store.deliveryClaims.claim(waiting);
  const dueAt = time.now + 6 * HOUR;
  const attempt = { at: time.now, durationMs: 0, result: 'failed', outcome: 'answered 500' } as const;
  await Promise.all(
    claims.map((claim) =>
      store.deliveryClaims.settle({
        ...{ claim, attempt, outcome: 'answered 500', state: 'pending', dueAt },
        ...{ retries: 1, unknowns: 0, faults: 0 },
      }),
    ),
  );
  const claimed: string[] = [];
  let reads = 0;
  const worker = delivering.worker({
    watching: (deliveries) => ({
      ...deliveries,
      claim(ids, dueBy) {
        claimed.push(...ids);
        return deliveries.claim(ids, dueBy);
      },
      due(...args) {
        reads += 1;
        return deliveries.due(...args);
      },
    }),
  });
  await worker.start();
  const [fresh = ''] = await delivering.accept('acme', 's1', [`${receiver.url}/ok`]);
  const [other = ''] = await delivering.accept('acme', 's2', [`${receiver.url}/ok`]);
  await vi.waitFor(() => expect(delivering.settled).toEqual(['delivered', 'delivered']), POLL);
  await turns();
  expect(claimed.sort()).toEqual([fresh, other].sort());
  // A look at the clock each ten minutes, however many wait.
  const before = reads;
  for (let hour = 0; hour < 5; hour += 1) {
    time.pass(HOUR);
    await turns();
  }
  expect(reads - before).toBeLessThanOrEqual(5 * 6 + 5);
  expect(receiver.requests).toHaveLength(2);
  time.pass(HOUR);
  await vi.waitFor(() => expect(receiver.requests.length).toBeGreaterThan(2), POLL);
});

test('a delivery that waits for hours is not early after a restart, and a clock that is set back does not keep it for a day', async () => {
  const delivering = await Delivering.begin(LEASE, { retries: ['10h'] });
  const { time } = delivering;
  const receiver = await HttpReceiver.start(() => (receiver.requests.length === 1 ? 500 : 200));
  await delivering.install('acme', ['s1']);
  let worker = delivering.worker({ random: () => 0 });
  await worker.start();
  await delivering.accept('acme', 's1', [receiver.url]);
  await vi.waitFor(() => expect(delivering.settled).toEqual(['pending']), POLL);
  await worker.stop(0);
  worker = delivering.worker({ random: () => 0 });
  await worker.start();
  time.pass(9 * HOUR);
  await turns();
  expect(receiver.requests).toHaveLength(1);
  await worker.stop(0);
  time.now -= DAY;
  await delivering.worker({ random: () => 0 }).start();
  await vi.waitFor(() => expect(delivering.settled).toEqual(['pending', 'delivered']), POLL);
});

test('a delivery that waits for hours is canceled at its turn if its target was paused since', async () => {
  const delivering = await Delivering.begin(LEASE, { retries: ['10h'] });
  const { time, store } = delivering;
  const receiver = await HttpReceiver.start(() => 500);
  const installation = wholeInstallation(await delivering.install('acme', ['s1']));
  await delivering.worker({ random: () => 0 }).start();
  const [id = ''] = await delivering.accept('acme', 's1', [receiver.url]);
  await vi.waitFor(() => expect(delivering.settled).toEqual(['pending']), POLL);
  time.now += 1_000;
  await store.installations.pause(installation, OPERATOR);
  await store.installations.resume(installation, OPERATOR);
  await passUntil(delivering, time.now + 11 * HOUR);
  expect(await delivering.read(id)).toMatchObject({ state: 'canceled', outcome: 'paused' });
  expect(receiver.requests).toHaveLength(1);
});

test('housekeeping removes no pending delivery, however long it waits', async () => {
  const delivering = await Delivering.begin(
    { ...LEASE, deliveredDays: 1, deliveryDays: 1 },
    { retries: ['1d', '5d'] },
  );
  const { time, store } = delivering;
  const receiver = await HttpReceiver.start(() => (receiver.requests.length < 3 ? 500 : 200));
  await delivering.install('acme', ['s1']);
  await delivering.worker({ random: () => 0 }).start();
  const [id = ''] = await delivering.accept('acme', 's1', [receiver.url]);
  const start = time.now;
  for (let days = 1; days <= 6; days += 1) {
    await passUntil(delivering, start + days * DAY);
    await store.deliveryRetention.prune();
  }
  await passUntil(delivering, start + 7 * DAY);
  expect(await delivering.read(id)).toMatchObject({ state: 'delivered', attempts: 3 });
});

test.each([
  ['days', 503, '15', 15_000],
  ['days', 429, '15', 15_000],
  // Four times the delay of the schedule.
  ['days', 503, '3600', 20_000],
  ['days', 503, '1', 5_000],
  ['contract', 503, '30', 1_000],
  ['contract', 429, '30', 30_000],
] as const)(
  'with the schedule "%s", a %i that asks for %s s is retried after %i ms',
  async (retries, status, seconds, ms) => {
    const delivering = await Delivering.begin(LEASE, { retries });
    await delivering.install('acme', ['s1']);
    const url = await serveTcp((socket) =>
      socket.once('data', () =>
        socket.end(
          `HTTP/1.1 ${status} X\r\nretry-after: ${seconds}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`,
        ),
      ),
    );
    await delivering.worker({ random: () => 0 }).start();
    const [id = ''] = await delivering.accept('acme', 's1', [url]);
    await vi.waitFor(() => expect(delivering.settled).toEqual(['pending']), POLL);
    expect((await delivering.read(id)).dueAt - delivering.time.now).toBe(ms);
  },
);
