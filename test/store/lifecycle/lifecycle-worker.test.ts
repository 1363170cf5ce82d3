/**
 * The lifecycle worker when no call is possible: number of attempts, intervals and outcome. The
 * test controls the time.
 */

import { expect, onTestFinished, test } from 'vitest';
import { AnnexError } from '../../../src/errors.ts';
import { CallLog } from '../../../src/host/calls/call-log.ts';
import { CallMetrics } from '../../../src/host/calls/call-metrics.ts';
import { Dispatch } from '../../../src/host/calls/dispatch.ts';
import { LifecycleWorker } from '../../../src/host/delivery/lifecycle/lifecycle-worker.ts';
import { openStore, type Store } from '../../../src/host/store/store.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import { wholeInstallation } from '../../../src/model/installation.ts';
import { installed } from '../../support/store/installed.ts';
import { targetsOf } from '../../support/store/targets.ts';
import {
  CLOCK,
  NO_STORAGE,
  OPERATOR,
  storeOptions,
  temporaryFolder,
  temporaryStore,
} from '../../support/store/temporary-store.ts';
import { changeRows } from '../../support/store/test-engine.ts';

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/** A worker of a service without cells. */
function workerOf(store: Store) {
  const journal = new CallLog({
    logs: store.logs,
    registry: store.registry,
    secrets: store.webhookSecrets,
    metrics: new CallMetrics(),
    wallNow: () => CLOCK.now,
    monotonicNow: () => CLOCK.now,
    after: () => () => undefined,
    linesKept: DEFAULT_LIMITS.logLinesPerInstallation,
    contained: () => undefined,
    failed: () => undefined,
  });
  const dispatch = new Dispatch({
    limits: DEFAULT_LIMITS,
    observer: journal,
    egress: { fetch: () => Promise.reject(new Error('Nothing is fetched here.')) },
    storage: NO_STORAGE,
    load: { add: () => undefined },
    cellFor: () => new AnnexError('INSTALLATION_QUARANTINED', 'No cell.', { retryAfterS: 3 }),
  });
  const timers = new Set<Timer>();
  const settled: string[] = [];
  const errors: unknown[] = [];
  const worker = new LifecycleWorker({
    events: store.lifecycleEvents,
    targets: targetsOf(store).targets,
    dispatch,
    callLog: journal,
    wallNow: () => CLOCK.now,
    monotonicNow: () => CLOCK.now,
    random: () => 0.5,
    isShared: false,
    after(ms, run) {
      const timer = { at: CLOCK.now + ms, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    settled: (state) => settled.push(state),
    onError: (error) => errors.push(error),
  });
  /** Advances the time to the next timer. @returns by how many milliseconds */
  const pass = (): number => {
    const [timer, ...others] = timers;
    if (timer === undefined || others.length > 0) throw new Error(`There are ${timers.size} timers.`);
    const ms = timer.at - CLOCK.now;
    CLOCK.now = timer.at;
    timers.delete(timer);
    timer.run();
    return ms;
  };
  return { worker, settled, timers, pass, errors };
}

const firstOf = async ({ lifecycleEvents }: Store, id: string) => {
  const { items } = await lifecycleEvents.list({ installationId: id, limit: 100 });
  return items.at(-1);
};

test('an event that cannot be delivered is attempted ten times, at growing intervals; then it has failed', async () => {
  const store = await temporaryStore();
  const id = await installed(store);
  const { worker, settled, pass } = workerOf(store);
  await worker.start();
  const waits: number[] = [];
  for (let attempts = 1; attempts < 10; attempts += 1) {
    await expect.poll(() => firstOf(store, id)).toMatchObject({ state: 'pending', attempts });
    await expect.poll(() => settled).toHaveLength(attempts);
    waits.push(pass());
  }
  // Not before the refusal's retry time, and a random delay later.
  const seconds = [3, 3, 4, 8, 16, 32, 60, 60, 60];
  expect(waits).toEqual(seconds.map((s) => s * 1_050));
  await expect.poll(() => settled.at(-1)).toBe('failed');
  expect(await firstOf(store, id)).toMatchObject({
    state: 'failed',
    attempts: 10,
    outcome: 'INSTALLATION_QUARANTINED',
  });
  await store.logs.pass();
  const { items } = await store.logs.list({ tenant: id, limit: 9 });
  expect(items.map(({ level, text }) => [level, text])).toEqual([
    [
      'error',
      expect.stringMatching(
        /^installation_setup could not be delivered in 10 attempts: INSTALLATION_QUARANTINED\./,
      ),
    ],
  ]);
});

test('the next process continues after the last one, and waits for the rest of the interval', async () => {
  const store = await temporaryStore();
  const id = await installed(store);
  const before = workerOf(store);
  await before.worker.start();
  await expect.poll(() => before.settled).toEqual(['pending']);
  await before.worker.stop();
  expect(before.timers.size).toBe(0);

  CLOCK.now += 1_000;
  const after = workerOf(store);
  await after.worker.start();
  await expect.poll(() => after.timers.size).toBe(1);
  expect(after.pass()).toBe(3_150 - 1_000);
  await expect.poll(() => firstOf(store, id)).toMatchObject({ attempts: 2 });
});

test('a clock that was set back delays no event', async () => {
  const store = await temporaryStore();
  const id = await installed(store);
  const before = workerOf(store);
  await before.worker.start();
  await expect.poll(() => before.settled).toEqual(['pending']);
  await before.worker.stop();

  CLOCK.now -= 24 * 60 * 60 * 1_000;
  const after = workerOf(store);
  await after.worker.start();
  await expect.poll(() => after.settled).toEqual(['pending']);
  expect((await firstOf(store, id))?.attempts).toBe(2);
});

test('an installation that is deleted while its setup event is postponed has its deletion event at once', async () => {
  const store = await temporaryStore();
  const id = await installed(store);
  const { worker, settled, timers } = workerOf(store);
  store.changes.on('lifecycle', (installationId) => worker.add(installationId));
  await worker.start();
  await expect.poll(() => timers.size).toBe(1);
  await store.installations.uninstall(wholeInstallation(id), OPERATOR);
  await expect.poll(() => settled).toEqual(['pending', 'pending']);
  const { items } = await store.lifecycleEvents.list({ installationId: id, limit: 9 });
  expect(items).toMatchObject([
    { type: 'installation_deleted', attempts: 1 },
    { type: 'installation_setup', state: 'canceled' },
  ]);
  expect(timers.size).toBe(1);
});

test('an event with a damaged record fails after ten attempts, and the events that follow it are delivered', async () => {
  const folder = await temporaryFolder();
  const store = await openStore(storeOptions(folder));
  onTestFinished(() => store.close());
  const id = await installed(store);
  await store.installations.edit(wholeInstallation(id), { configuration: { region: 'eu' } }, {}, OPERATOR);
  await changeRows(folder, `update life_events set sealed_record = 'damaged' where position = 1`);
  const { worker, settled, timers, pass, errors } = workerOf(store);
  await worker.start();
  for (let attempts = 1; attempts < 10; attempts += 1) {
    await expect.poll(() => settled).toHaveLength(attempts);
    await expect.poll(() => timers.size).toBe(1);
    pass();
  }
  await expect.poll(() => settled.slice(9)).toEqual(['failed', 'pending']);
  expect(errors).toHaveLength(10);
  const { items } = await store.lifecycleEvents.list({ installationId: id, limit: 9 });
  expect(items).toMatchObject([
    { position: 2, outcome: 'INSTALLATION_QUARANTINED' },
    { position: 1, state: 'failed', outcome: 'platform fault' },
  ]);
  await worker.stop();
});
