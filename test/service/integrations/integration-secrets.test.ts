/**
 * Secrets are set without a publish: by the owner only, all or none, effective from the next call,
 * and never shown.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Installed, TestService } from '../../support/service.ts';

const MANIFEST = 'secrets:\n  API_KEY: first-key\n  OTHER_KEY: first-other\n';
/** A handler that returns its secrets. */
const SHOW = `import { createIntegration } from '@annex/sdk';
export default createIntegration({ fetch: (_request, { environment }) => Response.json(environment.secrets) });`;

let service: TestService;
let installed: Installed;
let owner: string;
let stranger: string;

beforeAll(async () => {
  service = await TestService.start();
  const token = async (organization: string) => {
    const { body } = await service.api('POST', '/v1/tokens', {
      json: { kind: 'organization', organization },
    });
    return String(body['token']);
  };
  owner = await token('acme');
  stranger = await token('evil');
  await service.publish('shop', { 'index.js': SHOW }, MANIFEST);
  installed = await service.install('shop');
});
afterAll(() => service.stop());

const seen = async () => (await fetch(installed.endpoint)).json();
const set = (json: unknown, token = owner) =>
  service.api('PUT', '/v1/integrations/shop/secrets', { json, token });
const listed = async (token = owner) => service.api('GET', '/v1/integrations/shop/secrets', { token });
const messageOf = (body: Record<string, unknown>) => (body['error'] as { message: string }).message;

test('a call that starts after the answer gets the new value, and the others keep theirs', async () => {
  expect(await seen()).toEqual({ API_KEY: 'first-key', OTHER_KEY: 'first-other' });
  const { status, body } = await set({ API_KEY: 'second-key' });
  expect({ status, body }).toEqual({
    status: 200,
    body: {
      items: ['API_KEY', 'OTHER_KEY'].map((name) => ({
        name,
        isSet: true,
        isDeclared: true,
        updatedAt: expect.any(String),
      })),
    },
  });
  expect(await seen()).toEqual({ API_KEY: 'second-key', OTHER_KEY: 'first-other' });
  expect(await listed(service.admin)).toEqual(await listed());
  expect(JSON.stringify(await listed())).not.toMatch(/first|second/);
});

const TOO_LONG = 'x'.repeat(5 * 1024 + 1);
describe('all are set or none, and faults are named without values', () => {
  test.each([
    [
      'one that is not declared',
      { API_KEI: 'v-a-l-u-e' },
      'declares no secret "API_KEI". Did you mean "API_KEY"?',
    ],
    ['one that nothing is like', { DATABASE: 'v-a-l-u-e' }, 'Publish a manifest that has it'],
    ['a value in place of a name', { 'v-a-l-u-e!': 'API_KEY' }, 'There is a name that no secret can have.'],
    ['an empty one', { OTHER_KEY: '' }, 'The secret "OTHER_KEY" is empty.'],
    ['a number', { OTHER_KEY: 12 }, 'The secret "OTHER_KEY" must be text.'],
    // Attack: text that UTF-8 would change, so that the code gets a value that was never set.
    [
      'half of a surrogate pair',
      { OTHER_KEY: 'v-a-l-u-e\ud800' },
      'The secret "OTHER_KEY" has half of a surrogate pair in it.',
    ],
    [
      'one that is too long',
      { OTHER_KEY: TOO_LONG },
      'The secret "OTHER_KEY" has 5,121 bytes; the limit is 5 KiB',
    ],
  ])('%s', async (_, wrong, words) => {
    const before = await seen();
    const { status, body } = await set({ API_KEY: 'third-key', ...wrong });
    expect({ status, message: messageOf(body) }).toEqual({
      status: 400,
      message: expect.stringContaining(words),
    });
    expect(JSON.stringify(body)).not.toMatch(/third|v-a-l-u-e|xxx/);
    expect(await seen()).toEqual(before);
  });

  test('an empty object, or no object, is refused', async () => {
    expect(messageOf((await set({})).body)).toBe('Name at least one secret.');
    expect((await set(['v-a-l-u-e'])).status).toBe(400);
    expect(JSON.stringify((await set('v-a-l-u-e')).body)).not.toContain('v-a-l-u-e');
  });
});

test('the integration is unknown to other organizations; the host product and code are refused', async () => {
  for (const method of ['GET', 'PUT']) {
    const ask = (token: string) =>
      service.api(method, '/v1/integrations/shop/secrets', {
        token,
        ...(method === 'PUT' && { json: { API_KEY: 'stolen' } }),
      });
    expect((await ask(stranger)).body['error']).toMatchObject({ code: 'INTEGRATION_UNKNOWN' });
    expect((await ask(service.platform)).body['error']).toMatchObject({ code: 'TOKEN_FORBIDDEN' });
  }
  const removal = await service.api('DELETE', '/v1/integrations/shop/secrets/API_KEY', { token: stranger });
  expect(removal.status).toBe(404);
});

