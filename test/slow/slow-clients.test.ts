/**
 * Clients that send or read too slowly are cut off; a tenant that reads slowly does not make its
 * client count as slow.
 */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { Pace, type Sender, SlowSenders } from '../../src/host/http/slow-senders.ts';
import { dial, errorOf, statuses } from '../support/http/raw-http.ts';
import { startTestService } from '../support/service.ts';

const ECHO = `export default { async fetch(envelope) {
  const form = await envelope.formData();
  const { request } = JSON.parse(await form.get('event'));
  return new Response(String((await form.get('fetch-body')?.arrayBuffer())?.byteLength ?? 0));
} };`;

describe('the rate of a sender', () => {
  const limits = { stallMs: 10_000, paceBytesPerSecond: 100 };

  test('is too slow after a silence, and not before', () => {
    const pace = new Pace(limits, 0);
    expect([pace.isTooSlow(0, 9_999), pace.isTooSlow(0, 1)]).toEqual([false, true]);
    const sending = new Pace(limits, 0);
    expect([
      sending.isTooSlow(0, 9_000),
      sending.isTooSlow(5_000, 1_000),
      sending.isTooSlow(5_000, 9_000),
    ]).toEqual([false, false, false]);
  });

  // Attack: one byte every nine seconds, which is never a silence.
  test('is too slow at a trickle', () => {
    const pace = new Pace(limits, 0);
    expect([pace.isTooSlow(1, 9_000), pace.isTooSlow(2, 9_000)]).toEqual([false, true]);
    const steady = new Pace(limits, 0);
    for (let at = 1; at <= 20; at += 1) expect(steady.isTooSlow(at * 900, 9_000)).toBe(false);
  });

  // Attack: most of a body at once, and then a trickle: an average over all of it would be high for
  // hours.
  test('is too slow at a trickle after a burst, too', () => {
    const pace = new Pace(limits, 0);
    expect([
      pace.isTooSlow(10_000_000, 1_000),
      pace.isTooSlow(10_000_001, 9_000),
      pace.isTooSlow(10_000_002, 9_000),
    ]).toEqual([false, false, true]);
  });

  test('does not count while the host does not wait for the sender', () => {
    let now = 0;
    const senders = new SlowSenders(limits, () => now);
    onTestFinished(() => senders.stop());
    let isAwaited = false;
    const tooSlow = vi.fn();
    const sender: Sender = {
      sentBytes: 0,
      tooSlow,
      get isAwaited() {
        return isAwaited;
      },
    };
    senders.watch(sender);
    const pass = (ms: number) => {
      now += ms;
      senders.pass();
    };
    pass(60_000);
    isAwaited = true;
    pass(6_000);
    isAwaited = false;
    pass(60_000);
    isAwaited = true;
    pass(3_000);
    expect(tooSlow).not.toHaveBeenCalled();
    pass(10_000);
    expect(tooSlow).toHaveBeenCalledOnce();
    pass(10_000);
    expect(tooSlow).toHaveBeenCalledOnce();
  });
});

