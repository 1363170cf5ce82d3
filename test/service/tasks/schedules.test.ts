/** Schedules in a real service: the API and runs by hand (docs/contract/schedules.md#api). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Installed, TestService } from '../../support/service.ts';

const SOURCE = `import { createIntegration } from '@annex/sdk';
const ran = [];
let release;
export default createIntegration({
  fetch(request) {
    if (request.method === 'POST') release?.();
    return Response.json(ran);
  },
  async task({ task, schedule, installationId }) {
    ran.push({ task, schedule, installationId });
    if (task.holds) await new Promise((resolve) => { release = resolve; });
    if (task.throws) throw new Error('on purpose');
  },
});`;
const SCHEDULES = `target: all
schedules:
  - {id: nightly, cron: '0 3 * * *', timezone: Europe/Berlin, task: {kind: report}}
  - {id: held, cron: '0 4 1 1 *', task: {holds: true}}
  - {id: failing, cron: '0 4 1 1 *', task: {throws: true}, catchUp: none}
  - {id: own, cron: '0 5 1 1 *', level: integration, task: own}
`;

interface Shown {
  readonly id: string;
  readonly nextRunAt?: string;
  readonly running: boolean;
  readonly lastRun?: { readonly at: string; readonly state: string; readonly outcome?: string };
}

let annex: TestService;
let installed: Installed;
beforeAll(async () => {
  annex = await TestService.start();
  await annex.publish('scheduled', { 'index.js': SOURCE }, SCHEDULES);
  installed = await annex.install('scheduled');
});
afterAll(() => annex.stop());

const OWN = '/v1/integrations/scheduled/schedules';
const path = () => `/v1/integrations/scheduled/installations/${installed.id}`;
const ran = async () => (await fetch(installed.endpoint)).json();
const run = (id: string, at = `${path()}/schedules`) => annex.api('POST', `${at}/${id}/run`, { json: {} });

async function shown(id: string, at = `${path()}/schedules`): Promise<Shown | undefined> {
  const { body } = await annex.api('GET', at);
  return (body['items'] as Shown[]).find((one) => one.id === id);
}

test('an installation shows its schedules with their next runs', async () => {
  const { status, body } = await annex.api('GET', `${path()}/schedules`);
  expect(status).toBe(200);
  expect(body['items']).toMatchObject([
    { id: 'nightly', cron: '0 3 * * *', timezone: 'Europe/Berlin', level: 'installation', catchUp: 'one' },
    { id: 'held', task: { holds: true }, running: false },
    { id: 'failing', catchUp: 'none' },
  ]);
  const { nextRunAt = '' } = (await shown('nightly')) ?? {};
  const berlin = { timeZone: 'Europe/Berlin', hour: 'numeric', minute: 'numeric', hourCycle: 'h23' } as const;
  expect(new Intl.DateTimeFormat('en', berlin).format(new Date(nextRunAt))).toBe('03:00');
  expect((await annex.api('GET', OWN)).body['items']).toMatchObject([{ id: 'own', level: 'integration' }]);
});

test('a run by hand is a task with its schedule, and its outcome is shown', async () => {
  const { status, body } = await run('nightly');
  expect(status).toBe(202);
  await expect.poll(async () => (await shown('nightly'))?.lastRun?.state).toBe('delivered');
  const { lastRun } = (await shown('nightly')) ?? {};
  expect(await ran()).toContainEqual({
    task: { kind: 'report' },
    schedule: { id: 'nightly', at: lastRun?.at },
    installationId: installed.id,
  });
  const delivery = await annex.api('GET', `/v1/deliveries/${body['delivery']}`);
  expect(delivery.body).toMatchObject({ type: 'task', state: 'delivered', eventId: body['eventId'] });
  const audit = await annex.api('GET', '/v1/audit?action=schedule.run');
  expect(audit.body['items']).toMatchObject([
    { installation: installed.id, details: { schedule: 'nightly' } },
  ]);
});

test('a schedule that runs is not run twice', async () => {
  expect((await run('held')).status).toBe(202);
  await expect.poll(async () => (await shown('held'))?.running).toBe(true);
  const again = await run('held');
  expect([again.status, again.body]).toMatchObject([409, { error: { code: 'SCHEDULE_RUNNING' } }]);
  await expect
    .poll(async () => {
      await fetch(installed.endpoint, { method: 'POST' });
      return (await shown('held'))?.running;
    })
    .toBe(false);
});

test('a run whose handler throws has failed, and says so', async () => {
  await run('failing');
  await expect.poll(async () => (await shown('failing'))?.lastRun).toMatchObject({ state: 'failed' });
});

test('a schedule of the integration runs at its own endpoint', async () => {
  expect((await run('own', OWN)).status).toBe(202);
  await expect.poll(async () => (await shown('own', OWN))?.lastRun?.state).toBe('delivered');
});

describe('what cannot be run', () => {
  test('is a schedule that there is not, or that is of the other level', async () => {
    for (const id of ['none', 'own']) {
      const { status, body } = await run(id);
      expect([status, body]).toMatchObject([404, { error: { code: 'SCHEDULE_UNKNOWN' } }]);
    }
  });

  test('is a schedule of an installation that is paused', async () => {
    await annex.api('POST', `${path()}/pause`, { json: {} });
    const { status, body } = await run('nightly');
    expect([status, body]).toMatchObject([409, { error: { code: 'INSTALLATION_INACTIVE' } }]);
    expect((await shown('nightly'))?.nextRunAt).toBeUndefined();
    await annex.api('POST', `${path()}/resume`, { json: {} });
    expect((await shown('nightly'))?.nextRunAt).toBeDefined();
  });
});

test('a manifest with more schedules than schedulesPerManifest is refused', async () => {
  const many = (count: number) =>
    `schedules:\n${Array.from({ length: count }, () => "  - {cron: '0 0 * * *'}").join('\n')}\n`;
  await annex.publish('many', { 'index.js': SOURCE }, many(20));
  await expect(annex.publish('many', { 'index.js': SOURCE }, many(21))).rejects.toThrow(
    /The manifest has 21 schedules; the limit is 20 \(schedulesPerManifest\)/,
  );
});
