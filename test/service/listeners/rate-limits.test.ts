/**
 * Rates of requests for each address and endpoint, the rate of wrong credentials, and client
 * addresses.
 */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { addressKey, clientAddress } from '../../../src/host/http/client-address.ts';
import { EndpointRate } from '../../../src/host/http/public/request-rates.ts';
import { AddressList } from '../../../src/model/address-list.ts';
import { RateLimit } from '../../../src/model/rate-limit.ts';
import { dial } from '../../support/http/raw-http.ts';
import { startTestService, type TestService } from '../../support/service.ts';

const HELLO = `export default { fetch: () => new Response('hello') };`;

/** Statuses of requests sent one after the other, faster than a bucket refills. */
async function ask(times: number, url: string, headers: Record<string, string> = {}): Promise<number[]> {
  const found: number[] = [];
  for (let at = 0; at < times; at += 1) {
    const response = await fetch(url, { headers });
    await response.arrayBuffer();
    found.push(response.status);
  }
  return found;
}
const counted = (found: number[]) => ({
  allowed: found.filter((status) => status !== 429).length,
  refused: found.filter((status) => status === 429).length,
});

describe('a bucket', () => {
  test('holds one window, refills steadily, and belongs to one key', () => {
    let now = 0;
    const limit = new RateLimit({ timesMax: 3, windowMs: 1_000, monotonicNow: () => now });
    const take = (key = 'a') => limit.take(key);
    expect([take(), take(), limit.isSpent('a'), take(), limit.isSpent('a'), take()]).toEqual([
      true,
      true,
      false,
      true,
      true,
      false,
    ]);
    expect([take('b'), limit.isSpent('b'), limit.isSpent('c')]).toEqual([true, false, false]);
    now = 334;
    expect([take(), take()]).toEqual([true, false]);
    now = 10_000;
    expect([take(), take(), take(), take()]).toEqual([true, true, true, false]);
  });

  test('is dropped when there are too many', () => {
    const limit = new RateLimit({ timesMax: 1, windowMs: 1_000, monotonicNow: () => 0 });
    limit.take('first');
    expect(limit.isSpent('first')).toBe(true);
    for (let at = 0; at < 50_000; at += 1) limit.take(`key ${at}`);
    expect(limit.isSpent('first')).toBe(false);
  });
});

