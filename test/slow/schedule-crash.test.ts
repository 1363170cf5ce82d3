/**
 * Schedules and crashes of the host: installations that have one minute in common run once each in
 * it, spread over the minute, although the host is killed twice during it.
 * `SCHEDULED_INSTALLATIONS` is the number of installations.
 */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { openStore } from '../../src/host/store/store.ts';
import { HostProcess } from '../support/host-process.ts';
import { OPERATOR, storeOptions, temporaryFolder } from '../support/store/temporary-store.ts';

const INSTALLATIONS = Number(process.env['SCHEDULED_INSTALLATIONS'] ?? 500);
/** Installations that are made together, and share commits. */
const TOGETHER = 100;
const MINUTE = 60_000;
/** For the walk that gives the installations their schedules. */
const WALK_MS = 10_000 + INSTALLATIONS;
const KILLS_MS = [15_000, 35_000];

// Without a handler of tasks no isolate is opened: this is about runs, and not about calls.
const SOURCE = `import { createIntegration } from '@annex/sdk';
export default createIntegration({ fetch: () => new Response('ok') });`;
const manifest = (schedules: string) => `name: timed
title: Timed
description: Has a schedule.
organization: acme
visibility: public
scopes: []
script: index.js
${schedules}`;

test('no run is missed, and none is made twice, over two kills in the minute of all', async () => {
  const data = join(await temporaryFolder(), 'data');
  const options = { data, flags: ['--cells', '1'] };
  const publish = (host: HostProcess, schedules: string) => {
    const form = new FormData();
    form.append('manifest', manifest(schedules));
    form.append('files', new Blob([SOURCE]), 'index.js');
    return host.api('POST', '/integrations', form);
  };
  const before = await HostProcess.start(options);
  onTestFinished(() => before.kill());
  await publish(before, '');
  await before.stop();
  await install(data);

  let host = await HostProcess.start(options);
  onTestFinished(() => host.kill());
  // A whole minute that begins when all installations have the schedule.
  const at = Math.ceil((Date.now() + WALK_MS) / MINUTE) * MINUTE;
  const time = new Date(at);
  await publish(host, `schedules:\n  - cron: '${time.getUTCMinutes()} ${time.getUTCHours()} * * *'\n`);
  for (const killMs of KILLS_MS) {
    await sleep(at + killMs - Date.now());
    await host.kill();
    host = await HostProcess.start(options);
  }
  await expect.poll(() => runsIn(data).length, { timeout: 3 * MINUTE, interval: 500 }).toBe(INSTALLATIONS);
  // Nothing is left that would run a second time.
  await sleep(Math.max(0, at + MINUTE + 10_000 - Date.now()));
  await host.stop();
  const runs = runsIn(data);
  expect(new Set(runs.map(({ installation }) => installation)).size).toBe(INSTALLATIONS);
  expect(runs).toHaveLength(INSTALLATIONS);
  const seconds = new Map<number, number>();
  for (const { createdAt } of runs) {
    const second = Math.floor((createdAt - at) / 1_000);
    seconds.set(second, (seconds.get(second) ?? 0) + 1);
  }
  const most = Math.max(...seconds.values());
  console.log(
    `${runs.length} runs in ${seconds.size} seconds, from ${Math.min(...seconds.keys())} to ${Math.max(...seconds.keys())}; ` +
      `${most} at most in one, after a kill`,
  );
  // All seconds but those in which the host was down.
  expect(seconds.size).toBeGreaterThan(30);
});

/** Installs without lifecycle events in between: the service is not there. */
async function install(folder: string): Promise<void> {
  const store = await openStore({ ...storeOptions(folder), makeEngine: undefined, wallNow: Date.now });
  for (let first = 0; first < INSTALLATIONS; first += TOGETHER)
    await Promise.all(
      Array.from({ length: Math.min(TOGETHER, INSTALLATIONS - first) }, (_, index) =>
        store.installations.install(
          { integration: 'timed', organization: `organization-${first + index}`, externalIds: [] },
          OPERATOR,
        ),
      ),
    );
  await store.close();
}

function runsIn(folder: string): { installation: string; createdAt: number }[] {
  const database = new DatabaseSync(join(folder, 'annex.db'), { readOnly: true });
  const rows = database
    .prepare("select installation_id, created_at from deliveries where type = 'task'")
    .all();
  database.close();
  return rows.map((row) => ({
    installation: String(row['installation_id']),
    createdAt: Number(row['created_at']),
  }));
}
