/**
 * Libraries of npm, unchanged, inside an installation of a real service: real libraries have to
 * work, and find faults that tests of the platform miss. Here: routers, a validator and a parser of
 * uploads.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deployWithLibrary, messagesOf, postJson } from '../../support/library.ts';
import { type Installed, TestService } from '../../support/service.ts';

let annex: TestService;
beforeAll(async () => {
  annex = await TestService.start();
});
afterAll(() => annex.stop());

describe('itty-router', () => {
  let router: Installed;
  beforeAll(async () => {
    router = await deployWithLibrary(
      annex,
      'itty-router-app',
      `export { AutoRouter, cors, error, withContent } from 'itty-router';`,
      `import { createIntegration } from '@annex/sdk';
       import { AutoRouter, cors, error, withContent } from './library.js';
       const { preflight, corsify } = cors({ origin: 'https://app.example' });
       // Its corsify makes every status a 200, in Node and in browsers as well as here.
       const corsifyOk = (response, request) => (response.status === 200 ? corsify(response, request) : response);
       const router = AutoRouter({ base: '/:endpoint', before: [preflight], finally: [corsifyOk] });
       const onlyAda = ({ params }) => { if (params.name !== 'ada') return error(403, 'only ada'); };
       router
         .get('/hello/:name', onlyAda, ({ params, query }) => ({ hello: params.name, query }))
         .post('/todos', withContent, ({ content }) => Response.json({ made: content }, { status: 201 }))
         .get('/throws', () => { throw Object.assign(new Error('short and stout'), { status: 418 }); });
       export default createIntegration({ fetch: (request, context) => router.fetch(request, context) });`,
    );
  });

  test('routes, with parameters and a query', async () => {
    const response = await fetch(`${router.endpoint}/hello/ada?tag=a&tag=b&page=2`, {
      headers: { origin: 'https://app.example' },
    });
    expect(await response.json()).toEqual({ hello: 'ada', query: { tag: ['a', 'b'], page: '2' } });
    expect(response.headers.get('access-control-allow-origin')).toBe('https://app.example');
  });

  test('runs middleware that answers instead of the handler', async () => {
    const response = await fetch(`${router.endpoint}/hello/grace`);
    expect([response.status, await response.json()]).toEqual([403, { status: 403, error: 'only ada' }]);
  });

  test('parses JSON, and makes errors and unknown paths into answers', async () => {
    const made = await fetch(`${router.endpoint}/todos`, postJson({ title: 'größer' }));
    expect([made.status, await made.json()]).toEqual([201, { made: { title: 'größer' } }]);
    expect((await fetch(`${router.endpoint}/throws`)).status).toBe(418);
    expect((await fetch(`${router.endpoint}/nowhere`)).status).toBe(404);
  });

  test('answers a preflight', async () => {
    const response = await fetch(`${router.endpoint}/todos`, {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
    });
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([
      204,
      'https://app.example',
    ]);
  });
});

describe('hono', () => {
  let hono: Installed;
  beforeAll(async () => {
    hono = await deployWithLibrary(
      annex,
      'hono-app',
      `export { Hono } from 'hono';
       export { basicAuth } from 'hono/basic-auth';
       export { compress } from 'hono/compress';
       export { setCookie, setSignedCookie, getSignedCookie } from 'hono/cookie';
       export { cors } from 'hono/cors';
       export { etag } from 'hono/etag';
       export { HTTPException } from 'hono/http-exception';
       export { jwt, sign } from 'hono/jwt';
       export { requestId } from 'hono/request-id';
       export { streamSSE, streamText } from 'hono/streaming';
       export { timeout } from 'hono/timeout';`,
      `import { createIntegration } from '@annex/sdk';
       import { basicAuth, compress, cors, etag, getSignedCookie, Hono, HTTPException, jwt, requestId, setCookie, setSignedCookie, sign, streamSSE, streamText, timeout } from './library.js';
       const SECRET = 'a secret of the test';
       const app = new Hono();
       app.use(requestId());
       app.use('*/api/*', cors());
       app.get('*/api/items/:id{[0-9]+}', (c) => c.json({ id: Number(c.req.param('id')), q: c.req.queries('q') }));
       app.post('*/api/items', async (c) => c.json({ made: await c.req.json(), id: c.get('requestId').length }, 201));
       app.post('*/form', async (c) => { const form = await c.req.parseBody(); return c.json({ title: form.title, file: [form.file.name, await form.file.text()] }); });
       app.use('*/private/*', basicAuth({ username: 'ada', password: 'lovelace' }));
       app.get('*/private/page', (c) => c.html('<b>private</b>'));
       app.get('*/token', async (c) => c.text(await sign({ sub: 'ada' }, SECRET, 'HS256')));
       app.use('*/claims', jwt({ secret: SECRET, alg: 'HS256' }));
       app.get('*/claims', (c) => c.json(c.get('jwtPayload')));
       app.get('*/etag', etag(), (c) => c.text('the same'));
       app.get('*/large', compress(), (c) => c.text('annex '.repeat(10000)));
       app.get('*/cookie', async (c) => {
         setCookie(c, 'plain', 'a b', { httpOnly: true });
         await setSignedCookie(c, 'signed', 'value', SECRET);
         return c.json({ seen: await getSignedCookie(c, SECRET, 'signed') });
       });
       app.get('*/text', (c) => streamText(c, async (stream) => { await stream.write('one '); await stream.sleep(1); await stream.write('two'); }));
       app.get('*/slow', timeout(5), async () => new Promise(() => {}));
       app.get('*/refused', () => { throw new HTTPException(451, { message: 'refused' }); });
       const gates = { open() {} };
       app.get('*/open', (c) => { gates.open(); return c.text('opened'); });
       app.get('*/events', (c) => streamSSE(c, async (stream) => {
         const gate = new Promise((resolve) => { gates.open = resolve; });
         await stream.writeSSE({ event: 'tick', id: '1', data: 'first\\nof two lines' });
         await gate;
         await stream.writeSSE({ event: 'tick', id: '2', data: 'last' });
       }));
       app.notFound((c) => c.json({ missing: true }, 404));
       export default createIntegration({ fetch: (request) => app.fetch(request) });`,
    );
  });

  test('routes with patterns, and answers JSON', async () => {
    const response = await fetch(`${hono.endpoint}/api/items/42?q=a&q=b`);
    expect([response.headers.get('access-control-allow-origin'), await response.json()]).toEqual([
      '*',
      { id: 42, q: ['a', 'b'] },
    ]);
    expect((await fetch(`${hono.endpoint}/api/items/none`)).status).toBe(404);
  });

  test('reads JSON and makes ids by crypto', async () => {
    const response = await fetch(`${hono.endpoint}/api/items`, postJson({ title: 'x' }));
    expect([response.status, await response.json()]).toEqual([201, { made: { title: 'x' }, id: 36 }]);
    expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('reads forms with files', async () => {
    const form = new FormData();
    form.append('title', 'a form');
    form.append('file', new Blob(['content']), 'a.txt');
    expect(await (await fetch(`${hono.endpoint}/form`, { method: 'POST', body: form })).json()).toEqual({
      title: 'a form',
      file: ['a.txt', 'content'],
    });
  });

  test('asks for a password, compared by digests', async () => {
    const page = `${hono.endpoint}/private/page`;
    expect((await fetch(page)).status).toBe(401);
    const authorization = `Basic ${btoa('ada:lovelace')}`;
    expect(await (await fetch(page, { headers: { authorization } })).text()).toBe('<b>private</b>');
  });

  test('signs and checks tokens', async () => {
    const token = await (await fetch(`${hono.endpoint}/token`)).text();
    const headers = { authorization: `Bearer ${token}` };
    expect(await (await fetch(`${hono.endpoint}/claims`, { headers })).json()).toEqual({ sub: 'ada' });
    const forged = { authorization: `Bearer ${token.slice(0, -4)}AAAA` };
    expect((await fetch(`${hono.endpoint}/claims`, { headers: forged })).status).toBe(401);
  });

  test('makes entity tags of contents, and answers 304 for an unchanged one', async () => {
    const first = await fetch(`${hono.endpoint}/etag`);
    const tag = first.headers.get('etag') ?? '';
    expect(tag).toMatch(/^"[0-9a-f]{40}"$/);
    const again = await fetch(`${hono.endpoint}/etag`, { headers: { 'if-none-match': tag } });
    expect([again.status, await again.text()]).toEqual([304, '']);
  });

  test('compresses', async () => {
    const response = await fetch(`${hono.endpoint}/large`, { headers: { 'accept-encoding': 'gzip' } });
    expect([response.headers.get('content-encoding'), await response.text()]).toEqual([
      'gzip',
      'annex '.repeat(10_000),
    ]);
  });

  test('sets cookies, signed ones too, and reads them back', async () => {
    const first = await fetch(`${hono.endpoint}/cookie`);
    const [plain, signed = ''] = first.headers.getSetCookie();
    // Confined to its own endpoint: endpoints share an origin.
    expect(plain).toBe(`plain=a%20b; HttpOnly; Path=${new URL(hono.endpoint).pathname}`);
    const cookie = signed.split(';')[0] ?? '';
    const seen = async (sent: string): Promise<unknown> => {
      const response = await fetch(`${hono.endpoint}/cookie`, { headers: { cookie: sent } });
      return ((await response.json()) as { seen: unknown }).seen;
    };
    expect([await seen(cookie), await seen(cookie.replace('value', 'other'))]).toEqual(['value', false]);
  });

  test('streams text and server-sent events, the first before the last is made', async () => {
    expect(await (await fetch(`${hono.endpoint}/text`)).text()).toBe('one two');
    const response = await fetch(`${hono.endpoint}/events`);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const messages = messagesOf(response);
    expect((await messages.next()).value).toEqual({ event: 'tick', id: '1', data: 'first\nof two lines' });
    await (await fetch(`${hono.endpoint}/open`)).text();
    expect((await messages.next()).value).toEqual({ event: 'tick', id: '2', data: 'last' });
    expect((await messages.next()).done).toBe(true);
  });

  test('times out a slow handler, and turns exceptions into answers', async () => {
    expect((await fetch(`${hono.endpoint}/slow`)).status).toBe(504);
    const refused = await fetch(`${hono.endpoint}/refused`);
    expect([refused.status, await refused.text()]).toEqual([451, 'refused']);
  });
});

describe('zod', () => {
  let zod: Installed;
  beforeAll(async () => {
    zod = await deployWithLibrary(
      annex,
      'zod-app',
      `export { z } from 'zod';`,
      `import { createIntegration } from '@annex/sdk';
       import { z } from './library.js';
       const Order = z.object({
         id: z.uuid(),
         email: z.email(),
         site: z.url(),
         placed: z.coerce.date(),
         lines: z.array(z.object({ sku: z.string().regex(/^[A-Z]{3}-\\d+$/), count: z.number().int().positive().default(1) })).min(1),
         payment: z.discriminatedUnion('kind', [z.object({ kind: z.literal('card'), last4: z.string().length(4) }), z.object({ kind: z.literal('cash') })]),
         note: z.string().trim().max(20).optional(),
       }).strict().transform((order) => ({ ...order, total: order.lines.reduce((sum, { count }) => sum + count, 0) }));
       const Later = z.object({ name: z.string() }).refine(async ({ name }) => { await null; return name !== 'taken'; }, { path: ['name'], message: 'taken' });
       export default createIntegration({ async fetch(request) {
         const input = await request.json();
         if (request.url.endsWith('/later')) return Response.json((await Later.safeParseAsync(input)).success);
         if (request.url.endsWith('/schema')) return Response.json(z.toJSONSchema(z.object({ a: z.string().min(2) })));
         const { success, data, error } = Order.safeParse(input);
         if (success) return Response.json(data);
         return Response.json({ issues: error.issues.map(({ code, path }) => [code, path.join('.')]), flat: z.flattenError(error).formErrors, isError: error instanceof Error, text: z.prettifyError(error) }, { status: 422 });
       } });`,
    );
  });

  const ask = (body: unknown, path = '') => fetch(`${zod.endpoint}${path}`, postJson(body));
  const ORDER = {
    id: '0b9c5f0e-4a3b-4c7d-8e1f-2a3b4c5d6e7f',
    email: 'ada@example.com',
    site: 'https://example.com/ü',
    placed: '2026-01-02T03:04:05Z',
    lines: [{ sku: 'ABC-1' }, { sku: 'XYZ-22', count: 3 }],
    payment: { kind: 'card', last4: '4242' },
    note: '  thanks  ',
  };

  test('parses, coerces, fills in and transforms', async () => {
    expect(await (await ask(ORDER)).json()).toEqual({
      ...ORDER,
      placed: '2026-01-02T03:04:05.000Z',
      lines: [{ sku: 'ABC-1', count: 1 }, ORDER.lines[1]],
      note: 'thanks',
      total: 4,
    });
  });

  test('reports each fault with its path', async () => {
    const response = await ask({
      ...ORDER,
      email: 'nobody',
      site: '/relative',
      lines: [{ sku: 'abc', count: 1.5 }],
      payment: { kind: 'card' },
      odd: true,
    });
    expect(response.status).toBe(422);
    const { issues, text, flat, isError } = (await response.json()) as {
      issues: string[][];
      text: string;
      flat: string[];
      isError: boolean;
    };
    expect(issues).toEqual([
      ['invalid_format', 'email'],
      ['invalid_format', 'site'],
      ['invalid_format', 'lines.0.sku'],
      ['invalid_type', 'lines.0.count'],
      ['invalid_type', 'payment.last4'],
      ['unrecognized_keys', ''],
    ]);
    expect(text).toContain('Invalid email address');
    expect([flat, isError]).toEqual([['Unrecognized key: "odd"'], true]);
  });

  test('refines asynchronously, and describes itself as a JSON schema', async () => {
    expect(await (await ask({ name: 'free' }, '/later')).json()).toBe(true);
    expect(await (await ask({ name: 'taken' }, '/later')).json()).toBe(false);
    expect(await (await ask({}, '/schema')).json()).toMatchObject({
      properties: { a: { type: 'string', minLength: 2 } },
      required: ['a'],
    });
  });
});

describe('a multipart parser', () => {
  test('parses a streamed upload, including a binary file of a megabyte', async () => {
    const parser = await deployWithLibrary(
      annex,
      'multipart-app',
      `export { parseMultipartRequest } from '@remix-run/multipart-parser';`,
      `import { createIntegration } from '@annex/sdk';
       import { parseMultipartRequest } from './library.js';
       export default createIntegration({ async fetch(request) {
         const parts = [];
         let file;
         for await (const part of parseMultipartRequest(request)) {
           parts.push([part.name, part.filename ?? null, part.mediaType ?? null, part.isFile ? part.size : part.text]);
           if (part.isFile && part.name === 'binary') file = part.bytes;
         }
         return new Response(file, { headers: { 'x-parts': encodeURIComponent(JSON.stringify(parts)) } });
       } });`,
    );
    const binary = randomBytes(1024 * 1024 + 7);
    const form = new FormData();
    form.append('title', 'größe\r\nzwei');
    form.append('binary', new Blob([binary], { type: 'application/x-binary' }), 'bytes.bin');
    form.append('note', new Blob(['short'], { type: 'text/plain' }), 'note.txt');
    // Without a length, in pieces, like a client that streams a file.
    const whole = new Request('http://example.com', { method: 'POST', body: form });
    const response = await fetch(parser.endpoint, {
      method: 'POST',
      headers: { 'content-type': whole.headers.get('content-type') ?? '' },
      body: whole.body,
      duplex: 'half',
    });
    expect(JSON.parse(decodeURIComponent(response.headers.get('x-parts') ?? '[]'))).toEqual([
      ['title', null, null, 'größe\r\nzwei'],
      ['binary', 'bytes.bin', 'application/x-binary', binary.byteLength],
      ['note', 'note.txt', 'text/plain', 5],
    ]);
    expect(Buffer.from(await response.arrayBuffer()).equals(binary)).toBe(true);
  });
});
