/**
 * Integrations that exist elsewhere publish, install and answer as on the platform that they were
 * written for: bundles with a runtime and a client of their own (`fixtures/compatibility`). Each is
 * called with raw traffic, envelopes, events and renderings, on a shared origin and on origins of
 * their own.
 */
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { publishExisting } from '../../support/compatibility/existing-integration.ts';
import { ExistingService, HALVES, type Targets } from '../../support/compatibility/existing-service.ts';
import { SECRET, startTokenServers, type TokenServers } from '../../support/oauth/token-servers.ts';
import { png } from '../../support/png.ts';

const SIGNING_SECRET = 'chat-signing-secret';

describe.each(HALVES)('on %s', (_name, flags) => {
  let existing: ExistingService;
  let provider: TokenServers;
  beforeAll(async () => {
    provider = await startTokenServers();
    existing = await ExistingService.start([...flags, '--egress-allow', provider.address]);
  });
  afterAll(async () => {
    await existing.stop();
    await provider.stop();
  });

  /** Publishes and installs at every level that the manifest has. */
  const deploy = (
    name: string,
    options: Parameters<typeof publishExisting>[2] & { readonly levels?: readonly ('space' | 'site')[] } = {},
  ): Promise<Targets> => existing.deploy(name, options);

  describe('a chat command at the endpoint of the integration', () => {
    let targets: Targets;
    beforeAll(async () => {
      targets = await deploy('chat-command', { secrets: { SIGNING_SECRET } });
    });

    const command = (team: string, secret = SIGNING_SECRET) => {
      const body = `team_id=${team}&text=hello+there`;
      const signature = `v0=${createHmac('sha256', secret).update(`v0:17:${body}`).digest('hex')}`;
      const headers = {
        'content-type': 'application/x-www-form-urlencoded',
        'x-chat-timestamp': '17',
        'x-chat-signature': signature,
      };
      return existing.ask(`${targets.integration}/commands`, { method: 'POST', headers, body });
    };

    test('finds its installation by the external id, and acts with the token of that installation', async () => {
      await expect
        .poll(() => existing.read(targets))
        .toMatchObject({ externalIds: [`team-${targets.organization}`] });
      const answer = await command(`team-${targets.organization}`);
      expect(answer).toMatchObject({ status: 200 });
      expect(JSON.parse(answer.text)).toEqual({
        text: 'hello there',
        hasInstallation: false,
        tokens: ['integration'],
      });
      expect(await existing.read(targets)).toMatchObject({ configuration: { last_command: 'hello there' } });
    });

    test('refuses with its own status and message', async () => {
      expect(await command('team-unknown')).toMatchObject({
        status: 404,
        text: '{"error":"This team is not connected"}',
      });
      expect(await command('team-x', 'wrong')).toMatchObject({ status: 401 });
    });
  });

  test('a push queues a task for each space that syncs the repository, and the task runs', async () => {
    const targets = await deploy('git-sync', { levels: ['space'] });
    await existing.edit(targets, 'space', { configuration: { repository: 'acme/docs' } });
    await expect.poll(() => existing.read(targets, 'space')).toMatchObject({ externalIds: ['acme/docs'] });
    const answer = await existing.ask(`${targets.integration}/hooks/push`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"repository":"acme/docs"}',
    });
    expect(JSON.parse(answer.text)).toEqual({ queued: 1 });
    await expect
      .poll(() => existing.read(targets, 'space'))
      .toMatchObject({ externalIds: ['acme/docs', 'imported'], status: 'active' });
  });

  describe('an account connected through one redirect URL', () => {
    let targets: Targets;
    beforeAll(async () => {
      targets = await deploy('oauth-account');
    });

    test('is stored for the installation that the state names, and the settings say so', async () => {
      const begun = await existing.ask(`${targets.installation}/oauth`);
      const location = new URL(String(begun.headers['location']));
      expect(location.searchParams.get('redirect_uri')).toBe(`${targets.integration}/oauth`);
      expect(await existing.drawText(targets, { componentId: 'settings' })).toContain('"label":"Connect"');
      const state = encodeURIComponent(String(location.searchParams.get('state')));
      const ended = await existing.ask(`${targets.integration}/oauth?code=abc123&state=${state}`);
      expect(ended).toMatchObject({ status: 200, text: 'Connected. Close this window.' });
      const drawn = await existing.drawText(targets, { componentId: 'settings' });
      expect(drawn).toContain('The account is connected.');
      expect(drawn).not.toContain('token-abc123');
      expect(await existing.read(targets)).toMatchObject({ sealed: ['oauth_credentials'] });
    });
  });

  test('an account that is connected anew sends the credentials alone: the settings ask for the rest again', async () => {
    provider.answer = ({ form }) => ({ body: { access_token: `token of ${form['code']}` } });
    const secrets = { TOKEN_URL: `${provider.origin}/token`, CLIENT_SECRET: SECRET };
    const targets = await deploy('oauth-reconnect', { secrets });
    const connect = async (code: string) => {
      const begun = await existing.ask(`${targets.installation}/oauth`);
      expect(String(begun.headers['location'])).toMatch(/^https:\/\/provider\.example\/authorize\?/);
      const ended = await existing.ask(`${targets.installation}/oauth?code=${code}`);
      expect(ended).toMatchObject({ status: 200, text: 'Connected. Close this window.' });
      return existing.read(targets);
    };
    expect(await connect('first')).toMatchObject({
      status: 'pending',
      problems: [{ property: 'repository' }],
    });
    await existing.edit(targets, 'installation', { configuration: { repository: 'first/docs' } });
    expect(await existing.read(targets)).toMatchObject({ status: 'active' });

    expect(await connect('second')).toMatchObject({
      ...{ status: 'pending', configuration: {}, sealed: ['oauth_credentials'] },
      problems: [{ property: 'repository' }],
    });
    expect((await existing.ask(`${targets.installation}/token`)).text).toBe('token of second');
    await existing.edit(targets, 'installation', { configuration: { repository: 'second/docs' } });
    expect(await existing.read(targets)).toMatchObject({ status: 'active' });
    await expect
      .poll(() => existing.lines(targets))
      .toEqual([
        ...['setup none → pending', 'setup pending → pending', 'setup pending → active'],
        ...['setup active → pending', 'setup pending → active'],
      ]);

    // A person's slip in one property does not stop what works, nor does a merge by code.
    const emptied = { json: { configuration: { repository: null } } };
    const path = `/v1/integrations/${targets.name}/installations/${targets.id}`;
    for (const query of ['', '?configuration=replace'])
      expect((await existing.annex.api('PATCH', `${path}${query}`, emptied)).status).toBe(422);
    expect(await existing.read(targets)).toMatchObject({ status: 'active' });
  });

  describe('a script of a site', () => {
    test('is made of a text file and the configuration of that site', async () => {
      const targets = await deploy('site-analytics', { levels: ['site'] });
      const script = () => existing.ask(`${targets.site}/~script.js`);
      expect(await script()).toMatchObject({ status: 200, text: '/** no-op */' });
      await existing.edit(targets, 'site', { configuration: { tracking_id: 'G-1' } });
      const answer = await script();
      expect(answer.text).toContain("id: 'G-1'");
      expect(answer.headers['content-type']).toMatch(/javascript/);
    });
  });

  test('visitors are sent to the provider, and return with a signed token', async () => {
    const targets = await deploy('visitor-auth', { levels: ['site'] });
    await existing.edit(targets, 'site', { configuration: { issuer: 'https://login.example' } });
    const event = {
      type: 'fetch_visitor_authentication',
      location: 'start',
      searchParams: { from: 'x' },
      cookies: { hint: 'ada' },
    };
    const sent = await existing.envelope(targets, 'site', event);
    const url = new URL(String(sent.headers['location']));
    expect([sent.status, url.origin + url.pathname]).toEqual([302, 'https://login.example/authorize']);
    expect(JSON.parse(String(url.searchParams.get('state')))).toEqual({
      location: 'start',
      hint: 'ada',
      from: 'x',
    });
    const callback = new URL(String(url.searchParams.get('redirect_uri')));
    callback.searchParams.set('code', 'visitor-1');
    callback.searchParams.set('state', String(url.searchParams.get('state')));
    const returned = await existing.ask(String(callback));
    const token = new URL(String(returned.headers['location'])).searchParams.get('jwt_token') ?? '';
    expect(JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())).toEqual({
      sub: 'visitor-1',
    });
    const logout = await existing.envelope(targets, 'site', { ...event, action: 'logout' });
    expect(String(logout.headers['location'])).toMatch(/^https:\/\/login\.example\/logout/);
  });

  describe('a diagram', () => {
    let targets: Targets;
    beforeAll(async () => {
      targets = await deploy('diagram', { files: { 'assets/icon.png': png(64, 64) } });
    });

    test('is drawn with its frame on the content endpoint of the integration', async () => {
      const drawn = await existing.draw(targets, { componentId: 'diagram', props: { content: 'graph LR' } });
      expect(drawn.body).toMatchObject({
        type: 'element',
        state: { content: 'graph LR', visible: true, version: 2 },
        canAccessVisitorClaims: true,
        element: { type: 'block', children: [{ type: 'codeblock', content: 'graph LR', state: 'content' }] },
      });
      const toggled = await existing.draw(targets, {
        componentId: 'diagram',
        props: {},
        state: { content: 'x', visible: true, version: 2 },
        action: { action: 'toggle' },
      });
      const frame = { type: 'webframe', source: { url: `${targets.integration}/frame?v=2` } };
      expect(toggled.body).toMatchObject({ state: { visible: false }, element: { children: [frame] } });
    });

    test('serves the page of its frame below the integration, with the policy of the manifest', async () => {
      const page = await existing.ask(`${targets.integration}/frame?v=2`);
      expect(page).toMatchObject({ status: 200, text: '<!doctype html><title>Diagram</title>' });
      const policy = String(page.headers['content-security-policy']);
      expect(policy).toContain('frame-src https://a.example https://b.example');
      expect(policy).not.toMatch(/[\r\n]/);
    });
  });

  test('a pasted link becomes a card, and its modal is drawn without what is unknown', async () => {
    const targets = await deploy('link-embed');
    const url = 'https://issues.example/browse/ABC-1';
    const unfurled = await existing.annex.api('POST', '/v1/blocks/unfurl', {
      json: { organization: targets.organization, url },
    });
    expect(unfurled.status).toBe(200);
    expect(JSON.stringify(unfurled.body)).toContain('ABC-1 · Broken link');
    const modal = await existing.draw(targets, { componentId: 'preview', props: { key: 'ABC-1' } });
    expect(modal.status).toBe(200);
    const text = JSON.stringify(modal.body);
    for (const kept of ['one', 'two', '@ui.modal.close', 'Loaded ']) expect(text).toContain(kept);
    for (const dropped of ['unheard-of', 'rounded']) expect(text).not.toContain(dropped);
    const blank = await existing.draw(targets, { componentId: 'issue', props: {} });
    expect(blank.status).toBe(200);
  });

  test('choices come from the endpoint of the target, and a completed form is stored', async () => {
    const targets = await deploy('choices', { levels: ['space'] });
    const drawn = await existing.draw(targets, { componentId: 'config' }, 'space');
    expect(drawn.status).toBe(200);
    const space = new URL(String(targets.space));
    expect(JSON.stringify(drawn.body)).toContain(JSON.stringify({ host: space.host }).slice(1, -1));
    const choices = await existing.ask(`${targets.space}/workspaces?kind=all`);
    expect(JSON.parse(choices.text)).toEqual([{ id: 'w1', label: 'One', icon: 'github' }]);
    const saved = await existing.draw(
      targets,
      { componentId: 'config', state: { step: 'edit.done', workspace: 'w1' }, action: { action: 'save' } },
      'space',
    );
    expect(saved.body).toEqual({ type: 'complete' });
    expect(await existing.read(targets, 'space')).toMatchObject({ configuration: { workspace: 'w1' } });
  });

  test('settings that no schema declares are kept, and leave the target active', async () => {
    const targets = await deploy('undeclared-settings');
    const answer = await existing.ask(String(targets.installation));
    expect(JSON.parse(answer.text)).toEqual({
      configuration: { webhook_id: 42, channels: [{ id: 'c1' }] },
      status: 'active',
    });
  });

  test('an edit of the configuration by the code replaces it', async () => {
    const targets = await deploy('replaced-settings');
    const put = (body: object) =>
      existing.ask(String(targets.installation), { method: 'POST', body: JSON.stringify(body) });
    expect(JSON.parse((await put({ a: '1', b: '2' })).text)).toEqual({ a: '1', b: '2' });
    expect(JSON.parse((await put({ b: '3' })).text)).toEqual({ b: '3' });
  });

  test('both handlers of an event run, with the site of the event', async () => {
    const targets = await deploy('page-feedback', { levels: ['site'] });
    const visitor = { anonymousId: 'v', userAgent: 'u', ip: '192.0.2.1', cookies: {} };
    const page = { pageId: 'p', url: 'https://docs.example/p', referrer: '' };
    await existing.post({
      type: 'page_feedback',
      organization: targets.organization,
      siteId: targets.place,
      visitor,
      ...page,
      feedback: { rating: 'good' },
    });
    await expect
      .poll(async () => (await existing.lines(targets)).sort())
      .toEqual([
        `first good ${targets.place} ${targets.place}`,
        `second good ${targets.place} ${targets.place}`,
      ]);
  });

  test('content is computed by the source that the event names', async () => {
    const targets = await deploy('content-source', { levels: ['space'] });
    const compute = async (type: string, props: object) =>
      JSON.parse((await existing.envelope(targets, 'space', { type, sourceId: 'records', props })).text);
    expect(await compute('content_compute_revision', { root: 'r1' })).toEqual({
      pages: [{ id: 'r1', type: 'document', title: 'Records' }],
    });
    expect(await compute('content_compute_document', { id: 'p1' })).toEqual({
      document: { nodes: ['p1 of content-source'] },
    });
  });

  test('a modal returns its value to the block that opened it', async () => {
    const targets = await deploy('modal-form');
    const completed = await existing.draw(targets, {
      componentId: 'form',
      props: { question: 'Why?' },
      state: { text: 'so' },
      action: { action: 'submit' },
    });
    expect(completed.body).toEqual({ type: 'complete', returnValue: { answer: 'so' } });
    const answered = await existing.draw(targets, {
      componentId: 'ask',
      state: { answer: '' },
      action: { action: '@ui.modal.close', returnValue: { answer: 'so' } },
    });
    expect(JSON.stringify(answered.body)).toContain('Answer: so');
    const refused = await existing.draw(targets, { componentId: 'ask', action: { action: 'refuse' } });
    expect(refused).toMatchObject({
      status: 409,
      body: { error: { message: expect.stringContaining('Ask something else') } },
    });
  });

  test('a component that refuses keeps its status and message; one that breaks shows nothing', async () => {
    const targets = await deploy('refusing-component');
    const refused = await existing.draw(targets, { componentId: 'refuses' });
    expect(refused.status).toBe(400);
    expect(JSON.stringify(refused.body)).toContain('Connect an account first');
    const broken = await existing.draw(targets, { componentId: 'breaks' });
    expect(broken.status).toBe(502);
    expect(JSON.stringify(broken.body)).not.toContain('internal detail');
    const unknown = await existing.draw(targets, { componentId: 'absent' });
    expect(unknown.status).toBe(404);
  });

  test('signed bytes reach the code unchanged, as raw traffic and in an envelope', async () => {
    const targets = await deploy('raw-webhook', { secrets: { WEBHOOK_SECRET: 's3cret' } });
    const bytes = Buffer.from([0, 255, 13, 10, 128, 45, 45]);
    const expected = {
      method: 'POST',
      signature: createHmac('sha1', 's3cret').update(bytes).digest('hex'),
      bytes: bytes.length,
    };
    const raw = await existing.ask(`${targets.installation}/hook`, { method: 'POST', body: bytes });
    expect(JSON.parse(raw.text)).toEqual(expected);
    const request = { method: 'post', url: `${targets.installation}/hook`, headers: {} };
    const sent = await existing.envelope(targets, 'installation', { type: 'fetch', request }, bytes);
    expect(JSON.parse(sent.text)).toEqual(expected);
  });

  test('routers match below the endpoints of every level', async () => {
    const targets = await deploy('many-routes', { levels: ['space', 'site'] });
    for (const endpoint of [targets.integration, targets.installation, targets.space, targets.site]) {
      for (const path of ['', '/', '?a=b'])
        expect(JSON.parse((await existing.ask(`${endpoint}${path}`)).text)).toEqual({ at: 'root' });
      const file = await existing.ask(`${endpoint}/installations/i1/files/a/b.txt`);
      expect(JSON.parse(file.text)).toEqual({ at: 'file', id: 'i1' });
      const request = { method: 'GET', url: `${endpoint}/installations/i2/files/c`, headers: {} };
      const form = await existing.envelopeAt(String(endpoint), { type: 'fetch', request });
      expect(JSON.parse(form.text)).toEqual({ at: 'file', id: 'i2' });
    }
  });

  test('the product’s own API is behind the same base', async () => {
    const targets = await deploy('page-reader', { levels: ['space'] });
    const answer = await existing.ask(String(targets.space));
    expect(JSON.parse(answer.text)).toMatchObject({
      method: 'GET',
      url: `/v1/spaces/${targets.place}/content/path/a%20b?format=markdown`,
    });
    expect(existing.product.last?.headers.authorization).toMatch(/^Bearer annex_run_/);
  });

  test('lists are paged by number of items and by the page that the answer names', async () => {
    const first = await deploy('long-lists', { levels: ['site'] });
    const others = [
      await existing.installAgain(first, ['site']),
      await existing.installAgain(first, ['site']),
    ];
    const all = [first, ...others];
    for (const query of ['', '?limit=1', '?limit=2', '?limit=1000']) {
      const answer = JSON.parse((await existing.ask(`${first.installation}/${query}`)).text);
      expect(answer.installations.toSorted()).toEqual(all.map(({ id }) => id).toSorted());
      expect(answer.sites.toSorted()).toEqual(all.map(({ place }) => place).toSorted());
    }
  });

  test('errors of the API have the status as their code', async () => {
    const targets = await deploy('api-errors');
    const answer = await existing.ask(String(targets.installation));
    expect(JSON.parse(answer.text)).toEqual({
      unknownInstallation: 404,
      doubledVersion: 404,
      foreignIntegration: 404,
    });
  });

  test('records of the API agree with the environment', async () => {
    const targets = await deploy('own-record', { files: { 'public/wide.png': png(1_600, 800) } });
    const shown = JSON.parse((await existing.ask(String(targets.installation))).text);
    const { environment, integration, installation } = shown;
    expect(integration).toMatchObject({
      object: 'integration',
      name: 'own-record',
      title: 'Own record',
      version: 1,
      visibility: 'public',
      scopes: ['space:content:read'],
      categories: ['content', 'collaboration'],
      blocks: [{ id: 'note', title: 'Note' }],
      externalLinks: [{ label: 'Help', url: 'https://help.example/own-record' }],
      owner: expect.anything(),
      configurations: expect.anything(),
      permissions: expect.anything(),
      urls: { publicEndpoint: targets.integration, publicContentEndpoint: expect.any(String) },
    });
    expect(installation).toMatchObject({
      id: targets.id,
      status: 'active',
      target: { organization: targets.organization },
      space_selection: 'all',
      site_selection: 'all',
      spaces: 0,
      configuration: { colour: 'red' },
      externalIds: [],
      urls: { publicEndpoint: targets.installation, publicContentEndpoint: expect.any(String) },
    });
    const same = [
      'object',
      'name',
      'title',
      'description',
      'version',
      'visibility',
      'target',
      'verified',
      'scopes',
    ];
    const more = ['categories', 'externalLinks', 'previewImages', 'owner', 'permissions', 'urls'];
    for (const member of [...same, ...more])
      expect([member, environment.integration[member]]).toEqual([member, integration[member]]);
    expect(environment.integration).toMatchObject({
      ...{ object: 'integration', target: 'all', verified: false, permissions: { admin: false } },
      owner: { object: 'organization', id: 'acme', title: 'acme', urls: expect.anything() },
      previewImages: [`${environment.integration.urls.assets}/public/wide.png`],
      urls: { publicEndpoint: targets.integration },
    });
    expect(environment.installation).toMatchObject({ spaces: 0 });
    expect(environment.installation.urls.publicEndpoint).toBe(targets.installation);
    expect(environment.signingSecrets).toEqual(['integration', 'installation']);
  });

  describe('queued work', () => {
    let targets: Targets;
    beforeAll(async () => {
      targets = await deploy('queued-work');
    });
    const queue = (body: object) =>
      existing.ask(String(targets.installation), { method: 'POST', body: JSON.stringify(body) });

    test('of an installation is delivered to it, and of the integration to the integration', async () => {
      expect(await queue({ token: 'installation', task: { n: 1 } })).toMatchObject({ status: 204 });
      await expect.poll(() => existing.lines(targets)).toContain(`task {"n":1} ${targets.id}`);
      expect(await queue({ token: 'integration', task: { n: 2 } })).toMatchObject({ status: 204 });
      await expect
        .poll(() => existing.linesOfIntegration('queued-work'))
        .toContain('task {"n":2} no installation');
    });
  });

  test('methods in lower case are those of HTTP, and a GET has no body', async () => {
    const targets = await deploy('lower-case-methods');
    for (const method of ['get', 'post', 'put', 'delete', 'patch']) {
      const request = { method, url: `${targets.installation}/x`, headers: {} };
      const answer = await existing.envelope(
        targets,
        'installation',
        { type: 'fetch', request },
        Buffer.from('b'),
      );
      const body = method === 'get' ? null : 'b';
      const shown = method === 'patch' ? 'patch' : method.toUpperCase();
      expect(JSON.parse(answer.text)).toEqual({ method: shown, body });
    }
  });

  test('an environment of the manifest has its own title and secrets', async () => {
    const secrets = { KEY: 'of-staging' };
    const targets = await deploy('environments', { env: 'staging', secrets });
    expect(JSON.parse((await existing.ask(String(targets.installation))).text)).toEqual({
      title: 'Staging',
      key: 'of-staging',
    });
  });

  test('module scope of the integration’s level and of two installations are apart', async () => {
    const first = await deploy('module-state');
    const second = await existing.installAgain(first);
    for (const [endpoint, value] of [
      [first.integration, 'of-integration'],
      [first.installation, 'of-first'],
      [second.installation, 'of-second'],
    ]) {
      const answer = await existing.ask(`${endpoint}?remember=${value}`);
      expect(JSON.parse(answer.text)).toEqual([value]);
    }
  });

  test('a handler that stores equal values again does not call itself', async () => {
    const targets = await deploy('setup-loop');
    await existing.edit(targets, 'installation', { configuration: { token: 't' } });
    await expect
      .poll(() => existing.lines(targets))
      .toEqual([
        'setup pending {}',
        'setup active {"token":"t"}',
        'setup active {"token":"t","webhook":"wh_1"}',
      ]);
    await existing.remove(targets);
    await expect
      .poll(() => existing.product.last)
      .toMatchObject({ method: 'DELETE', url: '/v1/webhooks/wh_1' });
  });
});
