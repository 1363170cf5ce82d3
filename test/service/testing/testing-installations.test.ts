/** An integration under `@annex/testing`: steps are whole, installs fresh, limits production's. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { load } from '../../../packages/testing/src/index.ts';
import { serviceProcess } from '../../../packages/testing/src/service-process.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import { folderOf } from '../../support/testing-folders.ts';

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../../fixtures/${name}`, import.meta.url));

test('the limits are those of production', async () => {
  expect((await serviceProcess()).ready.limits).toEqual(DEFAULT_LIMITS);
});

test('a loop without an end is stopped, as in production', async () => {
  const app = await load(await folderOf('export default { fetch() { for (;;); } };', 'scopes: []\n'));
  const installation = await app.install();
  expect((await installation.fetch('/')).status).toBeGreaterThanOrEqual(500);
  expect(installation.logs.map(({ text }) => text).join('\n')).toMatch(/CPU/);
});

test('a step includes the work after the answer, and its log lines', async () => {
  const source = `import { createIntegration } from '@annex/sdk';
  export default createIntegration({
    fetch(request, context) {
      context.waitUntil(new Promise((resolve) => setTimeout(resolve, 50)).then(() => console.log('done later')));
      return new Response('at once');
    },
  });`;
  const installation = await (await load(await folderOf(source, 'scopes: []\n'))).install();
  expect(await (await installation.fetch()).text()).toBe('at once');
  expect(installation.logs).toMatchObject([{ level: 'info', text: 'done later' }]);
});

test('a plain worker gets its requests, its env and its runs', async () => {
  const source = `export default {
    async fetch(request, env) {
      return Response.json([env.GREETING, new URL(request.url).pathname, await env.STORE.get('runs')]);
    },
    scheduled: ({ cron }, env) => env.STORE.put('runs', cron),
  };`;
  const manifest = `entry: request
vars: { GREETING: hello }
kv: [STORE]
schedules: [{ cron: '0 9 * * mon' }]
scopes: []
`;
  const installation = await (await load(await folderOf(source, manifest))).install();
  expect(await (await installation.fetch('/a/b')).json()).toEqual(['hello', '/a/b', null]);
  await installation.runSchedule('1');
  expect(await (await installation.fetch('/')).json()).toEqual(['hello', '/', '0 9 * * mon']);
});

test('a call of the product is a step, and its fault is an error', async () => {
  const source = `import { createIntegration, ExposableError } from '@annex/sdk';
  export default createIntegration({
    calls: {
      double({ of }, context) {
        if (of === undefined) throw new ExposableError('Say of what');
        context.waitUntil(Promise.resolve().then(() => console.log('doubled')));
        return { doubled: 2 * of };
      },
    },
  });`;
  const app = await load(await folderOf(source, 'scopes: []\ncalls: [{name: double}]\n'));
  const installation = await app.install();
  const { doubled } = await installation.call<{ doubled: number }>('double', { of: 4 });
  expect(doubled).toBe(8);
  expect(installation.logs).toMatchObject([{ text: 'doubled' }]);
  await expect(installation.call('double')).rejects.toThrow('Say of what');
  await expect(installation.call('halve')).rejects.toThrow('has no call "halve"');
});

test('each install is of an organization of its own, with its configuration and secrets', async () => {
  const source = `import { createIntegration } from '@annex/sdk';
  export default createIntegration({
    fetch: (request, { environment }) =>
      Response.json([environment.installation.configuration.name, environment.secrets.KEY]),
  });`;
  const manifest = `scopes: []
secrets: {KEY: '\${{ env.KEY }}'}
configurations:
  account:
    properties:
      name: {type: string, title: Name}
`;
  const app = await load(await folderOf(source, manifest), { secrets: { KEY: 'of the test' } });
  const ada = await app.install({ configuration: { name: 'Ada' } });
  const bob = await app.install({ configuration: { name: 'Bob' } });
  expect(ada.organization).not.toBe(bob.organization);
  expect(await (await ada.fetch()).json()).toEqual(['Ada', 'of the test']);
  expect(await (await bob.fetch()).json()).toEqual(['Bob', 'of the test']);
});

test('a private integration is installed anew for its owner', async () => {
  const source = `import { createIntegration } from '@annex/sdk';
  let calls = 0;
  export default createIntegration({ fetch: () => new Response(String(++calls)) });`;
  const app = await load(await folderOf(source, 'scopes: []\n', 'private'));
  const first = await app.install();
  await first.fetch();
  expect(await (await first.fetch()).text()).toBe('2');
  const second = await app.install();
  expect([second.organization, await (await second.fetch()).text()]).toEqual(['acme', '1']);
});

test('an install that fails leaves nothing behind, and the next one is the first', async () => {
  const source = `import { createIntegration } from '@annex/sdk';
  export default createIntegration({
    fetch: () => new Response('here'),
    events: { installation_setup: async () => void (await fetch('https://api.example.com/hook')) },
  });`;
  const app = await load(await folderOf(source, 'scopes: []\n'));
  const { ready } = await serviceProcess();
  const installed = async () => {
    const path = `/v1/integrations/${app.name}/installations`;
    const answer = await fetch(`${ready.controlUrl}${path}`, {
      headers: { authorization: `Bearer ${ready.token}` },
    });
    return ((await answer.json()) as { items: unknown[] }).items.length;
  };
  const before = await installed();
  await expect(app.install({ organization: 'beach' })).rejects.toThrow('which no mock answers');
  expect(await installed()).toBe(before);
  const fetches = { 'https://api.example.com/hook': new Response() };
  const fails = app.install({ organization: 'beach', fetches, spaces: { 'no space': {} } });
  await expect(fails).rejects.toThrow('space');
  expect(await installed()).toBe(before);
  const installation = await app.install({ organization: 'beach', fetches });
  expect(await (await installation.fetch()).text()).toBe('here');
});

test('a folder that cannot be published is refused with its problems and their places', async () => {
  await expect(load(await folderOf('export default ;', 'scopes: []\n'))).rejects.toThrow(
    /cannot be published:\n {2}index\.js:1:16: Unexpected ";"/,
  );
});

test('a poll is set up in its modal, and voted in', async () => {
  const installation = await (await load(fixture('poll'))).install();
  const poll = await installation.render('poll');
  await installation.press('Set up');
  await installation.type('Question', 'Tea or coffee?');
  await installation.type('answers', 'Tea\nCoffee');
  await installation.press('Save');
  expect(poll.modal).toBeUndefined();
  expect(poll.props).toMatchObject({ question: 'Tea or coffee?', shown: 'all' });
  await expect(poll.choose('answer', 'Water')).rejects.toThrow('it has Tea, Coffee.');
  await poll.choose('answer', 'Coffee');
  await poll.check('Keep it to myself');
  await poll.press('Vote');
  expect(poll.state).toMatchObject({ votes: { Coffee: 1 }, thanks: 'Thank you.' });
  await expect(poll.press('Vote')).rejects.toThrow('"Vote" is disabled.');
  await expect(poll.press('Save')).rejects.toThrow('What can be pressed: "Vote", "Set up".');
});