describe('a body that does not arrive', () => {
  const limits = { requestStallMs: 300 };
  const head = (url: string, tail: string, framing: string, more = '') =>
    `POST ${new URL(url).pathname}${tail} HTTP/1.1\r\nhost: x\r\n${framing}\r\n${more}\r\n`;

  test.each([
    ['of a small request', '', 'content-length: 100'],
    ['of a large one', '', 'content-length: 100000'],
    ['of unknown length', '', 'transfer-encoding: chunked'],
    ['of an envelope', '/v1', 'content-length: 100'],
  ])('%s is 408, and the connection closes', async (_what, tail, framing) => {
    const annex = await startTestService({ limits });
    const { endpoint } = await annex.deploy('echo', ECHO);
    const { socket, closed } = await dial(endpoint);
    socket.write(head(endpoint, tail, framing, `authorization: Bearer ${annex.platform}\r\n`));
    const text = await closed;
    expect([statuses(text), errorOf(text).code]).toEqual([[408], 'REQUEST_TOO_SLOW']);
  });

  test('is 408 where it becomes a trickle, too', async () => {
    const annex = await startTestService({ limits: { requestStallMs: 1_000, paceBytesPerSecond: 10_000 } });
    const { endpoint } = await annex.deploy('echo', ECHO);
    const { socket, closed } = await dial(endpoint);
    socket.write(head(endpoint, '', 'content-length: 100000'));
    const drip = setInterval(() => socket.write('x'), 50);
    onTestFinished(() => clearInterval(drip));
    expect(errorOf(await closed).code).toBe('REQUEST_TOO_SLOW');
  });

  test('ends its call where that is in flight, and the place is given back', async () => {
    const annex = await startTestService({
      limits: { ...limits, callsInFlightPerInstallation: 1, callsWaitingPerInstallation: 1 },
    });
    const { endpoint } = await annex.deploy('echo', ECHO);
    const { socket, closed } = await dial(endpoint);
    socket.write(`${head(endpoint, '', 'transfer-encoding: chunked')}1\r\nx\r\n`);
    expect(errorOf(await closed).code).toBe('REQUEST_TOO_SLOW');
    expect(await (await fetch(endpoint, { method: 'POST', body: 'abc' })).text()).toBe('3');
  });

  // Attack: a hundred clients announce a body and send nothing, to take all places of an
  // installation.
  test('takes no place of the installation', async () => {
    const annex = await startTestService({
      limits: { callsInFlightPerInstallation: 1, callsWaitingPerInstallation: 1 },
    });
    const { endpoint } = await annex.deploy('echo', ECHO);
    for (let at = 0; at < 10; at += 1) {
      const { socket } = await dial(endpoint);
      socket.write(head(endpoint, '', 'transfer-encoding: chunked'));
    }
    // The host has read the other heads before this one.
    expect(await (await fetch(endpoint, { method: 'POST', body: 'abc' })).text()).toBe('3');
  });

  // Attack: 32 uploads of together 116 KiB a second were enough to take all places of an endpoint.
  test('leaves other calls of the endpoint their places, and uploads of other addresses theirs', async () => {
    const annex = await startTestService({
      limits: { callsInFlightPerInstallation: 8, callsWaitingPerInstallation: 8 },
      flags: ['--trusted-proxies', '127.0.0.1'],
    });
    const { endpoint } = await annex.deploy('echo', ECHO);
    for (let at = 0; at < 24; at += 1) {
      const { socket } = await dial(endpoint);
      const from = 'x-forwarded-for: 203.0.113.1\r\n';
      socket.write(`${head(endpoint, '', 'transfer-encoding: chunked', from)}1\r\nx\r\n`);
    }
    await expect.poll(() => annex.metric('annex_calls_in_flight')).toBeGreaterThanOrEqual(2);
    const large = new Uint8Array(300_000);
    const refused = await dial(endpoint);
    const own = 'x-forwarded-for: 203.0.113.1\r\n';
    refused.socket.write(`${head(endpoint, '', 'transfer-encoding: chunked', own)}1\r\nx\r\n`);
    expect(errorOf(await refused.closed)).toMatchObject({
      code: 'CALL_SHED',
      message: expect.stringMatching(
        /^Too many calls whose bodies are still being sent wait for the installation; .* send fewer bodies at once.*; the limit is 8 \(callsWaitingPerInstallation\)\.$/,
      ),
    });
    for (let at = 0; at < 5; at += 1) {
      const called = await fetch(endpoint, { method: 'POST', body: 'abc' });
      expect([called.status, await called.text()]).toEqual([200, '3']);
      const headers = { 'x-forwarded-for': '198.51.100.1' };
      const uploaded = await fetch(endpoint, { method: 'POST', body: large, headers });
      expect([uploaded.status, await uploaded.text()]).toEqual([200, '300000']);
    }
    expect(await annex.metric('annex_calls_in_flight')).toBe(2);
  });

  test('because the tenant does not read is not a fault of the client', async () => {
    const annex = await startTestService({ limits });
    const { endpoint } = await annex.deploy(
      'lazy',
      `import { createIntegration } from '@annex/sdk';
      export default createIntegration({ async fetch(request) {
        await new Promise((resolve) => setTimeout(resolve, 2_000));
        return new Response(String((await request.arrayBuffer()).byteLength));
      } });`,
    );
    const bytes = 4 * 1024 * 1024;
    const response = await fetch(endpoint, { method: 'POST', body: new Uint8Array(bytes) });
    expect([response.status, await response.text()]).toEqual([200, String(bytes)]);
  });
});

