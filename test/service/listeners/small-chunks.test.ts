/**
 * Bodies in small chunks: joined before they cost anything, and bounded in number; streams of small
 * pieces are not delayed.
 */
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { createServer } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { SmallChunkRate, SmallChunks } from '../../../src/model/small-chunks.ts';
import { dial, statuses } from '../../support/http/raw-http.ts';
import { startTestService, type TestService } from '../../support/service.ts';

/** The unit of the limit: the first lot of chunks of a body is free. */
const FREE = 64;
const LIMIT = 640;

/**
 * Reads a body as it arrives, and reports its length and number of pieces. With `x-peer`, the body
 * is that of an answer.
 */
const COUNTING = `
  import { createIntegration } from '@annex/sdk';
  export default createIntegration({
    async fetch(request) {
      const peer = request.headers.get('x-peer');
      const { body } = peer ? await fetch(peer) : request;
      let [bytes, pieces] = [0, 0];
      for await (const piece of body) { bytes += piece.byteLength; pieces += 1; }
      return Response.json({ bytes, pieces });
    },
  });`;

const chunks = (times: number) => `${'1\r\nx\r\n'.repeat(times)}0\r\n\r\n`;

/** Posts this many chunks of one byte in one segment. */
async function post(endpoint: string, times: number): Promise<{ bytes: number; pieces: number }> {
  const { socket, closed } = await dial(endpoint);
  const head = `POST ${new URL(endpoint).pathname} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n`;
  socket.write(`${head}transfer-encoding: chunked\r\n\r\n${chunks(times)}`);
  const text = await closed;
  expect(statuses(text)).toEqual([200]);
  return JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1));
}

