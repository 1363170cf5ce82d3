/** Runs of schedules, with a real store and a clock that the test advances. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { ScheduleWorker } from '../../../src/host/delivery/schedule-worker.ts';
import type { WaitingDelivery } from '../../../src/host/store/deliveries/delivery.ts';
import { openStore, type Store } from '../../../src/host/store/store.ts';
import { wholeInstallation } from '../../../src/model/installation.ts';
import { schedulesAt, spreadMs } from '../../../src/model/manifest/schedule.ts';
import { turns, VirtualTime } from '../../support/deliveries/delivery-worker.ts';
import { putEmptyDatabase } from '../../support/store/empty-database.ts';
import { publication } from '../../support/store/installed.ts';
import { targetsOf } from '../../support/store/targets.ts';
import { OPERATOR, storeOptions, temporaryFolder } from '../../support/store/temporary-store.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NINE = "schedules:\n  - {id: nine, cron: '0 9 * * *', task: {say: good morning}}";
const MINUTELY = "schedules:\n  - {id: minutely, cron: '* * * * *'}";

/** A store with a worker, from midnight on. */
class Scheduling {
  readonly time = new VirtualTime();
  readonly begun: WaitingDelivery[] = [];
  readonly fates: string[] = [];
  readonly errors: unknown[] = [];
  store!: Store;
  #worker: ScheduleWorker | undefined;
  #folder = '';

