/**
 * The isolate of a removed installation ends: it holds memory and data that no call will use. Until
 * then it would stay to the next eviction.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Installed, TestService } from '../../support/service.ts';

let annex: TestService;
beforeAll(async () => {
  annex = await TestService.start();
});
afterAll(() => annex.stop());

const isolates = () => annex.metric('annex_isolates');
const remove = async (path: string) => expect((await annex.api('DELETE', path)).status).toBe(204);
const path = (name: string, { id }: Installed) => `/v1/integrations/${name}/installations/${id}`;
const COUNTER = `
  import { createIntegration } from '@annex/sdk';
  let calls = 0;
  const id = crypto.randomUUID();
  export default createIntegration({ async fetch(request) {
    calls += 1;
    if (request.url.endsWith('?slow')) await new Promise((resolve) => setTimeout(resolve, 500));
    return new Response(request.url.endsWith('?id') ? id : String(calls));
  } });`;
const ask = async ({ endpoint }: Installed, query = '') => (await fetch(`${endpoint}/${query}`)).text();

beforeEach(() => expect.poll(isolates).toBe(0));

test('an installation that is removed leaves no isolate', async () => {
  const kept = await annex.deploy('one', COUNTER);
  const gone = await annex.install('one');
  for (const at of [kept, gone]) expect(await ask(at)).toBe('1');
  await expect.poll(isolates).toBe(2);
  await remove(path('one', gone));
  await expect.poll(isolates).toBe(1);
  expect(await ask(kept)).toBe('2');
  await remove(path('one', kept));
});

test('a call that is in flight ends first', async () => {
  const gone = await annex.deploy('slow', COUNTER);
  const answer = ask(gone, '?slow');
  await expect.poll(() => annex.metric('annex_calls_in_flight')).toBe(1);
  await remove(path('slow', gone));
  expect(await answer).toBe('1');
  await expect.poll(isolates).toBe(0);
});

test('the handler of the removal is the last call', async () => {
  const events = await annex.deploy(
    'events',
    `import { createIntegration } from '@annex/sdk';
    export default createIntegration({
      fetch: () => new Response('1'),
      events: { installation_deleted() {} },
    });`,
  );
  expect(await ask(events)).toBe('1');
  const before = await annex.metric('annex_calls_total{outcome="ok"}');
  await remove(path('events', events));
  await expect.poll(() => annex.metric('annex_calls_total{outcome="ok"}')).toBe(before + 1);
  await expect.poll(isolates).toBe(0);
});

test('an integration that is deleted leaves no isolate of its installations, nor of its own endpoint', async () => {
  const installed = [await annex.deploy('whole', COUNTER), await annex.install('whole')];
  const { body } = await annex.api('GET', '/v1/integrations/whole');
  const { publicEndpoint } = (body as { urls: { publicEndpoint: string } }).urls;
  for (const at of [...installed, { id: '', endpoint: publicEndpoint }]) expect(await ask(at)).toBe('1');
  await expect.poll(isolates).toBe(3);
  await remove('/v1/integrations/whole?cascade=true');
  await expect.poll(isolates).toBe(0);
});

test('the isolate stays where a space is removed, because the installation and its other spaces share it', async () => {
  const installed = await annex.deploy('spaces', COUNTER);
  const space = await annex.installBelow('spaces', installed, 'space', 'garden');
  const isolate = await ask(space, '?id');
  await remove(`${path('spaces', installed)}/spaces/garden`);
  expect(await ask(installed, '?id')).toBe(isolate);
  await remove(path('spaces', installed));
});
