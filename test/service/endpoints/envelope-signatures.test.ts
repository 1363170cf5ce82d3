/**
 * Signatures of envelopes: accepted once and for a limited time; the memory for them is bounded.
 */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EnvelopeSignatures, SeenSignatures } from '../../../src/host/http/public/envelope-signatures.ts';
import { signatureHeader } from '../../../src/model/signature.ts';
import { type Installed, TestService } from '../../support/service.ts';

const T = 1_700_000_000;
const BODY = Buffer.from('a body');
const target = { signingSecrets: ['old', 'new'], endpointKey: 'k' };

function signatures(atMs = T * 1_000, envelopeSignatureAgeMs = 300_000) {
  const clock = { now: atMs };
  return {
    clock,
    them: new EnvelopeSignatures({ limits: { envelopeSignatureAgeMs }, wallNow: () => clock.now }),
  };
}

describe('the age of a signature', () => {
  test.each<[what: string, atMs: number, isBelieved: boolean]>([
    ['of this second', T * 1_000, true],
    ['of five minutes', (T + 300) * 1_000, true],
    ['within the last second of five minutes', (T + 301) * 1_000 - 1, true],
    ['of a second more', (T + 301) * 1_000, false],
    ['that is as far ahead', (T - 300) * 1_000, true],
    ['that is further ahead', (T - 301) * 1_000, false],
  ])('envelopeSignatureAgeMs: one %s', (_, atMs, isBelieved) => {
    const { them } = signatures(atMs);
    const refusal = them.headRefusal(signatureHeader(['new'], T, BODY));
    if (isBelieved) expect(refusal).toBeUndefined();
    else
      expect(refusal).toMatchObject({
        code: 'ENVELOPE_UNAUTHORIZED',
        limit: { name: 'envelopeSignatureAgeMs', max: 300_000, used: 301_000 },
      });
  });

  test('can be set to another age', () => {
    const { them } = signatures((T + 86_400) * 1_000, 86_400_000);
    expect(them.headRefusal(signatureHeader(['new'], T, BODY))).toBeUndefined();
    expect(them.headRefusal(signatureHeader(['new'], T - 1, BODY))).toBeDefined();
  });

  test.each([
    '',
    't=1',
    `t=${T}`,
    `t=${T},v1=00`,
    `t=${T},t=${T},v1=${'0'.repeat(64)}`,
    `t=1e9,v1=${'0'.repeat(64)}`,
  ])('a malformed signature is refused before the body is read: %j', (header) =>
    expect(signatures().them.headRefusal(header)).toMatchObject({ code: 'ENVELOPE_UNAUTHORIZED' }),
  );
});

describe('a signature that was used before', () => {
  const again = /was used before/;

  test('is not accepted again within its age', async () => {
    const { clock, them } = signatures();
    const header = signatureHeader(['new'], T, BODY);
    expect(await them.refusal(header, BODY, target)).toBeUndefined();
    for (const later of [0, 1, 299_000, 300_999]) {
      clock.now = T * 1_000 + later;
      expect(them.headRefusal(header)).toBeUndefined();
      expect((await them.refusal(header, BODY, target))?.message).toMatch(again);
    }
  });

  test('is recognized by each of its digests, in any order and beside others', async () => {
    const { them } = signatures();
    const both = signatureHeader(['new', 'old'], T, BODY);
    const [t = '', first = '', second = ''] = both.split(',');
    expect(await them.refusal(both, BODY, target)).toBeUndefined();
    for (const header of [
      `${t},${first}`,
      `${second},${t}`,
      `${t},v1=${'0'.repeat(64)},${second}`,
      `x=y,${both}`,
    ])
      expect((await them.refusal(header, BODY, target))?.message).toMatch(again);
  });

  test('differs for other bytes, another time or another endpoint', async () => {
    const { them } = signatures();
    const send = (body: Buffer, t: number, of = target) =>
      them.refusal(signatureHeader(['new'], t, body), body, of);
    expect(await send(BODY, T)).toBeUndefined();
    expect(await send(Buffer.from('another'), T)).toBeUndefined();
    expect(await send(BODY, T + 1)).toBeUndefined();
    expect(await send(BODY, T, { ...target, endpointKey: 'another' })).toBeUndefined();
  });

  test('is not remembered unless it is genuine', async () => {
    const { them } = signatures();
    const header = signatureHeader(['new'], T, BODY);
    expect(await them.refusal(header, Buffer.from('forged'), target)).toBeDefined();
    expect(await them.refusal(header, BODY, target)).toBeUndefined();
  });
});

