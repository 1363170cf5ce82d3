/**
 * Body budgets: no client holds so many bodies that others find no room for theirs.
 */
import { createHmac } from 'node:crypto';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { REQUESTS_PER_TURN } from '../../../src/host/http/listener.ts';
import { BodyBudget, type BodyOwner } from '../../../src/host/http/public/body-budget.ts';
import { dial } from '../../support/http/raw-http.ts';
import { type Installed, startTestService, type TestService } from '../../support/service.ts';

const MIB = 1024 * 1024;
const LENGTH = `export default { async fetch(envelope) {
  const form = await envelope.formData();
  const [event, environment] = [JSON.parse(await form.get('event')), JSON.parse(await form.get('environment'))];
  if (event.type === 'secret') return new Response(environment.signingSecrets.installation);
  return new Response(String((await form.get('fetch-body')?.arrayBuffer())?.byteLength ?? 0));
} };`;

/** A budget whose clock moves only with `pass`. */
function budgetOf(max: number, perInstallation = max, unverified = max) {
  let now = 0;
  const budget = new BodyBudget({
    all: { name: 'bufferedBodyBytes', max },
    perInstallation: { name: 'bufferedBodyBytesPerInstallation', max: perInstallation },
    unverified: { name: 'bufferedUnverifiedBytes', max: unverified },
    monotonicNow: () => now,
  });
  onTestFinished(() => budget.stop());
  const pass = (ms: number) => {
    now += ms;
    budget.pass();
  };
  return { budget, pass };
}
const owner = (name: string, more: Partial<BodyOwner> = {}): BodyOwner => ({
  tenant: name,
  organization: name,
  sender: undefined,
  isUnverified: false,
  ...more,
});
/** Takes pieces until one is refused. @returns the bytes taken */
function fill(budget: BodyBudget, of: BodyOwner, pieceBytes: number): number {
  for (let taken = 0; ; taken += pieceBytes) if (!budget.open(of).take(pieceBytes)) return taken;
}

describe('a budget', () => {
  test('leaves as much free as the largest holder has', () => {
    const { budget } = budgetOf(800);
    const taken = ['a', 'b', 'c', 'd'].map((name) => fill(budget, owner(name), 1));
    expect(taken).toEqual([400, 200, 100, 50]);
    expect(fill(budget, owner('e'), 1)).toBe(25);
  });

  test('counts an address across all installations', () => {
    const { budget } = budgetOf(800);
    const sender = '192.0.2.1';
    expect([
      fill(budget, owner('a', { sender }), 1),
      fill(budget, owner('b', { sender }), 1),
      fill(budget, owner('b'), 1),
    ]).toEqual([400, 0, 200]);
  });

  test('of one installation is shared by its addresses in the same way', () => {
    const { budget } = budgetOf(8_000, 800);
    expect([
      fill(budget, owner('a', { sender: '192.0.2.1' }), 1),
      fill(budget, owner('a', { sender: '192.0.2.2' }), 1),
      fill(budget, owner('a'), 1),
    ]).toEqual([400, 200, 200]);
  });

  test('has a reserve for small bodies only', () => {
    const { budget } = budgetOf(8 * MIB);
    for (let at = 0; at < 60; at += 1) fill(budget, owner(`large ${at}`), 100 * 1024);
    expect(budget.heldBytes).toBeLessThanOrEqual(7 * MIB);
    expect(budget.open(owner('large')).take(MIB)).toBe(false);
    const small = Array.from({ length: 12 }, (_, at) => budget.open(owner(`small ${at}`)).take(64 * 1024));
    expect(small).toEqual(Array(12).fill(true));
  });

  test('holds few bodies that are not verified, and stops counting them once they are', () => {
    const { budget } = budgetOf(8_000, 8_000, 80);
    const of = owner('a', { isUnverified: true });
    const share = budget.open(of);
    expect([share.take(40), budget.open(of).take(1), share.limit]).toEqual([true, false, undefined]);
    const refused = budget.open(of);
    refused.take(1);
    expect(refused.limit?.name).toBe('bufferedUnverifiedBytes');
    expect(budget.open(owner('a')).take(100)).toBe(true);
    share.verified();
    expect(budget.open(of).take(40)).toBe(true);
  });

  test('evicts a body whose client has stopped, and none whose client continues', () => {
    const { budget, pass } = budgetOf(2 * MIB);
    const of = owner('a');
    let moved = 0;
    const [steady, stopped] = [budget.open(of), budget.open(of)];
    const [steadyGave, stoppedGave] = [vi.fn(), vi.fn()];
    steady.take(1_000);
    steady.awaitClient({ movedBytes: () => moved, evict: steadyGave });
    stopped.take(600_000);
    stopped.awaitClient({ movedBytes: () => 600_000, evict: stoppedGave });
    const another = budget.open(of);
    expect([another.take(500_000), stoppedGave.mock.calls.length]).toEqual([false, 0]);
    for (let at = 0; at < 10; at += 1) {
      moved += 32 * 1024;
      pass(500);
    }
    expect([another.take(500_000), another.take(300_000)]).toEqual([true, true]);
    expect([stoppedGave.mock.calls.length, steadyGave.mock.calls.length]).toEqual([1, 0]);
    steady.release();
    another.release();
    stopped.release();
    expect(budget.heldBytes).toBe(0);
  });
});

