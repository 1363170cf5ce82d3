/**
 * `…/render`: the host product gets a checked drawing or a reason, whatever the component does
 * (docs/contract/components.md#rendering).
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, ask, codeOf } from '../../support/installation-api.ts';
import { type Installed, startTestService, TestService } from '../../support/service.ts';

/** The code behind each `props.draw`. */
const SOURCE = `import { createComponent, createIntegration, ExposableError } from '@annex/sdk';

const draw = {
  noise: () => <block>{[null, [<text>{1}{' of '}{[2]}</text>]]}{false}</block>,
  wrong: () => <block><vstack><button label="a" /></vstack><link target={{ url: 'javascript:alert(1)' }}>a</link></block>,
  nothing: () => undefined,
  list: () => <><text>a</text></>,
  crash: () => { throw new Error('the secret reason'); },
  exposed: () => { throw new ExposableError('No such poll', 404); },
  failing: () => { throw new ExposableError('The provider is away', 503); },
  cleaned: () => <block><buton /><button label="a" icon="nope" onpress={1} onPress={{ action: 'x' }} /></block>,
  spin: () => { for (;;); },
  huge: () => <block><text>{'x'.repeat(1024 * 1024)}</text></block>,
  many: () => ({ type: 'block', children: Array.from({ length: 20_000 }, () => ({ type: 'divider' })) }),
  deep: () => { let at = { type: 'box' }; for (let i = 0; i < 100; i++) at = { type: 'box', children: [at] }; return <block>{at}</block>; },
};

const drawing = createComponent({
  componentId: 'drawing',
  action: (element, action) => action.result,
  render(element) {
    if (element.props.maxAge !== undefined) element.setCache({ maxAge: element.props.maxAge });
    return draw[element.props.draw]();
  },
});

const seen = createComponent({
  componentId: 'seen',
  render: (element, { environment }) => <block><text>{JSON.stringify([element.props, element.context, environment.installation.configuration])}</text></block>,
});
const event = createComponent({ componentId: 'event', render: () => <block>{[]}</block> });
const settings = (id) => createComponent({
  componentId: id,
  render: (element) => <configuration><text>{JSON.stringify(element.props)}</text></configuration>,
});
export default createIntegration({
  components: [drawing, seen, event, settings('account-settings'), settings('space-settings')],
  events: { ui_render: (event) => console.log(JSON.stringify(event)) },
});
`;
const MANIFEST = `target: all
configurations:
  account: { componentId: account-settings }
  space: { componentId: space-settings }
`;

let service: TestService;
let installed: Installed;
let organization: string;
let stranger: string;
const at = (place = '') => `/integrations/drawn/installations/${installed.id}${place}/render`;
const render = (json: object, more: { token?: string; place?: string } = {}): Promise<Answer> =>
  ask(service, 'POST', at(more.place), { json, ...(more.token && { token: more.token }) });
const draw = (what: string, more: object = {}): Promise<Answer> =>
  render({ componentId: 'drawing', props: { draw: what }, ...more });

beforeAll(async () => {
  service = await TestService.start();
  await service.publish('drawn', { 'index.tsx': SOURCE }, MANIFEST);
  installed = await service.install('drawn', 'installer');
  for (const [name, kind] of [
    ['space', 'sp-1'],
    ['site', 'si-1'],
  ] as const)
    await ask(service, 'POST', `/integrations/drawn/installations/${installed.id}/${name}s`, {
      json: { [name]: kind },
    });
  const tokens = ['installer', 'stranger'].map((name) =>
    ask(service, 'POST', '/tokens', { json: { kind: 'organization', organization: name } }),
  );
  [organization = '', stranger = ''] = (await Promise.all(tokens)).map(({ body }) => String(body['token']));
});
afterAll(() => service.stop());

describe('a drawing', () => {
  test('is answered as specified, without unknown members', async () => {
    const { status, headers, text } = await draw('noise', { state: { a: 1 } });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(JSON.parse(text)).toEqual({
      type: 'element',
      state: { a: 1 },
      props: { draw: 'noise' },
      element: { type: 'block', children: [{ type: 'text', children: ['1', ' of ', '2'] }] },
    });
  });

  test('has the lifetime that the component sets', async () => {
    const { headers } = await render({ componentId: 'drawing', props: { draw: 'noise', maxAge: 60 } });
    expect(headers.get('cache-control')).toBe('max-age=60');
  });

  test('is made from the documented event', async () => {
    const action = { action: 'a', more: [1] };
    const sent = {
      ...{ componentId: 'event', props: { p: 1 }, state: { s: 1 }, context: { c: 1 } },
      ...{ auth: { userId: 'u-1' } },
    };
    // Only the component gets the action; `events.ui_render` does not.
    expect((await render({ ...sent, action }, { place: '/spaces/sp-1' })).status).toBe(200);
    const line = async () =>
      (await service.log(installed)).map(({ text }) => text).find((text) => text.includes('"u-1"'));
    await expect.poll(line).toBeDefined();
    expect(JSON.parse((await line()) ?? '')).toEqual({
      eventId: expect.any(String),
      type: 'ui_render',
      installationId: installed.id,
      spaceId: 'sp-1',
      ...sent,
    });
  });

  test.each(['', '/spaces/sp-1', '/sites/si-1'])('works below %j', async (place) => {
    expect((await render({ componentId: 'seen' }, { place })).status).toBe(200);
  });
});

