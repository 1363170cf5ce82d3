/**
 * Any node serves any installation: what one node has answered is so on the other a moment later,
 * whatever that one has cached (docs/contract/nodes.md#changes).
 */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { wholeInstallation } from '../../../src/model/installation.ts';
import { Nodes } from '../../support/nodes.ts';
import type { Installed, TestService } from '../../support/service.ts';
import { OPERATOR } from '../../support/store/temporary-store.ts';

/** Shows which code runs, and what its environment has. */
const showing = (word: string) => `import { createIntegration } from '@annex/sdk';
export default createIntegration({
  fetch: (request, { environment }) => {
    const { secrets, installation } = environment;
    return Response.json({ word: '${word}', secret: secrets.KEY, color: installation.configuration.color });
  },
});`;
const MANIFEST = `secrets: { KEY: first }
configurations:
  account: { properties: { color: { type: string, title: Color, description: Which one. } } }
`;
const EVENT = { type: 'space_content_updated', spaceId: 'garden', revisionId: 'r1' };

describe('on PostgreSQL, after both nodes have served it,', () => {
  let nodes: Nodes;
  let a: TestService;
  let b: TestService;
  beforeAll(async () => {
    nodes = await Nodes.start();
    ({ a, b } = nodes);
  });
  afterAll(() => nodes?.stop());

  const shown = async (node: TestService, at: Installed) =>
    JSON.parse(await nodes.ask(node, at)) as Record<string, unknown>;
  const polled = (node: TestService, at: Installed) => expect.poll(() => shown(node, at));
  const path = (name: string, { id }: Installed) => `/v1/integrations/${name}/installations/${id}`;
  const publish = (node: TestService, name: string, word: string) =>
    node.publish(name, { 'index.js': showing(word) }, MANIFEST);

  /** Publishes and installs on one node; both nodes have it in their caches. */
  async function deployed(name: string): Promise<Installed> {
    await publish(a, name, 'one');
    const installed = await a.install(name, `of-${name}`);
    for (const node of [a, b]) expect(await shown(node, installed)).toMatchObject({ word: 'one' });
    return installed;
  }

  test('nodes that start at once on an empty database make one admin token', async () => {
    expect(nodes.firstTokens).toBe(1);
    for (const node of [a, b]) expect((await node.api('GET', '/v1/tokens')).status).toBe(200);
  });

  test('nodes that start at once publish the built-in integrations once', async () => {
    const own = await Nodes.start({ flags: ['--built-ins', 'publish'] });
    onTestFinished(() => own.stop());
    for (const node of [own.a, own.b]) {
      const { body } = await node.api('GET', '/v1/integrations/webhook/versions');
      expect(body['items']).toHaveLength(1);
    }
  });

  test('a declared event type and its change are known', async () => {
    const declare = (schema: object) =>
      a.api('PUT', '/v1/event-types/bill.paid?force=true', {
        json: { title: 'Paid', level: 'organization', schema },
      });
    const json = { type: 'bill.paid', organization: 'of-bills', data: { amount: 1 } };
    const posted = () => expect.poll(async () => (await b.api('POST', '/v1/events', { json })).status);
    await posted().toBe(400);
    await declare({ type: 'object' });
    await posted().toBe(202);
    await declare({ type: 'object', properties: { amount: { minimum: 2 } } });
    await posted().toBe(422);
  });

  test('a new version and a roll-back are served', async () => {
    const installed = await deployed('versions');
    expect(await publish(b, 'versions', 'two')).toBe(2);
    await polled(a, installed).toMatchObject({ word: 'two' });
    await a.api('POST', '/v1/integrations/versions/versions/1/activate');
    await polled(b, installed).toMatchObject({ word: 'one' });
  });

  test('versions that are published on both at once have numbers of their own', async () => {
    await deployed('numbers');
    const numbers = await Promise.all([a, b, a, b].map((node, at) => publish(node, 'numbers', `at ${at}`)));
    expect(numbers.toSorted()).toEqual([2, 3, 4, 5]);
  });

  test('an installation that is deleted leaves no isolate on either node', async () => {
    const isolates = () => Promise.all([a, b].map((node) => node.metric('annex_isolates')));
    const [ofA = 0, ofB = 0] = await isolates();
    const installed = await deployed('leaving');
    await expect.poll(isolates).toEqual([ofA + 1, ofB + 1]);
    expect((await a.api('DELETE', path('leaving', installed))).status).toBe(204);
    await expect.poll(isolates).toEqual([ofA, ofB]);
  });

  test('a name that was deleted and published again runs the new code', async () => {
    const before = await deployed('reborn');
    expect((await a.api('DELETE', '/v1/integrations/reborn?cascade=true')).status).toBe(204);
    await polled(b, before).toMatchObject({ error: { code: 'ENDPOINT_UNKNOWN' } });
    expect(await publish(b, 'reborn', 'another')).toBe(2);
    const after = await b.install('reborn', 'of-reborn');
    for (const node of [a, b]) expect(await shown(node, after)).toMatchObject({ word: 'another' });
  });

  test('a secret and a limit have their new values', async () => {
    const installed = await deployed('secret');
    await a.api('PUT', '/v1/integrations/secret/secrets', { json: { KEY: 'second' } });
    await polled(b, installed).toMatchObject({ secret: 'second' });
    await b.api('PUT', '/v1/integrations/secret/limits', { json: { requestBodyBytes: 10 } });
    const posted = async () => {
      nodes.through(a);
      return (await fetch(installed.endpoint, { method: 'POST', body: 'more than ten' })).status;
    };
    await expect.poll(posted).toBe(413);
  });

  test('a token that was revoked is refused', async () => {
    const made = await a.api('POST', '/v1/tokens', { json: { kind: 'platform' } });
    const { id, token } = made.body as { id: string; token: string };
    const used = async (node: TestService) => (await node.api('GET', '/v1/integrations', { token })).status;
    for (const node of [a, b]) expect(await used(node)).toBe(200);
    await a.api('DELETE', `/v1/tokens/${id}`);
    expect(await used(a)).toBe(401);
    await expect.poll(() => used(b)).toBe(401);
  });

  test('an installation is edited, paused, resumed and uninstalled', async () => {
    const installed = await deployed('edited');
    const json = { configuration: { color: 'blue' } };
    await a.api('PATCH', path('edited', installed), { json });
    await polled(b, installed).toMatchObject({ color: 'blue' });
    await b.api('POST', `${path('edited', installed)}/pause`);
    await polled(a, installed).toMatchObject({ error: { code: 'ENDPOINT_PAUSED' } });
    await a.api('POST', `${path('edited', installed)}/resume`);
    await polled(b, installed).toMatchObject({ color: 'blue' });
    await b.api('DELETE', path('edited', installed));
    await polled(a, installed).toMatchObject({ error: { code: 'ENDPOINT_UNKNOWN' } });
  });

  test('an installation receives the events that are posted after it was made', async () => {
    await a.publishFixture('journal');
    const post = async (node: TestService) => {
      const json = { ...EVENT, organization: 'of-recipient' };
      return (await node.api('POST', '/v1/events', { json })).body['deliveries'];
    };
    for (const node of [a, b]) expect(await post(node)).toBe(0);
    const installed = await a.install('journal', 'of-recipient');
    await expect.poll(() => post(b)).toBe(1);
    await b.api('DELETE', path('journal', installed));
    await expect.poll(() => post(a)).toBe(0);
  });

  test('keys that sign are the same: of webhooks and of statements', async () => {
    const installed = wholeInstallation((await deployed('keys')).id);
    const secrets = (node: TestService) => node.service.store.webhookSecrets.signing(installed);
    const before = await secrets(a);
    expect(await secrets(b)).toEqual(before);
    await a.service.store.webhookSecrets.rotate(installed, {}, OPERATOR);
    expect(await secrets(a)).not.toEqual(before);
    await expect.poll(() => secrets(b)).toEqual(await secrets(a));

    const kid = async (node: TestService) => (await node.service.store.statementKeys.signing()).kid;
    expect(await kid(a)).toBe(await kid(b));
    // Each rotation reads what the other has written, and both end with the latest.
    await Promise.all([a, b].map((node) => node.api('POST', '/v1/statement-keys/rotate', { json: {} })));
    await expect.poll(async () => (await kid(a)) === (await kid(b))).toBe(true);
    const published = await Promise.all([a, b].map((node) => node.service.store.statementKeys.published()));
    expect(published[0]).toEqual(published[1]);
  });
});
