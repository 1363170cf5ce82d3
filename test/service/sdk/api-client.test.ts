/** `context.api` from inside an isolate, against a real API (docs/contract/runtime.md#sdk). */
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from 'vitest';
import { Api } from '../../../sandbox/sdk/api.ts';
import {
  ApiError,
  type ApiInstallation,
  type Context,
  createIntegration,
} from '../../../sandbox/sdk/index.ts';
import { ask } from '../../support/installation-api.ts';
import { envelope, request } from '../../support/sdk/integration-call.ts';
import { type Installed, TestService } from '../../support/service.ts';

const MANIFEST = `target: all
configurations:
  account: &settings
    properties:
      note: {type: string, title: Note, description: d, default: hello}
  space: *settings
`;

const SOURCE = `import { ApiError, createIntegration } from '@annex/sdk';
export default createIntegration({
  async fetch(request, { api }) {
    const { route, options } = await request.json();
    try {
      const { status, headers, body } = await api.request(route, options);
      return Response.json({ status, etag: headers.get('etag') ?? undefined, body });
    } catch (error) {
      if (!(error instanceof ApiError)) return Response.json({ thrown: error.message });
      const { name, status, code, message, requestId } = error;
      return Response.json({ name, status, code, message, hasRequestId: requestId !== undefined });
    }
  },
});`;

let annex: TestService;
let here: Installed;
let sibling: Installed;
let space: Installed;
beforeAll(async () => {
  annex = await TestService.start();
  await annex.publish('asking', { 'index.js': SOURCE }, MANIFEST);
  here = await annex.install('asking', 'acme');
  sibling = await annex.install('asking', 'other');
  space = await annex.installBelow('asking', here, 'space', 'sp-1');
});
afterAll(() => annex.stop());

async function asks(of: Installed, route: string, options?: object) {
  const response = await fetch(of.endpoint, { method: 'POST', body: JSON.stringify({ route, options }) });
  return (await response.json()) as Record<string, unknown> & { body: Record<string, unknown> };
}

describe('a request', () => {
  test('takes the names of its route from the target of the call', async () => {
    const own = await asks(here, 'GET /integrations/{name}/installations/{id}');
    expect(own).toMatchObject({ status: 200, body: { id: here.id, configuration: { note: 'hello' } } });
    expect(await asks(here, 'GET /integrations/{name}')).toMatchObject({ body: { name: 'asking' } });
    const below = await asks(space, 'GET /integrations/{name}/installations/{id}/spaces/{space}');
    expect(below).toMatchObject({ status: 200, body: { space: 'sp-1', installation: here.id } });
  });

  test('edits a target, on condition of its entity tag', async () => {
    const route = 'PATCH /integrations/{name}/installations/{id}';
    const { etag } = await asks(here, 'GET /integrations/{name}/installations/{id}');
    const options = { body: { configuration: { note: 'changed' } }, headers: { 'if-match': etag } };
    expect(await asks(here, route, options)).toMatchObject({ body: { configuration: { note: 'changed' } } });
    expect(await asks(here, route, options)).toEqual({
      ...{ name: 'ApiError', status: 412, code: 'INSTALLATION_CHANGED', hasRequestId: true },
      message: expect.stringMatching(/^PATCH \/integrations.*: The installation has changed/),
    });
  });

  test('pages through lists, by the integration’s token', async () => {
    const seen: unknown[] = [];
    for (let page: unknown; seen.length < 5; ) {
      const query = { limit: 1, ...(page !== undefined && { page }) };
      const { body } = await asks(here, 'GET /integrations/{name}/installations', { query });
      seen.push(...(body['items'] as { id: string }[]).map(({ id }) => id));
      page = (body['next'] as { page: string } | undefined)?.page;
      if (page === undefined) break;
    }
    expect(seen.sort()).toEqual([here.id, sibling.id].sort());
  });

  test('reads and edits another installation with the integration token', async () => {
    const options = { path: { id: sibling.id } };
    const { body } = await asks(here, 'GET /integrations/{name}/installations/{id}', options);
    expect(body).toMatchObject({ id: sibling.id, organization: 'other', configuration: { note: 'hello' } });
    const edit = { ...options, body: { configuration: { note: 'x' } } };
    const edited = await asks(here, 'PATCH /integrations/{name}/installations/{id}', edit);
    expect(edited).toMatchObject({ status: 200, body: { configuration: { note: 'x' } } });
  });

  test('merges an edit of the configuration, unless it asks to replace it', async () => {
    const route = 'PATCH /integrations/{name}/installations/{id}/spaces/{space}';
    const edit = (configuration: object, query?: object) =>
      asks(space, route, { body: { configuration }, ...(query && { query }) });
    const merged = await edit({ more: 'm' });
    expect(merged).toMatchObject({ body: { configuration: { note: 'hello', more: 'm' } } });
    const replaced = await edit({ note: 'only' }, { configuration: 'replace' });
    expect(replaced.body['configuration']).toEqual({ note: 'only' });
  });

  test('without a name of its path, or with one that leaves the path, is not sent', async () => {
    const route = 'GET /integrations/{name}/installations/{id}/spaces/{space}';
    const missing = { thrown: expect.stringContaining('"space" of /integrations') };
    for (const value of [undefined, '', '.', '..'])
      expect(await asks(here, route, { path: { space: value } })).toEqual(missing);
    const crooked = await asks(here, route, { path: { space: '../../other?x#y' } });
    expect(crooked).toMatchObject({ status: 400, code: 'REQUEST_INVALID' });
  });
});

