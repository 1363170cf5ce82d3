/**
 * Streamed bodies in both directions, through a real service: passed on at once, no faster than
 * they are read, bounded.
 */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Installed, startTestService, TestService } from '../../support/service.ts';

/** Answers by path; `/state` reports what happened to its streams. */
const STREAMER = `
  import { createIntegration } from '@annex/sdk';
  const state = { produced: 0, cancelled: null, aborted: false, seen: [], gate: Promise.withResolvers() };
  const text = (value) => new TextEncoder().encode(value);
  const routes = {
    '/state': () => Response.json({ ...state, gate: undefined }),
    '/open': () => { state.gate.resolve(); return new Response('opened'); },
    '/two': () => {
      state.gate = Promise.withResolvers();
      return new Response(new ReadableStream({
        async start(controller) {
          controller.enqueue(text('first '));
          await state.gate.promise;
          controller.enqueue(text('last'));
          controller.close();
        },
      }), { headers: { 'content-type': 'text/plain', 'content-length': '3' } });
    },
    '/late': () => {
      state.gate = Promise.withResolvers();
      return new Response(new ReadableStream({ async pull(controller) { await state.gate.promise; controller.close(); } }), { status: 202 });
    },
    '/endless': (request) => {
      state.produced = 0;
      state.cancelled = null;
      state.aborted = false;
      request.signal.addEventListener('abort', () => { state.aborted = request.signal.reason.name; });
      return new Response(new ReadableStream({
        pull(controller) { controller.enqueue(new Uint8Array(65536)); state.produced += 65536; },
        cancel(reason) { state.cancelled = String(reason?.name ?? reason); },
      }));
    },
    '/breaks': () => new Response(new ReadableStream({
      pull(controller) { if (state.broke) controller.error(new Error('the source broke')); state.broke = true; controller.enqueue(text('half')); },
    })),
    '/words': () => new Response(new ReadableStream({ start(controller) { controller.enqueue('not bytes'); controller.close(); } })),
    '/waits': (request, { waitUntil }) => {
      waitUntil((async () => { await null; state.waited = true; })());
      return new Response(new ReadableStream({ start(controller) { controller.enqueue(text('x')); controller.close(); } }));
    },
    '/echo': (request) => new Response(request.body),
    '/size': async (request) => Response.json({ size: (await request.arrayBuffer()).byteLength }),
    '/measured': () => new Response(null, { headers: { 'content-length': '1234' } }),
    '/empty': () => new Response(null),
    '/ignore': () => new Response('not interested'),
    '/early': (request, { waitUntil }) => {
      waitUntil(request.arrayBuffer().then(() => { state.read = 'all'; }, (error) => { state.read = error.name; }));
      return new Response('early');
    },
    '/chunks': async (request) => {
      state.seen = [];
      const decoder = new TextDecoder();
      for await (const chunk of request.body) state.seen.push(decoder.decode(chunk, { stream: true }));
      return Response.json(state.seen.join(''));
    },
  };
  export default createIntegration({ fetch: (request, context) => routes[new URL(request.url).pathname.replace(/^\\/[^/]+/, '')](request, context) });`;

let annex: TestService;
let streamer: Installed;
beforeAll(async () => {
  annex = await TestService.start();
  streamer = await annex.deploy('streamer', STREAMER);
});
afterAll(() => annex.stop());

interface State {
  readonly produced: number;
  readonly cancelled: string | null;
  readonly aborted: string | false;
  readonly seen: readonly string[];
  readonly waited?: boolean;
  readonly read?: string;
}
const state = async ({ endpoint } = streamer): Promise<State> =>
  (await (await fetch(`${endpoint}/state`)).json()) as State;

/** Polls the state until it is as expected; each poll is a call of its own. */
async function until(expected: (state: State) => boolean, installed = streamer): Promise<State> {
  for (let i = 0; i < 2_000; i++) {
    const now = await state(installed);
    if (expected(now)) return now;
  }
  throw new Error(`It never came to that: ${JSON.stringify(await state(installed))}`);
}

