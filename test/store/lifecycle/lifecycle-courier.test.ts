/** The courier when nothing can be called: how often it tries, how far apart, and what is left behind. Time is the test's. */
import { expect, test, vi } from 'vitest';
import { CallLog } from '../../../src/calls/call-log.ts';
import { CallMetrics } from '../../../src/calls/call-metrics.ts';
import { Dispatch } from '../../../src/calls/dispatch.ts';
import { LifecycleWorker } from '../../../src/delivery/lifecycle/lifecycle-worker.ts';
import { AnnexError } from '../../../src/errors.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import { wholeInstallation } from '../../../src/model/installation.ts';
import type { Store } from '../../../src/store/store.ts';
import { installed } from '../../support/store/installed.ts';
import { CLOCK, OPERATOR, temporaryStore } from '../../support/store/temporary-store.ts';

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/** A courier of a service without any cell. */
function courierOf(store: Store) {
  const journal = new CallLog({
    logs: store.logs,
    registry: store.registry,
    secrets: store.webhookSecrets,
    metrics: new CallMetrics(),
    clock: () => CLOCK.now,
    ticks: () => CLOCK.now,
    after: () => () => undefined,
    linesKept: DEFAULT_LIMITS.logLinesPerInstallation,
    contained: () => undefined,
    failed: () => undefined,
  });
  const dispatch = new Dispatch({
    limits: DEFAULT_LIMITS,
    observer: journal,
    egress: { fetch: () => Promise.reject(new Error('Nothing is fetched here.')) },
    load: { add: () => undefined },
    cellFor: () => new AnnexError('INSTALLATION_QUARANTINED', 'No cell.', { retryAfterS: 3 }),
  });
  const timers = new Set<Timer>();
  const settled: string[] = [];
  const courier = new LifecycleWorker({
    events: store.lifeEvents,
    registry: store.registry,
    dispatch,
    callLog: journal,
    clock: () => CLOCK.now,
    ticks: () => CLOCK.now,
    chance: () => 0.5,
    after(ms, run) {
      const timer = { at: CLOCK.now + ms, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    settled: (state) => settled.push(state),
    onError(error) {
      throw error;
    },
  });
  /** Lets time pass until the next timer is due. @returns how long that was */
  const pass = (): number => {
    const [timer, ...others] = timers;
    if (timer === undefined || others.length > 0) throw new Error(`There are ${timers.size} timers.`);
    const ms = timer.at - CLOCK.now;
    CLOCK.now = timer.at;
    timers.delete(timer);
    timer.run();
    return ms;
  };
  return { courier, settled, timers, pass };
}

const firstOf = async ({ lifeEvents }: Store, id: string) => {
  const { items } = await lifeEvents.list({ installationId: id, limit: 100 });
  return items.at(-1);
};

test('an event that nobody can be called for is tried ten times, further and further apart; then it has failed', async () => {
  const store = await temporaryStore();
  const id = await installed(store);
  const { courier, settled, pass } = courierOf(store);
  await courier.start();
  const waits: number[] = [];
  for (let attempts = 1; attempts < 10; attempts += 1) {
    await vi.waitFor(async () =>
      expect(await firstOf(store, id)).toMatchObject({ state: 'pending', attempts }),
    );
    await vi.waitFor(() => expect(settled).toHaveLength(attempts));
    waits.push(pass());
  }
  // No sooner than the refusal says that there is use in it, and a little later by chance.
  const seconds = [3, 3, 4, 8, 16, 32, 60, 60, 60];
  expect(waits).toEqual(seconds.map((s) => s * 1_050));
  await vi.waitFor(() => expect(settled.at(-1)).toBe('failed'));
  expect(await firstOf(store, id)).toMatchObject({
    state: 'failed',
    attempts: 10,
    outcome: 'INSTALLATION_QUARANTINED',
  });
  await store.logs.pass();
  const { items } = await store.logs.list({ installationId: id, limit: 9 });
  expect(items.map(({ level, text }) => [level, text])).toEqual([
    [
      'error',
      expect.stringMatching(
        /^installation_setup could not be delivered in 10 attempts: INSTALLATION_QUARANTINED\./,
      ),
    ],
  ]);
});

test('the next process goes on where the last one was, and waits for what is left of the time', async () => {
  const store = await temporaryStore();
  const id = await installed(store);
  const before = courierOf(store);
  await before.courier.start();
  await vi.waitFor(() => expect(before.settled).toEqual(['pending']));
  await before.courier.stop();
  expect(before.timers.size).toBe(0);

  CLOCK.now += 1_000;
  const after = courierOf(store);
  await after.courier.start();
  await vi.waitFor(() => expect(after.timers.size).toBe(1));
  expect(after.pass()).toBe(3_150 - 1_000);
  await vi.waitFor(async () => expect(await firstOf(store, id)).toMatchObject({ attempts: 2 }));
});

test('a clock that was set back holds no event up', async () => {
  const store = await temporaryStore();
  const id = await installed(store);
  const before = courierOf(store);
  await before.courier.start();
  await vi.waitFor(() => expect(before.settled).toEqual(['pending']));
  await before.courier.stop();

  CLOCK.now -= 24 * 60 * 60 * 1_000;
  const after = courierOf(store);
  await after.courier.start();
  await vi.waitFor(() => expect(after.settled).toEqual(['pending']));
  expect((await firstOf(store, id))?.attempts).toBe(2);
});

test('an installation that is deleted while its setup is postponed is told at once', async () => {
  const store = await temporaryStore();
  const id = await installed(store);
  const { courier, settled, timers } = courierOf(store);
  store.lifeEvents.onWritten = (installationId) => courier.add(installationId);
  await courier.start();
  await vi.waitFor(() => expect(timers.size).toBe(1));
  await store.installations.uninstall(wholeInstallation(id), OPERATOR);
  await vi.waitFor(() => expect(settled).toEqual(['pending', 'pending']));
  const { items } = await store.lifeEvents.list({ installationId: id, limit: 9 });
  expect(items).toMatchObject([
    { type: 'installation_deleted', attempts: 1 },
    { type: 'installation_setup', state: 'canceled' },
  ]);
  expect(timers.size).toBe(1);
});
