/**
 * Work that several nodes share is done once, wherever it was asked for: events, tasks, deliveries,
 * lifecycle events, signed envelopes; and what began on one node goes on at the other
 * (docs/contract/nodes.md#work).
 */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { uploadFolder } from '../../../src/local/demo/folder-form-data.ts';
import { signatureHeader } from '../../../src/model/signature.ts';
import { EventReader } from '../../support/http/event-reader.ts';
import { Nodes } from '../../support/nodes.ts';
import { Browser, consent } from '../../support/oauth/oidc-browser.ts';
import { CLIENT, type OidcServer, startOidcServer } from '../../support/oauth/oidc-server.ts';
import { HttpReceiver } from '../../support/receivers/http-receiver.ts';
import { WebhookInbox } from '../../support/receivers/webhook-inbox.ts';
import type { Installed, TestService } from '../../support/service.ts';

const OAUTH = fileURLToPath(new URL('../../../fixtures/oauth', import.meta.url));

/** Logs its tasks and lifecycle events; shows its tokens and its signing secret. */
const WORKER = `import { createIntegration } from '@annex/sdk';
export default createIntegration({
  async fetch(request, { environment, integration }) {
    const { searchParams } = new URL(request.url);
    if (searchParams.has('say')) console.log(searchParams.get('say'));
    if (searchParams.has('task')) await integration.queueTask({ task: searchParams.get('task') });
    const { apiTokens, signingSecrets } = environment;
    return Response.json({ token: apiTokens.installation, secret: signingSecrets.installation });
  },
  task: ({ task }) => console.log('task ' + task),
  events: {
    async installation_setup({ previous }, { environment }) {
      const { receiver } = environment.installation.configuration;
      if (receiver) await fetch(receiver + 'from/' + (previous?.configuration.step ?? 'nothing'));
    },
  },
});`;
const MANIFEST = `configurations:
  account:
    properties:
      step: { type: number, title: Step, description: How far. }
      receiver: { type: string, title: Receiver, description: Where lifecycle events are shown. }
`;

type Shown = { readonly token: string; readonly secret: string };
type Items = readonly Readonly<Record<string, unknown>>[];