describe('a configuration component', () => {
  const propsOf = async (componentId: string, place = '', props = {}) =>
    (await render({ componentId, props }, { place })).body['props'];

  test('gets the stored configuration, and not the props of the request', async () => {
    const forged = { installation: { configuration: { forged: true } }, siteInstallation: {} };
    expect(await propsOf('account-settings', '', forged)).toEqual({ installation: { configuration: {} } });
    expect(await propsOf('space-settings', '/spaces/sp-1', forged)).toEqual({
      installation: { configuration: {} },
      spaceInstallation: { configuration: {} },
    });
    expect(await propsOf('account-settings', '/sites/si-1', forged)).toEqual({
      installation: { configuration: {} },
      siteInstallation: { configuration: {} },
    });
  });

  test('gets the credentials of its integration, and the answer has none of them', async () => {
    const connected = await service.install('drawn');
    const path = `/integrations/drawn/installations/${connected.id}`;
    const configuration = { region: 'eu', oauth_credentials: { access_token: 'T0K3N', account: 'Acme' } };
    const patched = await ask(service, 'PATCH', path, { json: { configuration } });
    expect(patched.status).toBe(200);
    const drawn = (componentId: string) => ask(service, 'POST', `${path}/render`, { json: { componentId } });
    const settings = await drawn('account-settings');
    expect(settings.body['props']).toEqual({ installation: { configuration: { region: 'eu' } } });
    expect(settings.text).not.toContain('T0K3N');
    // It draws its props.
    expect(settings.body['element']).toEqual({
      type: 'configuration',
      children: [
        {
          type: 'text',
          children: [
            JSON.stringify({
              installation: {
                configuration: {
                  region: 'eu',
                  oauth_credentials: { access_token: '[redacted]', account: 'Acme' },
                },
              },
            }),
          ],
        },
      ],
    });
    // Its own code has the credentials.
    expect((await drawn('seen')).text).toContain('T0K3N');
  });

  test('while any other component gets the props of the request', async () => {
    expect(await propsOf('seen', '', { installation: 1 })).toEqual({ installation: 1 });
  });
});

describe('a drawing with parts that are not ContentKit', () => {
  test('leaves without them, and one line of the log lists them', async () => {
    const answer = await draw('cleaned');
    expect(answer.status).toBe(200);
    expect(answer.body['element']).toEqual({
      type: 'block',
      children: [{ type: 'button', label: 'a', onPress: { action: 'x' } }],
    });
    const lines = (await service.log(installed)).filter(({ text }) => text.includes('was changed to fit'));
    expect(lines).toMatchObject([
      {
        level: 'warn',
        text: expect.stringMatching(
          /^The drawing of the component "drawing" was changed to fit ContentKit: element\.children\[0\] <buton>: there is no such element\. Did you mean <button>\? .*icon must be one of .*onpress is unknown/,
        ),
      },
    ]);
  });

  test.each([
    ['with more', "{ type: 'complete', returnValue: 1, extra: 1 }", { type: 'complete', returnValue: 1 }],
    [
      'without state and props',
      "{ type: 'element', element: { type: 'block' } }",
      { type: 'element', state: {}, props: {}, element: { type: 'block', children: [] } },
    ],
  ])('an answer of a script without the SDK, %s', async (title, response, expected) => {
    const name = `lenient-${title.replaceAll(' ', '-')}`;
    const raw = await service.deploy(name, `export default { fetch: () => Response.json(${response}) };`);
    const path = `/integrations/${name}/installations/${raw.id}/render`;
    const answer = await ask(service, 'POST', path, { json: { componentId: 'c' } });
    expect([answer.status, answer.body]).toEqual([200, expected]);
  });
});

