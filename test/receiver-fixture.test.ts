/** The integration that receives webhooks: it believes nothing that is not signed with its secret, and takes each event once. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { signatureHeader } from '../src/model/signature.ts';
import { ask } from './support/installation-api.ts';
import { type Installed, TestService } from './support/service.ts';

const SECRET = 'kq3Yb0cGm7l1S9w2Zr5Tt8Vx4Nn6Pp0Aa1Ss2Dd3Ff4';
const now = () => Math.floor(Date.now() / 1_000);

let service: TestService;
let receiver: Installed;
beforeAll(async () => {
  service = await TestService.start();
  await service.publishFixture('receiver');
  receiver = await service.install('receiver', 'acme');
});
afterAll(() => service.stop());

const set = (webhook_secret: string) =>
  ask(service, 'PATCH', `/integrations/receiver/installations/${receiver.id}`, {
    json: { configuration: { webhook_secret } },
  });

interface Sent {
  readonly body?: string | Buffer<ArrayBuffer>;
  readonly signature?: string | undefined;
}

let events = 0;
/** As Annex writes it, but for the spaces: they would be gone, were it parsed and written again. */
const eventText = (eventId = `evt_${++events}`) =>
  `{ "eventId": "${eventId}", "type": "space_content_updated", "spaceId": "garden", "note": "caf\\u00e9 é" }`;
const signed = (body: string | Buffer, at = now(), secrets = [SECRET]) =>
  signatureHeader(secrets, at, Buffer.from(body));

/** One request to its endpoint; what is not given is as it should be. */
async function post({ body = eventText(), ...rest }: Sent = {}) {
  const signature = 'signature' in rest ? rest.signature : signed(body);
  const headers = {
    'content-type': 'application/json',
    ...(signature !== undefined && { 'x-platform-signature': signature }),
  };
  const response = await fetch(receiver.endpoint, { method: 'POST', body, headers });
  return { status: response.status, text: await response.text() };
}

const RECEIVED = { status: 200, text: '{"received":true}' };
const REFUSED = { status: 401, text: '{"error":"Invalid signature"}' };

test('answers 503 until its secret is set, so that the sender tries again', async () => {
  expect(await post()).toMatchObject({ status: 503 });
  expect((await set(SECRET)).body).toMatchObject({ status: 'active' });
  expect(await post()).toEqual(RECEIVED);
});

describe('with a secret', () => {
  beforeAll(async () => {
    await set(SECRET);
  });

  test('a request that it signed is received, byte for byte', async () => {
    expect(await post()).toEqual(RECEIVED);
    expect((await service.log(receiver)).map(({ text }) => text)).toContain(
      `received space_content_updated evt_${events}`,
    );
  });

  test('one that two secrets signed, while one takes over from the other, is received', async () => {
    const body = eventText();
    for (const secrets of [
      ['the next secret, which is not set yet', SECRET],
      [SECRET, 'the last secret, which was replaced'],
    ])
      expect(await post({ body, signature: signed(body, now(), secrets) })).toEqual(RECEIVED);
  });

  test('any flipped bit is refused', async () => {
    const body = Buffer.from(eventText());
    const signature = signed(body);
    for (const bit of [0, 7, 8 * 20 + 3, 8 * body.length - 1]) {
      const flipped = Buffer.from(body);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(await post({ body: flipped, signature })).toEqual(REFUSED);
    }
    const digit = signature.endsWith('0') ? '1' : '0';
    expect(await post({ body, signature: `${signature.slice(0, -1)}${digit}` })).toEqual(REFUSED);
    expect(await post({ body, signature })).toEqual(RECEIVED);
  });

  test('JSON that was parsed and written again is refused: its bytes are others', async () => {
    const body = eventText();
    expect(await post({ body: JSON.stringify(JSON.parse(body)), signature: signed(body) })).toEqual(REFUSED);
  });

  const body = eventText('evt_refused');
  test.each<[string, () => string | undefined]>([
    ['no header', () => undefined],
    ['an empty header', () => ''],
    ['no time', () => signed(body).replace(/^t=\d+,/, '')],
    ['no digest', () => `t=${now()}`],
    ['a digest of another version alone', () => signed(body).replace('v1=', 'v2=')],
    ['two times', () => `${signed(body)},t=${now()}`],
    ['another time than was signed', () => signed(body).replace(/\d+/, String(now() - 1))],
    ['upper-case digits', () => signed(body).replace(/[0-9a-f]{64}/, (digest) => digest.toUpperCase())],
    ['another secret', () => signed(body, now(), ['the secret of somebody else'])],
    ['an old time', () => signed(body, now() - 400)],
    ['a time to come', () => signed(body, now() + 400)],
  ])('%s is refused', async (_, signature) => {
    expect(await post({ body, signature: signature() })).toEqual(REFUSED);
  });

  test('what is wrong is in the log of its installation, and not in the answer', async () => {
    await post({ body, signature: undefined });
    const lines = await service.log(receiver);
    expect(lines.at(-1)).toMatchObject({ level: 'warn', text: 'refused: the signature is missing' });
  });

  test('the signature is verified before anything is read: what is no JSON is only said of a signed body', async () => {
    expect(await post({ body: '{"eventId', signature: signed('another') })).toEqual(REFUSED);
    expect(await post({ body: '{"eventId' })).toEqual({ status: 400, text: '{"error":"Not an event"}' });
    expect(await post({ body: '{"type":"site_view"}' })).toMatchObject({ status: 400 });
  });

  test('an event that comes twice is confirmed twice and taken once', async () => {
    const twice = eventText('evt_twice');
    // The second one is an attempt of its own, with a time and a signature of its own.
    expect(await post({ body: twice, signature: signed(twice, now() - 1) })).toEqual(RECEIVED);
    expect(await post({ body: twice })).toEqual(RECEIVED);
    const lines = (await service.log(receiver)).map(({ text }) => text);
    expect(lines.filter((line) => line.includes('evt_twice'))).toEqual([
      'received space_content_updated evt_twice',
      'dropped evt_twice, which was here before',
    ]);
  });

  test('one that was refused is not remembered: its real sender is still heard', async () => {
    const forged = eventText('evt_forged');
    expect(await post({ body: forged, signature: signed(forged, now(), ['not the secret']) })).toEqual(
      REFUSED,
    );
    expect(await post({ body: forged })).toEqual(RECEIVED);
    expect((await service.log(receiver)).at(-1)?.text).toBe('received space_content_updated evt_forged');
  });

  test.each(['GET', 'PUT', 'PATCH', 'DELETE'])('%s is not its method', async (method) => {
    const response = await fetch(receiver.endpoint, { method });
    expect([response.status, await response.text()]).toEqual([405, 'Method not allowed']);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
  });

  test('a secret that was replaced is not believed any more', async () => {
    const old = eventText();
    await set('a new secret of twenty-four and more');
    expect(await post({ body: old })).toEqual(REFUSED);
    expect(
      await post({ body: old, signature: signed(old, now(), ['a new secret of twenty-four and more']) }),
    ).toEqual(RECEIVED);
    await set(SECRET);
  });
});
