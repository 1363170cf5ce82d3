/**
 * `verifySignature`, as integrations import it and as receivers copy it: the rules of
 * docs/contract/webhooks.md#signature, the further checks, and agreement with the host's own
 * verification.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createContext, runInContext } from 'node:vm';
import { describe, expect, onTestFinished, test } from 'vitest';
import { checkSignature, recentIds, verifySignature } from '../../../sandbox/sdk/index.ts';
import { verifySignature as believedByHost, signatureHeader } from '../../../src/model/signature.ts';
import { fuzz } from '../../support/fuzz/fuzz.ts';
import { mutateText } from '../../support/fuzz/mutations.ts';

const FILES = fileURLToPath(new URL('../../../sandbox/sdk/', import.meta.url));
const SECRET = 'whsec of this test, 24 or more';
const OTHER = 'another secret, 24 or more';
const BODY = '{"eventId":"evt_1","note":"é"}';
const TIME = 1_700_000_000;

const hmac = (secret: string, text: string): string =>
  createHmac('sha256', secret).update(text).digest('hex');
const digest = (secret = SECRET, time: string | number = TIME, body = BODY) =>
  hmac(secret, `${time}.${body}`);
const GOOD = `t=${TIME},v1=${digest()}`;
const ZEROS = '0'.repeat(64);

describe('the rules of the signature', () => {
  test('a header of known digits: openssl dgst -sha256 -hmac key over `1700000000.{}`', async () => {
    const known = '9d713ed406bb7076d4123f0dc2c39d2df5c654ed4b0cd56b52c8b4c940bd63ae';
    expect(await verifySignature(`t=1700000000,v1=${known}`, '{}', 'key')).toBe(true);
  });

  test.each<[string, string]>([
    ['t before v1', GOOD],
    ['v1 before t', `v1=${digest()},t=${TIME}`],
    ['two digests, the second of which matches', `t=${TIME},v1=${ZEROS},v1=${digest()}`],
    ['two digests, the first of which matches', `t=${TIME},v1=${digest()},v1=${ZEROS}`],
    ['unknown keys', `v0=x,t=${TIME},v2=${ZEROS},a,=,,v1=${digest()},T=1`],
    ['a time of sixteen digits', `t=9999999999999999,v1=${digest(SECRET, '9999999999999999')}`],
    ['a time with noughts before it, which is signed as it stands', `t=007,v1=${digest(SECRET, '007')}`],
  ])('%s is genuine', async (_, header) => {
    expect(await verifySignature(header, BODY, SECRET)).toBe(true);
    expect(believedByHost(header, Buffer.from(BODY), [SECRET])).toBe(true);
  });

  test.each<[string, string | null | undefined, string]>([
    ['no header', undefined, 'missing'],
    ['no header, which Headers.get() returns as null', null, 'missing'],
    ['an empty header', '', 'malformed'],
    ['no t', `v1=${digest()}`, 'malformed'],
    ['no v1', `t=${TIME}`, 'malformed'],
    ['a digest of another version alone', `t=${TIME},v2=${digest()}`, 'malformed'],
    ['two t, even if they are the same', `t=${TIME},${GOOD}`, 'malformed'],
    ['an empty t', `t=,v1=${digest(SECRET, '')}`, 'malformed'],
    ['a t with a sign', `t=-1,v1=${digest(SECRET, '-1')}`, 'malformed'],
    ['a t with a fraction', `t=1.5,v1=${digest(SECRET, '1.5')}`, 'malformed'],
    ['a t of seventeen digits', `t=${'1'.repeat(17)},v1=${digest(SECRET, '1'.repeat(17))}`, 'malformed'],
    ['a t in digits that are not ASCII', `t=١,v1=${digest(SECRET, '١')}`, 'malformed'],
    ['a t with a line break', `t=1\n,v1=${digest(SECRET, '1\n')}`, 'malformed'],
    ['upper-case digits', `t=${TIME},v1=${digest().toUpperCase()}`, 'malformed'],
    ['a digit too few', `t=${TIME},v1=${digest().slice(1)}`, 'malformed'],
    ['a digit too many', `t=${TIME},v1=${digest()}0`, 'malformed'],
    ['a digest that is none, beside one that matches', `${GOOD},v1=x`, 'malformed'],
    ['spaces', `t=${TIME}, v1=${digest()}`, 'malformed'],
    ['a header of 1,025 characters', `${GOOD},${'a'.repeat(1_024 - GOOD.length)}`, 'malformed'],
    ['a digest with another secret', `t=${TIME},v1=${digest(OTHER)}`, 'mismatch'],
    ['a digest of another time', `t=${TIME + 1},v1=${digest()}`, 'mismatch'],
    ['a digest of another body', `t=${TIME},v1=${digest(SECRET, TIME, '{}')}`, 'mismatch'],
    ['a digest of the body alone', `t=${TIME},v1=${hmac(SECRET, BODY)}`, 'mismatch'],
  ])('%s is not', async (_, header, reason) => {
    expect(await checkSignature(header, BODY, SECRET)).toEqual({ valid: false, reason });
    expect(await verifySignature(header, BODY, SECRET)).toBe(false);
    expect(believedByHost(header ?? undefined, Buffer.from(BODY), [SECRET])).toBe(false);
  });

  test('a header of 1,024 characters is still read', async () => {
    const header = `${GOOD},${'a'.repeat(1_023 - GOOD.length)}`;
    expect(await verifySignature(header, BODY, SECRET)).toBe(true);
  });

  test('each bit of body and digest counts', async () => {
    const body = Buffer.from(BODY);
    for (let bit = 0; bit < body.length * 8; bit += 1) {
      const flipped = Buffer.from(body);
      flipped[bit >> 3] = (body[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(await verifySignature(GOOD, flipped, SECRET)).toBe(false);
    }
    const digits = [...digest()];
    for (const [at, digit] of digits.entries()) {
      const other = (Number.parseInt(digit, 16) ^ 1).toString(16);
      const header = `t=${TIME},v1=${digits.with(at, other).join('')}`;
      expect(await verifySignature(header, body, SECRET)).toBe(false);
    }
  });

  test('a signature of Annex is genuine, with each of the secrets during an overlap', async () => {
    const body = Buffer.from(BODY);
    const header = signatureHeader([SECRET, OTHER], TIME, body);
    for (const secret of [SECRET, OTHER, [OTHER, SECRET], ['a third one', OTHER]])
      expect(await verifySignature(header, body, secret)).toBe(true);
    expect(await verifySignature(header, body, ['a third one'])).toBe(false);
  });

  // Checks the source: the comparison cannot be timed here.
  test('no comparison ends at the first difference', async () => {
    const source = await readFile(join(FILES, 'verify-signature.js'), 'utf8');
    const [, compare = ''] = /function isSame\(.*?\) \{(.*?)\n\}/s.exec(source) ?? [];
    expect(compare).toContain('difference |= one.charCodeAt(at) ^ other.charCodeAt(at)');
    expect(compare.match(/return/g)).toHaveLength(1);
    expect(source).not.toMatch(/digest === |candidate === |\.includes\(/);
  });
});

describe('the raw body', () => {
  const bytes = new TextEncoder().encode(BODY);
  const padded = new Uint8Array([1, 2, ...bytes, 3]);

  test.each([
    ['text', BODY],
    ['bytes', bytes],
    ['a Buffer', Buffer.from(BODY)],
    ['an ArrayBuffer', bytes.slice().buffer],
    ['a view into a larger buffer', padded.subarray(2, -1)],
    ['a DataView', new DataView(padded.buffer, 2, bytes.length)],
  ])('may be %s', async (_, body) => {
    expect(await verifySignature(GOOD, body, SECRET)).toBe(true);
  });

  test('may be empty, and need not be text', async () => {
    for (const body of [Buffer.alloc(0), Buffer.from([0, 0xff, 0xfe, 13, 10])])
      expect(await verifySignature(signatureHeader([SECRET], TIME, body), body, SECRET)).toBe(true);
  });

  test('is copied at the time of the call: later changes are not verified', async () => {
    const body = Buffer.from(BODY.replace('evt_1', 'evt_2'));
    const verifying = verifySignature(GOOD, body, SECRET);
    body.write(BODY);
    expect(await verifying).toBe(false);
  });

  test.each([[undefined], [null], [{ eventId: 'evt_1' }], [1]])(
    'of %j is a mistake of the caller',
    async (body) => {
      await expect(verifySignature(GOOD, body as unknown as string, SECRET)).rejects.toThrow(
        'The body must be the raw one, as bytes or text',
      );
    },
  );
});

describe('the secret', () => {
  // Attack: signing with the empty secret of a receiver whose secret is not set.
  test.each([[''], [[]], [[SECRET, '']], [undefined], [null], [[1]]])('%j is refused', async (secret) => {
    const header = `t=${TIME},v1=${digest('')}`;
    await expect(verifySignature(header, BODY, secret as string)).rejects.toThrow(TypeError);
    await expect(verifySignature(undefined, BODY, secret as string)).rejects.toThrow('must be a text');
  });

  test('is the UTF-8 of its text', async () => {
    expect(await verifySignature(`t=${TIME},v1=${digest('schlüssel 🔑')}`, BODY, 'schlüssel 🔑')).toBe(true);
  });
});

describe('the age', () => {
  const at = (seconds: number) => ({ now: () => (TIME + seconds) * 1_000 });

  test('is not checked without a tolerance', async () => {
    for (const age of [-1e9, 1e9])
      expect(await checkSignature(GOOD, BODY, SECRET, at(age))).toEqual({ valid: true, timestamp: TIME });
  });

  test.each<[number, string]>([
    [300, 'valid'],
    [300.001, 'too old'],
    [-300, 'valid'],
    [-300.001, 'too new'],
  ])('of %d seconds, where 300 are tolerated: %s', async (age, answer) => {
    const checked = await checkSignature(GOOD, BODY, SECRET, { ...at(age), toleranceSeconds: 300 });
    expect(checked).toEqual(
      answer === 'valid' ? { valid: true, timestamp: TIME } : { valid: false, reason: answer },
    );
  });

  test('is by the clock of the machine by default', async () => {
    const now = Math.floor(Date.now() / 1_000);
    const header = `t=${now},v1=${digest(SECRET, now)}`;
    expect(await verifySignature(header, BODY, SECRET, { toleranceSeconds: 300 })).toBe(true);
    expect(await verifySignature(GOOD, BODY, SECRET, { toleranceSeconds: 300 })).toBe(false);
  });

  test('is checked only for genuine requests', async () => {
    const forged = `t=1,v1=${ZEROS}`;
    expect(await checkSignature(forged, BODY, SECRET, { toleranceSeconds: 1 })).toMatchObject({
      reason: 'mismatch',
    });
  });

  test.each([Number.NaN, -1, '300', null])('cannot be limited to %j', async (toleranceSeconds) => {
    const options = { toleranceSeconds: toleranceSeconds as number };
    await expect(verifySignature(GOOD, BODY, SECRET, options)).rejects.toThrow('toleranceSeconds must be');
  });
});

describe('a request that was seen before', () => {
  /** An option `seen` that remembers. */
  function memory() {
    const ids: string[] = [];
    const seen = (id: string) => ids.includes(id) || ids.push(id) === 0;
    return { ids, seen };
  }

  test('is refused the second time', async () => {
    const { seen } = memory();
    expect(await checkSignature(GOOD, BODY, SECRET, { seen })).toMatchObject({ valid: true });
    expect(await checkSignature(GOOD, BODY, SECRET, { seen })).toEqual({ valid: false, reason: 'seen' });
    const later = signatureHeader([SECRET], TIME + 1, Buffer.from(BODY));
    expect(await verifySignature(later, BODY, SECRET, { seen })).toBe(true);
  });

  test('may be looked up asynchronously', async () => {
    expect(await verifySignature(GOOD, BODY, SECRET, { seen: async () => true })).toBe(false);
    expect(await verifySignature(GOOD, BODY, SECRET, { seen: async () => false })).toBe(true);
  });

  // Attack: removing one of two digests of a recorded request, so that it looks like another
  // request.
  test('is the same, whichever digests are left', async () => {
    const both = [SECRET, OTHER];
    for (const signers of [both, [SECRET], [OTHER], [OTHER, SECRET]]) {
      const { ids, seen } = memory();
      await verifySignature(signatureHeader(both, TIME, Buffer.from(BODY)), BODY, both, { seen });
      const header = `x=1,${signatureHeader(signers, TIME, Buffer.from(BODY))}`;
      expect(await checkSignature(header, BODY, both, { seen })).toEqual({ valid: false, reason: 'seen' });
      expect(ids).toHaveLength(1);
    }
  });

  // Attack: forged requests that fill the memory, or block a genuine request.
  test('is checked only for genuine requests', async () => {
    const { ids, seen } = memory();
    for (const header of [undefined, '', `t=${TIME},v1=${ZEROS}`, `t=1,v1=${digest()}`])
      await verifySignature(header, BODY, SECRET, { seen });
    await verifySignature(GOOD, BODY, SECRET, { seen, toleranceSeconds: 300 });
    expect(ids).toEqual([]);
  });
});

