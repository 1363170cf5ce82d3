/**
 * Request bodies on the public listener: how many bytes the host holds, and that each body is
 * passed on unchanged.
 */
import { request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { BodyBudget } from '../../../src/host/http/public/body-budget.ts';
import { type Installed, startTestService, TestService } from '../../support/service.ts';

/**
 * A body of the greatest size takes all that one address may hold, half of the budget: it is
 * accepted only if no other body is held.
 */
const LIMITS = { requestBodyBytes: 20_000, bufferedBodyBytes: 40_000 };
const ECHO = `export default { async fetch(envelope) {
  const form = await envelope.formData();
  const { request } = JSON.parse(await form.get('event'));
  if (request.url.endsWith('/throw')) throw new Error('as asked');
  if (request.url.endsWith('/wait')) await new Promise((resolve) => setTimeout(resolve, 20_000));
  const bytes = new Uint8Array((await form.get('fetch-body')?.arrayBuffer()) ?? 0);
  const type = request.headers['content-type'] ?? null;
  const sum = bytes.reduce((a, b) => a + b, 0);
  return new Response(JSON.stringify({ type, length: bytes.length, sum, url: request.url }));
} };`;
let annex: TestService;
let echo: Installed;
beforeAll(async () => {
  annex = await TestService.start({ limits: LIMITS });
  echo = await annex.deploy('echo', ECHO);
});
afterAll(() => annex.stop());

const post = (path: string, body: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${echo.endpoint}${path}`, { method: 'POST', body, ...init });

const owner = (organization: string) => ({
  tenant: `of ${organization}`,
  organization,
  sender: undefined,
  isUnverified: false,
});

function budgetOf(limits: { bufferedBodyBytes: number; perInstallation?: number; unverified?: number }) {
  const { bufferedBodyBytes: max, perInstallation = max, unverified = max } = limits;
  const budget = new BodyBudget({
    all: { name: 'bufferedBodyBytes', max },
    perInstallation: { name: 'bufferedBodyBytesPerInstallation', max: perInstallation },
    unverified: { name: 'bufferedUnverifiedBytes', max: unverified },
    monotonicNow: () => 0,
  });
  onTestFinished(() => budget.stop());
  return budget;
}

type Dialed = Socket & { seen: () => string };

/** A connection for hand-written HTTP. */
async function dial(port = new URL(annex.service.publicUrl).port): Promise<Dialed> {
  const socket = connect(Number(port), '127.0.0.1');
  let text = '';
  socket.on('data', (chunk) => (text += chunk));
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  await new Promise((resolve) => socket.once('connect', resolve));
  return Object.assign(socket, { seen: () => text });
}

const headOf = (path: string, framing: string): string =>
  `POST ${new URL(echo.endpoint).pathname}${path} HTTP/1.1\r\nhost: x\r\n${framing}\r\n\r\n`;

const full = 'x'.repeat(LIMITS.requestBodyBytes);

/**
 * A connection that has sent `bytes`, of which the host certainly holds a body: a full body is
 * refused. If the full body came first, the connection's own was refused, and another is tried.
 */
function holding(bytes: string): Promise<Dialed & { refused: Response }> {
  return vi.waitFor(
    async () => {
      const socket = await dial();
      socket.write(bytes);
      // The host has seen the bytes before this request.
      await fetch(annex.service.publicUrl);
      const refused = await post('/', full);
      if (refused.status !== 503) socket.destroy();
      expect(refused.status).toBe(503);
      return Object.assign(socket, { refused });
    },
    { timeout: 90_000 },
  );
}
const oneByte = () => holding(`${headOf('/', `content-length: ${full.length}`)}x`);

/** A full body is accepted only if no other body is held. */
const everythingIsGivenBack = () => expect.poll(async () => (await post('/', full)).status).toBe(200);

describe('held bodies', () => {
  // Attack: 150 connections that each send 9 of 10 MiB and then wait, for gigabytes of the host's
  // memory before admission.
  test('are bounded together: beyond the budget 503, `Retry-After`, and the connection ends', async () => {
    const { refused } = await oneByte();
    expect([refused.status, refused.headers.get('retry-after'), refused.headers.get('connection')]).toEqual([
      503,
      '1',
      'close',
    ]);
    expect(await refused.json()).toMatchObject({
      error: { code: 'REQUEST_SHED', requestId: expect.any(String) },
    });
    expect((await post('/', full.slice(1))).status).toBe(200);
  });

  test.each<[string, () => Promise<unknown>]>([
    ['is answered', () => post('/', full)],
    ['is answered with an exception', () => post('/throw', full)],
    ['is too large', () => post('/', `${full}x`)],
    [
      'turns out too large',
      () => {
        const body = new Blob([full, 'x']).stream();
        return fetch(echo.endpoint, { method: 'POST', body, duplex: 'half' } as RequestInit);
      },
    ],
    [
      'is no envelope',
      () =>
        post('/v1', full, {
          headers: {
            authorization: `Bearer ${annex.platform}`,
            'content-type': 'multipart/form-data; boundary=b',
          },
        }),
    ],
    [
      'is given up by its client',
      async () => {
        (await holding(headOf('/', `content-length: ${full.length}`) + full.slice(1))).destroy();
      },
    ],
    [
      'is given up by its client while its call runs',
      async () => {
        (await holding(headOf('/wait', `content-length: ${full.length}`) + full)).destroy();
      },
    ],
    [
      'goes on as no HTTP',
      async () => {
        // As envelopes: raw traffic of unknown length is streamed, and not held.
        const head = `transfer-encoding: chunked\r\nauthorization: Bearer ${annex.platform}`;
        const socket = await holding(`${headOf('/v1', head)}1\r\nx\r\n`);
        socket.write('zz\r\n');
        await expect.poll(() => socket.seen()).toContain('REQUEST_INVALID');
      },
    ],
  ])('are released when the request %s', async (_what, send) => {
    await send();
    await everythingIsGivenBack();
    // Only once: with one byte held, a full body still does not fit.
    (await oneByte()).destroy();
    await everythingIsGivenBack();
  });

  test('are counted exactly, and released once', () => {
    const budget = budgetOf({ bufferedBodyBytes: 100 });
    const [one, other] = [budget.open(owner('a')), budget.open(owner('b'))];
    expect([one.take(40), other.take(30), other.take(1), budget.heldBytes]).toEqual([true, true, false, 70]);
    one.release();
    one.release();
    expect([budget.heldBytes, other.take(20), other.take(1)]).toEqual([30, true, false]);
    other.release();
    expect(budget.heldBytes).toBe(0);
  });
});

// Attack: each byte as a chunk, which costs the sender 6 bytes and would cost the host an object.
test('a body in chunks of one byte arrives whole', async () => {
  const bytes = Array.from({ length: 1_500 }, (_, i) => 97 + (i % 26));
  const outgoing = httpRequest(echo.endpoint, { method: 'POST' });
  const answer = new Promise<string>((resolve, reject) => {
    outgoing.on('error', reject).on('response', (response) => {
      let text = '';
      response.on('data', (chunk) => (text += chunk)).on('end', () => resolve(text));
    });
  });
  for (const byte of bytes) outgoing.write(Buffer.of(byte));
  outgoing.end();
  expect(JSON.parse(await answer)).toMatchObject({ length: 1_500, sum: bytes.reduce((a, b) => a + b) });
});

describe('raw traffic', () => {
  // Senders of webhooks use any media type.
  test.each(['garbage', '', ';;;', 'text/plain', 'application/json; charset="', 'multipart/form-data'])(
    'is handed over whatever its content type is: "%s"',
    async (type) => {
      const socket = await dial();
      const { pathname } = new URL(echo.endpoint);
      socket.write(
        `POST ${pathname} HTTP/1.1\r\nhost: x\r\ncontent-type: ${type}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{x`,
      );
      await new Promise((resolve) => socket.once('close', resolve));
      expect(socket.seen()).toMatch(/^HTTP\/1\.1 200 /);
      expect(JSON.parse(socket.seen().split('\r\n\r\n')[1] ?? '')).toMatchObject({ type, length: 2 });
    },
  );

  test.each(['POST', 'PUT', 'DELETE', 'QUERY', 'PROPFIND', 'OPTIONS'])(
    'needs no content type at all: %s',
    async (method) => {
      const socket = await dial();
      const { pathname } = new URL(echo.endpoint);
      socket.write(
        `${method} ${pathname} HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{x`,
      );
      await new Promise((resolve) => socket.once('close', resolve));
      expect(JSON.parse(socket.seen().split('\r\n\r\n')[1] ?? '')).toMatchObject({ type: null, length: 2 });
    },
  );

  // The path belongs to the integration; the router need not decode it.
  test.each(['/%zz', '/%ff/x?a=%zz', '/%', '/a%20b?c=%41', '/%25'])(
    'is handed over under any path: %s',
    async (path) => {
      const answer = (await (await fetch(`${echo.endpoint}${path}`)).json()) as { url: string };
      expect(answer.url).toBe(`${echo.endpoint}${path}`);
    },
  );
});

describe('every refusal has the same shape', () => {
  const shape = {
    error: {
      ...{ code: expect.any(String), status: expect.any(Number) },
      ...{ message: expect.any(String), requestId: expect.any(String) },
    },
  };

  test.each(['/%zz', '/%ff', `/v1/integrations/${'a'.repeat(101)}`, '/v1/integrations/%zz'])(
    'for the path %s, on both listeners',
    async (path) => {
      for (const url of [annex.service.publicUrl, annex.service.controlUrl]) {
        const response = await fetch(url + path, { headers: { authorization: `Bearer ${annex.admin}` } });
        expect([response.status >= 400 && response.status < 500, await response.json()]).toEqual([
          true,
          shape,
        ]);
      }
    },
  );

  // Requests that the parser refuses reach no route: the framework would answer in another shape.
  test.each([
    ['no HTTP', 'garbage\r\n\r\n', 400, 'REQUEST_INVALID', 'not valid HTTP'],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n',
      400,
      'REQUEST_INVALID',
      'not valid HTTP',
    ],
    [
      'large headers',
      `GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`,
      431,
      'REQUEST_HEAD_TOO_LARGE',
      'headers',
    ],
  ])('for %s, and the connection ends', async (_what, bytes, status, code, said) => {
    for (const url of [annex.service.publicUrl, annex.service.controlUrl]) {
      const socket = await dial(new URL(url).port);
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.write(bytes);
      await closed;
      const [head = '', body = ''] = socket.seen().split('\r\n\r\n');
      expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(JSON.parse(body)).toMatchObject(shape);
      expect(JSON.parse(body)).toMatchObject({ error: { code, message: expect.stringContaining(said) } });
    }
  });
});

// Attack: a hundred clients that ask for 10 MiB and do not read, for a gigabyte of the host's
// memory after their calls have ended.
test('answers that clients do not read are counted among held bodies', async () => {
  const bytes = 8 * 1024 * 1024;
  const large = await startTestService({ limits: { bufferedAnswerBytes: 2 * bytes + 4_000_000 } });
  const { endpoint } = await large.deploy(
    'large',
    `export default { fetch: () => new Response(new Uint8Array(${bytes})) };`,
  );
  const slow = await dial(new URL(endpoint).port);
  slow.pause();
  slow.write(`GET ${new URL(endpoint).pathname} HTTP/1.1\r\nhost: x\r\n\r\n`);
  const second = async () => {
    const response = await fetch(endpoint);
    await response.arrayBuffer();
    return response.status;
  };
  await expect.poll(() => second()).toBe(503);
  slow.destroy();
  await expect.poll(() => second()).toBe(200);
});