describe('two nodes on PostgreSQL', () => {
  let oidc: OidcServer;
  let nodes: Nodes;
  let a: TestService;
  let b: TestService;
  beforeAll(async () => {
    oidc = await startOidcServer();
    nodes = await Nodes.start({ flags: ['--webhook-http', 'allow', '--egress-allow', '127.0.0.1'] });
    ({ a, b } = nodes);
    await a.publish('worker', { 'index.js': WORKER }, MANIFEST);
  });
  afterAll(async () => {
    await nodes?.stop();
    await oidc?.stop();
  });

  const shown = async (node: TestService, at: Installed, query = ''): Promise<Shown> =>
    JSON.parse(await nodes.ask(node, at, `/${query}`));
  const texts = async (at: Installed): Promise<string[]> => {
    await Promise.all([a, b].map(({ service }) => service.store.logs.pass()));
    return (await b.log(at)).map(({ text }) => text);
  };
  const items = async (node: TestService, path: string): Promise<Items> =>
    (await node.api('GET', `/v1${path}`)).body['items'] as Items;

  test('a runtime token of code on one is accepted by the other', async () => {
    const installed = await a.install('worker', 'of-tokens');
    const path = `/v1/integrations/worker/installations/${installed.id}`;
    for (const [made, used] of [
      [a, b],
      [b, a],
    ] as const) {
      const { token } = await shown(made, installed);
      expect(await used.api('GET', path, { token })).toMatchObject({
        status: 200,
        body: { id: installed.id },
      });
    }
  });

  test('an event that is posted to both at once is accepted once, and delivered once', async () => {
    await a.publishFixture('journal');
    const installed = await a.install('journal', 'of-events');
    await expect
      .poll(() => b.service.targets.named({ installationId: installed.id, level: 'organization', place: '' }))
      .toBeDefined();
    const ids = Array.from({ length: 20 }, (_, index) => `twice-${index}`);
    const event = (eventId: string) => ({
      ...{ eventId, type: 'space_content_updated', organization: 'of-events' },
      ...{ spaceId: 'garden', revisionId: eventId },
    });
    const answers = await Promise.all(
      ids.flatMap((id) => [a, b].map((node) => node.api('POST', '/v1/events', { json: event(id) }))),
    );
    expect(new Set(answers.map(({ status, body }) => `${status} ${body['deliveries']}`))).toEqual(
      new Set(['202 1', '200 1']),
    );
    const states = async () =>
      (await items(b, `/deliveries?installation=${installed.id}&limit=100`)).map(
        ({ state, attempts }) => `${state} ${attempts}`,
      );
    await expect.poll(states).toEqual(ids.map(() => 'delivered 1'));
    expect((await texts(installed)).toSorted()).toEqual(
      ids.map((id) => `garden is at revision ${id}`).toSorted(),
    );
  });

  test('a task that code on one queues runs once', async () => {
    const installed = await a.install('worker', 'of-tasks');
    for (const [number, node] of [a, b, a, b].entries()) await shown(node, installed, `?task=${number}`);
    const run = async () => (await texts(installed)).filter((text) => text.startsWith('task '));
    await expect.poll(async () => (await run()).toSorted()).toEqual(['task 0', 'task 1', 'task 2', 'task 3']);
    const states = async () =>
      (await items(a, `/deliveries?installation=${installed.id}`)).map(({ state }) => state);
    await expect.poll(states).toEqual(['delivered', 'delivered', 'delivered', 'delivered']);
  });

  test('a delivery in flight on one is canceled and redelivered by the other', async () => {
    await a.publishFixture('webhook');
    const inbox = await WebhookInbox.start();
    const whole = await a.install('webhook', 'of-webhooks');
    await a.installBelow('webhook', whole, 'space', 'garden');
    const json = { configuration: { webhook_url: inbox.url, event_types: ['space_content_updated'] } };
    await a.api('PATCH', `/v1/integrations/webhook/installations/${whole.id}/spaces/garden`, { json });
    const event = {
      type: 'space_content_updated',
      organization: 'of-webhooks',
      spaceId: 'garden',
      revisionId: 'r',
    };
    const { body } = await a.api('POST', '/v1/events', { json: event });
    const first = await inbox.next();
    const [delivery] = await items(b, `/deliveries?event=${body['eventId']}`);
    const order = (node: TestService, what: string) =>
      node.api('POST', `/v1/deliveries/${delivery?.['id']}/${what}`);
    const state = async (node: TestService) =>
      (await node.api('GET', `/v1/deliveries/${delivery?.['id']}`)).body['state'];
    expect(await order(b, 'cancel')).toMatchObject({ status: 200, body: { state: 'canceled' } });
    // The outcome of the attempt counts for nothing.
    first.answer(200);
    expect(await order(b, 'redeliver')).toMatchObject({ status: 200 });
    await inbox.taken();
    for (const node of [a, b]) await expect.poll(() => state(node)).toBe('delivered');
    expect(inbox.untaken).toEqual([]);
  });

  test('lifecycle events of edits on both arrive once each, in order', async () => {
    const receiver = await HttpReceiver.start();
    const installed = await a.install('worker', 'of-edits');
    const path = `/v1/integrations/worker/installations/${installed.id}`;
    const edit = (node: TestService, configuration: object) =>
      node.api('PATCH', path, { json: { configuration } });
    await edit(a, { receiver: `${receiver.url}/` });
    const steps = Array.from({ length: 12 }, (_, step) => step);
    for (const step of steps) await edit(step % 2 === 0 ? a : b, { step });
    const from = () => receiver.requests.map((received) => received.path);
    const before = ['nothing', 'nothing', ...steps.slice(0, -1)];
    await expect.poll(from).toEqual(before.map((step) => `/from/${step}`));
  });

  test('a signed envelope is accepted once by both together', async () => {
    const installed = await a.install('worker', 'of-signatures');
    const { secret } = await shown(a, installed);
    const form = new FormData();
    form.append(
      'event',
      JSON.stringify({
        eventId: 'e',
        type: 'fetch',
        request: { method: 'GET', url: 'https://x.example/', headers: {} },
      }),
    );
    form.append('environment', '{}');
    const request = new Request(installed.endpoint, { method: 'POST', body: form });
    const body = Buffer.from(await request.arrayBuffer());
    const headers = { 'content-type': request.headers.get('content-type') ?? '' };
    const send = async (node: TestService, signature: string) => {
      nodes.through(node);
      const signed = { ...headers, 'x-platform-signature': signature };
      return (await fetch(`${installed.endpoint}/v1`, { method: 'POST', body, headers: signed })).status;
    };
    const now = Math.floor(Date.now() / 1_000);
    for (const [age, first, second] of [
      [0, a, b],
      [1, b, a],
    ] as const) {
      const signature = signatureHeader([secret], now - age, body);
      expect(await send(first, signature)).toBe(200);
      for (const node of [first, second]) expect(await send(node, signature)).toBe(401);
    }
  });

  test('a client that follows a log on one gets the lines of calls on both, each once', async () => {
    const installed = await a.install('worker', 'of-logs');
    const follow = async (node: TestService, headers = {}) => {
      const url = `${node.service.controlUrl}/v1/logs?installation=${installed.id}&follow=true`;
      const reader = await EventReader.open(url, { authorization: `Bearer ${a.admin}`, ...headers });
      onTestFinished(() => reader.close());
      return reader;
    };
    const said = (events: readonly { data: string }[]) =>
      events.map(({ data }) => JSON.parse(data).text as string);
    const readers = await Promise.all([follow(a), follow(b)]);
    const words = Array.from({ length: 10 }, (_, index) => `word ${index}`);
    for (const [index, word] of words.entries())
      await shown(index % 2 === 0 ? a : b, installed, `?say=${word}`);
    for (const reader of readers) expect(said(await reader.take(10)).toSorted()).toEqual(words);
    // A third one comes later, from where another node has begun.
    const [earliest] = await items(a, `/logs?installation=${installed.id}&limit=10`).then((lines) =>
      lines.toReversed(),
    );
    const late = await follow(b, { 'last-event-id': String(earliest?.['id']) });
    expect(said(await late.take(9))).toHaveLength(9);
    await shown(a, installed, '?say=last');
    for (const reader of [...readers, late]) expect(said(await reader.take(1))).toEqual(['last']);
  });

  test('an OAuth connection that is begun on one is finished on the other', async () => {
    const secrets = { OAUTH_ISSUER: oidc.issuer, CLIENT_ID: CLIENT.id, CLIENT_SECRET: CLIENT.secret };
    const form = await uploadFolder(OAUTH, secrets);
    expect(await a.api('POST', '/v1/integrations', { form })).toMatchObject({ status: 201 });
    const installed = await a.install('oauth', 'of-oauth');
    const callback = `${installed.endpoint}/oauth`;
    oidc.knows([callback]);
    const browser = new Browser();
    nodes.through(a);
    const redirect = await consent(browser, await browser.open(callback), 'ada', callback);
    nodes.through(b);
    expect(await browser.open(redirect.url)).toMatchObject({ status: 200 });
    // Used up for both.
    nodes.through(a);
    expect((await browser.open(redirect.url)).status).toBeGreaterThanOrEqual(400);
    for (const node of [a, b]) await expect.poll(() => nodes.ask(node, installed, '/me')).toBe('Hello, ada!');
  });
});
