/**
 * The main purpose: a published and installed integration answers from its own isolate, and its
 * answer is unchanged.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestService } from '../../support/service.ts';

let annex: TestService;
beforeAll(async () => {
  annex = await TestService.start();
});
afterAll(() => annex.stop());

describe('raw traffic', () => {
  test('reaches the fetch handler with unchanged method, URL, headers and body', async () => {
    const echo = await annex.deploy(
      'echo',
      `import { createIntegration } from '@annex/sdk';
       export default createIntegration({
         async fetch(request) {
           const bytes = new Uint8Array(await request.arrayBuffer());
           return Response.json({ method: request.method, url: request.url, header: request.headers.get('x-one'), bytes: [...bytes] });
         },
       });`,
    );
    const response = await fetch(`${echo.endpoint}/a%2Fb/c?q=1&q=2`, {
      method: 'PUT',
      headers: { 'x-one': 'eins' },
      body: new Uint8Array([0, 13, 10, 255, 128]),
    });
    expect(await response.json()).toEqual({
      method: 'PUT',
      url: `${echo.endpoint}/a%2Fb/c?q=1&q=2`,
      header: 'eins',
      bytes: [0, 13, 10, 255, 128],
    });
  });

  test.each(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'PATCH', 'PROPFIND'])(
    '%s is a method like any other',
    async (method) => {
      const { endpoint } = await deployed(
        'methods',
        'export default { async fetch(r) { const e = JSON.parse((await r.formData()).get("event")); return new Response(null, { status: 204, headers: { "x-method": e.request.method } }) } }',
      );
      const response = await fetch(endpoint, { method });
      expect([response.status, response.headers.get('x-method')]).toEqual([204, method]);
    },
  );
});

test('raw traffic hands no token of Annex to a tenant, and every other credential unchanged', async () => {
  const { endpoint } = await deployed(
    'credentials',
    'export default { async fetch(r) { return new Response(JSON.parse((await r.formData()).get("event")).request.headers.authorization ?? "none") } }',
  );
  // A client that mistypes the path of envelopes must not leak the platform's token to the
  // integration.
  for (const token of [annex.admin, annex.platform]) {
    const response = await fetch(`${endpoint}/v1/`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    });
    expect(await response.text()).toBe('none');
  }
  const other = await fetch(endpoint, { headers: { authorization: 'Bearer of-the-customer' } });
  expect(await other.text()).toBe('Bearer of-the-customer');
});

test('an SDK integration answers a fetch event without request with 400, and its log stays empty', async () => {
  const sdk = await annex.deploy(
    'no-request',
    `import { createIntegration } from '@annex/sdk'; export default createIntegration({ fetch: async () => new Response('ok') });`,
  );
  expect((await annex.envelope(sdk, { type: 'fetch' })).status).toBe(400);
  expect(await annex.log(sdk)).toEqual([]);
});

test('a misspelt handler is refused when it is published', async () => {
  const { status, body } = await annex.tryPublish('misspelt', {
    'index.js': `import { createIntegration } from '@annex/sdk'; export default createIntegration({ fecth() {} });`,
  });
  expect(status).toBe(422);
  expect(JSON.stringify(body)).toContain('fecth');
});

describe('an answer', () => {
  test('comes back unchanged: status, several headers of one name, binary body', async () => {
    const { endpoint } = await deployed(
      'as-given',
      `export default { fetch() {
         const headers = new Headers({ 'content-type': 'application/octet-stream' });
         headers.append('set-cookie', 'a=1; HttpOnly');
         headers.append('set-cookie', 'b=2');
         return new Response(new Uint8Array(256).map((_, i) => i), { status: 418, headers });
       } };`,
    );
    const response = await fetch(`${endpoint}/page`);
    expect(response.status).toBe(418);
    expect(response.headers.getSetCookie()).toEqual(['a=1; HttpOnly', 'b=2']);
    expect([...new Uint8Array(await response.arrayBuffer())]).toEqual(
      Array.from({ length: 256 }, (_, i) => i),
    );
  });

  test('cannot change the framing of the connection', async () => {
    const { endpoint } = await deployed(
      'framing',
      `export default { fetch: () => new Response('exact', { headers: { 'transfer-encoding': 'chunked', connection: 'close', 'content-length': '999', 'x-kept': 'yes' } }) };`,
    );
    const response = await fetch(endpoint);
    expect(await response.text()).toBe('exact');
    expect([response.headers.get('content-length'), response.headers.get('x-kept')]).toEqual(['5', 'yes']);
  });

  test('is sent before the work of waitUntil is finished, and the work is finished after it', async () => {
    const worker = await deployed(
      'background',
      `export default { fetch(request, env, ctx) {
         ctx.waitUntil(new Promise((resolve) => setTimeout(resolve, 300)).then(() => console.log('afterwards')));
         return new Response('first');
       } };`,
    );
    expect(await (await fetch(worker.endpoint)).text()).toBe('first');
    await expect.poll(() => annex.log(worker)).toEqual([expect.objectContaining({ text: 'afterwards' })]);
  });
});

describe('an envelope', () => {
  test('hands over event, environment and the raw body byte for byte', async () => {
    const worker = await deployed(
      'envelope',
      `export default { async fetch(request) {
         const form = await request.formData();
         const body = form.get('fetch-body');
         return Response.json({
           event: JSON.parse(form.get('event')),
           environment: JSON.parse(form.get('environment')),
           body: body && [...new Uint8Array(await body.arrayBuffer())],
           url: request.url, method: request.method, type: request.headers.get('content-type').split(';')[0],
         });
       } };`,
    );
    const event = { eventId: 'e1', type: 'space_view', extra: { kept: true } };
    const response = await annex.envelope(worker, event, { body: 'a\r\n--b\0ü' });
    expect(await response.json()).toMatchObject({
      event,
      environment: { installation: { id: worker.id }, integration: { name: 'envelope' } },
      body: [...Buffer.from('a\r\n--b\0ü')],
      url: `${new URL(worker.endpoint).origin}/v1`,
      method: 'POST',
      type: 'multipart/form-data',
    });
  });

  test('cannot set its environment: known members are replaced, and unknown members pass through', async () => {
    const worker = await deployed(
      'claims',
      `export default { async fetch(request) { return new Response((await request.formData()).get('environment')) } };`,
    );
    const claims = {
      apiTokens: { installation: 'stolen' },
      spaceInstallation: { space: 'other' },
      secrets: { A: 'b' },
      requestedBy: 'the platform',
      installation: { id: 'other' },
    };
    const response = await annex.envelope(
      worker,
      { type: 'fetch' },
      { environment: `${JSON.stringify(claims).slice(0, -1)},"__proto__":{"polluted":true}}` },
    );
    const environment = (await response.json()) as Record<string, unknown>;
    expect(environment).toMatchObject({
      requestedBy: 'the platform',
      installation: { id: worker.id },
      secrets: {},
      apiTokens: {},
    });
    expect(environment).not.toHaveProperty('spaceInstallation');
    expect(environment).not.toHaveProperty('polluted');
  });
});

describe('globals', () => {
  const COUNTING = 'let n = 0; export default { fetch: () => new Response(String(++n)) };';

  test('are not shared by two installations, and are kept between the calls of one', async () => {
    await annex.publish('counting', { 'index.js': COUNTING });
    const [one, two] = [await annex.install('counting'), await annex.install('counting')];
    const answers = [];
    for (const { endpoint } of [one, one, two, one, two]) answers.push(await (await fetch(endpoint)).text());
    expect(answers).toEqual(['1', '2', '1', '3', '2']);
  });

  test('are lost after an eviction', async () => {
    const small = await TestService.start({ limits: { isolatesPerCell: 1 } });
    try {
      await small.publish('counting', { 'index.js': COUNTING });
      const [one, two] = [await small.install('counting'), await small.install('counting')];
      const answers = [];
      for (const { endpoint } of [one, one, two, one]) answers.push(await (await fetch(endpoint)).text());
      expect(answers).toEqual(['1', '2', '1', '1']);
    } finally {
      await small.stop();
    }
  });
});

describe('the log', () => {
  test('shows an exception with its line in the source, and the caller sees nothing of it', async () => {
    await annex.publish('failing', {
      'src/index.ts': `import { fail } from './deep/fail.ts';\nexport default { fetch(): Response { return fail('secret reason') } };`,
      'src/deep/fail.ts': `interface Unused { a: string }\n\nexport function fail(why: string): never {\n  throw new Error(why);\n}`,
    });
    const failing = await annex.install('failing');
    const response = await fetch(failing.endpoint);
    expect(response.status).toBe(500);
    expect(await response.text()).toMatch(/"code":"INTEGRATION_EXCEPTION"/);
    const [line] = await annex.log(failing);
    expect(line).toMatchObject({ level: 'error', text: expect.stringContaining('Error: secret reason') });
    expect(line?.text).toContain('src/deep/fail.ts:4:9');
    expect(line?.text).toContain('src/index.ts:2:');
    expect(line?.text).not.toContain('annex:/');
  });

  test('has the lines of console, in order, with their levels', async () => {
    const worker = await deployed(
      'printing',
      `export default { fetch() { console.log('one', { a: [1] }); console.warn('two'); console.error(new TypeError('three').message); return new Response() } };`,
    );
    await fetch(worker.endpoint);
    expect(await annex.log(worker)).toMatchObject([
      { level: 'info', text: 'one { a: [ 1 ] }' },
      { level: 'warn', text: 'two' },
      { level: 'error', text: 'three' },
    ]);
  });

  test('is bounded for each call, and has the number of dropped lines', async () => {
    const worker = await deployed(
      'flood',
      `export default { fetch() { for (let i = 0; i < 300; i++) console.log('line ' + i); return new Response() } };`,
    );
    expect((await fetch(worker.endpoint)).status).toBe(200);
    const lines = await annex.log(worker);
    expect(lines.at(-1)?.text).toMatch(/^44 more log lines were dropped; the limit is 256 lines/);
  });
});

const cache = new Map<string, Promise<{ id: string; endpoint: string }>>();
/** Publishes and installs once, however many tests use it. */
function deployed(name: string, source: string): Promise<{ id: string; endpoint: string }> {
  const known = cache.get(name) ?? annex.deploy(name, source);
  cache.set(name, known);
  return known;
}
