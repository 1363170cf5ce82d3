/**
 * `annex tail`, `annex deliveries list --follow` and `annex listen` over time: across a restart of
 * the service, and with a receiver that verifies what is forwarded.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../../src/host/config.ts';
import { type Service, startService } from '../../../src/host/service.ts';
import { annex } from '../../support/cli/annex-run.ts';
import { preparedProcesses } from '../../support/prepared-processes.ts';
import { EXAMPLES, RunningReceiver } from '../../support/receivers/example-receiver.ts';
import { TestService } from '../../support/service.ts';

const HANDLER = `name: handler
title: Handler
description: For a test.
organization: acme
visibility: public
scopes: [space:content:read]
script: index.js
`;
const CODE = `import { createIntegration } from '@annex/sdk';
export default createIntegration({ events: { space_content_updated: () => {} } });`;

/** A service that can be started again, on the same port. */
class RestartedService {
  service: Service;
  token = '';
  readonly #folder: string;

  private constructor(folder: string, service: Service) {
    this.#folder = folder;
    this.service = service;
  }

  static async start(): Promise<RestartedService> {
    const folder = await mkdtemp(join(tmpdir(), 'annex-restart-'));
    const started = new RestartedService(folder, await serve(folder, '0'));
    started.token = started.service.firstAdminToken ?? '';
    onTestFinished(async () => {
      await started.service.stop();
      await rm(folder, { recursive: true, force: true });
    });
    return started;
  }

  async restart(): Promise<void> {
    const { port } = new URL(this.service.controlUrl);
    await this.service.stop();
    this.service = await serve(this.#folder, port);
  }

  get env(): Record<string, string> {
    return { HOME: this.#folder, ANNEX_URL: this.service.controlUrl, ANNEX_TOKEN: this.token };
  }

  async api(method: string, path: string, body: FormData | object): Promise<Record<string, unknown>> {
    const isForm = body instanceof FormData;
    const answer = await fetch(`${this.service.controlUrl}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.token}`,
        ...(!isForm && { 'content-type': 'application/json' }),
      },
      body: isForm ? body : JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(await answer.text());
    return answer.json() as Promise<Record<string, unknown>>;
  }

  /** @returns the id of the installation */
  async deploy(): Promise<string> {
    const form = new FormData();
    form.append('manifest', HANDLER);
    form.append('files', new Blob([CODE]), 'index.js');
    await this.api('POST', '/v1/integrations', form);
    const made = await this.api('POST', '/v1/integrations/handler/installations', { organization: 'acme' });
    return String(made['id']);
  }

  write(tenant: string, from: number, count: number): Promise<void> {
    const { logs } = this.service.store;
    for (let number = from; number < from + count; number += 1)
      logs.append({ tenant, version: 1, requestId: 'r', level: 'info', text: `${number}.`, at: Date.now() });
    return logs.pass();
  }

  post(count: number): Promise<unknown> {
    const event = {
      type: 'space_content_updated',
      organization: 'acme',
      spaceId: 'garden',
      revisionId: 'r1',
    };
    return this.api('POST', '/v1/events', { events: Array.from({ length: count }, () => event) });
  }
}

async function serve(folder: string, port: string): Promise<Service> {
  const listeners = ['--control-port', port, '--public-port', '0', '--public-host', '127.0.0.1'];
  const config = readConfig(['--data', folder, ...listeners, '--built-ins', 'none', '--cells', '1'], {});
  const prepared = await preparedProcesses(config);
  return startService(config, pino({ level: 'silent' }), { prepared });
}

test('tail goes on across a restart of the service, and loses no line', async () => {
  const scene = await RestartedService.start();
  const id = await scene.deploy();
  await scene.write(id, 0, 5);
  const begun = Promise.withResolvers<void>();
  const ran = annex({
    words: ['tail', id, '--lines', '5', '--json'],
    env: scene.env,
    stopWhen: /"text":"299\."/,
    onOutput: () => begun.resolve(),
  });
  await begun.promise;
  await scene.write(id, 5, 145);
  await scene.restart();
  // Before the command has connected again.
  await scene.write(id, 150, 150);
  const { code, stderr, lines } = await ran;
  expect(lines().map(({ text }) => text)).toEqual(Array.from({ length: 300 }, (_, number) => `${number}.`));
  expect(stderr).toMatch(/^Following the log of handler@acme\..*^Connected again/ms);
  expect(code).toBe(0);
});

test('followed deliveries go on across a restart, and lose no change', async () => {
  const scene = await RestartedService.start();
  const id = await scene.deploy();
  const ran = annex({
    words: ['deliveries', 'list', id, '--follow', '--limit', '100', '--json'],
    env: scene.env,
    stopWhen: /(?:"change":"delivered".*?){20}/s,
  });
  await expect.poll(() => scene.service.store.deliveryFeed.isFollowed).toBe(true);
  await scene.post(10);
  await scene.restart();
  await scene.post(10);
  const { lines, code } = await ran;
  const ended = lines<{ change: string; delivery: { id: string } }>().filter(
    ({ change }) => change === 'delivered',
  );
  expect(new Set(ended.map(({ delivery }) => delivery.id)).size).toBe(20);
  expect(code).toBe(0);
});

test('listen forwards what a receiver verifies with the secret of the webhook', async () => {
  const service = await TestService.start();
  onTestFinished(() => service.stop());
  await service.publishFixture('webhook');
  const hooks = await service.install('webhook', 'acme');
  await service.installBelow('webhook', hooks, 'site', 'docs');
  const path = `/v1/integrations/webhook/installations/${hooks.id}/sites/docs`;
  // Nothing answers there: Annex makes the payload, and its own posts fail.
  const configuration = { webhook_url: 'https://receiver.invalid/in', event_types: ['site_view'] };
  await service.api('PATCH', path, { json: { configuration } });
  const { body } = await service.api('GET', `${path}/webhook-secret`);
  const [example] = EXAMPLES;
  if (example === undefined) throw new Error('There is no example.');
  const receiver = new RunningReceiver(example, { WEBHOOK_SECRET: String(body['secret']) });
  onTestFinished(() => receiver.stop());
  const { eventId } = (await service.api('POST', `${path}/webhook-test`, { json: {} })).body;
  const ran = await annex({
    words: ['listen', 'webhook@acme', '--forward-to', await receiver.url(), '--json'],
    env: { HOME: '/nowhere', ANNEX_URL: service.service.controlUrl, ANNEX_TOKEN: service.admin },
    stopWhen: /\n/,
  });
  expect(ran.lines()).toMatchObject([{ eventId, type: 'site_view', status: 200 }]);
  await expect.poll(() => receiver.handled(String(eventId))).toBe(1);
  expect(ran.code).toBe(0);
});
