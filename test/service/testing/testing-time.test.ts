/** The time under `@annex/testing`: a schedule of retries and tasks takes none. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { load } from '../../../packages/testing/src/index.ts';
import { folderOf } from '../../support/testing-folders.ts';

const WEBHOOK = fileURLToPath(new URL('../../../fixtures/webhook', import.meta.url));
const RECEIVER = 'https://receiver.example.com/events';
const VIEW = {
  siteId: 'docs',
  url: 'https://docs.example.com/',
  visitor: { anonymousId: 'a', cookies: {}, userAgent: 'Test', ip: '192.0.2.1' },
  referrer: '',
};
const sites = { docs: { webhook_url: RECEIVER, event_types: ['site_view'] } };

test('a webhook is retried on its schedule, each retry at its time, and then fails', async () => {
  const app = await load(WEBHOOK);
  const installation = await app.install({
    sites,
    fetches: { [RECEIVER]: new Response('not now', { status: 503 }) },
  });
  expect(await installation.emit('site_view', VIEW)).toMatchObject([
    { kind: 'webhook', state: 'pending', attempts: 1, outcome: 'answered 503' },
  ]);
  await installation.advance('1500ms');
  expect(installation.deliveries).toMatchObject([{ state: 'pending', attempts: 2 }]);
  await installation.advance('1h');
  expect(installation.deliveries).toMatchObject([{ state: 'failed', attempts: 4 }]);
  const [delivery] = installation.deliveries;
  const tookMs = Date.parse(delivery?.finishedAt ?? '') - Date.parse(delivery?.createdAt ?? '');
  // 1 s, 2 s and 4 s, each with jitter of up to a tenth: no retry waited for the end of the hour.
  expect(tookMs).toBeGreaterThanOrEqual(7_000);
  expect(tookMs).toBeLessThan(3_600_000);
  expect(installation.fetches.map(({ method, url }) => `${method} ${url}`)).toEqual(
    Array.from({ length: 4 }, () => `POST ${RECEIVER}`),
  );
});

test('a receiver that is back gets the retry, signed anew', async () => {
  const app = await load(WEBHOOK);
  let isUp = false;
  const installation = await app.install({
    sites,
    fetches: { [RECEIVER]: () => new Response(null, { status: isUp ? 204 : 500 }) },
  });
  await installation.emit('site_view', VIEW);
  isUp = true;
  await installation.advance('1m');
  expect(installation.deliveries).toMatchObject([{ state: 'delivered', attempts: 2 }]);
  const signatures = installation.fetches.map(({ headers }) => headers.get('x-platform-signature'));
  expect(new Set(signatures).size).toBe(2);
});

test('a task runs at its time, and not before', async () => {
  const source = `import { createIntegration } from '@annex/sdk';
export default createIntegration({
  async fetch(request, context) {
    await context.integration.queueTask({ task: { type: 'remind' }, schedule: 3_600 });
    return new Response('queued');
  },
  task(task) { console.log('reminded'); },
});`;
  const installation = await (await load(await folderOf(source, 'scopes: []\n'))).install();
  await installation.fetch();
  await installation.advance('59m');
  expect(installation.logs).toEqual([]);
  await installation.advance('2m');
  expect(installation.logs.map(({ text }) => text)).toEqual(['reminded']);
});

test('a stored value is there for the next step, is listed by its key, and expires at its time', async () => {
  const source = `import { createIntegration } from '@annex/sdk';
export default createIntegration({
  async fetch(request, { storage }) {
    if (request.method === 'POST') await storage.put('session', await request.text(), { expiresIn: 3_600 });
    return Response.json([await storage.get('session') ?? null]);
  },
});`;
  const installation = await (await load(await folderOf(source, 'scopes: []\n'))).install();
  await installation.fetch('/', { method: 'POST', body: 'Ada' });
  expect(installation.storedKeys).toMatchObject([{ key: 'session', kind: 'json' }]);
  await installation.advance('59m');
  expect(await (await installation.fetch()).json()).toEqual(['Ada']);
  await installation.advance('2m');
  expect(await (await installation.fetch()).json()).toEqual([null]);
  expect(installation.storedKeys).toEqual([]);
});

test('a schedule runs at its times, and at once when it is asked to', async () => {
  const source = `import { createIntegration } from '@annex/sdk';
export default createIntegration({
  task({ task, schedule }) { console.log(task + ' of ' + schedule.id); },
});`;
  const manifest = "scopes: []\nschedules: [{id: hourly, cron: '0 * * * *', task: sync}]\n";
  const installation = await (await load(await folderOf(source, manifest))).install();
  await installation.advance('3h');
  // Three hours have three or four whole hours and minutes of them.
  const runs = installation.logs.map(({ text }) => text);
  expect(runs.length).toBeGreaterThanOrEqual(2);
  expect(new Set(runs)).toEqual(new Set(['sync of hourly']));
  await installation.runSchedule('hourly');
  expect(installation.logs).toHaveLength(runs.length + 1);
  const [hourly] = await installation.schedules();
  expect(hourly).toMatchObject({ id: 'hourly', running: false, lastRun: { state: 'delivered' } });
  expect(Date.parse(hourly?.nextRunAt ?? '')).toBeGreaterThan(Date.now() + 2 * 3_600_000);
});

test('a duration that is none is refused', async () => {
  const installation = await (await load(WEBHOOK)).install();
  await expect(installation.advance('soon' as '1s')).rejects.toThrow('"soon" is no duration');
});