describe('an invalid drawing', () => {
  test('is 422 with each fault and its place, also in the log of the installation', async () => {
    const answer = await draw('wrong');
    expect(codeOf(answer)).toBe('422 RENDER_INVALID');
    expect(answer.body).toMatchObject({
      error: {
        problems: [
          {
            path: 'element.children[0].children[0].onPress',
            message: 'element.children[0].children[0] <button>: onPress is required',
          },
          {
            path: 'element.children[1].target.url',
            message:
              'element.children[1] <link>: target.url must be an absolute URL with http, https or mailto',
          },
        ],
      },
    });
    expect(answer.error.message).toMatch(
      /element\.children\[0\]\.children\[0\] <button>: .* one more problem/,
    );
    const logged = (await service.log(installed)).map(({ text }) => text).join('\n');
    expect(logged).toContain(
      'The answer of the component "drawing" is not valid ContentKit: element.children[0].children[0] <button>',
    );
  });

  test.each([
    ['huge', 'The answer has more than 1024 KiB.'],
    ['many', 'there are more than 10000 elements and texts'],
    ['deep', 'is nested deeper than 64'],
  ])('attack: %s', async (what, complaint) => {
    const answer = await draw(what);
    expect(codeOf(answer)).toBe('422 RENDER_INVALID');
    expect(answer.error.message).toContain(complaint);
  });

  test.each([
    ['no JSON', "new Response('<block/>')", 'not a JSON object'],
    [
      'a mebibyte of objects',
      "new Response('{\"state\":[{}' + ',{}'.repeat(340_000) + ']}')",
      'more than 100,000 objects and lists',
    ],
    ['a list', 'Response.json([])', 'not a JSON object'],
    ['of another type', "Response.json({ type: 'block' })", 'must have the type "element" or "complete"'],
    [
      'with a state that is text',
      "Response.json({ type: 'element', state: 'a', props: {}, element: { type: 'block', children: [] } })",
      'state must be an object',
    ],
    [
      'with deep state',
      "new Response('{\"type\":\"complete\",\"returnValue\":' + '['.repeat(9000) + ']'.repeat(9000) + '}')",
      'nested deeper',
    ],
    ['broken UTF-8', 'new Response(new Uint8Array([0xff, 0x7b]))', 'not a JSON object'],
  ])('attack: a script that answers itself, %s', async (_title, response, complaint) => {
    const name = `raw-${Math.abs(hash(response))}`;
    const raw = await service.deploy(name, `export default { fetch: () => ${response} };`);
    const answer = await ask(service, 'POST', `/integrations/${name}/installations/${raw.id}/render`, {
      json: { componentId: 'c' },
    });
    expect(codeOf(answer)).toBe('422 RENDER_INVALID');
    expect(answer.error.message).toContain(complaint);
  });
});

const hash = (text: string): number =>
  [...text].reduce((sum, char) => (sum * 31 + char.charCodeAt(0)) | 0, 7);

describe('a component that fails is 502', () => {
  test('with its reason in the log only', async () => {
    const answer = await draw('crash');
    expect(codeOf(answer)).toBe('502 RENDER_FAILED');
    expect(answer.text).not.toContain('secret reason');
    const log = (await service.log(installed)).map(({ text }) => text).join('\n');
    expect(log).toMatch(/Error: the secret reason\n +at .*index\.tsx:\d+:\d+/);
    expect(log).toContain(
      'The component "drawing" failed while it rendered; the line of the same request has the exception.',
    );
  });

  test.each([
    ['throws', "throw new Error('the secret reason')"],
    ['answers 500', "return new Response('the secret reason', { status: 500 })"],
    ['does not know of drawings', "return new Response('the secret reason', { status: 406 })"],
  ])('so does a script that answers itself and %s', async (title, statement) => {
    const name = `raw-${title.replaceAll(' ', '-')}`;
    const raw = await service.deploy(name, `export default { fetch() { ${statement}; } };`);
    const path = `/integrations/${name}/installations/${raw.id}/render`;
    const answer = await ask(service, 'POST', path, { json: { componentId: 'c' } });
    expect(codeOf(answer)).toBe('502 RENDER_FAILED');
    expect(answer.text).not.toContain('secret reason');
  });

  test('with the message of an ExposableError of 500 and more', async () => {
    const answer = await draw('failing');
    expect(codeOf(answer)).toBe('502 RENDER_FAILED');
    expect(answer.error.message).toBe('The component "drawing" failed: The provider is away');
  });

  test.each([
    ['nothing', { draw: 'nothing' }, undefined, 'render must return an element, not nothing'],
    ['a list', { draw: 'list' }, undefined, 'render must return an element, not a list'],
    [
      'an unknown key',
      { draw: 'noise' },
      { stat: { a: 1 } },
      'action returned "stat"; a result has state and props',
    ],
    [
      'an unknown type',
      { draw: 'noise' },
      { type: 'done' },
      'action returned a type that is not "complete": "done"',
    ],
    ['a state that is none', { draw: 'noise' }, { state: 5 }, 'action returned a state that is a number'],
    [
      'a lifetime that is none',
      { draw: 'noise', maxAge: -1 },
      undefined,
      'maxAge must be a whole number of seconds',
    ],
  ])(
    'that returns %s: the log names the fault with the author’s file and line',
    async (_title, props, result, words) => {
      const action = result && { action: 'a', result };
      const answer = await render({ componentId: 'drawing', props, ...(action && { action }) });
      expect(codeOf(answer)).toBe('502 RENDER_FAILED');
      const line = (await service.log(installed))
        .map(({ text }) => text)
        .find((text) => text.includes(words));
      expect(line).toMatch(/index\.tsx:\d+/);
    },
  );

  test('and for a faulty definition, its line', async () => {
    await draw('nothing');
    const line = (await service.log(installed)).find(({ text }) => text.includes('not nothing'));
    const defined = SOURCE.split('\n').indexOf('const drawing = createComponent({') + 1;
    expect(line?.text).toContain(`index.tsx:${defined}:`);
  });
});

