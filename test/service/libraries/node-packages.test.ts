/**
 * Much-used packages of npm, published from their `node_modules`: tokens, pages, dates, schemas,
 * ids, and a router in each of its majors. Some of them import modules of Node.js.
 */
import { generateKeyPairSync } from 'node:crypto';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { postJson } from '../../support/library.ts';
import { withNodePackages } from '../../support/node-package.ts';
import { type Installed, TestService } from '../../support/service.ts';

const jsonwebtoken = createRequire(import.meta.url)('jsonwebtoken') as {
  verify(token: string, key: unknown, options: object): unknown;
};

let annex: TestService;
beforeAll(async () => {
  annex = await TestService.start();
});
afterAll(() => annex.stop());

async function deploy(name: string, source: string): Promise<Installed> {
  await annex.publish(name, await withNodePackages(source));
  return annex.install(name);
}

/** Publishes code that answers with the value of its function `run`. */
async function run(name: string, source: string): Promise<unknown> {
  const { endpoint } = await deploy(
    name,
    `${source}
     export default { async fetch() {
       try { return Response.json(await run()); }
       catch (error) { return Response.json({ failed: String(error?.stack ?? error) }); }
     } };`,
  );
  return (await fetch(`${endpoint}/`)).json();
}

test('jsonwebtoken signs and verifies with a shared secret and with key pairs', async () => {
  const pairs = {
    RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
    ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    ES384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  };
  const keys = Object.entries(pairs).map(([algorithm, { privateKey, publicKey }]) => ({
    algorithm,
    inner: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    outer: publicKey.export({ type: 'spki', format: 'pem' }),
  }));
  const found = (await run(
    'jsonwebtoken-app',
    `import jwt from 'jsonwebtoken';
     const failure = (call) => { try { call(); return 'none'; } catch (error) { return error.name + ': ' + error.message; } };
     const keys = ${JSON.stringify(keys)};
     function run() {
       const token = jwt.sign({ sub: 'ada' }, 'a secret', { algorithm: 'HS384', expiresIn: '1h', issuer: 'annex' });
       const old = jwt.sign({ exp: 1 }, 'a secret');
       return {
         sub: jwt.verify(token, 'a secret', { issuer: 'annex' }).sub,
         header: jwt.decode(token, { complete: true }).header,
         forged: failure(() => jwt.verify(token, 'another')),
         old: failure(() => jwt.verify(old, 'a secret')),
         pairs: keys.map(({ algorithm, inner, outer }) => {
           const signed = jwt.sign({ sub: algorithm }, inner, { algorithm });
           const forged = signed.replace(/.....$/, 'AAAAA');
           return [signed, jwt.verify(signed, outer, { algorithms: [algorithm] }).sub, failure(() => jwt.verify(forged, outer))];
         }),
       };
     }`,
  )) as { readonly pairs: readonly (readonly [string, ...unknown[]])[] };
  expect(found).toEqual({
    sub: 'ada',
    header: { alg: 'HS384', typ: 'JWT' },
    forged: 'JsonWebTokenError: invalid signature',
    old: 'TokenExpiredError: jwt expired',
    pairs: keys.map(({ algorithm }) => [
      expect.any(String),
      algorithm,
      'JsonWebTokenError: invalid signature',
    ]),
  });
  // Node.js itself accepts what the integration has signed.
  const verified = keys.map(({ algorithm, outer }, at) => {
    const [token] = found.pairs[at] ?? [''];
    return (jsonwebtoken.verify(token, outer, { algorithms: [algorithm as 'RS256'] }) as { sub: string }).sub;
  });
  expect(verified).toEqual(keys.map(({ algorithm }) => algorithm));
});

test('a sealed cookie is opened where it was sealed', async () => {
  const found = await run(
    'cookie-app',
    `import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto';
     const key = scryptSync('a long secret of the integration', 'salt', 32);
     function seal(value) {
       const iv = randomBytes(12);
       const cipher = createCipheriv('aes-256-gcm', key, iv);
       const sealed = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()]);
       return [iv, cipher.getAuthTag(), sealed].map((part) => part.toString('base64url')).join('.');
     }
     function open(cookie) {
       const [iv, tag, sealed] = cookie.split('.').map((part) => Buffer.from(part, 'base64url'));
       const decipher = createDecipheriv('aes-256-gcm', key, iv).setAuthTag(tag);
       return JSON.parse(decipher.update(sealed, undefined, 'utf8') + decipher.final('utf8'));
     }
     function run() {
       const cookie = seal({ user: 'ada' });
       let forged = 'none';
       try { open(cookie.replace(/^../, 'AA')); } catch (error) { forged = error.message; }
       return [open(cookie), forged];
     }`,
  );
  expect(found).toEqual([{ user: 'ada' }, 'Unsupported state or unable to authenticate data']);
});

test('jose encrypts and decrypts, and signs with a key pair', async () => {
  const found = await run(
    'jose-app',
    `import { EncryptJWT, SignJWT, generateKeyPair, jwtDecrypt, jwtVerify } from 'jose';
     async function run() {
       const secret = crypto.getRandomValues(new Uint8Array(32));
       const sealed = await new EncryptJWT({ a: 1 }).setProtectedHeader({ alg: 'dir', enc: 'A256GCM' }).encrypt(secret);
       const { privateKey, publicKey } = await generateKeyPair('ES256');
       const signed = await new SignJWT({ b: 2 }).setProtectedHeader({ alg: 'ES256' }).sign(privateKey);
       return [(await jwtDecrypt(sealed, secret)).payload, (await jwtVerify(signed, publicKey)).payload];
     }`,
  );
  expect(found).toEqual([{ a: 1 }, { b: 2 }]);
});

