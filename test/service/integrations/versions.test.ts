/**
 * Versions: a call sees exactly one, a publish takes effect at its answer, and a rollback is one
 * request.
 */
import { expect, test } from 'vitest';
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