describe('a component that refuses', () => {
  test('with an ExposableError below 500 keeps its status and message', async () => {
    const answer = await draw('exposed');
    expect(codeOf(answer)).toBe('404 RENDER_REFUSED');
    expect(answer.error.message).toBe('No such poll');
  });

  test.each([
    [400, '{"error":"Choose a project first."}', '400 RENDER_REFUSED', 'Choose a project first.'],
    [409, '{"error":""}', '409 RENDER_REFUSED', 'The component "c" refused.'],
    [422, `{"error":"${'x'.repeat(2_000)}"}`, '422 RENDER_REFUSED', 'x'.repeat(1_000)],
    [400, '{"error":{"a":1}}', '502 RENDER_FAILED', 'The component "c" failed; the log'],
    [400, 'Choose a project first.', '502 RENDER_FAILED', 'The component "c" failed; the log'],
    [503, '{"error":"away"}', '502 RENDER_FAILED', 'The component "c" failed: away'],
    [302, '{"error":"away"}', '502 RENDER_FAILED', 'The component "c" failed: away'],
  ])('without the SDK: %i %.40s', async (status, body, code, message) => {
    const name = `refuses-${Math.abs(hash(body + status))}`;
    const source = `export default { fetch: () => new Response(${JSON.stringify(body)}, { status: ${status} }) };`;
    const raw = await service.deploy(name, source);
    const path = `/integrations/${name}/installations/${raw.id}/render`;
    const answer = await ask(service, 'POST', path, { json: { componentId: 'c' } });
    expect(codeOf(answer)).toBe(code);
    expect(answer.error.message.startsWith(message)).toBe(true);
    expect(answer.error.message.length).toBeLessThanOrEqual(1_000);
  });
});

