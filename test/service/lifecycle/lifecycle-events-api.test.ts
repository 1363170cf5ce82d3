/** The API of lifecycle events: access, and what is shown of each. */
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { type Installed, PATIENT, TestService } from '../../support/service.ts';

const SECRET = 'planted-credential';
const CONFIGURATION = `target: all
configurations:
  account:
    properties:
      word: { type: string, title: Word, description: A word. }
`;
const SOURCE = `
  import { createIntegration } from '@annex/sdk';
  export default createIntegration({ events: { installation_setup() {}, installation_deleted() {} } });`;

let annex: TestService;
let installed: Installed;
let deleted: Installed;
const tokens: Record<string, string> = {};

interface EventView {
  readonly id: string;
  readonly type: string;
  readonly state: string;
}

const list = (token: string | undefined, { id }: Installed, query = '') =>
  annex.api('GET', `/v1/events?installation=${id}${query}`, token === undefined ? {} : { token });
const itemsOf = ({ body }: { body: Record<string, unknown> }) => body['items'] as EventView[];

beforeAll(async () => {
  annex = await TestService.start({ limits: PATIENT });
  for (const organization of ['acme', 'beach', 'stranger']) {
    const { body } = await annex.api('POST', '/v1/tokens', { json: { kind: 'organization', organization } });
    tokens[organization] = String(body['token']);
  }
  await annex.publish('teller', { 'index.js': SOURCE }, CONFIGURATION);
  installed = await annex.install('teller', 'beach', { notified: true });
  deleted = await annex.install('teller', 'desert', { notified: true });
  const path = `/v1/integrations/teller/installations/${installed.id}`;
  await annex.api('PATCH', path, { json: { configuration: { word: SECRET } } });
  await annex.api('POST', `${path}/spaces`, { json: { space: 'x1' } });
  await annex.api('DELETE', `/v1/integrations/teller/installations/${deleted.id}`);
  for (const which of [installed, deleted]) {
    await vi.waitFor(
      async () => {
        const items = itemsOf(await list(undefined, which));
        expect(items.filter(({ state }) => state === 'pending')).toEqual([]);
      },
      { timeout: 90_000 },
    );
  }
  return () => annex.stop();
});

describe('the events of an installation', () => {
  test('are listed newest first, page by page', async () => {
    const types: string[] = [];
    let cursor = '';
    do {
      const page = await list(undefined, installed, `&limit=1${cursor}`);
      types.push(...itemsOf(page).map(({ type }) => type));
      cursor = page.body['next'] === undefined ? '' : `&cursor=${page.body['next']}`;
    } while (cursor !== '');
    expect(types).toEqual(['space_installation_setup', 'installation_setup', 'installation_setup']);
  });

  test('show their state, and never their content', async () => {
    const page = await list(undefined, installed);
    expect(page.body['items']).toEqual([
      {
        id: expect.stringMatching(/^evt_/),
        type: 'space_installation_setup',
        integration: 'teller',
        organization: 'beach',
        installation: installed.id,
        space: 'x1',
        state: 'unhandled',
        attempts: 0,
        outcome: 'no handler',
        createdAt: expect.any(String),
        finishedAt: expect.any(String),
      },
      expect.objectContaining({ type: 'installation_setup', state: 'delivered', attempts: 1 }),
      expect.objectContaining({ type: 'installation_setup', state: 'delivered', attempts: 1 }),
    ]);
    expect(JSON.stringify(page.body)).not.toContain(SECRET);
  });

  test('can be read one by one', async () => {
    for (const event of itemsOf(await list(undefined, installed))) {
      expect(await annex.api('GET', `/v1/events/${event.id}`)).toEqual({ status: 200, body: event });
    }
  });

  test.each([
    ['there', () => installed, 'beach'],
    ['deleted', () => deleted, undefined],
  ])(
    'of one that is %s are for the installing organization, the author and the platform alone',
    async (_, whose, organization) => {
      const [event] = itemsOf(await list(undefined, whose()));
      const seen = async (token: string | undefined) => [
        (await list(token, whose())).status,
        (await annex.api('GET', `/v1/events/${event?.id}`, token === undefined ? {} : { token })).status,
      ];
      expect(await seen(annex.platform)).toEqual([200, 200]);
      expect(await seen(tokens['acme'])).toEqual([200, 200]);
      expect(await seen(tokens['stranger'])).toEqual([404, 404]);
      expect(await seen('annex_admin_nobody')).toEqual([401, 401]);
      if (organization !== undefined) expect(await seen(tokens[organization])).toEqual([200, 200]);
    },
  );

  test('of another tenant are answered as absent', async () => {
    const token = tokens['stranger'];
    const codes = async (id: string, eventId: string) => {
      const answers = [
        await list(token, { id, endpoint: '' }),
        await annex.api('GET', `/v1/events/${eventId}`, token === undefined ? {} : { token }),
      ];
      return answers.map(({ status, body }) => {
        const { code, message } = body['error'] as { code: string; message: string };
        return [status, code, message.replace(/"[^"]*"/, '…')];
      });
    };
    const [event] = itemsOf(await list(undefined, installed));
    const absent = await codes(`ins_${'a'.repeat(24)}`, `evt_${'a'.repeat(24)}`);
    expect(await codes(installed.id, event?.id ?? '')).toEqual(absent);
    expect(absent.map(([status, code]) => [status, code])).toEqual([
      [404, 'INSTALLATION_UNKNOWN'],
      [404, 'EVENT_UNKNOWN'],
    ]);
  });
});

test('attack: taking the name of a deleted integration to read the events of its former owner', async () => {
  await annex.publish('taken', { 'index.js': SOURCE });
  const former = await annex.install('taken', 'beach', { notified: true });
  await expect.poll(async () => itemsOf(await list(undefined, former))[0]?.state).toBe('delivered');
  await annex.api('DELETE', '/v1/integrations/taken?cascade=true');
  const form = new FormData();
  form.append(
    'manifest',
    'name: taken\ntitle: Taken\ndescription: Again.\norganization: stranger\nvisibility: public\nscopes: []\nscript: index.js\n',
  );
  form.append('files', new Blob([SOURCE]), 'index.js');
  const token = tokens['stranger'] ?? '';
  expect((await annex.api('POST', '/v1/integrations', { form, token })).status).toBe(201);
  expect((await list(token, former)).status).toBe(404);
  expect((await list(tokens['beach'], former)).status).toBe(200);
});
