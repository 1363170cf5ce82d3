/**
 * A configuration as a form: the properties that a user interface gets, and what it never gets.
 */
import { describe, expect, test } from 'vitest';
import { completionPath, configurationForm, type FormTarget } from '../../../src/model/configuration-form.ts';
import { wholeInstallation } from '../../../src/model/installation.ts';
import type { Manifest } from '../../../src/model/manifest/manifest.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { manifestYaml, OPERATOR, parsed } from '../../support/store/temporary-store.ts';

const CONFIGURATIONS = `
configurations:
  account:
    properties:
      zebra: { type: string, title: Zebra, description: Striped, enum: [grey, black], default: black }
      repository: { type: string, title: Repository, completion_url: /repositories }
      limit: { type: number, default: 3 }
      loud: { type: boolean, default: false }
      oauth_credentials: { type: button, title: Connect, button_text: Authorize, callback_url: oauth }
    required: [repository, oauth_credentials]
  space:
    properties:
      tone: { type: string, completion_url: /tones }
      events: { type: string, enum: [made, gone], multiple: true, default: [gone] }
  site:
    componentId: settings
`;
const MANIFEST = parsed(manifestYaml({}, CONFIGURATIONS)).manifest;

const target = (more: Partial<FormTarget> = {}): FormTarget => ({
  ...wholeInstallation('ins_a'),
  status: 'pending',
  configuration: {},
  hasCredentials: false,
  publicEndpoint: 'https://apps.example.com/key',
  ...more,
});

describe('a form', () => {
  test("has the manifest's fields in its order, with what is set", () => {
    const configuration = { zebra: 'grey', limit: 3, loud: false };
    expect(configurationForm(MANIFEST, target({ configuration }))).toEqual({
      level: 'organization',
      status: 'pending',
      properties: [
        {
          ...{ name: 'zebra', type: 'string', title: 'Zebra', description: 'Striped', required: false },
          ...{ default: 'black', enum: ['grey', 'black'], value: 'grey' },
        },
        { name: 'repository', type: 'string', title: 'Repository', required: true, completion: true },
        { name: 'limit', type: 'number', required: false, default: 3, value: 3 },
        { name: 'loud', type: 'boolean', required: false, default: false, value: false },
        {
          ...{ name: 'oauth_credentials', type: 'button', title: 'Connect', required: true },
          ...{ button_text: 'Authorize', callback_url: 'https://apps.example.com/key/oauth' },
          ...{ sealed: true, isSet: false },
        },
      ],
    });
  });

  test('has for credentials only whether they are set, even if it is given their values', () => {
    const configuration = { oauth_credentials: { access_token: 'tok-in-the-clear' } };
    const form = configurationForm(MANIFEST, target({ configuration, hasCredentials: true }));
    expect(form.properties?.at(-1)).toMatchObject({ sealed: true, isSet: true });
    expect(JSON.stringify(form)).not.toContain('tok-in-the-clear');
  });

  test('of a component names the component', () => {
    const form = configurationForm(MANIFEST, target({ level: 'site', place: 'site_1' }));
    expect(form).toEqual({ level: 'site', status: 'pending', componentId: 'settings' });
  });

  test('is empty if the level has no configuration', () => {
    const form = configurationForm({ configurations: {} }, target({ level: 'space', place: 's' }));
    expect(form).toEqual({ level: 'space', status: 'pending', properties: [] });
  });

  test('marks properties with several options', () => {
    const property = { type: 'string', enum: ['a', 'b'], multiple: true, default: ['a'] };
    const configurations = { account: { properties: { letters: property }, required: ['letters'] } };
    const configuration = { letters: ['b', 'a'] };
    const form = configurationForm({ configurations } as unknown as Manifest, target({ configuration }));
    expect(form.properties).toEqual([{ name: 'letters', required: true, ...property, value: ['b', 'a'] }]);
  });

  test('ignores inherited members such as `constructor`', () => {
    const configurations = { account: { properties: { constructor: { type: 'string' } }, required: [] } };
    const form = configurationForm({ configurations } as unknown as Manifest, target());
    expect(form.properties).toEqual([{ name: 'constructor', type: 'string', required: false }]);
  });
});