/** A server that answers in chunks of one byte, in one segment. */
async function peer(times: number): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    const head = 'HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n';
    socket.once('data', () => socket.end(head + chunks(times)));
  });
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(server.address() as { port: number }).port}/`;
}

const start = (limits = {}): Promise<TestService> =>
  startTestService({ limits, flags: ['--egress-allow', '127.0.0.1/32'] });

describe('small chunks', () => {
  function joining(charges: number[]) {
    const pushed: string[] = [];
    const released = vi.fn();
    const to = new SmallChunks({
      chargeLot: () => charges.shift() ?? 0,
      push: (bytes) => void pushed.push(bytes.toString()),
      released,
    });
    const add = (text: string, times = 1) => {
      for (let at = 0; at < times; at += 1) to.add(Buffer.from(text));
    };
    return { to, pushed, released, add };
  }
  const aTurn = () => new Promise((resolve) => setImmediate(resolve));

  test('are joined in each turn of the event loop, in order with large ones', async () => {
    const { to, pushed, add } = joining([]);
    const large = 'y'.repeat(256);
    add('x', 10);
    add(large);
    add('x', 5_000);
    await aTurn();
    expect(pushed.map((text) => text.length)).toEqual([10, 256, 1_024, 1_024, 1_024, 1_024, 904]);
    expect(pushed.join('')).toBe(`${'x'.repeat(10)}${large}${'x'.repeat(5_000)}`);
    add('z');
    const ended = vi.fn(() => expect(pushed.at(-1)).toBe('z'));
    to.end(ended);
    expect(ended).toHaveBeenCalledOnce();
  });

  test('over the rate wait, with later chunks and the end', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { to, pushed, released, add } = joining([0, 500]);
    add('x', FREE + LIMIT / 10);
    await aTurn();
    expect(to.isHeld).toBe(false);
    add('x');
    add('y'.repeat(300));
    const ended = vi.fn();
    to.end(ended);
    await aTurn();
    expect([to.isHeld, pushed.join('').length, ended.mock.calls.length]).toEqual([true, 128, 0]);
    vi.advanceTimersByTime(500);
    expect([to.isHeld, released.mock.calls.length, ended.mock.calls.length]).toEqual([false, 1, 1]);
    expect(pushed.join('')).toBe(`${'x'.repeat(129)}${'y'.repeat(300)}`);
  });

  test('are counted for each sender in lots, and an excess delays later ones', () => {
    let now = 0;
    const rate = new SmallChunkRate({ smallChunksPerSecond: LIMIT }, () => now);
    const waits = Array.from({ length: 12 }, () => Math.round(rate.chargeLot('a')));
    expect(waits).toEqual([...Array(10).fill(0), 100, 200]);
    expect(rate.chargeLot('b')).toBe(0);
    now = 300;
    expect(rate.chargeLot('a')).toBe(0);
  });
});

describe('a body in chunks of one byte', () => {
  test('of a request arrives whole, in few pieces', async () => {
    const annex = await start();
    const { endpoint } = await annex.deploy('counting', COUNTING);
    const { bytes, pieces } = await post(endpoint, 10_000);
    expect(bytes).toBe(10_000);
    expect(pieces).toBeLessThan(200);
  });

  test('of an answer to a fetch arrives whole, in few pieces', async () => {
    const annex = await start();
    const { endpoint } = await annex.deploy('counting', COUNTING);
    const response = await fetch(endpoint, { headers: { 'x-peer': await peer(10_000) } });
    const { bytes, pieces } = (await response.json()) as { bytes: number; pieces: number };
    expect(bytes).toBe(10_000);
    expect(pieces).toBeLessThan(1_000);
  });
});

describe('smallChunksPerSecond: what it allows is read at once, and more is read no faster', () => {
  test('of requests from one address', async () => {
    const annex = await start({ smallChunksPerSecond: LIMIT });
    const { endpoint } = await annex.deploy('counting', COUNTING);
    const met = () => annex.metric('annex_limits_met_total{limit="smallChunksPerSecond"}');
    await post(endpoint, FREE + LIMIT);
    expect(await met()).toBe(0);
    const startedAt = performance.now();
    const { bytes } = await post(endpoint, FREE + 2 * LIMIT + 1);
    expect(performance.now() - startedAt).toBeGreaterThan(900);
    expect([bytes, await met()]).toEqual([FREE + 2 * LIMIT + 1, 1]);
  });

  test('of answers to the fetches of one installation', async () => {
    const annex = await start({ smallChunksPerSecond: LIMIT });
    const { endpoint } = await annex.deploy('counting', COUNTING);
    const headers = { 'x-peer': await peer(FREE + 2 * LIMIT + 1) };
    const startedAt = performance.now();
    const response = await fetch(endpoint, { headers });
    expect(await response.json()).toMatchObject({ bytes: FREE + 2 * LIMIT + 1 });
    expect(performance.now() - startedAt).toBeGreaterThan(900);
  });

  test('ends a sender that continues, as it ends a slow one', async () => {
    const annex = await start({ smallChunksPerSecond: 64, requestStallMs: 1_000 });
    const { endpoint } = await annex.deploy('counting', COUNTING);
    const { socket, closed } = await dial(endpoint);
    const head = `POST ${new URL(endpoint).pathname} HTTP/1.1\r\nhost: x\r\n`;
    socket.write(`${head}transfer-encoding: chunked\r\n\r\n${chunks(10_000)}`);
    expect(await closed).toContain('REQUEST_TOO_SLOW');
  });
});

// Server-sent events, or tokens of a language model: single pieces for which a client waits.
test('a stream passes on each small piece at once', async () => {
  const annex = await start();
  const { endpoint } = await annex.deploy(
    'echo',
    `import { createIntegration } from '@annex/sdk';
     export default createIntegration({ fetch: (request) => new Response(request.body) });`,
  );
  const outgoing = httpRequest(endpoint, { method: 'POST' });
  outgoing.write('0');
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  const pieces = answer[Symbol.asyncIterator]();
  for (let at = 1; at <= 200; at += 1) {
    const { value } = await pieces.next();
    expect(String(value)).toBe(String(at - 1));
    outgoing.write(String(at));
  }
  outgoing.end();
  expect(await annex.metric('annex_limits_met_total{limit="smallChunksPerSecond"}')).toBe(0);
});
