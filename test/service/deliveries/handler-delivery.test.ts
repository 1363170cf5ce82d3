/** Deliveries in a real service: to handlers, and webhooks with payloads of the integration. */
import { setTimeout as wait } from 'node:timers/promises';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Delivery } from '../../../src/host/store/deliveries/delivery.ts';
import { HttpReceiver } from '../../support/receivers/http-receiver.ts';
import { type Installed, TestService } from '../../support/service.ts';

const POLL = { interval: 10, timeout: 90_000 };
const MANIFEST = (name: string, more: string) => `
name: ${name}
title: ${name}
description: for a test
organization: acme
visibility: public
scopes: ['space:content:read', 'site:views:read']
script: index.js
${more}`;
const WEBHOOK = `
configurations:
  site:
    properties:
      url: { type: string, title: URL }
      types: { type: string, multiple: true, enum: [site_view], title: Types }
    required: [url, types]
webhook: { url: url, eventTypes: types }
`;

describe('deliveries', () => {
  let service: TestService;
  let names = 0;
  beforeAll(async () => {
    service = await TestService.start({
      flags: ['--webhook-http', 'allow', '--egress-allow', '127.0.0.0/8'],
      limits: { webhookPayloadBytes: 1_000 },
    });
    return () => service.stop();
  });

  /** Publishes an integration under a new name, and installs it for a new organization. */
  async function deploy(
    source: string,
    more = '',
  ): Promise<Installed & { readonly name: string; readonly organization: string }> {
    names += 1;
    const [name, organization] = [`delivered-${names}`, `delivered-org-${names}`];
    const form = new FormData();
    form.append('manifest', MANIFEST(name, more));
    form.append('files', new Blob([source]), 'index.js');
    const { status, body } = await service.api('POST', '/v1/integrations', { form });
    if (status !== 201) throw new Error(JSON.stringify(body));
    return { ...(await service.install(name, organization)), name, organization };
  }

  /** Posts an event with one delivery. @returns the id of the delivery */
  async function post(event: Readonly<Record<string, unknown>>): Promise<string> {
    const { status, body } = await service.api('POST', '/v1/events', {
      token: service.platform,
      json: event,
    });
    expect([status, body]).toEqual([202, { eventId: body['eventId'], deliveries: 1 }]);
    const [{ id } = { id: '' }] = await service.service.store.deliveryList.ofEvent(String(body['eventId']));
    return id;
  }

  const updated = (organization: string, more: object = {}) => ({
    ...{ organization, type: 'space_content_updated', spaceId: 'space-1', revisionId: 'rev-1' },
    ...more,
  });
  const viewed = (organization: string, more: object = {}) => ({
    ...{ organization, type: 'site_view', siteId: 'site-1', url: 'https://a.example/', referrer: '' },
    visitor: { anonymousId: 'a', userAgent: 'u', ip: '198.51.100.7', cookies: {} },
    ...more,
  });

  async function over(id: string): Promise<Delivery> {
    return vi.waitFor(async () => {
      const delivery = await service.service.store.deliveryList.read(id);
      expect(delivery?.state).not.toBe('pending');
      return delivery as Delivery;
    }, POLL);
  }
  const attempts = (id: string) => service.service.store.deliveryList.attempts(id);

  describe('to a handler', () => {
    test('carry the event with the ids of its target and all posted members, without the organization', async () => {
      const installed = await deploy(`
        import { createIntegration } from '@annex/sdk';
        export default createIntegration({ fetch: () => new Response(), events: {
          space_content_updated: (event) => console.log(JSON.stringify(event)),
        } });`);
      await service.installBelow(installed.name, installed, 'space', 'space-1');
      const id = await post(updated(installed.organization, { eventId: 'evt-ids', extra: { '"': ['ü'] } }));
      expect(await over(id)).toMatchObject({
        state: 'delivered',
        outcome: 'answered 200',
        attempts: 1,
        kind: 'handler',
      });
      const [line] = await service.log(installed);
      expect(JSON.parse(line?.text ?? '')).toEqual({
        ...{ eventId: 'evt-ids', type: 'space_content_updated', installationId: installed.id },
        ...{ spaceId: 'space-1', revisionId: 'rev-1', extra: { '"': ['ü'] } },
      });
      // The id of the delivery is the id of the call in the log.
      const { items } = await service.service.store.logs.list({ tenant: installed.id, limit: 1 });
      expect(items[0]?.requestId).toBe(id);
    });

    test('that answers 406 are unhandled, without a line in the log', async () => {
      const installed = await deploy(`export default { fetch: () => new Response('', { status: 406 }) };`);
      await service.installBelow(installed.name, installed, 'space', 'space-1');
      const id = await post(updated(installed.organization));
      expect(await over(id)).toMatchObject({ state: 'unhandled', outcome: 'answered 406', attempts: 1 });
      expect(await service.log(installed)).toEqual([]);
    });

    test('that throws fail for good if its manifest says so, with a line in the log', async () => {
      const installed = await deploy(
        `
        import { createIntegration } from '@annex/sdk';
        export default createIntegration({ fetch: () => new Response(), events: {
          space_content_updated() { throw new Error('of the author'); },
        } });`,
        'retries: none',
      );
      await service.installBelow(installed.name, installed, 'space', 'space-1');
      const id = await post(updated(installed.organization, { eventId: 'evt-throw' }));
      expect(await over(id)).toMatchObject({
        state: 'failed',
        outcome: 'answered 500',
        attempts: 1,
        retries: 0,
      });
      await expect.poll(() => service.log(installed)).toHaveLength(2);
      const [thrown, line] = await service.log(installed);
      expect(thrown?.text).toContain('of the author');
      expect(line?.text).toBe(
        'space_content_updated (evt-throw) was not delivered: answered 500. This is final. Once the cause is fixed, ' +
          `POST /v1/deliveries/${id}/redeliver delivers it again.`,
      );
    });

    test('whose cell dies are repeated, and the log has no failed delivery', async () => {
      let requests = 0;
      const receiver = await HttpReceiver.start(() => (requests++ === 0 ? undefined : 200));
      const installed = await deploy(`
        import { createIntegration } from '@annex/sdk';
        export default createIntegration({ fetch: () => new Response(), events: {
          async space_content_updated() { await fetch(${JSON.stringify(receiver.url)}); },
        } });`);
      await service.installBelow(installed.name, installed, 'space', 'space-1');
      const id = await post(updated(installed.organization));
      await expect.poll(() => receiver.requests).toHaveLength(1);
      for (const pid of service.cellPids) process.kill(pid, 'SIGKILL');
      expect(await over(id)).toMatchObject({ state: 'delivered', attempts: 2, faults: 1, retries: 0 });
      expect(await attempts(id)).toMatchObject([
        { result: 'fault', outcome: 'cellCrashed' },
        { result: 'succeeded', outcome: 'answered 200', status: 200 },
      ]);
      expect((await service.log(installed)).filter(({ text }) => text.includes('final'))).toEqual([]);
    });

    test('that names a receiver without `webhook` in its manifest post nothing, and the log says why', async () => {
      const receiver = await HttpReceiver.start();
      const installed = await deploy(
        `export default { async fetch(request) {
          if (JSON.parse((await request.formData()).get('event')).type !== 'space_content_updated') return new Response();
          return new Response('{}', { headers: { 'Annex-Deliver-To': '${receiver.url}' } });
        } };`,
      );
      await service.installBelow(installed.name, installed, 'space', 'space-1');
      const id = await post(updated(installed.organization));
      expect(await over(id)).toMatchObject({ state: 'delivered' });
      const [line] = await service.log(installed);
      expect(line).toMatchObject({ level: 'warn', text: expect.stringContaining('nothing is posted to it') });
      expect(receiver.requests).toEqual([]);
    });
  });

  describe('of a webhook', () => {
    /** Installs a webhook in a site. @param body of its `fetch`; `url` is the configured URL */
    async function webhook(body: string, url: string) {
      const installed = await deploy(
        `export default { async fetch(request) {
          const form = await request.formData();
          if (JSON.parse(form.get('event')).type !== 'site_view') return new Response('', { status: 406 });
          const { url } = JSON.parse(form.get('environment')).siteInstallation.configuration;
          const to = (payload) => new Response(payload, { headers: { 'annex-deliver-to': url } });
          ${body}
        } };`,
        WEBHOOK,
      );
      await service.installBelow(installed.name, installed, 'site', 'site-1');
      await configure(installed, url);
      return installed;
    }
    async function configure({ name, id }: { name: string; id: string }, url: string): Promise<void> {
      const path = `/v1/integrations/${name}/installations/${id}/sites/site-1`;
      const { status, body } = await service.api('PATCH', path, {
        json: { configuration: { url, types: ['site_view'] } },
      });
      expect([status, body['status']]).toEqual([200, 'active']);
    }

    /** A payload of two chunks. @param middle code between them */
    const torn = (middle: string): string => `
      const bytes = (text) => new TextEncoder().encode(text);
      return to(new ReadableStream({ async start(controller) {
        controller.enqueue(bytes('{"a":'));
        await new Promise((resolve) => setTimeout(resolve, 20));
        ${middle}
        controller.enqueue(bytes('1}'));
        controller.close();
      } }));`;

    test('post the answer of the integration to the receiver it names, and call the integration once', async () => {
      const statuses = [503, 200];
      const receiver = await HttpReceiver.start(() => statuses.shift());
      const installed = await webhook(
        `console.log('asked'); return to(JSON.stringify({ at: Math.random() }));`,
        `${receiver.url}/hook`,
      );
      const id = await post(viewed(installed.organization));
      expect(await over(id)).toMatchObject({ state: 'delivered', kind: 'webhook', attempts: 2, retries: 1 });
      const [first, second] = receiver.requests;
      expect(second?.body).toBe(first?.body);
      expect(JSON.parse(first?.body ?? '')).toEqual({ at: expect.any(Number) });
      expect((await service.log(installed)).filter(({ text }) => text === 'asked')).toHaveLength(1);
    });

    test('whose target was changed post the same bytes to its new receiver', async () => {
      const before = await HttpReceiver.start(() => 503);
      const after = await HttpReceiver.start();
      const installed = await webhook('return to(JSON.stringify({ at: Math.random() }));', before.url);
      const id = await post(viewed(installed.organization));
      await expect.poll(() => before.requests).toHaveLength(1);
      await configure(installed, after.url);
      expect(await over(id)).toMatchObject({ state: 'delivered', retries: 1 });
      expect(after.requests.map(({ body }) => body)).toEqual([before.requests[0]?.body]);
    });

    test('whose integration names no receiver any more are unhandled', async () => {
      const receiver = await HttpReceiver.start(() => 503);
      const installed = await webhook(
        `return url.endsWith('/off') ? new Response('', { status: 406 }) : to('{}');`,
        receiver.url,
      );
      const id = await post(viewed(installed.organization));
      await expect.poll(() => receiver.requests).toHaveLength(1);
      await configure(installed, `${receiver.url}/off`);
      expect(await over(id)).toMatchObject({ state: 'unhandled', outcome: 'answered 406' });
      expect(receiver.requests).toHaveLength(1);
    });

    test('may be streamed, within the limits of the call and `webhookPayloadBytes`', async () => {
      const receiver = await HttpReceiver.start();
      const installed = await webhook(
        `return to(new ReadableStream({ async start(controller) {
          const encoder = new TextEncoder();
          for (const piece of ['{"a":"', 'ü'.repeat(400), '"}']) {
            await new Promise((resolve) => setTimeout(resolve, 20));
            controller.enqueue(encoder.encode(piece));
          }
          controller.close();
        } }));`,
        receiver.url,
      );
      expect(await over(await post(viewed(installed.organization)))).toMatchObject({ state: 'delivered' });
      expect(receiver.requests[0]?.body).toBe(`{"a":"${'ü'.repeat(400)}"}`);
    });

    test.each([
      ['throws', `throw new Error('of the author')`, 'exception'],
      ['spins', 'for (;;);', 'exceededCpu'],
    ])('whose code %s in the middle of its payload fail for good', async (_, middle, outcome) => {
      const receiver = await HttpReceiver.start();
      const installed = await webhook(torn(middle), receiver.url);
      const id = await post(viewed(installed.organization));
      expect(await over(id)).toMatchObject({ state: 'failed', outcome, attempts: 1, faults: 0 });
      expect(await attempts(id)).toMatchObject([{ result: 'failed', outcome, status: 200 }]);
      expect(receiver.requests).toEqual([]);
    });

    test('whose cell dies in the middle of the payload are repeated', async () => {
      let requests = 0;
      const source = await HttpReceiver.start(() => (requests++ === 0 ? undefined : 200));
      const receiver = await HttpReceiver.start();
      const installed = await webhook(torn(`await fetch('${source.url}');`), receiver.url);
      const id = await post(viewed(installed.organization));
      await expect.poll(() => source.requests).toHaveLength(1);
      for (const pid of service.cellPids) process.kill(pid, 'SIGKILL');
      expect(await over(id)).toMatchObject({ state: 'delivered', attempts: 2, faults: 1, retries: 0 });
      expect(await attempts(id)).toMatchObject([{ result: 'fault', outcome: 'cellCrashed' }, {}]);
      expect(receiver.requests.map(({ body }) => body)).toEqual(['{"a":1}']);
    });

    // Both sides of `webhookPayloadBytes`, whole and streamed.
    test.each([
      ['whole', (size: number) => `to(JSON.stringify('x'.repeat(${size - 2})))`],
      ['streamed', (size: number) => `to(new Blob([JSON.stringify('x'.repeat(${size - 2}))]).stream())`],
    ])('webhookPayloadBytes: a payload that is %s has a maximum size, met exactly', async (_, source) => {
      const receiver = await HttpReceiver.start();
      const fits = await webhook(`return ${source(1_000)};`, receiver.url);
      expect(await over(await post(viewed(fits.organization)))).toMatchObject({ state: 'delivered' });
      expect(receiver.requests[0]?.body).toHaveLength(1_000);
      const large = await webhook(`return ${source(1_001)};`, receiver.url);
      expect(await over(await post(viewed(large.organization)))).toMatchObject({
        ...{ state: 'failed', outcome: 'payload too large', attempts: 1 },
      });
      expect(receiver.requests).toHaveLength(1);
      const [line] = await service.log(large);
      expect(line?.text).toContain('(webhookPayloadBytes)');
      expect(await service.metric('annex_limits_met_total{limit="webhookPayloadBytes"}')).toBeGreaterThan(0);
    });

    test.each([
      ['no JSON', `to('{"a":')`],
      ['nothing', `to('')`],
      ['no UTF-8', `to(new Uint8Array([0x22, 0xff, 0x22]))`],
    ])('whose payload is %s fail for good, and the log has the requirement', async (_, source) => {
      const receiver = await HttpReceiver.start();
      const installed = await webhook(`return ${source};`, receiver.url);
      const id = await post(viewed(installed.organization));
      expect(await over(id)).toMatchObject({ state: 'failed', outcome: 'payload is not JSON' });
      const [line] = await service.log(installed);
      expect(line?.text).toContain('has to be JSON in UTF-8');
      expect(receiver.requests).toEqual([]);
    });

    test('whose integration names no receiver are unhandled: there is nothing to post', async () => {
      const installed = await webhook(`return new Response('OK');`, 'https://example.com/');
      const id = await post(viewed(installed.organization));
      expect(await over(id)).toMatchObject({ state: 'unhandled', outcome: 'nothing to post' });
    });

    test('to a refused address fail for good, and the log has the reason without the query', async () => {
      const dodged = await webhook(
        `return new Response('{}', { headers: { 'annex-deliver-to': 'http://169.254.169.254/latest?key=secret' } });`,
        'https://example.com/',
      );
      const id = await post(viewed(dodged.organization));
      expect(await over(id)).toMatchObject({ state: 'failed', outcome: 'blocked', attempts: 1 });
      const [line] = await service.log(dodged);
      expect(line?.text).toMatch(
        /^site_view \(\S+\) was not delivered to http:\/\/169\.254\.169\.254: blocked\./,
      );
      expect(line?.text).not.toContain('secret');
    });
  });

  test('are counted in metrics without names of tenants', async () => {
    const text = await (await fetch(`${service.service.controlUrl}/metrics`)).text();
    const lines = text.split('\n').filter((line) => /^annex_deliver/.test(line));
    expect(lines.join('\n')).not.toContain('delivered-');
    expect(await service.metric('annex_deliveries_total{kind="handler",state="failed"}')).toBe(1);
    expect(await service.metric('annex_delivery_attempts_total{kind="handler",result="fault"}')).toBe(1);
    expect(
      await service.metric('annex_delivery_attempt_duration_seconds_count{kind="webhook"}'),
    ).toBeGreaterThan(1);
    expect(await service.metric('annex_delivery_lateness_seconds_count')).toBeGreaterThan(10);
    expect(await service.metric('annex_deliveries_waiting')).toBe(0);
    expect(await service.metric('annex_deliveries_in_flight')).toBe(0);
  });

  describe('to a handler that fails', () => {
    // Each attempt notes its number, and the event as code passes it on.
    const noting = (body: string) => `
      import { createIntegration, ExposableError, RetryAfter } from '@annex/sdk';
      export default createIntegration({ fetch: () => new Response(), events: {
        async space_content_updated(event) {
          console.log(event.attempt + ' ' + Object.keys(event).includes('attempt'));
          ${body}
        },
      } });`;
    async function noted(installed: Installed): Promise<string[]> {
      const lines = await service.log(installed);
      return lines.map(({ text }) => text).filter((text) => /^\d+ (true|false)$/.test(text));
    }
    async function delivered(source: string, more = ''): Promise<[Delivery, Installed]> {
      const installed = await deploy(source, more);
      await service.installBelow(installed.name, installed, 'space', 'space-1');
      return [await over(await post(updated(installed.organization))), installed];
    }

    test('of the SDK are retried after an uncaught error, and told the attempt', async () => {
      const source = noting("if (event.attempt < 3) throw new Error('not yet');");
      const [delivery, installed] = await delivered(source);
      expect(delivery).toMatchObject({ state: 'delivered', attempts: 3, retries: 2 });
      // The first attempt has the event as it was posted.
      expect(await noted(installed)).toEqual(['1 false', '2 true', '3 true']);
    });

    test('that always throw fail after the attempts of the schedule', async () => {
      const [delivery] = await delivered(noting("throw new Error('never');"), 'retries: [1s]');
      expect(delivery).toMatchObject({ state: 'failed', attempts: 2, retries: 1, outcome: 'answered 500' });
    });

    test('that run out of their time are retried', async () => {
      const source = noting('if (event.attempt < 2) for (;;);');
      const [delivery] = await delivered(source, 'retries: [1s]');
      expect(delivery).toMatchObject({ state: 'delivered', attempts: 2 });
    });

    test('that throw an ExposableError have answered, which is final', async () => {
      for (const status of [400, 503]) {
        const [delivery] = await delivered(noting(`throw new ExposableError('No.', ${status});`));
        expect(delivery).toMatchObject({ state: 'failed', attempts: 1, outcome: `answered ${status}` });
      }
    });

    test('that throw RetryAfter are delivered again after that time, without an exception in the log', async () => {
      const source = noting('if (event.attempt < 2) throw new RetryAfter(2);');
      const [delivery, installed] = await delivered(source, 'retries: [1s]');
      expect(delivery).toMatchObject({ state: 'delivered', attempts: 2 });
      const [first, second] = await attempts(delivery.id);
      expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(2_000);
      expect(first).toMatchObject({ outcome: 'answered 503', result: 'failed' });
      expect((await service.log(installed)).filter(({ level }) => level === 'error')).toEqual([]);
    });

    test('of code with a runtime of its own are called once, unless its manifest has a schedule', async () => {
      const source = `export default { fetch() { throw new Error('of its own'); } };`;
      expect((await delivered(source))[0]).toMatchObject({ state: 'failed', attempts: 1 });
      expect((await delivered(source, 'retries: [1s]'))[0]).toMatchObject({ state: 'failed', attempts: 2 });
      const answers = `export default { fetch: () => new Response('', { status: 500 }) };`;
      expect((await delivered(answers, 'retries: [1s]'))[0]).toMatchObject({ state: 'failed', attempts: 1 });
    });
  });
});