describe('attack: a path in a manifest that was published before paths were checked', () => {
  const at = (path: unknown) => {
    const properties = {
      go: { type: 'button', callback_url: path },
      pick: { type: 'string', completion_url: path },
    };
    const configurations = { account: { properties, required: [] } };
    const form = configurationForm({ configurations } as unknown as Manifest, target());
    return {
      callback: form.properties?.[0]?.callback_url,
      completion: form.properties?.[1]?.completion,
      path: completionPath(configurations.account as never, 'pick'),
    };
  };

  test.each([
    'https://evil.example/oauth',
    '//evil.example/oauth',
    '/\\evil.example',
    '\\\\evil.example',
    'javascript:alert(1)',
    '../other-endpoint/oauth',
    '/a/../../other',
    '/%2e%2e/other',
    '/..;/other',
    '/oauth#fragment',
    '/oauth\r\nhost: evil',
    `/${'a'.repeat(2_000)}`,
    7,
    null,
    ['/oauth'],
  ])('%j is left out', (path) => {
    // `..;` is an ordinary name in RFC 3986.
    const stays = path === '/..;/other';
    expect(at(path)).toEqual(
      stays
        ? { callback: 'https://apps.example.com/key/..;/other', completion: true, path }
        : { callback: undefined, completion: undefined, path: undefined },
    );
  });

  test.each([
    ['oauth', '/oauth'],
    ['/oauth', '/oauth'],
    ['/a/b.c/d_e-f', '/a/b.c/d_e-f'],
  ])('%s leads to %s below the endpoint', (written, path) => {
    expect(at(written)).toEqual({ callback: `https://apps.example.com/key${path}`, completion: true, path });
  });

  test('a property without a completion has no path', () => {
    const schema = MANIFEST.configurations.account;
    expect(completionPath(schema, 'repository')).toBe('/repositories');
    for (const name of ['zebra', 'limit', 'oauth_credentials', 'none', 'toString', '__proto__'])
      expect(completionPath(schema, name)).toBeUndefined();
    expect(completionPath(undefined, 'repository')).toBeUndefined();
  });
});

describe('the route', () => {
  const SOURCE = `
    import { createComponent, createIntegration } from '@annex/sdk';
    const settings = createComponent({ componentId: 'settings', render: async () => <configuration></configuration> });
    export default createIntegration({
      components: [settings],
      fetch: (request, { environment }) => Response.json(environment.apiTokens),
    });`;

  async function installed(): Promise<{ annex: TestService; url: string; endpoint: string; id: string }> {
    const annex = await startTestService();
    await annex.publish('form', { 'index.jsx': SOURCE }, CONFIGURATIONS);
    const { id, endpoint } = await annex.install('form', 'rival');
    return { annex, endpoint, id, url: `/v1/integrations/form/installations/${id}` };
  }

  test('shows each level with its problems, and callbacks at the endpoint of the target', async () => {
    const { annex, url, endpoint } = await installed();
    const form = await annex.api('GET', `${url}/configuration`);
    expect(form).toMatchObject({
      status: 200,
      body: {
        level: 'organization',
        status: 'pending',
        problems: [{ property: 'repository' }, { property: 'oauth_credentials' }],
      },
    });
    expect(JSON.stringify(form.body)).toContain(`"${endpoint}/oauth"`);
    await annex.api('PATCH', url, {
      json: { configuration: { repository: 'r', oauth_credentials: { access_token: 'grant-7' } } },
    });
    const set = await annex.api('GET', `${url}/configuration`);
    expect(set.body).toMatchObject({ status: 'active' });
    expect(set.body).not.toHaveProperty('problems');
    expect(JSON.stringify(set.body)).toContain('"isSet":true');
    expect(JSON.stringify(set.body)).not.toContain('grant-7');

    for (const [level, places] of [
      ['space', 'spaces'],
      ['site', 'sites'],
    ] as const) {
      const made = await annex.api('POST', `${url}/${places}`, { json: { [level]: 'p1' } });
      expect(made.status).toBe(201);
      const below = await annex.api('GET', `${url}/${places}/p1/configuration`);
      expect(below).toMatchObject({ status: 200, body: { level, status: 'active' } });
      if (level === 'space')
        expect(below.body['properties']).toContainEqual({
          ...{ name: 'events', type: 'string', required: false, enum: ['made', 'gone'], multiple: true },
          ...{ default: ['gone'], value: ['gone'] },
        });
      expect((await annex.api('GET', `${url}/${places}/p2/configuration`)).status).toBe(404);
    }
  });

  test('is allowed to callers that may read the configuration', async () => {
    const { annex, url, endpoint } = await installed();
    const { tokens } = annex.service.store;
    const member = async (organization: string) =>
      (await tokens.create({ kind: 'organization', organization }, OPERATOR)).token;
    const runtime = (await (await fetch(endpoint)).json()) as { integration: string; installation: string };
    expect(runtime.installation).toEqual(expect.any(String));
    const asked = async (token: string) => (await annex.api('GET', `${url}/configuration`, { token })).status;
    expect(await asked(annex.platform)).toBe(200);
    expect(await asked(await member('rival'))).toBe(200);
    expect(await asked(runtime.installation)).toBe(200);
    // The author has published the form, but may not see its values.
    expect(await asked(await member('acme'))).toBe(404);
    expect(await asked(runtime.integration)).toBe(200);
  });
});