test('accepts exactly the requests that the host accepts', async () => {
  const secrets = [SECRET, OTHER];
  const headers = [
    GOOD,
    `v1=${ZEROS},v1=${digest(OTHER, '1')},v0=x,t=1`,
    signatureHeader(secrets, TIME, Buffer.from(BODY)),
    `t=1,v1=${digest('a stranger', '1')}`,
  ];
  const words = ['t=1', 't=', ',', '=', 'v1=', ' ', 'v1', 't', 'T=2', `v1=${ZEROS}`, 't=1,', '\u0661'];
  let believed = 0;
  await fuzz('receivedSignatures', {
    make: (random) => ({
      header: random.once(4) ? random.pick(headers) : mutateText(random, headers, words),
      body: random.once(4) ? mutateText(random, [BODY], ['\u00e9', '\ufeff', ' ']) : BODY,
      secrets: random.once(3) ? [SECRET] : secrets,
    }),
    check: async ({ header, body, secrets }) => {
      const expected = believedByHost(header, Buffer.from(body), secrets);
      assert.equal(await verifySignature(header, body, secrets), expected);
      believed += Number(expected);
    },
  });
  expect(believed).toBeGreaterThan(500);
});

describe('as copied files', () => {
  test('they import nothing, and use only Web Crypto and TextEncoder', async () => {
    const source = await readFile(join(FILES, 'verify-signature.js'), 'utf8');
    for (const file of [source, await readFile(join(FILES, 'recent-ids.js'), 'utf8')])
      expect(file).not.toMatch(/^import |import\(|require\(/m);
    const context = createContext({ crypto: { subtle: crypto.subtle }, TextEncoder, Uint8Array });
    const verify = runInContext(`${source.replaceAll(/^export /gm, '')}; verifySignature`, context);
    expect(await verify(GOOD, BODY, SECRET)).toBe(true);
    expect(await verify(GOOD, `${BODY} `, SECRET)).toBe(false);
  });

  test('they run in any Node, copied into a folder without anything else', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'annex-receiver-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    for (const file of ['verify-signature.js', 'recent-ids.js'])
      await cp(join(FILES, file), join(folder, file));
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    await writeFile(
      join(folder, 'main.js'),
      `import { verifySignature } from './verify-signature.js';
      import { recentIds } from './recent-ids.js';
      const [header, body, secret] = process.argv.slice(2);
      console.log(await verifySignature(header, body, secret), recentIds().add('evt_1'));`,
    );
    const run = async (node: string, body: string) =>
      (await promisify(execFile)(node, [join(folder, 'main.js'), GOOD, body, SECRET])).stdout.trim();
    for (const node of [process.execPath, 'node']) {
      expect(await run(node, BODY)).toBe('true true');
      expect(await run(node, '{}')).toBe('false true');
    }
  });
});

describe('recentIds', () => {
  /** With a clock that is set by hand. */
  function memory(windowMs?: number, max?: number) {
    const clock = { ms: 1_000 };
    const now = () => clock.ms;
    return { clock, recent: recentIds(windowMs, max === undefined ? { now } : { now, max }) };
  }

  test('remembers an id for two minutes, and not longer', () => {
    const { clock, recent } = memory();
    expect(recent.add('evt_1')).toBe(true);
    clock.ms += 119_999;
    expect(recent.add('evt_1')).toBe(false);
    clock.ms += 1;
    expect(recent.add('evt_1')).toBe(true);
  });

  test('counts from the first time: an id that keeps coming is accepted again after the window', () => {
    const { clock, recent } = memory(10);
    const taken = Array.from({ length: 25 }, () => {
      clock.ms += 1;
      return recent.add('evt_1');
    });
    expect(taken.filter(Boolean)).toHaveLength(3);
  });

  test('keeps ids apart, whatever they are called', () => {
    const { recent } = memory();
    for (const id of ['evt_1', 'evt_2', '__proto__', 'constructor', '']) expect(recent.add(id)).toBe(true);
    for (const id of ['evt_1', 'evt_2', '__proto__', 'constructor', '']) expect(recent.add(id)).toBe(false);
  });

  test('forgets the id of an event that could not be handled', () => {
    const { recent } = memory();
    recent.add('evt_1');
    expect([recent.delete('evt_1'), recent.delete('evt_1'), recent.add('evt_1')]).toEqual([
      true,
      false,
      true,
    ]);
  });

  test('is bounded, and forgets the oldest first', () => {
    const { recent } = memory(1_000, 3);
    for (const id of ['a', 'b', 'c']) recent.add(id);
    expect(recent.size).toBe(3);
    recent.add('d');
    expect(recent.size).toBe(3);
    expect([recent.add('d'), recent.add('c'), recent.add('b'), recent.add('a')]).toEqual([
      false,
      false,
      false,
      true,
    ]);
  });

  test('reports a size without expired ids', () => {
    const { clock, recent } = memory(10);
    for (let at = 0; at < 100; at += 1) recent.add(`evt_${at}`);
    clock.ms += 10;
    expect(recent.size).toBe(0);
  });

  test('holds ten thousand by default', () => {
    const { recent } = memory();
    for (let at = 0; at < 10_001; at += 1) recent.add(`evt_${at}`);
    expect(recent.size).toBe(10_000);
  });
});