test.each([
  ['head', { requestHeadMs: 300 }, 'GET / HTTP/1.1\r\nhost: local'],
  [
    'request',
    { requestHeadMs: 300, requestMs: 300 },
    'POST /v1/tokens HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n',
  ],
])('a %s that is not sent in time is 408, on both listeners', async (_what, limits, bytes) => {
  const annex = await startTestService({ limits });
  for (const url of [annex.service.publicUrl, annex.service.controlUrl]) {
    const { socket, closed } = await dial(url);
    socket.write(bytes);
    const text = await closed;
    expect([statuses(text), errorOf(text).code]).toEqual([[408], 'REQUEST_TOO_SLOW']);
  }
});

describe('a client that does not read', () => {
  const BYTES = 8 * 1024 * 1024;
  const kinds = [
    ['whole', `new Response(new Uint8Array(${BYTES}))`],
    ['a stream', `new Response(new Blob([new Uint8Array(${BYTES})]).stream())`],
  ] as const;

  // The call ends, but the rest of its answer stays in the memory of the host.
  test.each(kinds)(
    'is disconnected from an answer that is %s, and its memory is released',
    async (_what, answer) => {
      const annex = await startTestService({
        limits: { answerStallMs: 500, bufferedAnswerBytes: 2 * BYTES + 4_000_000 },
      });
      const { endpoint } = await annex.deploy('large', `export default { fetch: () => ${answer} };`);
      const { socket, closed } = await dial(endpoint);
      socket.pause();
      socket.write(`GET ${new URL(endpoint).pathname} HTTP/1.1\r\nhost: x\r\n\r\n`);
      await vi.waitFor(
        async () => {
          const response = await fetch(endpoint);
          expect([response.status, (await response.arrayBuffer()).byteLength]).toEqual([200, BYTES]);
          expect(await annex.metric('annex_calls_in_flight')).toBe(0);
        },
        { timeout: 90_000 },
      );
      socket.resume();
      expect((await closed).length).toBeLessThan(BYTES);
    },
  );

  test('all at once, but steadily, gets the whole answer', async () => {
    const annex = await startTestService({ limits: { answerStallMs: 1_000 } });
    const { endpoint } = await annex.deploy('large', `export default { fetch: () => ${kinds[0][1]} };`);
    const { socket, seen } = await dial(endpoint);
    socket.write(`GET ${new URL(endpoint).pathname} HTTP/1.1\r\nhost: x\r\n\r\n`);
    let isPaused = false;
    const steps = setInterval(() => {
      isPaused = !isPaused;
      if (isPaused) socket.pause();
      else socket.resume();
    }, 20);
    onTestFinished(() => clearInterval(steps));
    await expect.poll(() => seen().length).toBeGreaterThan(BYTES);
  });
});

test('no installation takes all the memory there is for bodies', async () => {
  const annex = await startTestService({
    // One address may have half of what an installation may.
    limits: { bufferedBodyBytes: 200_000, bufferedBodyBytesPerInstallation: 80_000 },
  });
  await annex.publish('echo', { 'index.js': ECHO });
  const [flooded, quiet] = [await annex.install('echo'), await annex.install('echo')];
  const { socket } = await dial(flooded.endpoint);
  socket.write(
    `POST ${new URL(flooded.endpoint).pathname} HTTP/1.1\r\nhost: x\r\ncontent-length: 30001\r\n\r\n${'x'.repeat(30_000)}`,
  );
  const post = async (endpoint: string, bytes: number) => {
    const response = await fetch(endpoint, { method: 'POST', body: 'x'.repeat(bytes) });
    return { status: response.status, text: await response.text() };
  };
  const refused = await vi.waitUntil(
    async () => {
      const answer = await post(flooded.endpoint, 20_000);
      return answer.status === 503 && answer;
    },
    { timeout: 90_000 },
  );
  expect(refused.text).toContain('bufferedBodyBytesPerInstallation');
  expect((await post(flooded.endpoint, 9_000)).status).toBe(200);
  expect((await post(quiet.endpoint, 40_000)).status).toBe(200);
});