describe('the memory for signatures', () => {
  const digest = (text: string) => [createHash('sha256').update(text).digest()];

  test('forgets signatures at the end of their age', () => {
    const seen = new SeenSignatures(300);
    for (let second = 0; second < 10_000; second += 1) {
      expect(seen.take('k', second, digest(`${second}`), second)).toBe(true);
      expect(seen.size).toBeLessThanOrEqual(345);
    }
  });

  test('attack: a tenant that signs without end shortens only the accepted age of its own signatures', () => {
    const seen = new SeenSignatures(300, 1_000);
    expect(seen.take('quiet', 0, digest('q'), 0)).toBe(true);
    for (let at = 0; at < 20_000; at += 1) {
      const second = Math.floor(at / 100);
      expect(seen.take('flood', second, digest(`${at}`), second)).toBe(true);
      expect(seen.size).toBeLessThanOrEqual(1_000);
    }
    // Forgotten signatures are not accepted.
    for (let at = 0; at < 20_000; at += 371)
      expect(seen.take('flood', Math.floor(at / 100), digest(`${at}`), 200)).toBe(false);
    expect(seen.take('flood', 10, digest('late, and new'), 200)).toBe(false);
    expect(seen.take('flood', 200, digest('now'), 200)).toBe(true);
    // Those of other endpoints are still remembered.
    expect(seen.take('quiet', 0, digest('q'), 200)).toBe(false);
    expect(seen.take('quiet', 0, digest('late, and new'), 200)).toBe(true);
  });
});

describe('at the envelope route', () => {
  let annex: TestService;
  let worker: Installed;
  let secrets: readonly string[];
  beforeAll(async () => {
    annex = await TestService.start({ limits: { envelopeSignatureAgeMs: 60_000 } });
    worker = await annex.deploy('signed', `export default { fetch: () => new Response('called') };`);
    const key = new URL(worker.endpoint).pathname.slice(1);
    secrets = (await annex.service.targets.get(key))?.signingSecrets ?? [];
  });
  afterAll(() => annex.stop());

  const part = (name: string, value: string) =>
    `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const body = (n: number) =>
    Buffer.from(`${part('event', `{"type":"note","n":${n}}`)}${part('environment', '{}')}--b--`);
  const send = async (bytes: Buffer, signature: string) => {
    const response = await fetch(`${worker.endpoint}/v1`, {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=b', 'x-platform-signature': signature },
      body: bytes,
    });
    return [response.status, await response.text()];
  };
  const seconds = () => Math.floor(Date.now() / 1_000);

  test('an envelope is answered once', async () => {
    const signature = signatureHeader(secrets, seconds(), body(1));
    expect(await send(body(1), signature)).toEqual([200, 'called']);
    expect(await send(body(1), signature)).toEqual([401, expect.stringContaining('sign each attempt anew')]);
    expect(await send(body(1), signatureHeader(secrets, seconds() + 2, body(1)))).toEqual([200, 'called']);
  });

  test('envelopeSignatureAgeMs: met exactly, and passed by one second, it is named and counted', async () => {
    const metric = 'annex_limits_met_total{limit="envelopeSignatureAgeMs"}';
    expect(await send(body(2), signatureHeader(secrets, seconds() - 55, body(2)))).toEqual([200, 'called']);
    const [status, text] = await send(body(2), signatureHeader(secrets, seconds() - 65, body(2)));
    expect([status, JSON.parse(String(text)).error]).toMatchObject([
      401,
      { code: 'ENVELOPE_UNAUTHORIZED', limit: { name: 'envelopeSignatureAgeMs', max: 60_000 } },
    ]);
    expect(await annex.metric(metric)).toBe(1);
  });
});
