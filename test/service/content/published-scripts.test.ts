/**
 * Published scripts: the JavaScript of a site, from its endpoint and from the API
 * (docs/contract/published-scripts.md#script).
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ask, codeOf } from '../../support/installation-api.ts';
import { type Installed, TestService } from '../../support/service.ts';

/** What `mode` of the configuration has the code answer. */
const ANSWERS = `
let calls = 0;
export const script = async (event, environment) => {
  calls += 1;
  const { mode = 'script' } = environment.siteInstallation?.configuration ?? {};
  switch (mode) {
    case 'nothing': return undefined;
    case 'empty': return new Response('');
    case 'none': return new Response(null, { status: 204 });
    case 'refused': return new Response('no', { status: 403 });
    case 'huge': return new Response('x'.repeat(1024 * 1024 + 1));
    case 'endless': return new Response(new ReadableStream({ pull: (c) => c.enqueue(new Uint8Array(65536)) }));
    case 'slow': await new Promise((resolve) => setTimeout(resolve, 300)); return new Response('/* call ' + calls + ' */');
    case 'forever': console.log('call ' + calls); if (calls === 1) await new Promise((resolve) => setTimeout(resolve, 60_000)); return new Response('/* again */');
    case 'itself': {
      const own = await fetch(environment.urls.publicEndpoint + '/~script.js');
      return new Response('/* ' + own.status + ' */');
    }
    default: return new Response('/* ' + mode + ' ' + calls + ' ' + JSON.stringify(event) + ' */', {
      headers: { 'content-type': 'text/html', 'set-cookie': 'a=b', 'service-worker-allowed': '/' },
    });
  }
};
`;
const SDK = `import { createIntegration } from '@annex/sdk';
import { script } from './answers.js';
export default createIntegration({
  fetch: (request) => new Response(request.method + ' raw'),
  fetch_published_script: (event, { environment }) => script(event, environment),
});`;
const WORKER = `import { script } from './answers.js';
export default {
  async fetch(request) {
    const form = await request.formData();
    const event = JSON.parse(form.get('event'));
    if (event.type === 'fetch') return new Response('raw');
    if (event.type !== 'fetch_published_script') return new Response('', { status: 406 });
    const answer = await script(event, JSON.parse(form.get('environment')));
    return answer ?? Response.json({ error: 'Integration does not handle fetch_published_script' }, { status: 400 });
  },
};`;
const MANIFEST = `target: site
configurations:
  site:
    properties:
      mode: { type: string, title: Mode, description: What it answers. }
`;

let service: TestService;
beforeAll(async () => {
  service = await TestService.start({
    flags: ['--internal-organizations', 'acme'],
    limits: { firstByteMs: 5_000 },
  });
  const files = { 'answers.js': ANSWERS };
  await publishScoped('sdk', { 'index.js': SDK, ...files });
  await publishScoped('worker', { 'index.js': WORKER, ...files });
  await service.publish('unscoped', { 'index.js': SDK, ...files }, MANIFEST);
});
afterAll(() => service.stop());

/** Publishes with the scope `site:script:inject`. */
async function publishScoped(name: string, files: Record<string, string>): Promise<void> {
  const form = new FormData();
  const head = `name: ${name}\ntitle: ${name}\ndescription: d\norganization: acme\nvisibility: public`;
  form.append('manifest', `${head}\nscopes: [site:script:inject]\nscript: index.js\n${MANIFEST}`);
  for (const [path, source] of Object.entries(files)) form.append('files', new Blob([source]), path);
  const { status, body } = await service.api('POST', '/v1/integrations', { form });
  expect([status, body['problems'] ?? body['warnings']]).toEqual([201, []]);
}

