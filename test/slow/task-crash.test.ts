/**
 * Tasks and crashes of the host: every task that was queued before the process was killed is
 * delivered after it, at once or at its time.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { HostProcess } from '../support/host-process.ts';
import { HttpReceiver } from '../support/receivers/http-receiver.ts';

const QUEUED_AT_LEAST = 100;
const CLIENTS = 6;

const SOURCE = `import { createIntegration } from '@annex/sdk';
export default createIntegration({
  async fetch(request, { integration }) {
    await integration.queueTask(await request.json());
    return new Response('queued');
  },
  async task({ task }) {
    await fetch(task.url);
  },
});`;
const MANIFEST = `name: queues
title: Queues
description: Queues tasks.
organization: acme
visibility: public
scopes: []
script: index.js
`;

test('tasks that were queued before the host is killed are all delivered after it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'annex-tasks-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const receiver = await HttpReceiver.start(() => 200);
  const options = {
    data: join(folder, 'data'),
    flags: ['--cells', '1', '--egress-allow', '127.0.0.0/8'],
    env: { ANNEX_LIMIT_TASKS_PER_MINUTE_PER_INSTALLATION: '100000' },
  };
  const first = await HostProcess.start(options);
  onTestFinished(() => first.kill());
  const form = new FormData();
  form.append('manifest', MANIFEST);
  form.append('files', new Blob([SOURCE]), 'index.js');
  await first.api('POST', '/integrations', form);
  const installed = await first.api('POST', '/integrations/queues/installations', { organization: 'acme' });
  const { publicEndpoint } = installed['urls'] as { publicEndpoint: string };
  const endpoint = `${first.open}${new URL(publicEndpoint).pathname}`;

  const queued: string[] = [];
  const client = async (of: number): Promise<void> => {
    for (let count = 0; ; count += 1) {
      const path = `/${of}-${count}`;
      // Some are due at once, some during the restart, and some after it.
      const task = { task: { url: `${receiver.url}${path}` }, schedule: [0, 0.2, 3][count % 3] };
      const answer = await fetch(endpoint, { method: 'POST', body: JSON.stringify(task) });
      if (answer.status !== 200) throw new Error(`A task was answered ${answer.status}.`);
      queued.push(path);
      if (queued.length === QUEUED_AT_LEAST) void first.kill();
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: CLIENTS }, (_, of) => client(of)));
  expect(ends.every(({ status }) => status === 'rejected')).toBe(true);
  expect(queued.length).toBeGreaterThanOrEqual(QUEUED_AT_LEAST);

  const second = await HostProcess.start(options);
  onTestFinished(() => second.kill());
  await expect
    .poll(() => queued.filter((path) => !receiver.paths.includes(path)), { timeout: 60_000, interval: 100 })
    .toEqual([]);
});