test('an answer that is not the API’s is an error too', async () => {
  const environment = {
    ...{ apiEndpoint: `${annex.service.controlUrl}/metrics-of-nobody`, apiTokens: { integration: 'x' } },
    integration: { name: 'asking' },
  } as unknown as Context['environment'];
  const failing = new Api(environment).request('GET /integrations/{name}');
  await expect(failing).rejects.toThrow(ApiError);
  await expect(failing).rejects.toMatchObject({ status: 404 });
});

test('an integration that is called with multipart has it too', async () => {
  const { body } = await ask(annex, 'GET', `/integrations/asking/installations/${here.id}`);
  const environment = {
    ...{ apiEndpoint: annex.service.controlUrl, apiTokens: { integration: annex.admin } },
    ...{ integration: { name: 'asking' }, installation: { id: here.id } },
  };
  const integration = createIntegration({
    async fetch(_, { api }) {
      const read = await api.request('GET /integrations/{name}/installations/{id}');
      return Response.json(read.body.id);
    },
  });
  const event = { type: 'fetch', request: { method: 'GET', url: 'https://e.example/', headers: {} } };
  const parts = { event: JSON.stringify(event), environment: JSON.stringify(environment) };
  expect((await request(integration, envelope(parts))).text).toBe(JSON.stringify(body['id']));
});

test('routes have the types of the description', () => {
  const typed = async (api: Api) => {
    const read = await api.request('GET /integrations/{name}/installations/{id}');
    expectTypeOf(read.body).toEqualTypeOf<ApiInstallation>();
    const list = await api.request('GET /integrations/{name}/installations', { query: { limit: 10 } });
    expectTypeOf(list.body.items).toEqualTypeOf<readonly ApiInstallation[]>();
    // @ts-expect-error: there is no such route
    void api.request('GET /nowhere');
    // @ts-expect-error: it is not for code of integrations
    void api.request('DELETE /integrations/{name}');
    // @ts-expect-error: the body is missing
    void api.request('PATCH /integrations/{name}/installations/{id}');
    // @ts-expect-error: the body has no such member
    void api.request('PATCH /integrations/{name}/installations/{id}', { body: { status: 'active' } });
    // @ts-expect-error: a limit is a number
    void api.request('GET /integrations/{name}/installations', { query: { limit: 'all' } });
    // @ts-expect-error: the call has no lease of its own
    void api.request('DELETE /integrations/{name}/installations/{id}/credentials/lease/{lease}');
    void api.request('GET /integrations/{name}/installations/{id}/spaces/{space}', {
      path: { space: 'sp-1' },
    });
  };
  expect(typed).toBeTypeOf('function');
});
