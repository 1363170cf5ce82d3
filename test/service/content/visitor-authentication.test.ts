/**
 * Visitor authentication and content sources through the API, for integrations of the SDK and for
 * module workers (docs/contract/published-scripts.md#visitor-authentication).
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, ask, codeOf } from '../../support/installation-api.ts';
import { type Installed, TestService } from '../../support/service.ts';

const SDK = `import { createContentSource, createIntegration, ExposableError } from '@annex/sdk';
const signIn = (event) => {
  if (event.location === '/huge') return new Response('x'.repeat(256 * 1024 + 1));
  const headers = new Headers({ location: 'https://id.example/' + (event.action ?? 'login') });
  headers.append('set-cookie', 'a=1');
  headers.append('set-cookie', 'b=2');
  return new Response(JSON.stringify(event), { status: 302, headers });
};
export default createIntegration({
  fetch_visitor_authentication: signIn,
  contentSources: [createContentSource({
    sourceId: 'models',
    getRevision({ props, dependencies }, { environment }) {
      if (props.fail) throw new ExposableError('Connect it first', 409);
      return { pages: [props.title], dependencies, site: environment.site };
    },
    getPageDocument: ({ props }) => ({ object: 'document', of: props.page }),
  })],
});`;
const WORKER = `export default {
  async fetch(request) {
    const event = JSON.parse((await request.formData()).get('event'));
    if (event.type === 'fetch_visitor_authentication')
      return new Response(JSON.stringify(event), { status: 302, headers: { location: 'https://id.example/login' } });
    if (event.props?.empty) return new Response('[' + '{},'.repeat(event.props.empty) + '{}]', { status: event.props.status ?? 200 });
    if (event.type.startsWith('content_compute_')) return event.props?.text ? new Response(event.props.text) : Response.json(event);
    return new Response('no', { status: 406 });
  },
};`;

let service: TestService;
const places = new Map<string, Installed>();
beforeAll(async () => {
  service = await TestService.start();
  await publish('sdk', SDK, 'site:visitor:auth');
  await publish('worker', WORKER, 'site:visitor:auth');
  await publish('unscoped', WORKER, 'site:metadata:read');
  for (const name of ['sdk', 'worker', 'unscoped']) {
    const installed = await service.install(name);
    await service.installBelow(name, installed, 'space', 'sp-1');
    places.set(name, await service.installBelow(name, installed, 'site', 'si-1'));
  }
});
afterAll(() => service.stop());

async function publish(name: string, source: string, scope: string): Promise<void> {
  const form = new FormData();
  const head = `name: ${name}\ntitle: ${name}\ndescription: d\norganization: acme\nvisibility: public`;
  form.append('manifest', `${head}\nscopes: [${scope}]\nscript: index.js\ntarget: all\n`);
  form.append('files', new Blob([source]), 'index.js');
  expect((await service.api('POST', '/v1/integrations', { form })).status).toBe(201);
}

const at = (name: string, route: string): string =>
  `/integrations/${name}/installations/${places.get(name)?.id}${route}`;
const post = (name: string, route: string, json: object): Promise<Answer> =>
  ask(service, 'POST', at(name, route), { json, token: service.platform });
const VISIT = { location: '/docs', searchParams: { q: '1', all: ['a', 'b'] }, cookies: { session: 'x' } };

describe.each(['sdk', 'worker'])('visitor authentication by an integration as %s', (name) => {
  test.each([
    ['/sites/si-1', { siteId: 'si-1' }],
    ['/spaces/sp-1', { spaceId: 'sp-1' }],
  ])('of %s passes the visit on, and describes the answer without following it', async (place, ids) => {
    const { status, body } = await post(name, `${place}/visitor-authentication`, VISIT);
    expect([status, body['status']]).toEqual([200, 302]);
    expect(body['headers']).toContainEqual(['location', 'https://id.example/login']);
    expect(JSON.parse(String(body['body']))).toEqual({
      ...VISIT,
      ...ids,
      type: 'fetch_visitor_authentication',
      eventId: expect.any(String),
      installationId: places.get(name)?.id,
    });
  });

  test('answers an envelope with the response itself', async () => {
    const form = new FormData();
    form.append('event', JSON.stringify({ type: 'fetch_visitor_authentication', ...VISIT }));
    form.append('environment', '{}');
    const response = await fetch(`${places.get(name)?.endpoint}/v1`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.platform}` },
      body: form,
      redirect: 'manual',
    });
    expect([response.status, response.headers.get('location')]).toEqual([302, 'https://id.example/login']);
  });
});

describe('visitor authentication', () => {
  test('keeps several headers of one name, and says that the visitor signs out', async () => {
    const route = '/sites/si-1/visitor-authentication';
    const { body } = await post('sdk', route, { ...VISIT, action: 'logout' });
    expect(new Headers(body['headers'] as [string, string][]).getSetCookie()).toEqual(['a=1', 'b=2']);
    expect(body['headers']).toContainEqual(['location', 'https://id.example/logout']);
  });

  test('refuses an answer that is too large', async () => {
    const answer = await post('sdk', '/sites/si-1/visitor-authentication', { location: '/huge' });
    expect(codeOf(answer)).toBe('502 ANSWER_INVALID');
  });

  test('needs the scope, and names it', async () => {
    const answer = await post('unscoped', '/sites/si-1/visitor-authentication', VISIT);
    expect(codeOf(answer)).toBe('403 SCOPE_MISSING');
    expect(answer.error.message).toContain('site:visitor:auth');
  });
});

describe('a content source', () => {
  test('computes pages and documents at each level', async () => {
    const props = { title: 'Models', page: 'p1' };
    const revision = { type: 'content_compute_revision', props, dependencies: { d: { value: 1 } } };
    const document = { type: 'content_compute_document', props };
    const route = '/content-sources/models/compute';
    expect((await post('sdk', `/sites/si-1${route}`, revision)).body).toEqual({
      pages: ['Models'],
      dependencies: { d: { value: 1 } },
      site: 'si-1',
    });
    expect((await post('sdk', `/spaces/sp-1${route}`, document)).body).toEqual({
      document: { object: 'document', of: 'p1' },
    });
    expect((await post('sdk', route, revision)).body).toMatchObject({ pages: ['Models'] });
  });

  test('passes the event of the product to a module worker, with the ids of the host', async () => {
    const sent = { type: 'content_compute_revision', more: [1], installationId: 'inst_other', sourceId: 'b' };
    const { status, body } = await post('worker', '/content-sources/a/compute', sent);
    expect([status, body]).toEqual([
      200,
      {
        ...sent,
        eventId: expect.any(String),
        installationId: places.get('worker')?.id,
        source: 'a',
        sourceId: 'a',
      },
    ]);
  });

  // Attack: its values are never read by the host, and millions of them would block the event loop.
  test('passes on megabytes of empty objects, and reads no reason in them', async () => {
    const empty = 2_000_000;
    const compute = (props: object) =>
      post('worker', '/content-sources/a/compute', { type: 'content_compute_revision', props });
    expect((await compute({ empty })).body).toHaveLength(empty + 1);
    const failed = await compute({ empty, status: 500 });
    expect([codeOf(failed), failed.error.message.endsWith('has the status 500.')]).toEqual([
      '502 ANSWER_INVALID',
      true,
    ]);
  });

  test.each([
    ['sdk', 'models', { fail: true }, 'status 409: Connect it first'],
    ['sdk', 'none', {}, 'Content source none not found'],
    ['worker', 'a', { text: 'text' }, 'is not JSON'],
    ['worker', 'a', { text: '{"a":1,}' }, 'is not JSON'],
    ['worker', 'a', { text: '['.repeat(2_000) }, 'is nested too deep'],
  ])('of %s that has no JSON is 502 with the reason', async (name, source, props, why) => {
    const json = { type: 'content_compute_revision', props };
    const answer = await post(name, `/content-sources/${source}/compute`, json);
    expect(codeOf(answer)).toBe('502 ANSWER_INVALID');
    expect(answer.error.message).toContain(why);
  });
});