test('react-dom/server draws a page as text and as a stream, with what it suspends', async () => {
  const found = await run(
    'react-app',
    `import { createElement as h, Suspense, use, useId, useState } from 'react';
     import { renderToReadableStream, renderToString } from 'react-dom/server';
     const Name = ({ name }) => h('b', null, use(name));
     function Page({ title }) {
       const [count] = useState(3);
       return h('main', { className: 'a', id: useId() }, title, ' ', count, h('p', null, 'a < b'));
     }
     async function run() {
       const text = renderToString(h(Page, { title: 'Größe' }));
       const name = new Promise((resolve) => setTimeout(resolve, 5, 'Ada'));
       const stream = await renderToReadableStream(h(Suspense, { fallback: 'wait' }, h(Name, { name })));
       await stream.allReady;
       return { text, streamed: await new Response(stream).text() };
     }`,
  );
  expect(found).toEqual({
    text: expect.stringMatching(
      /^<main class="a" id="[^"]+">Größe<!-- --> <!-- -->3<p>a &lt; b<\/p><\/main>$/,
    ),
    streamed: expect.stringContaining('<b>Ada</b>'),
  });
});

test('date-fns, zod and nanoid do what they do elsewhere', async () => {
  const found = await run(
    'small-app',
    `import { addMonths, format, formatDistance, parseISO } from 'date-fns';
     import { de } from 'date-fns/locale';
     import { customAlphabet, nanoid } from 'nanoid';
     import { z } from 'zod';
     function run() {
       const day = parseISO('2024-01-31');
       const Person = z.object({ name: z.string().min(1), mail: z.email(), age: z.coerce.number().int() });
       const ids = new Set(Array.from({ length: 1_000 }, () => nanoid()));
       return {
         month: format(addMonths(day, 1), 'd. MMMM yyyy', { locale: de }),
         distance: formatDistance(day, parseISO('2024-02-03')),
         person: Person.parse({ name: 'Ada', mail: 'ada@a.example', age: '36' }),
         wrong: Person.safeParse({ name: '', mail: 'x', age: 1 }).error.issues.map(({ path }) => path[0]),
         ids: ids.size, id: customAlphabet('ab', 5)().replace(/[ab]/g, '.'),
       };
     }`,
  );
  expect(found).toEqual({
    month: '29. Februar 2024',
    distance: '3 days',
    person: { name: 'Ada', mail: 'ada@a.example', age: 36 },
    wrong: ['name', 'mail'],
    ids: 1_000,
    id: '.....',
  });
});

describe('itty-router', () => {
  const HANDLE = {
    'itty-router-2': 'handle',
    'itty-router-3': 'handle',
    'itty-router-4': 'handle',
    'itty-router-5': 'fetch',
    'itty-router': 'fetch',
  };

  test.each(Object.entries(HANDLE))('routes as %s', async (name, handle) => {
    const { endpoint } = await deploy(
      `${name}-app`,
      `import { createIntegration } from '@annex/sdk';
       import { Router } from '${name}';
       const router = Router({ base: '/:endpoint' });
       router
         .all('*', (request) => { request.seen = true; })
         .get('/hello/:name', ({ params, query, seen }) => Response.json({ hello: params.name, page: query.page, seen }))
         .post('/things', async (request) => Response.json(await request.json(), { status: 201 }))
         .all('*', () => new Response('nothing here', { status: 404 }));
       export default createIntegration({ fetch: (request, context) => router.${handle}(request, context) });`,
    );
    const hello = await fetch(`${endpoint}/hello/ada?page=2`);
    expect(await hello.json()).toEqual({ hello: 'ada', page: '2', seen: true });
    const made = await fetch(`${endpoint}/things`, postJson({ a: 1 }));
    expect([made.status, await made.json()]).toEqual([201, { a: 1 }]);
    expect((await fetch(`${endpoint}/nowhere`)).status).toBe(404);
  });
});

test('a package that needs sockets is refused by its name', async () => {
  const { status, body } = await annex.tryPublish('sockets-app', {
    'index.js': `import { connect } from 'mail'; export default { fetch: () => connect() };`,
    'node_modules/mail/package.json': '{"name": "mail", "main": "lib/mail.js"}',
    'node_modules/mail/lib/mail.js': `const net = require('node:net');\nexports.connect = () => net.connect(25);`,
  });
  expect([status, body]).toMatchObject([
    422,
    {
      error: {
        code: 'PUBLISH_INVALID',
        problems: [
          {
            file: 'node_modules/mail/lib/mail.js',
            line: 1,
            message:
              'Package "mail" imports "node:net", a module of Node.js that does not exist in an isolate.',
          },
        ],
      },
    },
  ]);
});

test('a secret of an integration is not in process.env', async () => {
  await annex.publish(
    'env-app',
    { 'index.js': `export default { fetch: () => Response.json(process.env) };` },
    'secrets:\n  API_KEY: planted-secret\n',
  );
  const { endpoint } = await annex.install('env-app');
  expect(await (await fetch(`${endpoint}/`)).json()).toEqual({ NODE_ENV: 'production' });
});