/** Waits until the log of the integration has these words: the connection breaks first. */
const logged = (words: string) =>
  expect
    .poll(() => annex.log(streamer))
    .toContainEqual(expect.objectContaining({ level: 'error', text: expect.stringContaining(words) }));

/** Opens a request by hand, to control when its parts are sent. */
function open(path: string, options: object = {}, { endpoint } = streamer): ClientRequest {
  return request(`${endpoint}${path}`, { method: 'GET', agent: false, ...options });
}
/** A connection for a request that is written byte for byte. */
function dial({ endpoint } = streamer): Socket {
  const { port, hostname } = new URL(endpoint);
  return connect(Number(port), hostname);
}
const line = (method: string, path: string, version: string, { endpoint } = streamer): string =>
  `${method} ${new URL(endpoint).pathname}${path} HTTP/${version}\r\nhost: annex\r\n`;

async function head(sent: ClientRequest): Promise<IncomingMessage> {
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response;
}

describe('an answer that is a stream', () => {
  test('reaches the client at once: its first byte arrives before its last is made', async () => {
    const response = await fetch(`${streamer.endpoint}/two`);
    expect(response.headers.get('content-length')).toBeNull();
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const first = await reader.read();
    expect(Buffer.from(first.value ?? []).toString()).toBe('first ');
    await (await fetch(`${streamer.endpoint}/open`)).text();
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('last');
    expect((await reader.read()).done).toBe(true);
  });

  test('sends its head before its body has begun', async () => {
    const response = await fetch(`${streamer.endpoint}/late`);
    expect(response.status).toBe(202);
    await (await fetch(`${streamer.endpoint}/open`)).text();
    expect(await response.text()).toBe('');
  });

  test('waits for a client that does not read', async () => {
    const slow = await startTestService({ limits: { responseBodyBytes: 256 * 1024 * 1024 } });
    const installed = await slow.deploy('streamer', STREAMER);
    const sent = open('/endless', {}, installed).end();
    const response = await head(sent);
    response.pause();
    let before = -1;
    for (let produced = 0; produced !== before; produced = (await state(installed)).produced) {
      before = produced;
      for (let i = 0; i < 50; i++) await state(installed);
    }
    // As much as the sockets of both ends and the window hold; never the 256 MiB of the whole body.
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(64 * 1024 * 1024);
    sent.destroy();
  });

  test('is canceled, and its request aborted, when the client disconnects', async () => {
    const sent = open('/endless').end();
    const response = await head(sent);
    await once(response, 'data');
    sent.destroy();
    const { cancelled, aborted } = await until((now) => now.cancelled !== null && now.aborted !== false);
    expect([cancelled, aborted]).toEqual(['AbortError', 'AbortError']);
    const { produced } = await state();
    for (let i = 0; i < 20; i++) await state();
    expect((await state()).produced).toBe(produced);
  });

  test('that fails breaks the connection, and the log says why', async () => {
    const response = await fetch(`${streamer.endpoint}/breaks`);
    await expect(response.text()).rejects.toThrow();
    await logged('the source broke');
  });

  test('that fails resets the connection of an HTTP/1.0 client, which could take the part for the whole', async () => {
    for (const path of ['/breaks', '/words']) {
      const socket = dial();
      socket.write(`${line('GET', path, '1.0')}\r\n`);
      socket.resume();
      await expect(once(socket, 'end')).rejects.toThrow('ECONNRESET');
    }
  });

  test('of anything but bytes is a fault of the integration', async () => {
    const response = await fetch(`${streamer.endpoint}/words`);
    await expect(response.text()).rejects.toThrow();
    await logged('A chunk of the body is not a Uint8Array but a string');
  });

  test('over the limit on a body is broken off there, and never looks complete', async () => {
    const annex = await startTestService({ limits: { responseBodyBytes: 200_000 } });
    const installed = await annex.deploy('streamer', STREAMER);
    const response = await fetch(`${installed.endpoint}/endless`);
    let received = 0;
    await expect(
      (async () => {
        for await (const chunk of response.body as ReadableStream<Uint8Array>) received += chunk.byteLength;
      })(),
    ).rejects.toThrow();
    expect(received).toBeLessThanOrEqual(200_000);
    expect(await annex.metric('annex_calls_total{outcome="responseTooLarge"}')).toBe(1);
  });

  test('to a HEAD request is not produced', async () => {
    const sent = open('/endless', { method: 'HEAD' }).end();
    const response = await head(sent);
    response.resume();
    await once(response, 'end');
    expect((await until((now) => now.cancelled !== null)).cancelled).toBeTruthy();
  });

  test('to a HEAD request announces the length that the integration gives, or none, never a wrong one', async () => {
    const lengths = [];
    for (const path of ['/measured', '/empty', '/ignore']) {
      const response = await fetch(`${streamer.endpoint}${path}`, { method: 'HEAD' });
      lengths.push(response.headers.get('content-length'));
    }
    expect(lengths).toEqual(['1234', null, '14']);
  });

  test('does not keep waitUntil from finishing', async () => {
    expect(await (await fetch(`${streamer.endpoint}/waits`)).text()).toBe('x');
    await until((now) => now.waited === true);
  });

  test('breaks off when its cell is killed, and the client does not hang', async () => {
    const annex = await startTestService();
    const installed = await annex.deploy('streamer', STREAMER);
    const response = await fetch(`${installed.endpoint}/two`);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    for (const pid of annex.cellPids) process.kill(pid, 'SIGKILL');
    await expect(reader.read()).rejects.toThrow();
  });
});

