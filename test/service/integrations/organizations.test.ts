/**
 * The owner of an integration is named by its id or by its subdomain, and is one; nobody publishes
 * under the name of another.
 */
import { beforeAll, expect, test } from 'vitest';
import { TestService } from '../../support/service.ts';
import { manifestYaml } from '../../support/store/temporary-store.ts';

let annex: TestService;

beforeAll(async () => {
  annex = await TestService.start({ flags: ['--internal-organizations', 'org_1,trusted'] });
  return () => annex.stop();
});

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

const declare = (id: string, declared: object): Promise<Answer> =>
  annex.api('PUT', `/v1/organizations/${id}`, { json: declared, token: annex.platform });

async function tokenOf(organization: string): Promise<string> {
  const { status, body } = await annex.api('POST', '/v1/tokens', {
    json: { kind: 'organization', organization },
  });
  expect(status).toBe(201);
  return String(body['token']);
}

const upload = (name: string, organization: string, scopes = '') => {
  const form = new FormData();
  const manifest = manifestYaml({ name, organization });
  form.append('manifest', manifest.replace('scopes: []', `scopes: [${scopes}]`));
  form.append('script', 'export default { fetch: () => new Response() };');
  return form;
};

const publish = (form: FormData, token: string): Promise<Answer> =>
  annex.api('POST', '/v1/integrations', { form, token });

const ownerOf = async (name: string) =>
  (await annex.api('GET', `/v1/integrations/${name}`)).body['organization'];

test('a manifest names the id or the subdomain, and both are one owner', async () => {
  expect((await declare('org_1', { subdomain: 'acme', title: 'Acme Inc.' })).status).toBe(200);
  const token = await tokenOf('org_1');
  expect(await publish(upload('one', 'acme'), token)).toMatchObject({ status: 201, body: { version: 1 } });
  expect(await publish(upload('one', 'org_1'), token)).toMatchObject({ status: 201, body: { version: 2 } });
  expect(await publish(upload('two', 'acme'), annex.admin)).toMatchObject({ status: 201 });
  for (const name of ['one', 'two']) expect(await ownerOf(name)).toBe('org_1');
  expect((await annex.api('DELETE', '/v1/integrations/two', { token })).status).toBe(204);
  // One that is not declared works as before.
  expect(await publish(upload('three', 'undeclared'), await tokenOf('undeclared'))).toMatchObject({
    status: 201,
  });
  expect(await ownerOf('three')).toBe('undeclared');
});

test('attack: another organization publishes neither under the subdomain nor by taking it', async () => {
  await declare('org_1', { subdomain: 'acme' });
  const token = await tokenOf('org_1');
  expect(await publish(upload('mine', 'acme'), token)).toMatchObject({ status: 201 });
  const evil = await tokenOf('evil');
  for (const name of ['acme', 'org_1'])
    expect(await publish(upload('mine', name), evil)).toMatchObject({
      status: 403,
      body: { error: { code: 'TOKEN_FORBIDDEN' } },
    });
  for (const subdomain of ['acme', 'evil'])
    expect(await declare('org_9', { subdomain })).toMatchObject({
      status: 409,
      body: { error: { code: 'ORGANIZATION_TAKEN' } },
    });
  // The subdomain is free again, and somebody else has it: the name of the integration stays.
  await declare('org_1', { subdomain: 'acme-new' });
  expect((await declare('evil', { subdomain: 'acme' })).status).toBe(200);
  const refused = await publish(upload('mine', 'acme'), evil);
  expect(refused).toMatchObject({ status: 422 });
  expect(JSON.stringify(refused.body)).toContain('belongs to another organization');
  expect(await ownerOf('mine')).toBe('org_1');
  expect(await publish(upload('mine', 'acme'), token)).toMatchObject({ status: 403 });
  expect(await publish(upload('mine', 'acme-new'), token)).toMatchObject({ status: 201 });
});

test('attack: a subdomain that is the name of a trusted organization gives no internal scopes', async () => {
  const scope = 'site:script:inject';
  await declare('org_1', { subdomain: 'acme-trusted' });
  expect(await publish(upload('by-id', 'org_1', scope), annex.admin)).toMatchObject({ status: 201 });
  expect(await publish(upload('by-name', 'acme-trusted', scope), annex.admin)).toMatchObject({ status: 201 });
  expect((await declare('worse', { subdomain: 'trusted' })).status).toBe(200);
  const worse = await tokenOf('worse');
  expect(await publish(upload('taken', 'trusted', scope), worse)).toMatchObject({ status: 422 });
  expect(await publish(upload('taken', 'trusted'), worse)).toMatchObject({ status: 201 });
});

test('a request names the id: a subdomain there is refused, and what is no declaration, too', async () => {
  await declare('org_2', { subdomain: 'second' });
  const json = { kind: 'organization', organization: 'second' };
  const refused = { status: 400, body: { error: { message: expect.stringContaining('"org_2"') } } };
  expect(await annex.api('POST', '/v1/tokens', { json })).toMatchObject(refused);
  await publish(upload('installable', 'org_2'), annex.admin);
  expect(
    await annex.api('POST', '/v1/integrations/installable/installations', {
      json: { organization: 'second' },
    }),
  ).toMatchObject(refused);
  for (const [id, declared] of [
    ['org_3', { subdomain: 'Upper' }],
    ['org_3', { subdomain: 'a.b' }],
    ['org_3', { subdomain: '-a' }],
    ['org_3', { subdomain: 'a'.repeat(64) }],
    ['org_3', { title: '' }],
    ['org_3', { title: 'two\nlines' }],
    ['org_3', { name: 'x' }],
    ['annex.built-in', {}],
    ['-', {}],
  ] as const)
    expect([declared, (await declare(id, declared)).status]).toEqual([declared, 400]);
  expect((await annex.api('GET', '/v1/organizations/org_3')).body).toMatchObject({
    error: { code: 'ORGANIZATION_UNKNOWN' },
  });
  expect((await annex.api('DELETE', '/v1/organizations/org_2')).status).toBe(204);
  expect((await annex.api('DELETE', '/v1/organizations/org_2')).status).toBe(404);
});
