/**
 * Webhook secrets (docs/contract/webhooks.md#secret): one for each target, made at first need,
 * sealed at rest, rotated at once or with an overlap, and shown only to the installing organization
 * and the code of that target.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { openStore, type Store } from '../../../src/host/store/store.ts';
import { webhookSecretPlace } from '../../../src/host/store/webhooks/webhook-secret-rows.ts';
import type { Environment } from '../../../src/model/environment.ts';
import { type TargetName, wholeInstallation } from '../../../src/model/installation.ts';
import { ask, codeOf } from '../../support/installation-api.ts';
import { type Installed, TestService } from '../../support/service.ts';
import { installed } from '../../support/store/installed.ts';
import { CLOCK, OPERATOR, storeOptions, temporaryFolder } from '../../support/store/temporary-store.ts';
import { openTestDatabase, storedText } from '../../support/store/test-engine.ts';

const MADE = /^[A-Za-z0-9_-]{43}$/;
const MINUTE_MS = 60_000;

describe('the secret of a target', () => {
  let folder: string;
  let store: Store;
  let space: TargetName;
  let site: TargetName;
  beforeEach(async () => {
    const start = CLOCK.now;
    folder = await temporaryFolder();
    store = await openStore(storeOptions(folder));
    const installationId = await installed(store, 'target: all\n');
    space = { installationId, level: 'space', place: 'p' };
    site = { installationId, level: 'site', place: 'p' };
    for (const level of ['space', 'site'] as const)
      await store.installations.installBelow(
        { installationId, level, place: 'p', externalIds: [] },
        OPERATOR,
      );
    return async () => {
      CLOCK.now = start;
      await store.close();
    };
  });

  test('is made at first need, has 32 random bytes as text, and differs for each target', async () => {
    const [own] = await store.webhookSecrets.signing(space);
    expect(own).toMatch(MADE);
    expect(await store.webhookSecrets.signing(space)).toEqual([own]);
    expect(await store.webhookSecrets.reveal(space, OPERATOR)).toEqual({
      secret: own,
      createdAt: CLOCK.now,
    });
    const [other] = await store.webhookSecrets.signing(site);
    expect(other).toMatch(MADE);
    expect(other).not.toBe(own);
  });

  test('is the same for concurrent first reads', async () => {
    const { webhookSecrets } = store;
    const [revealed, ...signed] = await Promise.all([
      webhookSecrets.reveal(space, OPERATOR),
      ...Array.from({ length: 20 }, () => webhookSecrets.signing(space)),
    ]);
    expect(new Set(signed.flat())).toEqual(new Set([revealed.secret]));
    expect(await webhookSecrets.signing(space)).toEqual([revealed.secret]);
  });

  test('is not made for a target that is deleted or never existed', async () => {
    const { webhookSecrets, installations } = store;
    for (const name of [{ ...space, place: 'other' }, wholeInstallation('ins_none')]) {
      await expect(webhookSecrets.signing(name)).rejects.toMatchObject({ code: 'INSTALLATION_UNKNOWN' });
      await expect(webhookSecrets.reveal(name, OPERATOR)).rejects.toMatchObject({
        code: 'INSTALLATION_UNKNOWN',
      });
      await expect(webhookSecrets.rotate(name, {}, OPERATOR)).rejects.toMatchObject({
        code: 'INSTALLATION_UNKNOWN',
      });
    }
    // Attack: installing again in the place of another target to get the secret that its receivers
    // trust.
    const { secret } = await webhookSecrets.reveal(space, OPERATOR);
    await installations.uninstall(space, OPERATOR);
    await expect(webhookSecrets.signing(space)).rejects.toMatchObject({ code: 'INSTALLATION_UNKNOWN' });
    const { installationId } = space;
    await installations.installBelow(
      { installationId, level: 'space', place: 'p', externalIds: [] },
      OPERATOR,
    );
    expect(await webhookSecrets.signing(space)).toEqual([expect.not.stringMatching(secret)]);
  });

  test('is replaced at once by default: nothing is signed with the previous one', async () => {
    const { webhookSecrets } = store;
    const [before] = await webhookSecrets.signing(space);
    CLOCK.now += 1_000;
    const rotated = await webhookSecrets.rotate(space, {}, OPERATOR);
    expect(rotated).toEqual({ secret: expect.stringMatching(MADE), createdAt: CLOCK.now });
    expect(rotated.secret).not.toBe(before);
    expect(await webhookSecrets.signing(space)).toEqual([rotated.secret]);
    const own = await webhookSecrets.rotate(space, { secret: 'one of my own, they say: 24' }, OPERATOR);
    expect(own.secret).toBe('one of my own, they say: 24');
    expect(await webhookSecrets.signing(space)).toEqual([own.secret]);
    // A secret that was never shown is no previous one.
    expect(await webhookSecrets.rotate(site, { overlapMs: MINUTE_MS }, OPERATOR)).not.toHaveProperty(
      'previous',
    );
  });

  test('signs with the previous one during an overlap, and not from its end', async () => {
    const { webhookSecrets } = store;
    const [before] = await webhookSecrets.signing(space);
    const until = CLOCK.now + MINUTE_MS;
    const rotated = await webhookSecrets.rotate(space, { overlapMs: MINUTE_MS }, OPERATOR);
    expect(rotated).toMatchObject({ previous: { secret: before, until } });
    expect(await webhookSecrets.signing(space)).toEqual([rotated.secret, before]);
    CLOCK.now = until - 1;
    expect(await webhookSecrets.signing(space)).toEqual([rotated.secret, before]);
    expect(await webhookSecrets.reveal(space, OPERATOR)).toMatchObject({ previous: { until } });
    // From memory and from the store.
    expect(await webhookSecrets.signing(space)).toEqual([rotated.secret, before]);
    CLOCK.now = until;
    expect(await webhookSecrets.signing(space)).toEqual([rotated.secret]);
    expect(await webhookSecrets.reveal(space, OPERATOR)).toEqual({
      secret: rotated.secret,
      createdAt: rotated.createdAt,
    });
    expect(await webhookSecrets.signing(space)).toEqual([rotated.secret]);
  });

  test('that is replaced during an overlap becomes the previous one, and the one before it signs no more', async () => {
    const { webhookSecrets } = store;
    await webhookSecrets.signing(space);
    const first = await webhookSecrets.rotate(space, { overlapMs: 10 * MINUTE_MS }, OPERATOR);
    const second = await webhookSecrets.rotate(space, { overlapMs: MINUTE_MS }, OPERATOR);
    expect(await webhookSecrets.signing(space)).toEqual([second.secret, first.secret]);
    // A leak: both are replaced at once.
    const third = await webhookSecrets.rotate(space, {}, OPERATOR);
    expect(await webhookSecrets.signing(space)).toEqual([third.secret]);
    // The same secret again signs once.
    const same = await webhookSecrets.rotate(space, { secret: third.secret, overlapMs: MINUTE_MS }, OPERATOR);
    expect(same).not.toHaveProperty('previous');
    expect(await webhookSecrets.signing(space)).toEqual([third.secret]);
  });

  test('is sealed at rest, bound to its row, and survives a restart', async () => {
    const own = 'hush-hush-hush-hush-hush';
    await store.webhookSecrets.rotate(space, { secret: own }, OPERATOR);
    await store.webhookSecrets.rotate(space, { overlapMs: MINUTE_MS }, OPERATOR);
    const signing = await store.webhookSecrets.signing(space);
    expect(signing[1]).toBe(own);
    const headers = [{ name: 'X-Key', value: 'the key of a receiver' }];
    await store.webhookSecrets.setHeaders(site, { headers, url: 'https://receiver.example' }, OPERATOR);
    await store.close();
    const text = await storedText(folder);
    for (const secret of [...signing, 'the key of a receiver', 'receiver.example'])
      expect(text).not.toContain(secret);

    const again = await openStore(storeOptions(folder));
    onTestFinished(() => again.close());
    expect(await again.webhookSecrets.signing(space)).toEqual(signing);
    await again.close();

    // Attack: a writer of the database copies the sealed secret of another target into its own row,
    // to read it there.
    const database = await openTestDatabase(folder);
    const [row] = await database
      .selectFrom('webhook_secrets')
      .selectAll()
      .where('level', '=', 'space')
      .execute();
    const stolen = { sealed_secret: row?.sealed_secret ?? '' };
    await database.updateTable('webhook_secrets').set(stolen).where('level', '=', 'site').execute();
    await database.destroy();
    store = await openStore(storeOptions(folder));
    const place = webhookSecretPlace('sealed_secret', site).join('/');
    await expect(store.webhookSecrets.signing(site)).rejects.toThrow(
      `The sealed value at ${place} was altered`,
    );
  });

  test('has an audit entry each time that it is shown or replaced, without its value', async () => {
    const { webhookSecrets, audit } = store;
    await webhookSecrets.signing(space);
    const { secret } = await webhookSecrets.reveal(space, OPERATOR);
    const rotation = { secret: 'hush-hush-hush-hush-hush', overlapMs: MINUTE_MS };
    await webhookSecrets.rotate(space, rotation, OPERATOR);
    await webhookSecrets.rotate(space, {}, OPERATOR);
    const { items } = await audit.list({ limit: 3 });
    const about = { organization: 'acme', integration: 'hello', ...space, requestId: 'req-test' };
    expect(items).toMatchObject([
      { action: 'webhook.rotate', details: { own: false }, ...about },
      { action: 'webhook.rotate', details: { own: true, overlapSeconds: 60 }, ...about },
      { action: 'webhook.reveal', details: {}, ...about },
    ]);
    expect(JSON.stringify(items)).not.toContain('hush-hush');
    expect(JSON.stringify(items)).not.toContain(secret);
  });
});

const SETTINGS = (events: string) => `
    properties:
      receiver: {type: string, title: URL, description: Where to.}
      events: {type: string, title: Events, description: Which., enum: [${events}], multiple: true}
`;
const WEBHOOK = `target: all
webhook: {url: receiver, eventTypes: events}
configurations:
  space: ${SETTINGS('space_content_updated')}
  site: ${SETTINGS('site_view, page_feedback')}
`;

/** Returns its environment; a POST makes it call the API, and log the answer in many ways. */
const SHOWN = `import { createIntegration } from '@annex/sdk';
export default createIntegration({
  async fetch(request, { environment }) {
    if (request.method !== 'POST') return Response.json(environment);
    const { method, path, body } = await request.json();
    const answer = await fetch(environment.apiEndpoint + path, {
      method,
      headers: { authorization: 'Bearer ' + environment.apiTokens.installation, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const { secret } = await answer.json();
    console.log('the secret is', secret, { secret }, JSON.stringify({ secret }), btoa('user:' + secret), 'whsec_' + btoa(secret));
    return Response.json({ secret });
  },
});`;