describe('an upload', () => {
  const megabytes = randomBytes(5 * 1024 * 1024);
  const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

  test('can be read while it is still being sent', async () => {
    const sent = open('/chunks', { method: 'POST' });
    sent.write('one,');
    await until((now) => now.seen.join('') === 'one,');
    sent.write('two,');
    await until((now) => now.seen.join('') === 'one,two,');
    sent.end('three');
    const response = await head(sent);
    const [body] = (await once(response, 'data')) as [Buffer];
    expect(body.toString()).toBe('"one,two,three"');
  });

  test('goes through an integration and back byte for byte', async () => {
    const response = await fetch(`${streamer.endpoint}/echo`, { method: 'POST', body: megabytes });
    expect(digest(new Uint8Array(await response.arrayBuffer()))).toBe(digest(megabytes));
  });

  test('can be read whole, however it was sent', async () => {
    for (const body of [megabytes, new Blob([megabytes]).stream()]) {
      const response = await fetch(`${streamer.endpoint}/size`, {
        method: 'POST',
        body,
        duplex: 'half',
      } as RequestInit);
      expect(await response.json()).toEqual({ size: megabytes.byteLength });
    }
  });

  test('that is not read delays neither the answer nor the next request', async () => {
    for (let i = 0; i < 3; i++) {
      const response = await fetch(`${streamer.endpoint}/ignore`, { method: 'POST', body: megabytes }).catch(
        () => undefined,
      );
      // The connection closes behind the answer; a client that still sends may see that first.
      if (response) expect(await response.text()).toBe('not interested');
    }
    expect((await fetch(`${streamer.endpoint}/state`)).status).toBe(200);
  });

  test('waits for an integration that does not read', async () => {
    const sent = open('/two', { method: 'POST' });
    const response = head(sent);
    let accepted = 0;
    const piece = Buffer.alloc(256 * 1024);
    // Until a write has to wait; the sockets take some of it in any case.
    while (accepted < 64 * 1024 * 1024 && sent.write(piece)) accepted += piece.byteLength;
    expect(accepted).toBeLessThan(64 * 1024 * 1024);
    await (await fetch(`${streamer.endpoint}/open`)).text();
    (await response).resume();
    sent.destroy();
  });

  test('that is incomplete when the answer is sent breaks off for code that still reads it', async () => {
    const sent = open('/early', { method: 'POST', headers: { 'content-length': '1000000' } });
    sent.on('error', () => undefined);
    sent.write(Buffer.alloc(100_000));
    (await head(sent)).resume();
    expect((await until((now) => now.read !== undefined)).read).toBe('TypeError');
  });

  test('of a shed call is not read to its end: the connection closes behind the answer', async () => {
    const full = await startTestService({
      limits: { callsInFlightPerInstallation: 1, callsWaitingPerInstallation: 1 },
    });
    const installed = await full.deploy('streamer', STREAMER);
    const running = open('/late', {}, installed).end();
    await head(running);
    const waiting = open('/state', {}, installed).end();
    waiting.on('error', () => undefined);
    // A call is shed at once where there is no place left.
    await expect.poll(async () => (await fetch(`${installed.endpoint}/state`)).status).toBe(503);
    const socket = dial(installed);
    socket.on('error', () => undefined);
    socket.write(`${line('POST', '/size', '1.1', installed)}content-length: 9000000\r\n\r\n`);
    socket.write(Buffer.alloc(1_000_000));
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(String(answer)).toMatch(/^HTTP\/1\.1 503 .*\nconnection: close\r\n/is);
    await once(socket, 'close');
    waiting.destroy();
    running.destroy();
  });

  test('of unknown length over the limit is 413, and the call is over', async () => {
    const annex = await startTestService({ limits: { requestBodyBytes: 100_000 } });
    const installed = await annex.deploy('streamer', STREAMER);
    const exact = open('/size', { method: 'POST' }, installed).end(Buffer.alloc(100_000));
    expect((await head(exact)).statusCode).toBe(200);
    const over = open('/size', { method: 'POST' }, installed);
    over.on('error', () => undefined);
    over.write(Buffer.alloc(60_000));
    over.end(Buffer.alloc(40_001));
    const response = await head(over);
    expect(response.statusCode).toBe(413);
    const [body] = (await once(response, 'data')) as [Buffer];
    expect(JSON.parse(String(body))).toMatchObject({ error: { code: 'REQUEST_TOO_LARGE' } });
  });

  test('whose sender disconnects before the call has begun starts no call', async () => {
    const annex = await startTestService();
    const installed = await annex.deploy('streamer', STREAMER);
    const { targets } = annex.service;
    const asked = Promise.withResolvers<void>();
    const disconnected = Promise.withResolvers<void>();
    const look = targets.get.bind(targets);
    vi.spyOn(targets, 'get').mockImplementationOnce(async (key) => {
      asked.resolve();
      await disconnected.promise;
      return look(key);
    });
    const socket = dial(installed);
    socket.write(`${line('POST', '/size', '1.1', installed)}content-length: 100000\r\n\r\n`);
    await asked.promise;
    socket.destroy();
    await once(socket, 'close');
    const counter = (outcome: string) => annex.metric(`annex_calls_total{outcome="${outcome}"}`);
    // Later requests were answered, so the listener has seen the close.
    for (let i = 0; i < 3; i++) await counter('canceled');
    disconnected.resolve();
    await expect.poll(() => counter('canceled')).toBe(1);
    expect([await counter('ok'), await counter('exception')]).toEqual([0, 0]);
  });

  test('whose sender disconnects fails for the integration that reads it', async () => {
    const sent = open('/chunks', { method: 'POST' });
    sent.on('error', () => undefined);
    sent.write('only this');
    await until((now) => now.seen.join('') === 'only this');
    sent.destroy();
    const counter = 'annex_calls_total{outcome="canceled"}';
    for (let i = 0; i < 2_000 && (await annex.metric(counter)) === 0; i++);
    expect(await annex.metric(counter)).toBeGreaterThan(0);
  });
});

test('a plain module worker gets the whole envelope, however its upload was sent', async () => {
  const plain = await annex.deploy(
    'plain-upload',
    `export default { async fetch(request) {
       const part = (await request.formData()).get('fetch-body');
       return Response.json({ size: part.size, name: part.name });
     } };`,
  );
  const response = await fetch(plain.endpoint, { method: 'POST', body: Buffer.alloc(1_000_000) });
  expect(await response.json()).toEqual({ size: 1_000_000, name: 'fetch-body' });
});