/** An installation in a site. */
async function inSite(name: string, mode?: string): Promise<Installed & { readonly path: string }> {
  const installed = await service.install(name);
  const site = await service.installBelow(name, installed, 'site', 'si-1');
  const path = `/integrations/${name}/installations/${installed.id}/sites/si-1`;
  if (mode !== undefined) await setMode(path, mode);
  return { ...site, path };
}
const setMode = async (path: string, mode: string): Promise<void> => {
  const { status } = await ask(service, 'PATCH', path, { json: { configuration: { mode } } });
  expect(status).toBe(200);
};
const publicScript = async (endpoint: string, init: RequestInit & { query?: string } = {}) => {
  const response = await fetch(`${endpoint}/~script.js${init.query ?? ''}`, init);
  return { status: response.status, headers: response.headers, text: await response.text() };
};
const apiScript = async (path: string, headers: Record<string, string> = {}) => {
  const response = await fetch(`${service.service.controlUrl}/v1${path}/script`, {
    headers: { authorization: `Bearer ${service.platform}`, ...headers },
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
};

describe.each(['sdk', 'worker'])('the script of an integration as %s', (name) => {
  test('is what the code answers, with the headers of the host alone', async () => {
    const { endpoint, id } = await inSite(name);
    const { status, headers, text } = await publicScript(endpoint);
    expect(status).toBe(200);
    expect(text).toContain('/* script 1 ');
    const event = JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1));
    expect(event).toEqual({
      eventId: expect.any(String),
      type: 'fetch_published_script',
      installationId: id,
      siteId: 'si-1',
    });
    expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cache-control')).toBe('public, max-age=300');
    for (const own of ['set-cookie', 'service-worker-allowed']) expect(headers.get(own)).toBeNull();
  });

  test('is made once, and served to the product too, until the configuration changes', async () => {
    const { endpoint, path } = await inSite(name);
    const first = await publicScript(endpoint, { query: '?v=1' });
    const second = await apiScript(path);
    expect(second.text).toBe(first.text);
    expect(second.headers.get('etag')).toBe(first.headers.get('etag'));
    expect(second.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    await setMode(path, 'changed');
    expect((await publicScript(endpoint)).text).toContain('/* changed 2 ');
  });

  test.each(['nothing', 'empty', 'none'])('is a no-op where the code answers %s', async (mode) => {
    const { endpoint } = await inSite(name, mode);
    expect(await publicScript(endpoint)).toMatchObject({ status: 200, text: '/** no-op */' });
  });

  test.each([
    ['refused', 'has the status 403'],
    ['huge', 'has more than 1024 KiB'],
    ['endless', 'ANSWER_INVALID'],
  ])('is 502 where it is %s', async (mode, why) => {
    const { endpoint } = await inSite(name, mode);
    const { status, text } = await publicScript(endpoint);
    expect([status, text]).toEqual([502, expect.stringContaining(why)]);
    expect(text).toContain('ANSWER_INVALID');
  });
});

describe('a script', () => {
  test('is not sent to a client that has it', async () => {
    const { endpoint, path } = await inSite('sdk');
    const tag = (await publicScript(endpoint)).headers.get('etag') ?? '';
    const known = { 'if-none-match': `"other", W/${tag}` };
    expect(await publicScript(endpoint, { headers: known })).toMatchObject({ status: 304, text: '' });
    expect(await apiScript(path, known)).toMatchObject({ status: 304, text: '' });
    const head = await publicScript(endpoint, { method: 'HEAD' });
    expect([head.status, head.text, head.headers.get('etag')]).toEqual([200, '', tag]);
  });

  test('of one target is never served for another', async () => {
    const [one, other] = [await inSite('sdk', 'one'), await inSite('sdk', 'other')];
    expect((await publicScript(one.endpoint)).text).toContain('/* one ');
    expect((await publicScript(other.endpoint)).text).toContain('/* other ');
    expect((await publicScript(one.endpoint)).text).toContain('/* one ');
  });

  test('is made by one call for all clients that ask at the same time', async () => {
    const { endpoint } = await inSite('sdk', 'slow');
    const all = await Promise.all(Array.from({ length: 5 }, () => publicScript(endpoint)));
    expect(new Set(all.map(({ text }) => text))).toEqual(new Set(['/* call 1 */']));
  });

  test('that is being made ends with the last client that waits for it', async () => {
    const installed = await inSite('sdk', 'forever');
    const { endpoint } = installed;
    const canceled = 'annex_calls_total{outcome="canceled"}';
    const before = await service.metric(canceled);
    const client = new AbortController();
    const waiting = fetch(`${endpoint}/~script.js`, { signal: client.signal });
    // A call that is canceled before its code runs would leave the first call to the next client.
    await expect.poll(() => service.log(installed)).toMatchObject([{ text: 'call 1' }]);
    client.abort();
    await expect(waiting).rejects.toThrow();
    await expect.poll(() => service.metric(canceled)).toBe(before + 1);
    expect(await publicScript(endpoint)).toMatchObject({ status: 200, text: '/* again */' });
  });

  test('that requests itself while it is made ends at the depth of nested calls', async () => {
    const { endpoint } = await inSite('sdk', 'itself');
    expect(await publicScript(endpoint)).toMatchObject({ status: 200 });
  });

  test('is only its exact path: other methods and paths are raw traffic', async () => {
    const { endpoint } = await inSite('sdk');
    expect(await publicScript(endpoint, { method: 'POST' })).toMatchObject({ text: 'POST raw' });
    expect(await (await fetch(`${endpoint}/~script.js/x`)).text()).toBe('GET raw');
    expect(await (await fetch(`${endpoint}/~script.jsx`)).text()).toBe('GET raw');
  });

  test('needs the scope: without it the path is raw traffic, and the API names the scope', async () => {
    const { endpoint, path } = await inSite('unscoped');
    expect((await publicScript(endpoint)).text).toBe('GET raw');
    const refused = await ask(service, 'GET', `${path}/script`);
    expect(codeOf(refused)).toBe('403 SCOPE_MISSING');
    expect(refused.error.message).toContain('site:script:inject');
  });

  test('whose scope the manifest lacks is a warning at publish', async () => {
    const { status, body } = await service.tryPublish(
      'warned',
      { 'index.js': SDK, 'answers.js': ANSWERS },
      MANIFEST,
    );
    expect([status, JSON.stringify(body['warnings'])]).toEqual([
      201,
      expect.stringContaining('it needs the scope site:script:inject'),
    ]);
  });

  test('is not served while the target is paused', async () => {
    const { endpoint, path } = await inSite('sdk');
    await publicScript(endpoint);
    await ask(service, 'POST', `${path}/pause`);
    expect((await publicScript(endpoint)).status).toBe(503);
    expect((await apiScript(path)).status).toBe(503);
  });
});