describe('the API of the secret', () => {
  let annex: TestService;
  let here: Installed;
  let space: Installed;
  let neighbour: Installed;
  let plain: Installed;
  beforeAll(async () => {
    annex = await TestService.start();
    await annex.publish('posting', { 'index.js': SHOWN }, WEBHOOK);
    await annex.publish('plain', { 'index.js': SHOWN }, 'target: all\n');
    here = await annex.install('posting', 'beach');
    space = await annex.installBelow('posting', here, 'space', 'sp-1');
    neighbour = await annex.installBelow('posting', here, 'space', 'sp-2');
    await annex.installBelow('posting', here, 'site', 'si-1');
    plain = await annex.install('plain', 'beach');
    await annex.installBelow('plain', plain, 'space', 'sp-1');
  });
  afterAll(() => annex.stop());

  const at = (place = '/spaces/sp-1', name = 'posting', { id } = here) =>
    `/integrations/${name}/installations/${id}${place}/webhook-secret`;
  const reveal = (options = {}, path = at()) => ask(annex, 'GET', path, options);
  const rotate = (json: unknown = {}, path = at()) => ask(annex, 'POST', `${path}/rotate`, { json });
  const tokenOf = async ({ endpoint }: Installed) =>
    ((await (await fetch(endpoint)).json()) as Environment).apiTokens.installation ?? '';

  test('shows it with its time, and forbids caches', async () => {
    const first = await reveal();
    expect(first.body).toEqual({
      secret: expect.stringMatching(MADE),
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect(first.headers.get('cache-control')).toBe('no-store');
    expect((await reveal()).body).toEqual(first.body);
    const site = await reveal({}, at('/sites/si-1'));
    expect(site.body['secret']).not.toBe(first.body['secret']);
  });

  test('replaces it, and shows the end of the overlap, but not the previous secret', async () => {
    const before = (await reveal()).body['secret'];
    const askedAt = Date.now();
    const answer = await rotate({ overlapSeconds: 3_600 });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.body['secret']).not.toBe(before);
    expect(answer.text).not.toContain(String(before));
    const { until } = answer.body['previous'] as { until: string };
    expect(Math.abs(Date.parse(until) - askedAt - 3_600_000)).toBeLessThan(60_000);
    expect((await reveal()).body).toEqual(answer.body);
    expect((await rotate()).body).not.toHaveProperty('previous');
  });

  test.each([
    ['secret', 'a'.repeat(23), 400],
    ['secret', 'a'.repeat(24), 200],
    ['secret', '~'.repeat(256), 200],
    ['secret', 'a'.repeat(257), 400],
    ['secret', `!${'a'.repeat(30)}~`, 200],
    ['secret', `${'a'.repeat(30)} `, 400],
    ['secret', `${'a'.repeat(30)}\n`, 400],
    ['secret', `${'a'.repeat(30)}é`, 400],
    ['secret', `${'a'.repeat(30)}\u007f`, 400],
    ['secret', 24, 400],
    ['overlapSeconds', 59, 400],
    ['overlapSeconds', 60, 200],
    ['overlapSeconds', 604_800, 200],
    ['overlapSeconds', 604_801, 400],
    ['overlapSeconds', 60.5, 400],
    ['overlapSeconds', '60', 400],
    ['overlap', 60, 400],
  ])('takes %s: %j with %s', async (member, value, status) => {
    const before = await reveal();
    const answer = await rotate({ [member]: value });
    expect(codeOf(answer)).toBe(status === 200 ? '200' : '400 REQUEST_INVALID');
    if (status === 200 && member === 'secret') expect(answer.body['secret']).toBe(value);
    if (status === 400) {
      expect(answer.error.message).toContain(member);
      // Longer than a group of digits in a request id, which may be any of them.
      expect(answer.text).not.toContain('a'.repeat(13));
      expect((await reveal()).body).toEqual(before.body);
    }
  });

  test('exists only for integrations that post webhooks', async () => {
    expect((await reveal({}, at(''))).error).toMatchObject({
      code: 'WEBHOOK_UNKNOWN',
      message: expect.stringContaining('".../spaces/{space}" or ".../sites/{site}"'),
    });
    const none = await reveal({}, at('/spaces/sp-1', 'plain', plain));
    expect(none.error).toMatchObject({
      code: 'WEBHOOK_UNKNOWN',
      message: expect.stringContaining('has no "webhook"'),
    });
    expect(codeOf(await rotate({}, at('')))).toBe('404 WEBHOOK_UNKNOWN');
  });

  // Attack: an answer that reveals installations of another organization, or their spaces.
  test('is absent for others: a target of another tenant is answered like one that does not exist', async () => {
    const made = (organization: string) =>
      annex.service.store.tokens.create({ kind: 'organization', organization }, OPERATOR);
    const [beach, hill, author] = [await made('beach'), await made('hill'), await made('acme')];
    expect((await reveal({ token: beach.token })).status).toBe(200);
    expect((await reveal({ token: annex.platform })).status).toBe(200);
    for (const { token } of [hill, author]) {
      const theirs = await reveal({ token });
      const absent = await reveal({ token }, at('/spaces/sp-1', 'posting', { ...here, id: 'ins_none' }));
      const { requestId: a, ...one } = theirs.body['error'] as Record<string, string>;
      const { requestId: b, ...other } = absent.body['error'] as Record<string, string>;
      expect({ ...one, message: one['message']?.replace(here.id, 'ins_none') }).toEqual(other);
      expect(codeOf(theirs)).toBe('404 INSTALLATION_UNKNOWN');
      expect(codeOf(await reveal({ token }, at('', 'plain', plain)))).toBe('404 INSTALLATION_UNKNOWN');
    }
  });

  test('is shown to code in a call for that target, and for no other', async () => {
    expect((await reveal({ token: await tokenOf(space) })).status).toBe(200);
    const token = await tokenOf(space);
    expect((await ask(annex, 'POST', `${at()}/rotate`, { token, json: {} })).status).toBe(200);
    expect(codeOf(await reveal({ token: await tokenOf(here) }))).toBe('403 TOKEN_FORBIDDEN');
    expect(codeOf(await reveal({ token: await tokenOf(neighbour) }))).toBe('404 INSTALLATION_UNKNOWN');
    expect(codeOf(await reveal({ token: await tokenOf(plain) }))).toBe('404 INSTALLATION_UNKNOWN');
  });
});

// Attack: an author who reads the secret in the log, and signs in the name of the installing
// organizations.
test('a secret that code has read is redacted in its logs', async () => {
  const annex = await TestService.start();
  onTestFinished(() => annex.stop());
  await annex.publish('posting', { 'index.js': SHOWN }, WEBHOOK);
  const here = await annex.install('posting', 'beach');
  const space = await annex.installBelow('posting', here, 'space', 'sp-1');
  const path = `/integrations/posting/installations/${here.id}/spaces/sp-1/webhook-secret`;
  const shown = async (json: object) => {
    const response = await fetch(space.endpoint, { method: 'POST', body: JSON.stringify(json) });
    return String(((await response.json()) as { secret: string }).secret);
  };
  const secrets = [
    await shown({ method: 'GET', path }),
    await shown({ method: 'POST', path: `${path}/rotate`, body: {} }),
    await shown({ method: 'POST', path: `${path}/rotate`, body: { secret: 'own"secret\\of/24&characters' } }),
    await shown({ method: 'GET', path }),
  ];
  expect(secrets.slice(2)).toEqual(Array(2).fill('own"secret\\of/24&characters'));
  const lines = (await annex.log(here)).map(({ text }) => text);
  expect(lines).toHaveLength(secrets.length);
  for (const line of lines) {
    expect(line).toContain('the secret is [redacted]');
    for (const secret of secrets)
      for (const shape of [secret, JSON.stringify(secret).slice(1, -1), secret.slice(0, 16), btoa(secret)])
        expect(line).not.toContain(shape);
  }
});

// Attack: reads in a loop, each with an entry in an audit that is kept for a year.
test('reads and rotations of the secret count as edits of the installation', async () => {
  const annex = await TestService.start({ limits: { editsPerMinutePerInstallation: 3 } });
  onTestFinished(() => annex.stop());
  await annex.publish('posting', { 'index.js': SHOWN }, WEBHOOK);
  const here = await annex.install('posting', 'beach');
  const space = await annex.installBelow('posting', here, 'space', 'sp-1');
  const path = `/integrations/posting/installations/${here.id}/spaces/sp-1/webhook-secret`;
  const environment = (await (await fetch(space.endpoint)).json()) as Environment;
  const token = environment.apiTokens.installation ?? '';
  const statuses: number[] = [];
  for (const [method, to] of [
    ...([
      ['GET', path],
      ['POST', `${path}/rotate`],
      ['GET', path],
      ['GET', path],
      ['POST', `${path}/rotate`],
    ] as const),
  ])
    statuses.push((await ask(annex, method, to, { token, ...(method === 'POST' && { json: {} }) })).status);
  expect(statuses).toEqual([200, 200, 200, 429, 429]);
  expect((await ask(annex, 'GET', path)).status).toBe(200);
});