  static async begin(manifest: string): Promise<Scheduling> {
    const scheduling = new Scheduling();
    scheduling.#folder = await temporaryFolder({ inMemory: true });
    await putEmptyDatabase(scheduling.#folder);
    await scheduling.open();
    onTestFinished(() => scheduling.close());
    await scheduling.publish(manifest);
    return scheduling;
  }

  async open(): Promise<void> {
    const { wallNow } = this.time;
    this.store = await openStore({ ...storeOptions(this.#folder), wallNow });
    this.#worker = this.worker(this.store);
    this.#worker.start();
  }

  worker(store: Store): ScheduleWorker {
    const { wallNow, monotonicNow, after } = this.time;
    return new ScheduleWorker({
      schedules: store.schedules,
      targets: targetsOf(store).targets,
      ...{ wallNow, monotonicNow, after, random: () => 0.5 },
      add: (some) => void this.begun.push(...some),
      counted: (fate) => void this.fates.push(fate),
      onError: (error) => void this.errors.push(error),
    });
  }

  async close(): Promise<void> {
    await this.#worker?.stop();
    await this.store.close();
  }

  async publish(manifest: string): Promise<void> {
    await this.store.registry.publish(publication(manifest), OPERATOR);
    this.#worker?.look();
  }

  /** @returns the key of its endpoint */
  async install(organization = 'acme'): Promise<{ id: string; endpoint: string }> {
    const request = { integration: 'hello', organization, externalIds: [] };
    const { installationId: id, endpointKey: endpoint } = await this.store.installations.install(
      request,
      OPERATOR,
    );
    return { id, endpoint };
  }

  /** Advances the time in steps in which the worker can work. */
  async pass(ms: number, step = MINUTE): Promise<void> {
    for (let left = ms; left > 0; left -= step) {
      this.time.pass(Math.min(step, left));
      await turns();
    }
  }

  /** Ends the runs that have begun. @returns the events of their tasks */
  async end(state: 'delivered' | 'failed' = 'delivered'): Promise<Record<string, unknown>[]> {
    const claims = await this.store.deliveryClaims.claim(this.begun.splice(0).map(({ id }) => id));
    for (const claim of claims)
      await this.store.deliveryClaims.settle({
        ...{ claim, state, outcome: 'ok', dueAt: 0, retries: 0, unknowns: 0, faults: 0 },
      });
    return claims.map(({ eventBody }) => JSON.parse(eventBody));
  }
}

test('a run is a task that begins in the minute of its cron, with the id and the time of the run', async () => {
  const scheduling = await Scheduling.begin(NINE);
  const { endpoint } = await scheduling.install();
  const at = Date.UTC(2026, 0, 1, 9);
  const dueAt = at + spreadMs(endpoint, 'nine');
  await scheduling.pass(9 * HOUR + spreadMs(endpoint, 'nine') - 1);
  expect(scheduling.begun).toEqual([]);
  await scheduling.pass(1);
  expect(scheduling.begun).toMatchObject([{ endpoint: `${endpoint}/tasks`, organization: 'acme' }]);
  const [row] = await scheduling.store.schedules.of(endpoint);
  const delivery = scheduling.begun[0]?.id;
  expect(row).toMatchObject({
    ...{ nextAt: at + DAY, dueAt: dueAt + DAY, running: delivery },
    last: { at, startedAt: dueAt, delivery, state: 'pending' },
  });
  expect(await scheduling.end()).toMatchObject([
    { type: 'task', task: { say: 'good morning' }, schedule: { id: 'nine', at: '2026-01-01T09:00:00.000Z' } },
  ]);
  const [ended] = await scheduling.store.schedules.of(endpoint);
  expect(ended?.running).toBeUndefined();
  expect(ended?.last).toEqual({ at, startedAt: dueAt, delivery, state: 'delivered', outcome: 'ok' });
  expect(scheduling.errors).toEqual([]);
});

test('runs of one schedule do not overlap: the next begins after the end of the last', async () => {
  const scheduling = await Scheduling.begin(MINUTELY);
  await scheduling.install();
  await scheduling.pass(10 * MINUTE);
  expect(scheduling.begun).toHaveLength(1);
  await scheduling.end('failed');
  // Within seconds, once for all those that were missed.
  await scheduling.pass(10_000, 1_000);
  expect(scheduling.begun).toHaveLength(1);
  await scheduling.end();
  await scheduling.pass(MINUTE, 1_000);
  expect(scheduling.begun).toHaveLength(1);
});

describe('runs that were missed while the service was down', () => {
  const missing = async (catchUp: string) => {
    const manifest = `schedules:\n  - {id: hourly, cron: '0 * * * *', catchUp: ${catchUp}}`;
    const scheduling = await Scheduling.begin(manifest);
    const { endpoint } = await scheduling.install();
    await scheduling.close();
    scheduling.time.pass(5 * HOUR + 30 * MINUTE);
    await scheduling.open();
    await turns();
    const [row] = await scheduling.store.schedules.of(endpoint);
    expect(row?.nextAt).toBe(Date.UTC(2026, 0, 1, 6));
    return scheduling;
  };

  test('are made up by one', async () => {
    const scheduling = await missing('one');
    expect(await scheduling.end()).toMatchObject([{ schedule: { at: '2026-01-01T00:00:00.000Z' } }]);
    expect(scheduling.fates).toEqual(['late']);
    await scheduling.pass(HOUR);
    expect(scheduling.begun).toHaveLength(1);
  });

  test('are left out where the manifest says so', async () => {
    const scheduling = await missing('none');
    expect(scheduling.begun).toEqual([]);
    expect(scheduling.fates).toEqual(['left out']);
    await scheduling.pass(HOUR);
    expect(scheduling.begun).toHaveLength(1);
  });
});

describe('an installation that is not active', () => {
  test('is not run while it is paused, and begins anew when it is resumed', async () => {
    const scheduling = await Scheduling.begin(MINUTELY);
    const { id, endpoint } = await scheduling.install();
    await scheduling.pass(2 * MINUTE);
    await scheduling.end();
    const { installations, schedules } = scheduling.store;
    await installations.pause(wholeInstallation(id), OPERATOR);
    await scheduling.pass(10 * MINUTE);
    expect(scheduling.begun).toEqual([]);
    const [paused] = await schedules.of(endpoint);
    expect(paused?.last?.state).toBe('delivered');
    await installations.resume(wholeInstallation(id), OPERATOR);
    const [resumed] = await schedules.of(endpoint);
    expect(resumed?.dueAt).toBeGreaterThan(scheduling.time.now);
    await scheduling.pass(MINUTE + 1_000, 1_000);
    expect(scheduling.begun).toHaveLength(1);
  });

  test('is not run while it is pending, and begins when its configuration is valid', async () => {
    const configured = `configurations:\n  account:\n    properties:\n      region: {type: string, title: Region}\n    required: [region]\n`;
    const scheduling = await Scheduling.begin(`${configured}${MINUTELY}`);
    const { id } = await scheduling.install();
    await scheduling.pass(3 * MINUTE);
    expect(scheduling.begun).toEqual([]);
    const edit = { configuration: { region: 'eu' } };
    await scheduling.store.installations.edit(wholeInstallation(id), edit, {}, OPERATOR);
    await scheduling.pass(MINUTE + 1_000, 1_000);
    expect(scheduling.begun).toHaveLength(1);
  });

  test('has no schedule any more once it is removed', async () => {
    const scheduling = await Scheduling.begin(MINUTELY);
    const { id, endpoint } = await scheduling.install();
    await scheduling.store.installations.uninstall(wholeInstallation(id), OPERATOR);
    expect(await scheduling.store.schedules.of(endpoint)).toEqual([]);
    await scheduling.pass(3 * MINUTE);
    expect(scheduling.begun).toEqual([]);
  });
});

describe('a new version', () => {
  test('changes, adds and removes schedules of every installation, and keeps the others', async () => {
    const two = "schedules:\n  - {id: kept, cron: '0 9 * * *'}\n  - {id: gone, cron: '* * * * *'}";
    const scheduling = await Scheduling.begin(two);
    const all: string[] = [];
    for (let count = 0; count < 450; count += 1)
      all.push((await scheduling.install(`org-${count}`)).endpoint);
    const { schedules } = scheduling.store;
    const before = (await schedules.of(all[0] ?? '')).find(({ id }) => id === 'kept');
    await scheduling.publish(
      "schedules:\n  - {id: kept, cron: '0 9 * * *', task: 7}\n  - {id: new, cron: '0 10 * * *', timezone: Asia/Tokyo}",
    );
    await scheduling.pass(15_000, 5_000);
    expect(await schedules.nextDueAt()).toBeGreaterThan(Date.UTC(2026, 0, 1, 0, 59));
    for (const endpoint of all) {
      const rows = await schedules.of(endpoint);
      expect(rows.map(({ id }) => id)).toEqual(['kept', 'new']);
    }
    expect((await schedules.of(all[0] ?? ''))[0]).toEqual(before);
    expect(scheduling.begun).toEqual([]);
  });

  test('counts before its walk has come: a run of the version before does not begin', async () => {
    const scheduling = await Scheduling.begin(NINE);
    const { endpoint } = await scheduling.install();
    const { schedules, registry } = scheduling.store;
    const [row] = await schedules.of(endpoint);
    const target = await targetsOf(scheduling.store).targets.get(endpoint);
    const [schedule] = schedulesAt(publication(NINE).manifest, 'installation');
    if (row === undefined || target === undefined || schedule === undefined) throw new Error('No schedule.');
    await registry.publish(publication(''), OPERATOR);
    const next = { timing: row.timing, at: row.nextAt + DAY, dueAt: row.dueAt + DAY };
    expect(await schedules.begin({ row, target, schedule, next })).toBeUndefined();
    await scheduling.pass(5_000);
    expect(await schedules.of(endpoint)).toEqual([]);
  });

  test('of an integration that is deleted leaves nothing', async () => {
    const scheduling = await Scheduling.begin(MINUTELY);
    const { endpoint } = await scheduling.install();
    const owned = { name: 'hello', organization: 'acme' };
    await scheduling.store.registry.delete(owned, { cascade: true }, OPERATOR);
    expect(await scheduling.store.schedules.of(endpoint)).toEqual([]);
    expect(await scheduling.store.schedules.nextDueAt()).toBeUndefined();
  });
});

test('a schedule of the integration runs once, at its own endpoint', async () => {
  const scheduling = await Scheduling.begin("schedules:\n  - {cron: '0 9 * * *', level: integration}");
  await scheduling.install();
  await scheduling.install('other');
  await scheduling.pass(9 * HOUR + MINUTE);
  expect(await scheduling.end()).toHaveLength(1);
});

test('a thousand installations of one minute run once each, over the whole minute', async () => {
  const scheduling = await Scheduling.begin(NINE);
  for (let count = 0; count < 1_000; count += 1) await scheduling.install(`org-${count}`);
  await scheduling.pass(9 * HOUR, HOUR);
  const counts: number[] = [];
  for (let second = 0; second < 60; second += 1) {
    const before = scheduling.begun.length;
    await scheduling.pass(1_000, 1_000);
    counts.push(scheduling.begun.length - before);
  }
  expect(new Set(scheduling.begun.map(({ endpoint }) => endpoint)).size).toBe(1_000);
  expect(scheduling.begun).toHaveLength(1_000);
  expect(Math.max(...counts)).toBeLessThan(50);
  expect(scheduling.errors).toEqual([]);
});

test('a run by hand begins now, once, and leaves the next one', async () => {
  const scheduling = await Scheduling.begin(NINE);
  const { endpoint } = await scheduling.install();
  const { schedules } = scheduling.store;
  const target = await targetsOf(scheduling.store).targets.get(endpoint);
  const [schedule] = target?.schedules ?? [];
  if (target === undefined || schedule === undefined) throw new Error('No schedule.');
  const [before] = await schedules.of(endpoint);
  const begun = await schedules.beginNow(target, schedule, OPERATOR);
  expect(begun?.endpoint).toBe(`${endpoint}/tasks`);
  expect(await schedules.beginNow(target, schedule, OPERATOR)).toBeUndefined();
  const [row] = await schedules.of(endpoint);
  expect(row).toMatchObject({ nextAt: before?.nextAt, dueAt: before?.dueAt, running: begun?.id });
});
