/**
 * Webhooks signed by Standard Webhooks: their published verifier accepts each, and none of which a
 * bit was changed (docs/contract/webhooks.md#standard-webhooks).
 */
import { Webhook } from 'standardwebhooks';
import { describe, expect, test, vi } from 'vitest';
import { type SignatureScheme, standardHeaders, standardSecret } from '../../../src/model/signature.ts';
import { Delivering } from '../../support/deliveries/delivery-worker.ts';
import { HttpReceiver, type Received } from '../../support/receivers/http-receiver.ts';
import { OPERATOR } from '../../support/store/temporary-store.ts';

const POLL = { interval: 1, timeout: 280_000 };

/** A number below another; the same ones at each run. */
function drawing(): (below: number) => number {
  let state = 11;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * below);
  };
}

const NAMES = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const;
const headersOf = ({ headers }: Received) =>
  Object.fromEntries(NAMES.map((name) => [name, String(headers[name])]));

/** A text with one bit of its bytes changed. */
function flipped(text: string, bit: number): string {
  const bytes = Buffer.from(text, 'latin1');
  const at = bit >> 3;
  bytes[at] = (bytes[at] ?? 0) ^ (1 << (bit & 7));
  return bytes.toString('latin1');
}

/** A store whose webhooks are signed so, for a site. The verifier has the clock of the machine. */
async function signing(signature?: SignatureScheme) {
  const delivering = await Delivering.begin({}, signature === undefined ? {} : { signature });
  delivering.time.now = Date.now();
  const installationId = await delivering.install('acme', ['s1']);
  const target = { installationId, level: 'site', place: 's1' } as const;
  return { delivering, target, secrets: delivering.store.webhookSecrets };
}

test('1,000 deliveries are accepted by the published verifier, and each is refused with one bit flipped', async () => {
  const { delivering, target, secrets } = await signing('standard');
  const { secret } = await secrets.reveal(target, OPERATOR);
  const verifier = new Webhook(standardSecret(secret));
  const draw = drawing();
  const counts = { accepted: 0, refused: 0 };
  const ids = new Set<string>();
  const receiver = await HttpReceiver.start((request) => {
    // The verifier refuses what is older than five minutes, and a busy machine may need that long.
    delivering.time.now = Date.now();
    const headers = headersOf(request);
    expect(request.headers).not.toHaveProperty('x-platform-signature');
    expect(verifier.verify(request.body, headers)).toEqual(JSON.parse(request.body));
    counts.accepted += 1;
    ids.add(headers['webhook-id'] ?? '');
    const parts: Record<string, string> = { ...headers, body: request.body };
    const names = Object.keys(parts);
    const changed = names[counts.accepted % names.length] ?? '';
    const text = parts[changed] ?? '';
    parts[changed] = flipped(text, draw(8 * text.length));
    const { body = '', ...others } = parts;
    expect(() => verifier.verify(Buffer.from(body, 'latin1'), others)).toThrow();
    counts.refused += 1;
    return 200;
  });
  await delivering.accept('acme', 's1', Array(1_000).fill(receiver.url));
  delivering.time.now = Date.now();
  await delivering.worker().start();
  await vi.waitFor(() => expect(delivering.settled).toHaveLength(1_000), POLL);
  expect(new Set(delivering.settled)).toEqual(new Set(['delivered']));
  expect(counts).toEqual({ accepted: 1_000, refused: 1_000 });
  expect(ids.size).toBe(1_000);
});

test('the id is the same at each attempt; time and signature are of the attempt', async () => {
  const { delivering, target, secrets } = await signing('both');
  const receiver = await HttpReceiver.start(() => (receiver.requests.length < 3 ? 500 : 200));
  await delivering.worker({ random: () => 0 }).start();
  const [id = ''] = await delivering.accept('acme', 's1', [receiver.url]);
  for (const [index, delayMs] of [1_000, 2_000].entries()) {
    await vi.waitFor(() => expect(delivering.settled).toHaveLength(index + 1), POLL);
    delivering.time.pass(delayMs);
  }
  await vi.waitFor(() => expect(delivering.settled).toEqual(['pending', 'pending', 'delivered']), POLL);
  const { secret } = await secrets.reveal(target, OPERATOR);
  const verifier = new Webhook(standardSecret(secret));
  const seen = receiver.requests.map((request) => {
    verifier.verify(request.body, headersOf(request));
    expect(request.headers['x-platform-signature']).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/);
    return headersOf(request);
  });
  expect(new Set(seen.map((headers) => headers['webhook-id']))).toEqual(new Set([id.replace('.', '_')]));
  const [first = 0, ...others] = seen.map((headers) => Number(headers['webhook-timestamp']));
  expect(others.map((at) => at - first)).toEqual([1, 3]);
});

test('while a secret is being rotated, receivers with the new and with the old one accept', async () => {
  const { delivering, target, secrets } = await signing('standard');
  const receiver = await HttpReceiver.start();
  const { secret: old } = await secrets.reveal(target, OPERATOR);
  const { secret: next } = await secrets.rotate(target, { overlapMs: 60_000 }, OPERATOR);
  await delivering.worker().start();
  await delivering.accept('acme', 's1', [receiver.url]);
  await vi.waitFor(() => expect(delivering.settled).toEqual(['delivered']), POLL);
  const [request] = receiver.requests;
  if (request === undefined) throw new Error('Nothing was posted.');
  for (const secret of [next, old])
    new Webhook(standardSecret(secret)).verify(request.body, headersOf(request));
  expect(String(request.headers['webhook-signature']).split(' ')).toHaveLength(2);
});

test('by default nothing of Standard Webhooks is sent', async () => {
  const { delivering } = await signing();
  const receiver = await HttpReceiver.start();
  await delivering.worker().start();
  await delivering.accept('acme', 's1', [receiver.url]);
  await vi.waitFor(() => expect(delivering.settled).toEqual(['delivered']), POLL);
  const names = Object.keys(receiver.requests[0]?.headers ?? {});
  expect(names.filter((name) => name.startsWith('webhook-'))).toEqual([]);
  expect(names).toContain('x-platform-signature');
});

describe('a secret', () => {
  const BODY = Buffer.from('{"a":1}');
  const at = { id: 'd_1', timestampS: Math.floor(Date.now() / 1_000) };
  const OWN = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

  test('of another service keeps its key and its form', () => {
    expect(standardSecret(OWN)).toBe(OWN);
    new Webhook(OWN).verify(BODY, standardHeaders([OWN], at, BODY));
  });

  test.each([
    'kq3Yb0cGm7l1S9w2Zr5Tt8Vx4Nn6Pp0Aa1Ss2Dd3Ff4',
    'whsec_short',
    `whsec_${'A'.repeat(120)}`,
    `${OWN}=`,
    `whsec_${Buffer.alloc(32, 7).toString('base64url')}`,
    '!"#$%&()*+,-./:;<=>?@[]^_`{|}~',
  ])('%s has the key of its text, whatever it looks like', (secret) => {
    const shown = standardSecret(secret);
    expect(shown).toBe(`whsec_${Buffer.from(secret).toString('base64')}`);
    new Webhook(shown).verify(BODY, standardHeaders([secret], at, BODY));
  });

  test('is needed', () => {
    expect(() => standardHeaders([], at, BODY)).toThrow('Nothing can be signed without a secret.');
  });
});
