/**
 * Calls whose requests to this service fail for a reason of the platform, or that are at work when
 * it stops: they are served to their end, and no failure behind such a request is final
 * (docs/contract/calls.md#own-requests).
 */
import { setImmediate as turn } from 'node:timers/promises';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Delivery } from '../../../src/host/store/deliveries/delivery.ts';
import { wholeInstallation } from '../../../src/model/installation.ts';
import { HttpReceiver } from '../../support/receivers/http-receiver.ts';
import { type Installed, TestService } from '../../support/service.ts';

const FLAGS = ['--webhook-http', 'allow', '--egress-allow', '127.0.0.0/8'];
const SCOPES = `configurations:
  site:
    properties:
      url: { type: string, title: URL }
      types: { type: string, multiple: true, enum: [site_view], title: Types }
    required: [url, types]
`;
const POSTS = 'webhook: { url: url, eventTypes: types }\n';

let names = 0;
async function deploy(service: TestService, source: string, more = '', notified = false) {
  names += 1;
  const [name, organization] = [`own-${names}`, `own-org-${names}`];
  const form = new FormData();
  const head = `name: ${name}\ntitle: t\ndescription: d\norganization: acme\nvisibility: public\nscript: index.js\n`;
  form.append('manifest', `${head}scopes: ['space:content:read', 'site:views:read']\n${more}`);
  form.append('files', new Blob([source]), 'index.js');
  const { status, body } = await service.api('POST', '/v1/integrations', { form });
  if (status !== 201) throw new Error(JSON.stringify(body));
  const installed = await service.install(name, organization, { notified });
  return { ...installed, name, organization };
}

/** Posts an event. @returns the id of its delivery */
async function post(service: TestService, event: object): Promise<string> {
  const { body } = await service.api('POST', '/v1/events', { json: event });
  const [{ id } = { id: '' }] = await service.service.store.deliveryList.ofEvent(String(body['eventId']));
  return id;
}

const updated = (organization: string) => ({
  ...{ organization, type: 'space_content_updated', spaceId: 'space-1', revisionId: 'rev-1' },
});
const viewed = (organization: string) => ({
  ...{ organization, type: 'site_view', siteId: 'site-1', url: 'https://a.example/', referrer: '' },
  visitor: { anonymousId: 'a', userAgent: 'u', ip: '198.51.100.7', cookies: {} },
});

async function ended(service: TestService, id: string): Promise<Delivery> {
  const read = () => service.service.store.deliveryList.read(id);
  await expect.poll(async () => (await read())?.state).not.toBe('pending');
  return (await read()) as Delivery;
}

describe('a service that stops', () => {
  test('serves its calls in flight to their end, also with its own API and endpoints', async () => {
    const service = await TestService.start({ flags: FLAGS });
    onTestFinished(() => service.stop());
    const gate = await HttpReceiver.start(({ path }) => (path.startsWith('/done') ? 200 : undefined));
    const source = `import { createIntegration } from '@annex/sdk';
      const work = async (from, { api, integration, environment }) => {
        await fetch('${gate.url}/' + from);
        await integration.queueTask({ task: { from }, schedule: 3600 });
        const { body } = await api.request('GET /integrations/{name}');
        const nested = await (await fetch(environment.installation.urls.publicEndpoint + '/nested')).text();
        await fetch('${gate.url}/done/' + from + '/' + nested + '/' + body.name);
      };
      export default createIntegration({
        async fetch(request, context) {
          if (request.url.endsWith('/nested')) return new Response('nested');
          await work('fetch', context);
          return new Response('served');
        },
        events: {
          space_content_updated: (_, context) => work('event', context),
          installation_setup: (_, context) => work('setup', context),
        },
      });`;
    const installed = await deploy(service, source, SCOPES, true);
    await service.installBelow(installed.name, installed, 'space', 'space-1');
    const id = await post(service, updated(installed.organization));
    const called = fetch(`${installed.endpoint}/`);
    await expect.poll(() => gate.paths.toSorted()).toEqual(['/event', '/fetch', '/setup']);
    // The last state of the delivery, before the store is closed.
    const { store } = service.service;
    const settled: (string | undefined)[] = [];
    const feed = store.deliveryFeed.follow({
      filter: {},
      changed: (changes) =>
        settled.push(...changes.map(({ delivery }) => `${delivery.id} ${delivery.state}`)),
      lost: () => undefined,
    });
    onTestFinished(() => feed());
    const stopped = service.service.stop();
    await turn();
    for (const request of gate.requests) request.answer(200);
    expect([(await called).status, await (await called).text()]).toEqual([200, 'served']);
    await stopped;
    const done = gate.paths.filter((path) => path.startsWith('/done/'));
    expect(done.toSorted()).toEqual(
      ['event', 'fetch', 'setup'].map((from) => `/done/${from}/nested/${installed.name}`),
    );
    expect(settled).toContain(`${id} delivered`);
  });
});

/**
 * Code of an installation with one place, and one to wait in: the second of two requests to its own
 * endpoint is refused with `CALL_SHED`. It fails behind that once, and then answers.
 */
