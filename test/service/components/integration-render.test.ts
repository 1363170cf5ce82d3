/**
 * `/v1/integrations/{name}/render`: code of an integration has a component drawn, at the target of
 * its token or at one that it names (docs/contract/components.md#rendering).
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask, codeOf } from '../../support/installation-api.ts';
import { type Installed, TestService } from '../../support/service.ts';

/** Draws the ids of its event; asked by `fetch`, it has the API draw. */
const WORKER = `
export default {
  async fetch(request) {
    const form = await request.formData();
    const [event, environment] = ['event', 'environment'].map((part) => JSON.parse(form.get(part)));
    if (event.type === 'ui_render') {
      const { installationId, spaceId, siteId, props, action } = event;
      const seen = { installationId, spaceId, siteId, props, action: action?.action };
      return Response.json({ type: 'element', state: {}, props, element: { type: 'block', children: [{ type: 'markdown', content: JSON.stringify(seen) }] } });
    }
    const { kind, method, query = '', body } = JSON.parse(await form.get('fetch-body').text());
    const answer = await fetch(environment.apiEndpoint + '/v1/integrations/drawing/render' + query, {
      method,
      headers: { authorization: 'Bearer ' + environment.apiTokens[kind], 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return Response.json({ status: answer.status, body: await answer.json() });
  },
};`;

let annex: TestService;
let whole: Installed;
let here: Installed;
let there: Installed;
let space: Installed;
beforeAll(async () => {
  annex = await TestService.start();
  await annex.publish('drawing', { 'index.js': WORKER }, 'target: all\n');
  const { body } = await annex.api('GET', '/v1/integrations/drawing');
  whole = { id: '', endpoint: (body['urls'] as { publicEndpoint: string }).publicEndpoint };
  [here, there] = [await annex.install('drawing', 'acme'), await annex.install('drawing', 'rival')];
  space = await annex.installBelow('drawing', here, 'space', 'sp-1');
  await annex.installBelow('drawing', here, 'space', 'sp-2');
});
afterAll(() => annex.stop());

interface Drawn {
  readonly status: number;
  readonly body: {
    readonly element?: { readonly children: readonly { readonly content: string }[] };
    readonly error?: { readonly code: string };
  };
}

const seenIn = ({ body }: Pick<Drawn, 'body'>) => JSON.parse(body.element?.children[0]?.content ?? 'null');

async function draws({ endpoint }: Installed, kind: string, body: object): Promise<Drawn> {
  const asked = { kind, method: 'POST', body: { componentId: 'card', ...body } };
  return (await (await fetch(endpoint, { method: 'POST', body: JSON.stringify(asked) })).json()) as Drawn;
}

test('draws at the target of an installation token', async () => {
  const props = { colour: 'red' };
  expect(seenIn(await draws(here, 'installation', { props }))).toEqual({ installationId: here.id, props });
  expect(seenIn(await draws(space, 'installation', {}))).toMatchObject({ spaceId: 'sp-1' });
  const above = await draws(space, 'installation', { installationId: here.id });
  expect(seenIn(above)).toEqual({ installationId: here.id, props: {} });
});

test('draws with an integration token at a target that is named, or at the integration itself', async () => {
  const named = { installationId: there.id, action: { action: 'press' } };
  expect(seenIn(await draws(here, 'integration', named))).toMatchObject({
    installationId: there.id,
    action: 'press',
  });
  expect(seenIn(await draws(whole, 'integration', {}))).toEqual({ props: {} });
  const lost = await draws(whole, 'integration', { spaceId: 'sp-1' });
  expect([lost.status, lost.body.error?.code]).toEqual([400, 'REQUEST_INVALID']);
});

test('draws by GET as well, with a tag', async () => {
  const query = `?componentId=card&props=${encodeURIComponent('{"a":1}')}&spaceId=sp-2`;
  const asked = { kind: 'installation', method: 'GET', query };
  const answer = await fetch(here.endpoint, { method: 'POST', body: JSON.stringify(asked) });
  expect(seenIn((await answer.json()) as Drawn)).toMatchObject({ spaceId: 'sp-2', props: { a: 1 } });
  const path = `/integrations/drawing/render?componentId=card&installationId=${here.id}`;
  const first = await ask(annex, 'GET', path, { token: annex.platform });
  const etag = first.headers.get('etag') ?? '';
  const again = await ask(annex, 'GET', path, {
    token: annex.platform,
    headers: { 'if-none-match': etag },
  });
  expect([first.status, again.status]).toEqual([200, 304]);
});

test('attack: draws nothing outside the reach of the token', async () => {
  for (const body of [{ installationId: there.id }, { spaceId: 'sp-2' }]) {
    const { status, body: answer } = await draws(space, 'installation', body);
    expect([status, answer.error?.code]).toEqual([404, 'INSTALLATION_UNKNOWN']);
  }
  const both = await draws(here, 'installation', { spaceId: 'sp-1', siteId: 'si-1' });
  expect(both.body.error?.code).toBe('REQUEST_INVALID');
  const nameless = await ask(annex, 'POST', '/integrations/drawing/render', {
    json: { componentId: 'card' },
  });
  expect(codeOf(nameless)).toBe('400 REQUEST_INVALID');
});

test('attack: a component that draws itself is stopped', async () => {
  const source = `
export default {
  async fetch(request) {
    const form = await request.formData();
    const [event, environment] = ['event', 'environment'].map((part) => JSON.parse(form.get(part)));
    const answer = await fetch(environment.apiEndpoint + '/v1/integrations/looping/render', {
      method: 'POST',
      headers: { authorization: 'Bearer ' + environment.apiTokens.installation, 'content-type': 'application/json' },
      body: JSON.stringify({ componentId: 'loop' }),
    });
    const text = await answer.text();
    const element = { type: 'block', children: [{ type: 'markdown', content: /too deep|CALL_TOO_DEEP/.test(text) ? 'too deep' : 'no end' }] };
    return Response.json({ type: 'element', state: {}, props: {}, element });
  },
};`;
  await annex.publish('looping', { 'index.js': source });
  const { endpoint } = await annex.install('looping', 'acme');
  expect(await (await fetch(endpoint)).text()).toContain('too deep');
});
