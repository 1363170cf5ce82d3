/**
 * The rate of changes of an installation by its organization and by code.
 */
import { describe, expect, test } from 'vitest';
import { startTestService } from '../../support/service.ts';

const TIMES = 3;
const METRIC = 'annex_limits_met_total{limit="editsPerMinutePerInstallation"}';

describe('edits', () => {
  // Attack: an organization that edits in a loop, each time an event, a call and an audit entry.
  test('of one installation are bounded over all its levels; those of other installations and of the platform continue', async () => {
    const annex = await startTestService({ limits: { editsPerMinutePerInstallation: TIMES } });
    await annex.publish('hello', { 'index.js': 'export default { fetch: () => new Response() };' });
    const [own, other] = [await annex.install('hello', 'beach'), await annex.install('hello', 'hill')];
    const made = (organization: string) =>
      annex.api('POST', '/v1/tokens', { json: { kind: 'organization', organization } });
    const [beach, hill] = [await made('beach'), await made('hill')].map(({ body }) => String(body['token']));
    const at = (id: string) => `/v1/integrations/hello/installations/${id}`;
    const edit = (path: string, token?: string) =>
      annex.api('PATCH', path, { json: { externalIds: [] }, ...(token && { token }) });
    expect((await annex.api('POST', `${at(own.id)}/spaces`, { json: { space: 'x' } })).status).toBe(201);

    for (const path of [at(own.id), `${at(own.id)}/spaces/x`, at(own.id)])
      expect((await edit(path, beach)).status).toBe(200);
    const before = await annex.api('GET', at(own.id));
    for (const path of [at(own.id), `${at(own.id)}/spaces/x`]) {
      const { status, body } = await edit(path, beach);
      expect({ status, error: body['error'] }).toMatchObject({
        status: 429,
        error: {
          code: 'REQUEST_RATE_EXCEEDED',
          message: 'Too many edits of this installation; the limit is 3 (editsPerMinutePerInstallation).',
          limit: { name: 'editsPerMinutePerInstallation', max: TIMES },
        },
      });
    }
    expect(await annex.api('GET', at(own.id))).toEqual(before);
    expect(await annex.metric(METRIC)).toBe(2);
    expect((await edit(at(other.id), hill)).status).toBe(200);
    for (const token of [undefined, annex.platform]) expect((await edit(at(own.id), token)).status).toBe(200);
  });

  // Attack: code that edits in a loop, so that its organization cannot pause it.
  test('by code are counted apart from those of the organization', async () => {
    const annex = await startTestService({ limits: { editsPerMinutePerInstallation: TIMES } });
    const source = `export default {
      async fetch(request) {
        const { apiTokens } = JSON.parse((await request.formData()).get('environment'));
        return Response.json(apiTokens);
      },
    };`;
    await annex.publish('looping', { 'index.js': source });
    const { id, endpoint } = await annex.install('looping', 'beach');
    const tokens = (await (await fetch(endpoint)).json()) as { installation: string };
    const path = `/v1/integrations/looping/installations/${id}`;
    const statuses: number[] = [];
    for (let at = 0; at < TIMES + 1; at += 1) {
      const sent = { token: tokens.installation, json: { externalIds: [`x${at}`] } };
      statuses.push((await annex.api('PATCH', path, sent)).status);
    }
    expect(statuses).toEqual([200, 200, 200, 429]);
    const made = await annex.api('POST', '/v1/tokens', {
      json: { kind: 'organization', organization: 'beach' },
    });
    const token = String(made.body['token']);
    expect(await annex.api('POST', `${path}/pause`, { token })).toMatchObject({ status: 200 });
  });

  // Attack: another made-up name for each request, each of which would have a count of its own.
  test('of integrations that do not exist are counted together', async () => {
    const annex = await startTestService({ limits: { editsPerMinutePerInstallation: TIMES } });
    const { body } = await annex.api('POST', '/v1/tokens', {
      json: { kind: 'organization', organization: 'beach' },
    });
    const statuses: number[] = [];
    for (let at = 0; at < TIMES + 1; at += 1) {
      const sent = { token: String(body['token']), json: { organization: 'beach' } };
      statuses.push((await annex.api('POST', `/v1/integrations/made-up-${at}/installations`, sent)).status);
    }
    expect(statuses).toEqual([404, 404, 404, 429]);
  });

  // Attack: changes other than edits in a loop, with the same costs; each install has another id.
  test('are bounded together with all other changes', async () => {
    const annex = await startTestService({ limits: { editsPerMinutePerInstallation: TIMES } });
    await annex.publish('hello', { 'index.js': 'export default { fetch: () => new Response() };' });
    const loops = {
      beach: ['POST pause', 'POST resume'],
      hill: ['POST spaces', 'DELETE spaces/x'],
      lake: ['DELETE', 'install'],
    };
    for (const [organization, steps] of Object.entries(loops)) {
      let { id } = await annex.install('hello', organization);
      const made = await annex.api('POST', '/v1/tokens', { json: { kind: 'organization', organization } });
      const token = String(made.body['token']);
      const statuses: number[] = [];
      for (let at = 0; at < TIMES + 1; at += 1) {
        const [method = '', path] = (steps[at % 2] ?? '').split(' ');
        const all = '/v1/integrations/hello/installations';
        const sent = { token, ...(path === 'spaces' && { json: { space: 'x' } }) };
        const { status, body } =
          method === 'install'
            ? await annex.api('POST', all, { token, json: { organization } })
            : await annex.api(method, `${all}/${id}${path === undefined ? '' : `/${path}`}`, sent);
        if (method === 'install') id = String(body['id'] ?? id);
        statuses.push(status);
      }
      expect([organization, statuses.map((status) => status < 300)]).toEqual([
        organization,
        [true, true, true, false],
      ]);
      expect(statuses.at(-1)).toBe(429);
    }
  });
});
