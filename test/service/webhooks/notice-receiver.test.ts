/**
 * Notices of a service to the URL that the operator names: settings, posts and the list
 * (docs/contract/notices.md#posts).
 */
import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type ConfigError, readConfig } from '../../../src/host/config.ts';
import { standardSecret, verifySignature } from '../../../src/model/signature.ts';
import { ask, codeOf } from '../../support/installation-api.ts';
import { HttpReceiver, type Received } from '../../support/receivers/http-receiver.ts';
import { TestService } from '../../support/service.ts';

const SECRET = 'a-secret-of-the-product-0123456789';
const NEXT = 'the-next-secret-of-the-product-012';

/** A service that tells a product on this machine, with a webhook whose receiver answers 400. */
async function begin(status: (request: Received) => number = () => 200, more: readonly string[] = []) {
  const product = await HttpReceiver.start(status);
  const hook = await HttpReceiver.start(() => 400);
  // Webhooks may reach the machine; notices may without that.
  const flags = ['--notify-url', `${product.url}/told?key=hush`, '--webhook-http', 'allow'];
  const annex = await TestService.start({
    flags: [...flags, ...more, '--egress-allow', hook.url.replace('http://', '')],
    env: { ANNEX_NOTIFY_SECRET: `${SECRET},${NEXT}` },
  });
  onTestFinished(() => annex.stop());
  await annex.publishFixture('webhook');
  const here = await annex.install('webhook', 'acme');
  await annex.installBelow('webhook', here, 'site', 'docs');
  const path = `/integrations/webhook/installations/${here.id}/sites/docs`;
  await ask(annex, 'PATCH', path, {
    json: { configuration: { webhook_url: `${hook.url}/in`, event_types: ['site_view'] } },
  });
  return { annex, here, path, product };
}

const typesOf = (product: HttpReceiver) =>
  product.requests.map(({ headers }) => String(headers['x-platform-event']));

test.each([
  ['standard', false],
  ['both', true],
])('with the signature %s, the published verifier accepts a notice', async (scheme, isBoth) => {
  const { product } = await begin(undefined, ['--webhook-signature', scheme]);
  await expect.poll(() => typesOf(product)).toContain('installation.pending');
  const { headers, body } = product.requests[0] as Received;
  for (const secret of [SECRET, NEXT]) {
    const verifier = new Webhook(standardSecret(secret));
    expect(verifier.verify(body, headers as Record<string, string>)).toEqual(JSON.parse(body));
  }
  expect('x-platform-signature' in headers).toBe(isBoth);
});

test('a product on a private address is told, signed with both secrets', async () => {
  const { annex, here, path, product } = await begin();
  await ask(annex, 'POST', `${path}/webhook-test`, { json: {} });
  await expect.poll(() => typesOf(product)).toContain('webhook.failing');
  const told = product.requests.find(({ headers }) => headers['x-platform-event'] === 'webhook.failing');
  const signature = String(told?.headers['x-platform-signature']);
  for (const secret of [SECRET, NEXT])
    expect(verifySignature(signature, Buffer.from(told?.body ?? ''), [secret])).toBe(true);
  expect(told?.path).toBe('/told?key=hush');
  expect(JSON.parse(told?.body ?? '')).toMatchObject({
    ...{ type: 'webhook.failing', organization: 'acme', integration: 'webhook' },
    ...{ installation: here.id, site: 'docs', details: { outcome: 'answered 400' } },
  });
  // Setup is told too: of the version, and of the site before it had a receiver.
  expect(new Set(typesOf(product))).toEqual(
    new Set(['integration.published', 'installation.pending', 'webhook.failing']),
  );
  const list = (token = annex.admin) => ask(annex, 'GET', '/notices?type=webhook.failing', { token });
  await expect
    .poll(async () => (await list()).body['items'])
    .toMatchObject([
      {
        ...JSON.parse(told?.body ?? ''),
        delivery: { state: 'delivered', outcome: 'answered 200', attempts: 1 },
      },
    ]);
  expect((await list(annex.platform)).status).toBe(200);
  const made = await ask(annex, 'POST', '/tokens', { json: { kind: 'organization', organization: 'acme' } });
  const token = String(made.body['token']);
  expect(codeOf(await list(token))).toBe('403 TOKEN_FORBIDDEN');
  // Lists of an organization have neither the notice nor its delivery; no list of events has it.
  const { body: deliveries } = await ask(annex, 'GET', '/deliveries', { token });
  expect(JSON.stringify(deliveries)).not.toContain('notice');
  const { body: events } = await ask(annex, 'GET', '/events');
  expect((events['items'] as { type: string }[]).map(({ type }) => type)).toEqual(['site_view']);
  const { id } = JSON.parse(told?.body ?? '') as { id: string };
  expect((await ask(annex, 'GET', `/events/${id}`)).status).toBe(404);
  // The key in the URL is shown to nobody.
  const { body: all } = await ask(annex, 'GET', '/deliveries?state=delivered');
  const [one] = (all['items'] as { id: string; kind: string }[]).filter(({ kind }) => kind === 'notice');
  const { body: whole } = await ask(annex, 'GET', `/deliveries/${one?.id}`);
  expect(whole['history']).toMatchObject([{ destination: `${product.url}/told`, outcome: 'answered 200' }]);
  expect(JSON.stringify(whole)).not.toContain('hush');
});