test('a stop ends in its time, whatever hangs', async () => {
  const service = await TestService.start({
    flags: ['--webhook-http', 'allow', '--egress-allow', '127.0.0.0/8'],
    limits: { stopMs: 500 },
  });
  onTestFinished(() => service.stop());
  const receiver = await HttpReceiver.start(() => undefined);
  const source = `
    import { createIntegration } from '@annex/sdk';
    export default createIntegration({ fetch: () => new Response(), events: {
      space_content_updated: () => fetch(${JSON.stringify(receiver.url)}),
    } });`;
  const form = new FormData();
  form.append('manifest', MANIFEST('hangs', ''));
  form.append('files', new Blob([source]), 'index.js');
  await service.api('POST', '/v1/integrations', { form });
  const installed = await service.install('hangs', 'org');
  await service.installBelow('hangs', installed, 'space', 'space-1');
  const event = {
    organization: 'org',
    type: 'space_content_updated',
    spaceId: 'space-1',
    revisionId: 'r',
    eventId: 'evt-hangs',
  };
  await service.api('POST', '/v1/events', { json: event });
  await expect.poll(() => receiver.requests).toHaveLength(1);
  const { deliveryList, deliveryClaims } = service.service.store;
  const [{ id } = { id: '' }] = await deliveryList.ofEvent('evt-hangs');
  const released = vi.spyOn(deliveryClaims, 'release');
  const late = wait(2_500, 'late');
  expect(await Promise.race([service.stop().then(() => 'stopped'), late])).toBe('stopped');
  // It counts as not attempted: no receiver can have got anything.
  expect(released.mock.calls.flat(2).map((claim) => claim.id)).toEqual([id]);
});