test('a declared secret can be set but not removed; an undeclared one is left over from before', async () => {
  const remove = (name: string) =>
    service.api('DELETE', `/v1/integrations/shop/secrets/${name}`, { token: owner });
  expect((await remove('API_KEY')).body['error']).toMatchObject({ code: 'SECRET_NEEDED' });
  expect((await remove('NEVER_SET')).body['error']).toMatchObject({ code: 'SECRET_UNKNOWN' });

  await set({ API_KEY: 'fourth-key' });
  const version = await service.publish('shop', { 'index.js': SHOW }, 'secrets:\n  OTHER_KEY: ""\n');
  await set({ OTHER_KEY: 'second-other' });
  expect(await seen()).toEqual({ OTHER_KEY: 'second-other' });
  expect((await listed()).body['items']).toMatchObject([
    { name: 'API_KEY', isSet: true, isDeclared: false },
    { name: 'OTHER_KEY', isSet: true, isDeclared: true },
  ]);
  // After a rollback, the earlier version gets the present values.
  const activate = (number: number) =>
    service.api('POST', `/v1/integrations/shop/versions/${number}/activate`, { token: owner });
  await activate(version - 1);
  expect(await seen()).toEqual({ API_KEY: 'fourth-key', OTHER_KEY: 'second-other' });
  await activate(version);
  expect((await remove('API_KEY')).status).toBe(204);
  await activate(version - 1);
  expect(await seen()).toEqual({ OTHER_KEY: 'second-other' });
  expect((await listed()).body['items']).toMatchObject([
    { name: 'API_KEY', isSet: false, isDeclared: true },
    {},
  ]);
});

describe('a publish', () => {
  const SENT = `secrets:\n  API_KEY: \${{ env.SHOP_API_KEY }}\n  OTHER_KEY: \${{ env.SHOP_OTHER_KEY }}\n`;
  /** Publishes with the given values. @returns status, version and warnings or problems */
  const publish = async (secrets?: Record<string, string>, overwriteSecrets?: string) => {
    const form = new FormData();
    const head = 'name: store\ntitle: s\ndescription: d\norganization: acme\nvisibility: public\nscopes: []';
    form.append('manifest', `${head}\nscript: index.js\n${SENT}`);
    form.append('files', new Blob([SHOW]), 'index.js');
    if (secrets) form.append('secrets', JSON.stringify(secrets));
    if (overwriteSecrets !== undefined) form.append('overwriteSecrets', overwriteSecrets);
    return service.api('POST', '/v1/integrations', { form, token: owner });
  };
  const times = async () => {
    const { body } = await service.api('GET', '/v1/integrations/store/secrets', { token: owner });
    return (body['items'] as { name: string; updatedAt: string }[]).map(({ updatedAt }) => updatedAt);
  };
  let store: Installed;
  const values = async () => (await fetch(store.endpoint)).json();

  beforeAll(async () => {
    expect((await publish({ API_KEY: 'v-1', OTHER_KEY: 'v-2' })).status).toBe(201);
    store = await service.install('store');
  });

  test('needs only the values that are not set yet, and equal ones change nothing', async () => {
    const before = await times();
    expect((await publish()).body).toMatchObject({ warnings: [] });
    expect((await publish({ API_KEY: 'v-1' }, 'false')).body).toMatchObject({ warnings: [] });
    expect(await times()).toEqual(before);
    expect(await values()).toEqual({ API_KEY: 'v-1', OTHER_KEY: 'v-2' });
  });

  test('keeps a value that was rotated, and says where another one was sent, without values', async () => {
    await service.api('PUT', '/v1/integrations/store/secrets', { json: { API_KEY: 'v-3' }, token: owner });
    const { status, body } = await publish({ API_KEY: 'v-1', OTHER_KEY: 'v-2' });
    expect(status).toBe(201);
    expect(body['warnings']).toEqual([
      {
        severity: 'warning',
        file: 'platform-manifest.yaml',
        line: 9,
        column: 12,
        message: 'The secret "API_KEY" keeps its stored value, which differs from the one in this upload.',
        hint: 'To replace it, publish with the part overwriteSecrets=true, or send PUT /v1/integrations/store/secrets.',
      },
    ]);
    expect(await values()).toEqual({ API_KEY: 'v-3', OTHER_KEY: 'v-2' });
  });

  test('replaces stored values where overwriteSecrets asks for it', async () => {
    expect((await publish({ API_KEY: 'v-4' }, 'true\n')).body).toMatchObject({ warnings: [] });
    expect(await values()).toEqual({ API_KEY: 'v-4', OTHER_KEY: 'v-2' });
  });

  test.each(['yes', '', 'true,true'])('refuses "%s" for overwriteSecrets', async (word) => {
    expect(await publish({ API_KEY: 'v-5' }, word)).toMatchObject({
      status: 422,
      body: {
        error: { problems: [{ file: 'overwriteSecrets', message: expect.stringContaining('neither') }] },
      },
    });
    expect(await values()).toMatchObject({ API_KEY: 'v-4' });
  });

  test('says under which name to send a value that came under the name of its variable', async () => {
    expect(await publish({ SHOP_API_KEY: 'v-6' })).toMatchObject({
      status: 422,
      body: {
        error: {
          problems: [
            {
              file: 'secrets',
              message: 'The manifest declares no secret "SHOP_API_KEY".',
              hint: '"SHOP_API_KEY" is the variable from which the secret "API_KEY" takes its value: send it as "API_KEY".',
            },
          ],
        },
      },
    });
  });
});