describe('a request that cannot be drawn', () => {
  test.each(['nope', '__proto__', 'x\u0000'])(
    'an unknown component %j: 404 with the known ones',
    async (componentId) => {
      const answer = await render({ componentId });
      expect(codeOf(answer)).toBe('404 COMPONENT_UNKNOWN');
      expect(answer.error.message).toContain('it has drawing, seen, event, account-settings, space-settings');
    },
  );

  test('an unknown or foreign installation: 404', async () => {
    const json = { componentId: 'seen' };
    const other = '/integrations/other/installations';
    expect(codeOf(await ask(service, 'POST', `${other}/${installed.id}/render`, { json }))).toBe(
      '404 INSTALLATION_UNKNOWN',
    );
    expect(codeOf(await render(json, { place: '/spaces/sp-2' }))).toBe('404 INSTALLATION_UNKNOWN');
    expect(codeOf(await render(json, { token: stranger }))).toBe('404 INSTALLATION_UNKNOWN');
    expect((await render(json, { token: organization })).status).toBe(200);
    expect((await render(json, { token: service.platform })).status).toBe(200);
  });

  test('a removed space: 404 until it is added again', async () => {
    const place = '/spaces/sp-9';
    const spaces = `/integrations/drawn/installations/${installed.id}/spaces`;
    const status = async () => (await render({ componentId: 'seen' }, { place })).status;
    for (let round = 0; round < 2; round += 1) {
      expect(await status()).toBe(404);
      await ask(service, 'POST', spaces, { json: { space: 'sp-9' } });
      expect([await status(), await status()]).toEqual([200, 200]);
      await ask(service, 'DELETE', `${spaces}/sp-9`);
    }
    expect(await status()).toBe(404);
  });

  test('a paused installation: 503', async () => {
    const paused = await service.install('drawn');
    const path = `/integrations/drawn/installations/${paused.id}`;
    await ask(service, 'POST', `${path}/pause`);
    const answer = await ask(service, 'POST', `${path}/render`, { json: { componentId: 'seen' } });
    expect(codeOf(answer)).toBe('503 ENDPOINT_PAUSED');
  });

  test('a component that exceeds its CPU limit: 503, as for any call', async () => {
    expect(codeOf(await draw('spin'))).toBe('503 ISOLATE_LIMIT_EXCEEDED');
  });

  test.each([
    [{}, 'componentId'],
    [{ componentId: '' }, 'body.componentId'],
    [{ componentId: 'seen', props: [] }, 'body.props'],
    [{ componentId: 'seen', action: 'x' }, 'body.action'],
    [{ componentId: 'seen', action: {} }, 'body.action'],
    [{ componentId: 'seen', auth: { userId: 'u', admin: true } }, 'body.auth'],
    [{ componentId: 'seen', event: {} }, 'event'],
    [
      { componentId: 'seen', state: { a: JSON.parse(`${'['.repeat(80)}${']'.repeat(80)}`) } },
      'nested deeper than 64',
    ],
  ])('an invalid request: %j', async (json, words) => {
    const answer = await render(json);
    expect(codeOf(answer)).toBe('400 REQUEST_INVALID');
    expect(answer.error.message).toContain(words);
  });

  test('attack: nested drawings end at callDepth', async () => {
    const own = await startTestService({ limits: { callDepth: 3 } });
    const source = `import { createComponent, createIntegration } from '@annex/sdk';
export default createIntegration({ components: [createComponent({
  componentId: 'loop',
  async render(element, { environment }) {
    const at = environment.apiEndpoint + '/integrations/loop/installations/' + environment.installation.id + '/render';
    const response = await fetch(at, {
      method: 'POST',
      headers: { authorization: 'Bearer ${own.platform}', 'content-type': 'application/json' },
      body: JSON.stringify({ componentId: 'loop', props: { depth: (element.props.depth ?? 0) + 1 } }),
    });
    const answer = await response.json();
    const text = answer.error ? element.props.depth + ' ' + answer.error.code : answer.element.children[0].children[0];
    return <block><text>{text}</text></block>;
  },
})] });`;
    await own.publish('loop', { 'index.tsx': source });
    const { id } = await own.install('loop');
    const path = `/integrations/loop/installations/${id}/render`;
    const answer = await ask(own, 'POST', path, { json: { componentId: 'loop' } });
    expect(answer.body['element']).toMatchObject({ children: [{ children: ['3 CALL_TOO_DEEP'] }] });
  });

  test('an event that exceeds its limit: 413', async () => {
    const small = await startTestService({ limits: { envelopePartBytes: 1_000 } });
    await small.publish('drawn', { 'index.tsx': SOURCE }, MANIFEST);
    const { id } = await small.install('drawn');
    const path = `/integrations/drawn/installations/${id}/render`;
    const sized = (bytes: number) =>
      ask(small, 'POST', path, { json: { componentId: 'seen', props: { a: 'x'.repeat(bytes) } } });
    expect((await sized(500)).status).toBe(200);
    expect(codeOf(await sized(1_000))).toBe('413 REQUEST_TOO_LARGE');
  });
});

test('a drawing says by the scopes of the integration whether its frames may see visitors', async () => {
  const claims = (scopes: string) => {
    const name = scopes === '' ? 'blind' : 'seeing';
    const source = `const drawing = { type: 'element', state: {}, props: {}, element: { type: 'block', children: [] } };
      export default { fetch: () => Response.json({ ...drawing, canAccessVisitorClaims: true }) };`;
    const form = new FormData();
    form.append(
      'manifest',
      `name: ${name}\ntitle: a\ndescription: a\norganization: acme\nvisibility: public\nscopes: [${scopes}]\nscript: index.js\n`,
    );
    form.append('files', new Blob([source]), 'index.js');
    return { name, form };
  };
  for (const [scopes, seen] of [
    ['', undefined],
    ['site:visitor:claims', true],
  ] as const) {
    const { name, form } = claims(scopes);
    expect(await service.api('POST', '/v1/integrations', { form })).toMatchObject({ status: 201 });
    const { id } = await service.install(name);
    const { body } = await ask(service, 'POST', `/integrations/${name}/installations/${id}/render`, {
      json: { componentId: 'c' },
    });
    expect(body['canAccessVisitorClaims']).toBe(seen);
  }
});
