/** `--level-names`: the product's words for spaces and sites (docs/how-to/organizations.md). */
import { expect, test } from 'vitest';
import { ConfigError, readConfig } from '../../../src/host/config.ts';
import { annex } from '../../support/cli/annex-run.ts';
import { ask } from '../../support/installation-api.ts';
import { startTestService, type TestService } from '../../support/service.ts';

const NAMES = ['--level-names', 'space=Project,site=Shop', '--built-ins', 'publish'];
const manifestOf = async (service: TestService) =>
  (await ask(service, 'GET', '/integrations/webhook')).body as Record<string, string>;

/** The forms of the built-in webhook at each level. */
async function forms(service: TestService): Promise<Record<string, unknown>[]> {
  const at = '/integrations/webhook/installations';
  const { body } = await ask(service, 'POST', at, { json: { organization: 'acme' } });
  const installation = `${at}/${body['id']}`;
  await ask(service, 'POST', `${installation}/spaces`, { json: { space: 'garden' } });
  await ask(service, 'POST', `${installation}/sites`, { json: { site: 'docs' } });
  const paths = [installation, `${installation}/spaces/garden`, `${installation}/sites/docs`];
  return Promise.all(paths.map(async (path) => (await ask(service, 'GET', `${path}/configuration`)).body));
}

test('the words are in the API, in forms, and in the built-in webhook; names of the API stay', async () => {
  const service = await startTestService({ flags: NAMES });
  expect((await ask(service, 'GET', '/level-names')).body).toEqual({ space: 'Project', site: 'Shop' });
  expect((await forms(service)).map(({ level, levelName }) => [level, levelName])).toEqual([
    ['organization', undefined],
    ['space', 'Project'],
    ['site', 'Shop'],
  ]);
  const { description, summary, target } = await manifestOf(service);
  expect(description).toBe('Sends what happens in a Project or on a Shop to a URL of yours, signed.');
  expect(summary).toContain('content that changes in a Project; views and feedback on a Shop.');
  expect(target).toBe('all');
});

test('commands show places and levels in the words of the product', async () => {
  const service = await startTestService({ flags: NAMES });
  await forms(service);
  const declaration = { title: 'Paid', level: 'space' };
  await ask(service, 'PUT', '/event-types/invoice.paid', { json: declaration });
  const env = { ANNEX_URL: service.service.controlUrl, ANNEX_TOKEN: service.admin };
  const out = async (...words: string[]) => (await annex({ words, env })).stdout;
  expect(await out('event-types', 'list')).toMatch(/^invoice\.paid +Project /m);
  expect(await out('webhook', 'show', 'webhook', '--space', 'garden')).toContain(
    'webhook@acme in Project garden is healthy',
  );
  expect(await out('webhook', 'disable', 'webhook', '--site', 'docs')).toContain('in Shop docs is disabled');
  expect(await out('webhook', 'list')).toMatch(/^webhook@acme +Shop docs +disabled/m);
  expect(await out('notices')).toMatch(/webhook@acme in Shop docs/);
  expect(await out('event-types', 'list', '--json')).toContain('"level": "space"');
});

test('without the setting nothing is different', async () => {
  const service = await startTestService({ flags: ['--built-ins', 'publish'] });
  expect((await ask(service, 'GET', '/level-names')).body).toEqual({});
  for (const form of await forms(service)) expect(form).not.toHaveProperty('levelName');
  expect((await manifestOf(service))['description']).toContain('in a space or on a site');
});

test.each(['space=<b>', 'space', 'space=a,site=a'])('%s is no setting', (text) => {
  expect(() => readConfig(['--level-names', text], {})).toThrow(ConfigError);
});