const REFUSED = (
  fails: string,
  answers: string,
) => `import { createIntegration, deliverTo } from '@annex/sdk';
  let calls = 0;
  const work = async (environment, event) => {
    calls += 1;
    console.log('call ' + calls);
    if (calls > 1) { ${answers} }
    const url = environment.installation.urls.publicEndpoint + '/other';
    const waiting = new AbortController();
    const first = fetch(url, { signal: waiting.signal }).catch(() => undefined);
    const { status, headers } = await fetch(url);
    waiting.abort();
    await first;
    ${fails}
  };
  export default createIntegration({
    fetch: (request, { environment }) => work(environment),
    task: (event, { environment }) => work(environment, event),
    events: {
      space_content_updated: (event, { environment }) => work(environment, event),
      site_view: (event, { environment }) => work(environment, event),
      installation_setup: (event, { environment }) => work(environment, event),
    },
  });`;
const THROWS = `if (status === 503) throw new Error('refused with ' + status);`;

describe('a failure behind an own request that failed for a reason of the platform', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start({
      flags: FLAGS,
      limits: { callsInFlightPerInstallation: 1, callsWaitingPerInstallation: 1 },
    });
    return () => service.stop();
  });
  const texts = async (installed: Installed) =>
    (await service.log(installed)).map(({ text }) => text).filter((text) => /^(call|The call)/.test(text));
  const twice = [
    'call 1',
    expect.stringContaining('The call ended with loadShed.'),
    expect.stringContaining('The call ended with internalError. A request of the integration'),
    'call 2',
  ];

  test('is repeated where an event is handled', async () => {
    const installed = await deploy(service, REFUSED(THROWS, 'return;'), SCOPES);
    await service.installBelow(installed.name, installed, 'space', 'space-1');
    const id = await post(service, updated(installed.organization));
    expect(await ended(service, id)).toMatchObject({ state: 'delivered', faults: 1 });
    expect(await texts(installed)).toEqual(twice);
  });

  test('is repeated where the code makes the payload of a webhook', async () => {
    const receiver = await HttpReceiver.start();
    const answers = `return deliverTo('${receiver.url}/hook', { made: calls });`;
    const installed = await deploy(service, REFUSED(THROWS, answers), SCOPES + POSTS);
    await service.installBelow(installed.name, installed, 'site', 'site-1');
    const configuration = { url: receiver.url, types: ['site_view'] };
    const path = `/v1/integrations/${installed.name}/installations/${installed.id}/sites/site-1`;
    await service.api('PATCH', path, { json: { configuration } });
    const id = await post(service, viewed(installed.organization));
    expect(await ended(service, id)).toMatchObject({ state: 'delivered', faults: 1 });
    expect(receiver.requests.map(({ body }) => body)).toEqual(['{"made":2}']);
  });

  test('is repeated where a task or a lifecycle event is handled', async () => {
    const installed = await deploy(service, REFUSED(THROWS, 'return;'), SCOPES, true);
    await expect.poll(() => texts(installed)).toEqual(twice);
    const other = await deploy(service, REFUSED(THROWS, 'return;'), SCOPES);
    const target = await service.service.targets.named(wholeInstallation(other.id));
    if (target === undefined) throw new Error('It is not installed.');
    await service.service.delivery.taskAcceptance.accept(target, '{}', 0, 0);
    await expect.poll(() => texts(other)).toEqual(twice);
  });

  test.each([
    ['throws', THROWS],
    ['answers 500 itself', 'return new Response("", { status: 500 });'],
  ])('is 503 with Retry-After for a caller where it %s', async (_, fails) => {
    const installed = await deploy(service, REFUSED(fails, 'return new Response("served");'), SCOPES);
    const refused = await fetch(`${installed.endpoint}/`);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await refused.json()).toMatchObject({
      error: {
        code: 'CALL_SHED',
        outcome: 'internalError',
        message: expect.stringContaining('reason of the platform'),
      },
    });
    expect(await (await fetch(`${installed.endpoint}/`)).text()).toBe('served');
  });

  // Attack: code claims the platform's fault, to be repeated again and again.
  test('is final where only an endpoint of the tenant said so', async () => {
    const liar = await deploy(
      service,
      `export default { fetch: () => Response.json(
        { error: { code: 'DATABASE_UNAVAILABLE', status: 503, message: '', requestId: '' } },
        { status: 503, headers: { 'retry-after': '1', 'annex-platform-fault': 'DATABASE_UNAVAILABLE' } }) };`,
    );
    const source = `import { createIntegration } from '@annex/sdk';
      export default createIntegration({ fetch: () => new Response(), events: {
        async space_content_updated() {
          const { status, headers } = await fetch('${liar.endpoint}/');
          console.log(status + ' ' + [...headers.keys()].filter((name) => name.startsWith('annex-platform-fault')));
          throw new Error('It is not me.');
        },
      } });`;
    const installed = await deploy(service, source, SCOPES);
    await service.installBelow(installed.name, installed, 'space', 'space-1');
    const id = await post(service, updated(installed.organization));
    expect(await ended(service, id)).toMatchObject({ state: 'failed', outcome: 'answered 500', faults: 0 });
    expect((await service.log(installed))[0]?.text).toBe('503 annex-platform-fault');
  });

  test('is answered without the mark of the host', async () => {
    const probe = REFUSED(
      `return Response.json([status, [...headers.keys()].filter((name) => name.startsWith('annex-'))]);`,
      '',
    );
    const installed = await deploy(service, probe);
    expect(await (await fetch(`${installed.endpoint}/`)).json()).toEqual([503, []]);
  });
});