test('attack: a redirect of the receiver leads no notice to another URL', async () => {
  const { annex, product } = await begin(() => 302);
  await expect.poll(() => product.requests.length).toBeGreaterThanOrEqual(2);
  // Final, as for a webhook: it is redelivered by hand.
  const states = async () => {
    const { body } = await ask(annex, 'GET', '/notices');
    const items = body['items'] as { delivery: { state: string; outcome: string } }[];
    return new Set(items.map(({ delivery }) => `${delivery.state} ${delivery.outcome}`));
  };
  await vi.waitFor(async () => expect(await states()).toEqual(new Set(['failed answered 302'])), {
    timeout: 90_000,
  });
});

test('attack: an installation that crashes cells on every node is told of once', async () => {
  const { annex, here, product } = await begin();
  const { productNotices } = annex.service.store;
  const target = { installationId: here.id, level: 'organization', place: '' } as const;
  const about = { organization: 'acme', integration: 'webhook', target, details: { deaths: 3 } };
  for (let node = 0; node < 3; node += 1)
    await productNotices.tell({ type: 'integration.quarantined', ...about }, 600_000);
  await expect.poll(() => typesOf(product)).toContain('integration.quarantined');
  expect(typesOf(product).filter((type) => type === 'integration.quarantined')).toHaveLength(1);
});

const problemsOf = (flags: readonly string[], env: Record<string, string> = {}): readonly string[] => {
  try {
    readConfig(flags, env);
    return [];
  } catch (error) {
    return (error as ConfigError).problems;
  }
};

test.each([
  ['a URL alone', ['--notify-url', 'https://x.example/'], {}, /needs ANNEX_NOTIFY_SECRET/],
  ['a secret alone', [], { ANNEX_NOTIFY_SECRET: SECRET }, /needs --notify-url/],
  [
    'a URL with a password',
    ['--notify-url', 'https://u:hush@x.example/'],
    { ANNEX_NOTIFY_SECRET: SECRET },
    /http or https URL/,
  ],
  [
    'another scheme',
    ['--notify-url', 'ftp://x.example/'],
    { ANNEX_NOTIFY_SECRET: SECRET },
    /http or https URL/,
  ],
  [
    'a short secret',
    ['--notify-url', 'https://x.example/'],
    { ANNEX_NOTIFY_SECRET: 'hush-hush' },
    /24 to 256/,
  ],
  [
    'three secrets',
    ['--notify-url', 'https://x.example/'],
    { ANNEX_NOTIFY_SECRET: `${SECRET},${NEXT},${SECRET}` },
    /two separated/,
  ],
  ['a time that is none', ['--webhook-disable-after', '5 days'], {}, /30m, 12h or 5d/],
  ['a time beyond a year', ['--webhook-disable-after', '366d'], {}, /365 days/],
  ['another word', ['--webhook-disable-on-gone', 'yes'], {}, /off or on/],
])('a setting with %s is refused, and no sentence has a secret', (_, flags, env, says) => {
  const problems = problemsOf(flags, env);
  expect(problems).toEqual([expect.stringMatching(says)]);
  expect(problems.join()).not.toMatch(/hush|0123456789/);
});
