/**
 * Versions: a call sees exactly one, a publish takes effect at its answer, and a rollback is one
 * request.
 */
import { expect, test } from 'vitest';
import { annex as annexCommand } from '../../support/cli/annex-run.ts';
import { folderWith, manifestOf } from '../../support/cli/author-folder.ts';
import { startTestService } from '../../support/service.ts';

/**
 * Answers its version before and after a pause: a call that saw two versions would answer two
 * numbers.
 */
const answering = (version: number) => `
  const version = ${version};
  export default {
    async fetch() {
      const before = version;
      await new Promise((resolve) => setTimeout(resolve, 150));
      return new Response(before + ' ' + version);
    },
  };`;

test('a publish during 200 calls in flight fails none; each is answered by one version, later ones by the new one', async () => {
  const annex = await startTestService({ cells: 2 });
  await annex.publish('steady', { 'index.js': answering(1) });
  const installed = await Promise.all(Array.from({ length: 8 }, () => annex.install('steady')));
  const wave = (each: number) =>
    installed.flatMap(({ endpoint }) =>
      Array.from({ length: each }, async () => {
        const response = await fetch(endpoint);
        return [response.status, await response.text()];
      }),
    );
  let published = false;
  const during: unknown[] = [];
  const publishing = annex.publish('steady', { 'index.js': answering(2) }).then(() => (published = true));
  while (!published) during.push(...(await Promise.all(wave(25))));
  await publishing;
  const after = await Promise.all(wave(5));
  expect(during.length).toBeGreaterThanOrEqual(200);
  for (const answer of during) expect(['200 1 1', '200 2 2']).toContain((answer as unknown[]).join(' '));
  expect(after).toEqual(after.map(() => [200, '2 2']));
});

test('an older version can be activated again', async () => {
  const annex = await startTestService();
  await annex.publish('steady', { 'index.js': answering(1) });
  const { endpoint } = await annex.install('steady');
  await annex.publish('steady', { 'index.js': answering(2) });
  expect(await (await fetch(endpoint)).text()).toBe('2 2');
  const { status } = await annex.api('POST', '/v1/integrations/steady/versions/1/activate');
  expect(status).toBe(200);
  expect(await (await fetch(endpoint)).text()).toBe('1 1');
});

const PUBLIC = manifestOf('steady', 'index.js').replace('visibility: private', 'visibility: public');

test('a version of a public integration runs for others once it is approved, where they are reviewed', async () => {
  const annex = await startTestService({ flags: ['--marketplace', 'reviewed'] });
  const json = { kind: 'organization', organization: 'acme' };
  const token = String((await annex.api('POST', '/v1/tokens', { json })).body['token']);
  const publish = async (version: number) =>
    (await annex.tryPublish('steady', { 'index.js': answering(version) }, '', token)).body;
  const order = (what: string, sent = {}) =>
    annex.api('POST', `/v1/integrations/steady/versions/${what}`, sent);
  expect(await publish(1)).toMatchObject({ version: 1, waits: { activeVersion: 1 } });
  const own = await annex.install('steady', 'acme');
  expect(await (await fetch(own.endpoint)).text()).toBe('1 1');
  await order('1/approve');
  const other = await annex.install('steady');
  const { stdout } = await annexCommand({
    words: ['publish', await folderWith({ 'platform-manifest.yaml': PUBLIC, 'index.js': answering(2) })],
    env: { ANNEX_URL: annex.service.controlUrl, ANNEX_TOKEN: token },
  });
  expect(stdout).toContain("version 2 waits for the operator's approval; version 1 goes on");
  const refused = await order('2/activate', { token });
  expect([refused.status, refused.body]).toMatchObject([409, { error: { code: 'VERSION_UNAPPROVED' } }]);
  expect(await (await fetch(other.endpoint)).text()).toBe('1 1');
  const waiting = await annex.api('GET', '/v1/integrations?review=waiting', { token });
  expect(waiting.body['items']).toMatchObject([{ name: 'steady', version: 1, waitingVersion: 2 }]);
  const reason = '<script>alert(1)</script>';
  await order('2/refuse', { json: { reason } });
  const { body } = await annex.api('GET', '/v1/integrations/steady/versions', { token });
  expect(body['items']).toMatchObject([
    { version: 2, active: false, review: { state: 'refused', reason } },
    { version: 1, active: true, review: { state: 'approved' } },
  ]);
  expect((await order('2/refuse', { json: { reason: 'x'.repeat(1_001) } })).status).toBe(400);
  expect((await order('2/approve')).body).toMatchObject({ review: { state: 'approved' } });
  const told = (await annex.api('GET', '/v1/notices')).body['items'] as { type: string }[];
  expect(told.map(({ type }) => type.replace('integration.', '')).reverse()).toEqual([
    ...['published', 'submitted', 'approved', 'submitted', 'refused', 'approved'],
  ]);
  expect(await (await fetch(other.endpoint)).text()).toBe('2 2');
});

test('a broken publish changes nothing', async () => {
  const annex = await startTestService();
  await annex.publish('steady', { 'index.js': answering(1) });
  const { endpoint } = await annex.install('steady');
  const { status } = await annex.tryPublish('steady', { 'index.js': 'export default {' });
  expect(status).toBe(422);
  expect(await (await fetch(endpoint)).text()).toBe('1 1');
  const { body } = await annex.api('GET', '/v1/integrations/steady/versions');
  expect(body['items']).toHaveLength(1);
});