describe('the address of a client', () => {
  const of = (peer: string | undefined, forwarded?: string, proxies = '10.0.0.0/8,fd00::/8') =>
    clientAddress(
      {
        socket: { remoteAddress: peer } as never,
        headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
      },
      AddressList.parse(proxies).list,
    );

  test.each([
    ['is that of its connection', '192.0.2.1', undefined, '192.0.2.1'],
    ['is not what a stranger says', '192.0.2.1', '203.0.113.9', '192.0.2.1'],
    ['is what a trusted proxy says', '10.0.0.1', '203.0.113.9', '203.0.113.9'],
    ['is the right-most that is not trusted', '10.0.0.1', '1.1.1.1, 203.0.113.9, 10.0.0.2', '203.0.113.9'],
    ['is the left-most where all are trusted', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['is the proxy where it says nothing', '10.0.0.1', undefined, '10.0.0.1'],
    ['is the proxy where it says nonsense', '10.0.0.1', '203.0.113.9, unknown', '10.0.0.1'],
    ['may come with a port', '10.0.0.1', '203.0.113.9:1234', '203.0.113.9'],
    ['may come in brackets', '10.0.0.1', '[2001:db8::1]:1234', '2001:db8::1'],
    ['is IPv4 also within IPv6', '::ffff:10.0.0.1', '::ffff:203.0.113.9', '203.0.113.9'],
    ['has no zone', 'fe80::1%eth0', undefined, 'fe80::1'],
    ['may be behind a proxy of IPv6', 'fd00::1', '203.0.113.9', '203.0.113.9'],
    ['is none where there is no network', undefined, '203.0.113.9', undefined],
  ])('%s', (_what, peer, forwarded, address) => {
    expect(of(peer, forwarded)).toBe(address);
  });

  test("is the peer's if no proxy is trusted", () => {
    expect(of('10.0.0.1', '203.0.113.9', '')).toBe('10.0.0.1');
  });

  test('counts as its network in IPv6', () => {
    expect([addressKey('2001:db8:0:1:ffff::1'), addressKey('2001:db8:0:1::2')]).toEqual([
      '2001:db8:0:1::/64',
      '2001:db8:0:1::/64',
    ]);
    expect([addressKey('2001:db8:0:2::2'), addressKey('192.0.2.1')]).toEqual([
      '2001:db8:0:2::/64',
      '192.0.2.1',
    ]);
  });
});

test.each(['10.0.0.0/33', '10.0.0', 'proxy', '::/129', '10.0.0.1/', '/8'])(
  'an invalid trusted proxy "%s" is reported',
  (entry) => {
    expect(AddressList.parse(`127.0.0.1, ${entry}`).mistakes).toEqual([entry]);
  },
);

describe('requests from one address', () => {
  const limits = { requestsPerSecondPerAddress: 5 };

  test('are bounded, whatever they ask for, and before their bodies are read', async () => {
    const annex = await startTestService({ limits });
    const { endpoint } = await annex.deploy('hello', HELLO);
    // Each unknown endpoint key costs the host a look-up.
    const found = await ask(30, `${annex.service.publicUrl}/${'a'.repeat(32)}`);
    expect(counted(found).allowed).toBeGreaterThanOrEqual(5);
    expect(counted(found).refused).toBeGreaterThanOrEqual(10);
    const refused = await vi.waitUntil(
      async () => {
        const response = await fetch(endpoint, { method: 'POST', body: 'x'.repeat(100_000) });
        return response.status === 429 && response;
      },
      { timeout: 90_000 },
    );
    expect([refused.headers.get('retry-after'), await refused.json()]).toEqual([
      '1',
      {
        error: expect.objectContaining({
          code: 'REQUEST_RATE_EXCEEDED',
          limit: { name: 'requestsPerSecondPerAddress', max: 5 },
        }),
      },
    ]);
    expect(await annex.metric('annex_limits_met_total{limit="requestsPerSecondPerAddress"}')).toBeGreaterThan(
      0,
    );
    // Requests are accepted again after the flood.
    await expect.poll(async () => (await fetch(endpoint)).status).toBe(200);
  });

  test('are attributed by the header of a trusted proxy, and by that of no other peer', async () => {
    const trusting = await startTestService({ limits, flags: ['--trusted-proxies', '127.0.0.0/8'] });
    const from = (service: TestService, address: string) =>
      ask(30, `${service.service.publicUrl}/x`, { 'x-forwarded-for': `1.2.3.4, ${address}` });
    expect(counted(await from(trusting, '203.0.113.1')).refused).toBeGreaterThanOrEqual(10);
    expect((await ask(1, `${trusting.service.publicUrl}/x`, { 'x-forwarded-for': '203.0.113.2' }))[0]).toBe(
      404,
    );
    const wary = await startTestService({ limits });
    const found: number[] = [];
    for (let at = 0; at < 30; at += 1)
      found.push(...(await ask(1, `${wary.service.publicUrl}/x`, { 'x-forwarded-for': `203.0.113.${at}` })));
    expect(counted(found).refused).toBeGreaterThanOrEqual(10);
  });

  test('are not counted if a platform token authenticates them', async () => {
    const annex = await startTestService({ limits: { ...limits, requestsPerSecondPerEndpoint: 5 } });
    const hello = await annex.deploy('hello', HELLO);
    for (let at = 0; at < 30; at += 1)
      expect((await annex.envelope(hello, { type: 'fetch' })).status).toBe(200);
  });

  test("are reported once in the operator's log", async () => {
    const lines: string[] = [];
    const annex = await startTestService({ limits, logTo: { write: (line) => void lines.push(line) } });
    await ask(30, `${annex.service.publicUrl}/x`);
    const warnings = lines.filter((line) => line.includes('--trusted-proxies'));
    expect(warnings).toHaveLength(1);
    expect(JSON.parse(warnings[0] ?? '')).toMatchObject({ level: 40, address: '127.0.0.1' });
  });
});

test('requests to one endpoint are bounded, those to others are not', async () => {
  const annex = await startTestService({ limits: { requestsPerSecondPerEndpoint: 5 } });
  await annex.publish('hello', { 'index.js': HELLO });
  const [flooded, quiet] = [await annex.install('hello'), await annex.install('hello')];
  const found = counted(await ask(40, flooded.endpoint));
  expect(found.refused).toBeGreaterThanOrEqual(5);
  expect(await ask(3, quiet.endpoint)).toEqual([200, 200, 200]);
});

// Attack: six addresses, each at the most that one address may send, exceed the rate of one
// endpoint.
describe('a shared rate', () => {
  const SENDERS = 6;

  test('serves small senders beside six that use up their rate', () => {
    let now = 0;
    const wallNow = () => now;
    const perAddress = new RateLimit({ timesMax: 1_000, windowMs: 1_000, monotonicNow: wallNow });
    const rate = new EndpointRate({ timesMax: 5_000, windowMs: 1_000, monotonicNow: wallNow });
    const served = { attackers: 0, honest: 0 };
    for (; now < 10_000; now += 1) {
      for (let at = 0; at < SENDERS; at += 1) {
        for (let times = 0; times < 2; times += 1)
          if (perAddress.take(`attacker ${at}`) && rate.take('endpoint', `attacker ${at}`))
            served.attackers += 1;
      }
      if (now % 20 === 0 && rate.take('endpoint', 'honest')) served.honest += 1;
    }
    expect(served.honest).toBe(10_000 / 20);
    // The unused rest is theirs.
    expect(served.attackers).toBeGreaterThan(49_000);
  });

  test('belongs to one key, and holds one window', () => {
    const rate = new EndpointRate({ timesMax: 64, windowMs: 1_000, monotonicNow: () => 0 });
    const times = (key: string, sender: string) =>
      Array.from({ length: 100 }, () => rate.take(key, sender)).filter(Boolean).length;
    expect([times('a', 'one'), times('a', 'other'), times('b', 'one')]).toEqual([49, 1, 49]);
    for (let at = 0; at < 14; at += 1) expect(times('a', `sender ${at}`)).toBe(1);
    expect(times('a', 'last')).toBe(0);
  });

  test('is that of an endpoint: its other clients are answered', async () => {
    const annex = await startTestService({
      limits: { requestsPerSecondPerEndpoint: 256, requestsPerSecondPerAddress: 200 },
      flags: ['--trusted-proxies', '127.0.0.0/8'],
    });
    const { endpoint } = await annex.deploy('hello', HELLO);
    const from = (address: string) => ask(1, endpoint, { 'x-forwarded-for': address });
    let isOver = false;
    const flood = Array.from({ length: SENDERS }, async (_, at) => {
      const found: number[] = [];
      while (!isOver) found.push(...(await from(`203.0.113.${at}`)));
      return counted(found).refused;
    });
    await vi.waitUntil(async () => (await from('203.0.113.0'))[0] === 429, { timeout: 90_000 });
    const honest: number[] = [];
    // Each has its own address, as clients of one endpoint do.
    for (let at = 0; at < 20; at += 1) honest.push(...(await from(`198.51.100.${at}`)));
    isOver = true;
    expect((await Promise.all(flood)).reduce((sum, refused) => sum + refused)).toBeGreaterThan(0);
    expect(honest).toEqual(Array(20).fill(200));
  });
});

describe('wrong credentials', () => {
  const limits = { failedCredentialsPerMinutePerAddress: 5 };
  const wrong = (kind: string) => ({ authorization: `Bearer annex_${kind}_${'x'.repeat(43)}` });

  test('are bounded at the control listener, and a valid token still works', async () => {
    const annex = await startTestService({ limits });
    const url = `${annex.service.controlUrl}/v1/tokens`;
    await annex.api('GET', '/v1/tokens');
    expect(await ask(8, url, wrong('admin'))).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
    expect((await annex.api('GET', '/v1/tokens')).status).toBe(200);
    // A missing token is no guess.
    expect(await ask(2, url)).toEqual([401, 401]);
    const metric = 'annex_limits_met_total{limit="failedCredentialsPerMinutePerAddress"}';
    expect(await annex.metric(metric)).toBe(3);
  });

  test('are bounded for envelopes, tokens and signatures alike', async () => {
    const annex = await startTestService({ limits });
    const hello = await annex.deploy('hello', HELLO);
    await annex.envelope(hello, { type: 'fetch' });
    const send = async (headers: Record<string, string>) => {
      const response = await fetch(`${hello.endpoint}/v1`, { method: 'POST', body: 'x', headers });
      await response.arrayBuffer();
      return response.status;
    };
    const found: number[] = [];
    for (let at = 0; at < 3; at += 1) found.push(await send(wrong('platform')));
    const signature = { 'x-platform-signature': `t=1,v1=${'0'.repeat(64)}` };
    for (let at = 0; at < 4; at += 1) found.push(await send(signature));
    expect(found).toEqual([401, 401, 401, 401, 401, 429, 429]);
    expect((await annex.envelope(hello, { type: 'fetch' })).status).toBe(200);
  });
});

describe('connections', () => {
  const open = async (annex: TestService) => {
    const { socket, closed } = await dial(annex.service.publicUrl);
    onTestFinished(() => void socket.destroy());
    let isClosed = false;
    void closed.then(() => (isClosed = true));
    return { socket, isClosed: () => isClosed };
  };
  const isServed = async (annex: TestService) => {
    const { socket, seen, closed } = await dial(annex.service.publicUrl);
    socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    await closed;
    return seen().startsWith('HTTP/1.1 404');
  };

  test.each([
    ['from one address', { connectionsPerAddress: 3 }],
    ['in all', { connections: 3 }],
  ])('%s are bounded, and each that ends admits another', async (_what, limits) => {
    const annex = await startTestService({ limits });
    const held = [await open(annex), await open(annex), await open(annex)];
    await expect.poll(() => isServed(annex)).toBe(false);
    expect(held.map(({ isClosed }) => isClosed())).toEqual([false, false, false]);
    held[0]?.socket.destroy();
    await expect.poll(() => isServed(annex)).toBe(true);
  });

  test('of a trusted proxy are bounded in total only', async () => {
    const annex = await startTestService({
      limits: { connectionsPerAddress: 1 },
      flags: ['--trusted-proxies', '127.0.0.1'],
    });
    await open(annex);
    await open(annex);
    expect(await isServed(annex)).toBe(true);
  });
});