/** A hand-written request head, with an address that the service believes. */
const head = (endpoint: string, address: string, framing: string) =>
  `POST ${new URL(endpoint).pathname}/v1 HTTP/1.1\r\nhost: x\r\nx-forwarded-for: ${address}\r\n${framing}\r\n\r\n`;

const parts = (bytes: number) =>
  `--b\r\ncontent-disposition: form-data; name="event"\r\n\r\n${JSON.stringify({ type: 'fetch' })}\r\n` +
  `--b\r\ncontent-disposition: form-data; name="environment"\r\n\r\n{}\r\n` +
  `--b\r\ncontent-disposition: form-data; name="fetch-body"\r\n\r\n${'x'.repeat(bytes)}\r\n--b--\r\n`;

/** The signing secret of an installation, as its integration gets it. */
async function signingSecret(annex: TestService, installed: Installed): Promise<string> {
  const response = await annex.envelope(installed, { type: 'secret' });
  return response.text();
}

describe('bodies of other clients are accepted', () => {
  // All limits are a sixteenth of the defaults.
  const limits = {
    requestBodyBytes: 640 * 1024,
    envelopePartBytes: 64 * 1024,
    bufferedBodyBytes: 16 * MIB,
    bufferedUnverifiedBytes: 4 * MIB,
    bufferedAnswerBytes: 16 * MIB,
    bufferedBodyBytesPerInstallation: 4 * MIB,
  };

  test.each([
    ['one address', () => '203.0.113.1'],
    ['an address each', (at: number) => `203.0.113.${at}`],
  ])('while two dozen envelopes of %s are never finished', async (_what, addressOf) => {
    const annex = await startTestService({ limits, flags: ['--trusted-proxies', '127.0.0.1'] });
    await annex.publish('length', { 'index.js': LENGTH });
    const attacked = [];
    for (let at = 0; at < 4; at += 1) attacked.push(await annex.install('length'));
    const honest = await annex.install('length');
    const secret = await signingSecret(annex, honest);
    for (let at = 0; at < 24; at += 1) {
      const { endpoint } = attacked[at % 4] as Installed;
      const { socket } = await dial(endpoint);
      const signature = `t=${Math.floor(Date.now() / 1_000)},v1=${'0'.repeat(64)}`;
      const framing = `x-platform-signature: ${signature}\r\ncontent-length: 700000`;
      await new Promise((sent) =>
        socket.write(head(endpoint, addressOf(at), framing) + 'x'.repeat(690_000), sent),
      );
    }
    // The host has read what was sent before it answers these.
    for (let at = 0; at < 20; at += 1) await fetch(annex.service.publicUrl);
    const body = parts(300 * 1024);
    const send = (headers: Record<string, string>) =>
      fetch(`${honest.endpoint}/v1`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'multipart/form-data; boundary=b', ...headers },
      });
    const found: number[] = [];
    const startedS = Math.floor(Date.now() / 1_000);
    for (let at = 0; at < 20; at += 1) {
      // Each has its own time: a signature is accepted once.
      const t = startedS - at;
      const v1 = createHmac('sha256', secret).update(`${t}.${body}`).digest('hex');
      const signed = await send({
        'x-platform-signature': `t=${t},v1=${v1}`,
        'x-forwarded-for': '198.51.100.7',
      });
      const platform = await send({ authorization: `Bearer ${annex.platform}` });
      const raw = await fetch(honest.endpoint, { method: 'POST', body: 'x'.repeat(60_000) });
      found.push(signed.status, platform.status, raw.status);
    }
    expect(found.filter((status) => status !== 200)).toEqual([]);
  });

  test('while four installations have unread answers', async () => {
    const annex = await startTestService({ limits });
    const large = `export default { fetch: () => new Response(new Uint8Array(${512 * 1024})) };`;
    await annex.publish('large', { 'index.js': large });
    await annex.publish('length', { 'index.js': LENGTH });
    const honest = [await annex.install('length'), await annex.install('large')] as const;
    for (let at = 0; at < 4; at += 1) {
      const { endpoint } = await annex.install('large');
      for (let client = 0; client < 8; client += 1) {
        const { socket, seen } = await dial(endpoint);
        // Bytes in the kernels' buffers are not held by the host: so each requests until nothing
        // more is sent.
        const asked = `GET ${new URL(endpoint).pathname} HTTP/1.1\r\nhost: x\r\n\r\n`;
        socket.write(asked.repeat(REQUESTS_PER_TURN));
        await expect.poll(() => seen()).not.toBe('');
        socket.pause();
      }
    }
    const found: number[] = [];
    for (let at = 0; at < 20; at += 1) {
      const posted = await annex.envelope(honest[0], { type: 'fetch' }, { body: 'x'.repeat(500 * 1024) });
      const answered = await fetch(honest[1].endpoint);
      found.push(posted.status, answered.status, (await answered.arrayBuffer()).byteLength);
    }
    expect(found).toEqual(Array.from({ length: 20 }, () => [200, 200, 512 * 1024]).flat());
  });

  test('while pipelined answers wait behind one that never ends', { timeout: 30_000 }, async () => {
    const annex = await startTestService({ limits });
    const { endpoint } = await annex.deploy(
      'behind',
      `import { createIntegration } from '@annex/sdk';
       export default createIntegration({
         fetch: ({ url }) => url.endsWith('/never') ? new Promise(() => {}) : new Response(new Uint8Array(${512 * 1024})),
       });`,
    );
    const { pathname } = new URL(endpoint);
    const ask = (path: string) => `GET ${pathname}${path} HTTP/1.1\r\nhost: x\r\n\r\n`;
    for (let client = 0; client < 3; client += 1) {
      const { socket } = await dial(endpoint);
      socket.write(ask('/never') + ask('/large').repeat(8));
    }
    await expect.poll(async () => (await fetch(`${endpoint}/large`)).status).toBe(503);
    // Long before the first of them times out.
    await expect.poll(async () => (await fetch(`${endpoint}/large`)).status).toBe(200);
  });
});

test('an envelope that is never finished counts as a wrong signature', async () => {
  const annex = await startTestService({ limits: { failedCredentialsPerMinutePerAddress: 3 } });
  const { endpoint } = await annex.deploy('length', LENGTH);
  const signature = `t=${Math.floor(Date.now() / 1_000)},v1=${'0'.repeat(64)}`;
  const framing = `x-platform-signature: ${signature}\r\ncontent-length: 1000`;
  for (let at = 0; at < 3; at += 1) {
    const { socket } = await dial(endpoint);
    socket.write(`${head(endpoint, '192.0.2.1', framing)}x`);
    // The host has seen it before this one, and its end before the next.
    await fetch(annex.service.publicUrl);
    socket.destroy();
  }
  const headers = { 'x-platform-signature': 't=1,v1=00' };
  const refused = async () => (await fetch(`${endpoint}/v1`, { method: 'POST', body: '', headers })).status;
  await expect.poll(refused).toBe(429);
});
