/**
 * Signatures of deliveries: valid ones verify, here and in other implementations; all others fail.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import Stripe from 'stripe';
import { describe, expect, onTestFinished, test } from 'vitest';
import { signatureHeader, verifySignature } from '../../../src/model/signature.ts';
import { type Chance, fuzz } from '../../support/fuzz/fuzz.ts';
import { needs } from '../../support/programs.ts';

const OLD = 'x2Zt9Y4mF1kq0bLr7VwJp8Nc3HdSgUoAeQiTzXyKsWE';
const NEW = 'another secret of the receiver: ünïcödé, 日本語';
const TIMESTAMP_S = 1_763_780_400;
const BODY = Buffer.from('{"eventId":"evt_1","text":"Grüße"}');

describe('a header', () => {
  test('is the time and one digest, without a space', () => {
    expect(signatureHeader([OLD], TIMESTAMP_S, BODY)).toMatch(/^t=1763780400,v1=[0-9a-f]{64}$/);
  });

  test('has two digests during a rotation of the secret, the new one first', () => {
    const [, first, second] = signatureHeader([NEW, OLD], TIMESTAMP_S, BODY).split(',');
    expect(signatureHeader([NEW], TIMESTAMP_S, BODY)).toBe(`t=${TIMESTAMP_S},${first}`);
    expect(signatureHeader([OLD], TIMESTAMP_S, BODY)).toBe(`t=${TIMESTAMP_S},${second}`);
    const header = signatureHeader([NEW, OLD], TIMESTAMP_S, BODY);
    for (const secret of [NEW, OLD]) expect(verifySignature(header, BODY, [secret])).toBe(true);
  });

  test('is never made without a secret', () => {
    expect(() => signatureHeader([], TIMESTAMP_S, BODY)).toThrow('Nothing can be signed without a secret.');
  });

  test('differs for each time and for each body', () => {
    const digest = (timestampS: number, body: Uint8Array) =>
      signatureHeader([OLD], timestampS, body).slice(-64);
    const digests = [
      digest(1, BODY),
      digest(2, BODY),
      digest(1, BODY.subarray(1)),
      digest(1, new Uint8Array(0)),
    ];
    expect(new Set(digests).size).toBe(4);
  });
});

describe('a signature', () => {
  const bodyOf = (random: Chance) =>
    Buffer.from(Array.from({ length: random.below(200) }, () => random.below(256)));
  const flipped = (bytes: Uint8Array, bit: number): Buffer => {
    const copy = Buffer.from(bytes);
    copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    return copy;
  };

  test('with one bit flipped of body, time or digest verifies nothing', async () => {
    await fuzz('webhookSignatures', {
      make: (random) => {
        const body = bodyOf(random);
        const secrets = random.once(3) ? [NEW, OLD] : [random.pick([OLD, NEW])];
        const timestampS = random.below(2 ** 31);
        return { body, secrets, timestampS, at: random.below(2 ** 31) };
      },
      check: ({ body, secrets, timestampS, at }) => {
        const header = signatureHeader(secrets, timestampS, body);
        for (const secret of secrets) expect(verifySignature(header, body, [secret])).toBe(true);
        expect(verifySignature(header, body, [`${OLD}x`])).toBe(false);
        if (body.byteLength > 0)
          expect(verifySignature(header, flipped(body, at % (body.byteLength * 8)), secrets)).toBe(false);
        // With two digests, the other one stays valid: only the secret of the flipped one has to
        // refuse it.
        const bytes = Buffer.from(header);
        const bit = at % (bytes.byteLength * 8);
        const changed = flipped(bytes, bit).toString('latin1');
        const digest = Math.floor(((bit >> 3) - header.indexOf(',')) / 68);
        const judges = bit >> 3 <= header.indexOf(',') ? secrets : [secrets[digest] ?? ''];
        expect(verifySignature(changed, body, judges)).toBe(false);
      },
    });
  });

  test('verifies in a shell, with openssl', needs('openssl'), async () => {
    const folder = await mkdtemp(join(tmpdir(), 'annex-signature-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, 'body');
    const binary = Buffer.from([0, 1, 2, 255, 10, 13]);
    for (const body of [BODY, binary, Buffer.alloc(0)]) {
      await writeFile(file, body);
      for (const secret of [OLD, NEW]) {
        const script = `{ printf '%s.' "$T"; cat "$F"; } | openssl dgst -sha256 -hmac "$SECRET"`;
        const env = { ...process.env, T: String(TIMESTAMP_S), F: file, SECRET: secret };
        const { stdout } = await promisify(execFile)('sh', ['-c', script], { env });
        const [digest = ''] = /[0-9a-f]{64}/.exec(stdout) ?? [];
        expect(`t=${TIMESTAMP_S},v1=${digest}`).toBe(signatureHeader([secret], TIMESTAMP_S, body));
      }
    }
  });

  test("verifies with Stripe's library, whose scheme it is, by either of two secrets", () => {
    const stripe = new Stripe('sk_test_nothing');
    const nowS = Math.floor(Date.now() / 1_000);
    const header = signatureHeader([NEW, OLD], nowS, BODY);
    for (const secret of [NEW, OLD])
      expect(stripe.webhooks.constructEvent(BODY, header, secret)).toEqual(JSON.parse(BODY.toString()));
    const refused =
      (body: Buffer, secret: string, signed = header) =>
      () =>
        stripe.webhooks.constructEvent(body, signed, secret);
    expect(refused(flipped(BODY, 3), OLD)).toThrow(/No signatures found/);
    expect(refused(BODY, `${OLD}x`)).toThrow(/No signatures found/);
    expect(refused(BODY, OLD, signatureHeader([OLD], nowS - 301, BODY))).toThrow(/tolerance/);
  });
});
