/** Outbound requests of an integration under `@annex/testing`: a table of mocks, and no network. */
import { expect, test } from 'vitest';
import { type Installation, load, type Mocks } from '../../../packages/testing/src/index.ts';
import { folderOf } from '../../support/testing-folders.ts';

const FETCHING = `import { createIntegration } from '@annex/sdk';
export default createIntegration({
  async fetch(request) {
    const { url, ...init } = await request.json();
    try {
      const answer = await fetch(url, init);
      return Response.json({ status: answer.status, text: await answer.text(), url: answer.url });
    } catch (cause) {
      return Response.json({ failed: cause.message });
    }
  },
});`;

async function fetching(fetches: Mocks, manifest = 'scopes: []\n'): Promise<Installation> {
  return (await load(await folderOf(FETCHING, manifest))).install({ fetches });
}

const asked = async (installation: Installation, url: string, init: object = {}): Promise<unknown> =>
  (await installation.fetch('/', { method: 'POST', body: JSON.stringify({ url, ...init }) })).json();

test('a mock answers, for https and http, and the test sees the request', async () => {
  const installation = await fetching({
    'POST https://api.example.com/items': async (request) =>
      new Response(`got ${await request.text()}`, { status: 201 }),
    'http://api.example.com:8080/*': Response.json({ any: 'path' }),
  });
  const init = { method: 'POST', headers: { 'x-key': 'k' }, body: 'an item' };
  expect(await asked(installation, 'https://api.example.com/items?page=2', init)).toEqual({
    status: 201,
    text: 'got an item',
    url: 'https://api.example.com/items?page=2',
  });
  expect(await asked(installation, 'http://api.example.com:8080/a/b')).toMatchObject({
    text: '{"any":"path"}',
  });
  const [posted] = installation.fetches;
  expect(posted).toMatchObject({
    method: 'POST',
    url: 'https://api.example.com/items?page=2',
    body: 'an item',
  });
  expect(posted?.headers.get('x-key')).toBe('k');
});

test('a request that no mock answers fails the step and names it, although the code catches it', async () => {
  const installation = await fetching({ 'POST https://api.example.com/items': new Response('ok') });
  await expect(asked(installation, 'https://api.example.com/items')).rejects.toThrow(
    'The integration sent GET https://api.example.com/items, which no mock answers.',
  );
  // The next step begins anew.
  expect(await asked(installation, 'https://api.example.com/items', { method: 'POST' })).toMatchObject({
    text: 'ok',
  });
});

test('a mock that throws fails the step; one that is an Error breaks the connection off', async () => {
  const installation = await fetching({
    'https://api.example.com/broken': new Error('no connection'),
    'https://api.example.com/wrong': () => {
      throw new Error('a mistake in the test');
    },
  });
  expect(await asked(installation, 'https://api.example.com/broken')).toMatchObject({
    failed: expect.any(String),
  });
  await expect(asked(installation, 'https://api.example.com/wrong')).rejects.toThrow('a mistake in the test');
});

test('the rules of production hold: the list of the manifest, private addresses, redirects', async () => {
  const installation = await fetching(
    {
      'https://api.example.com/old': Response.redirect('https://api.example.com/new', 302),
      'https://api.example.com/new': new Response('moved here'),
      'https://other.example.com/': new Response('never asked'),
    },
    'scopes: []\negress: [api.example.com]\n',
  );
  expect(await asked(installation, 'https://api.example.com/old')).toMatchObject({ text: 'moved here' });
  expect(await asked(installation, 'https://other.example.com/')).toHaveProperty('failed');
  const open = await fetching({ 'http://127.0.0.1/': new Response('never asked') });
  expect(await asked(open, 'http://127.0.0.1/')).toHaveProperty('failed');
  expect(open.fetches).toEqual([]);
});

test('a key of the table that is no URL is refused before anything runs', async () => {
  await expect(
    load(await folderOf(FETCHING, 'scopes: []\n'), { fetches: { '/items': new Response() } }),
  ).rejects.toThrow('The mock "/items" is neither a URL');
});
