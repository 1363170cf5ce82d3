/** Bounds of Web Crypto: both sides of each, floods, and neighbours that are served meanwhile. */
import type { webcrypto } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Installed, PATIENT } from '../../../support/service.ts';
import { CryptoService } from '../../../support/web/crypto-service.ts';

let cell: CryptoService;
/** A service whose calls may use more CPU and time than they need. */
let patient: CryptoService;
let neighbour: Installed;
beforeAll(async () => {
  cell = await CryptoService.start({ probeWallMs: PATIENT.probeWallMs });
  patient = await CryptoService.start({
    callCpuMs: 20_000,
    callWallMs: 240_000,
    firstByteMs: 240_000,
  });
  neighbour = await cell.install();
});
afterAll(() => Promise.all([cell.stop(), patient.stop()]));

describe('both sides of a bound', () => {
  test('PBKDF2 with 100,000 iterations runs; with 100,001 it is refused by an error that names the bound', async () => {
    const derive = (iterations: number, bits: number) =>
      cell.run(`
        const key = await subtle.importKey('raw', text('password'), 'PBKDF2', false, ['deriveBits', 'deriveKey']);
        const pbkdf2 = { name: 'PBKDF2', hash: 'SHA-1', salt: text('salt'), iterations: ${iterations} };
        return (await subtle.deriveBits(pbkdf2, key, ${bits})).byteLength;`);
    expect(await derive(100_000, 256)).toBe(32);
    await expect(derive(100_001, 256)).rejects.toThrow(
      'OperationError: PBKDF2 may have 100000 iterations at most',
    );
    expect(await derive(100_000, 1_600)).toBe(200);
    await expect(derive(100_000, 1_608)).rejects.toThrow(
      'OperationError: PBKDF2 may have 1000000 iterations at most, taken together for all blocks of the hash',
    );
  });

  test('an RSA key of 4,096 bits is taken, a longer one is neither taken nor made', async () => {
    const { publicKey } = (await crypto.subtle.generateKey(
      {
        name: 'RSA-PSS',
        hash: 'SHA-256',
        modulusLength: 4_096,
        publicExponent: Uint8Array.of(1, 0, 1),
      },
      true,
      ['sign', 'verify'],
    )) as webcrypto.CryptoKeyPair;
    const { n = '' } = await crypto.subtle.exportKey('jwk', publicKey);
    // A modulus need not be a product of two primes to be checked.
    const longer = Buffer.concat([Buffer.from([1]), Buffer.from(n, 'base64url')]).toString('base64url');
    const importing = (modulus: string) =>
      cell.run(
        `return (await subtle.importKey('jwk', { kty: 'RSA', e: 'AQAB', n: '${modulus}' }, { name: 'RSA-PSS', hash: 'SHA-256' }, true, ['verify'])).algorithm.modulusLength;`,
      );
    expect(await importing(n)).toBe(4_096);
    await expect(importing(longer)).rejects.toThrow('OperationError: An RSA key may have 4096 bits at most');
    await expect(
      cell.run(
        `return subtle.generateKey({ name: 'RSA-PSS', hash: 'SHA-1', modulusLength: 4097, publicExponent: Uint8Array.of(1, 0, 1) }, true, ['sign']);`,
      ),
    ).rejects.toThrow('OperationError: An RSA key may have 4096 bits at most');
  });

  test('RSA keys are made only with the exponents 3 and 65537', async () => {
    expect(
      await cell.run(`
        const generate = (...exponent) => nameOf(() => subtle.generateKey({ name: 'RSA-PSS', hash: 'SHA-1', modulusLength: 1024, publicExponent: Uint8Array.from(exponent) }, true, ['sign']));
        return [await generate(3), await generate(1, 0, 1), await generate(0, 0, 3), await generate(5), await generate(1, 0, 0, 0, 15), await generate()];`),
    ).toEqual(['none', 'none', 'none', 'OperationError', 'OperationError', 'OperationError']);
  });

  test('16 MiB are digested and encrypted, one byte more is not', async () => {
    expect(
      await patient.run(`
        const data = (more) => new Uint8Array(16 * 1024 * 1024 + more);
        const key = await subtle.generateKey({ name: 'AES-GCM', length: 128 }, false, ['encrypt']);
        const gcm = { name: 'AES-GCM', iv: new Uint8Array(12) };
        return [
          (await subtle.digest('SHA-1', data(0))).byteLength, await nameOf(() => subtle.digest('SHA-1', data(1))),
          (await subtle.encrypt(gcm, key, data(0))).byteLength, await nameOf(() => subtle.encrypt(gcm, key, data(1))),
        ];`),
    ).toEqual([20, 'OperationError', 16 * 1024 * 1024 + 16, 'OperationError']);
  });
});

describe('floods', () => {
  test('10,000 digests at once all finish, a few at a time', async () => {
    expect(
      await patient.run(`
        const digests = await Promise.all(Array.from({ length: 10_000 }, (_, i) => subtle.digest('SHA-256', text(String(i)))));
        return [digests.length, new Set(digests.map(hex)).size, hex(digests[9_999])];`),
    ).toEqual([
      10_000,
      10_000,
      Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from('9999'))).toString('hex'),
    ]);
  });

  test('bytes of waiting jobs count against the heap of the isolate, and the cell survives', async () => {
    const pids = patient.service.cellPids;
    // 128 MiB of heap hold some thirty of them: an allocation fails, or the isolate is ended.
    await expect(
      patient.run(
        `const data = new Uint8Array(4 * 1024 * 1024); await Promise.all(Array.from({ length: 100 }, () => subtle.digest('SHA-1', data)));`,
      ),
    ).rejects.toThrow(/RangeError|exceededMemory/);
    expect(await patient.run('return (await subtle.digest("SHA-1", text("a"))).byteLength;')).toBe(20);
    // An installation that has used this much CPU may have moved to another cell since.
    expect(patient.service.cellPids).toEqual(expect.arrayContaining(pids));
  });

  test('PBKDF2 without end is charged to its call and ends it, while a neighbour is served', async () => {
    const before = await cell.service.metric('annex_calls_total{outcome="exceededCpu"}');
    const flood = cell.post(`
      const key = await subtle.importKey('raw', text('password'), 'PBKDF2', false, ['deriveBits']);
      const derive = () => subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-512', salt: text('salt'), iterations: 100_000 }, key, 512);
      for (;;) await Promise.all(Array.from({ length: 32 }, derive));`);
    const floodedAt = performance.now();
    let over = false;
    const ended = flood.then((response) => {
      over = true;
      return response;
    });
    const waits: number[] = [];
    while (!over) {
      const from = performance.now();
      expect(
        await cell.run(
          `const key = await subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['sign']); return (await subtle.sign('HMAC', key, text('a'))).byteLength;`,
          neighbour,
        ),
      ).toBe(32);
      waits.push(performance.now() - from);
    }
    const response = await ended;
    expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([
      503,
      'ISOLATE_LIMIT_EXCEEDED',
    ]);
    expect(await cell.service.metric('annex_calls_total{outcome="exceededCpu"}')).toBe(before + 1);
    expect(waits.length).toBeGreaterThan(3);
    // By the same clock, which says how busy the machine is: in an unfair pool it waits for all.
    const [median = 0] = waits.toSorted((a, b) => a - b).slice(Math.floor(waits.length / 2));
    expect(median).toBeLessThan((performance.now() - floodedAt) / 4);
  });

  test('an isolate survives a call that its jobs ended, and drops the waiting jobs', async () => {
    const own = await cell.install();
    await cell.run('globalThis.kept = 1;', own);
    const spent = await cell.post(
      `const key = await subtle.importKey('raw', text('p'), 'PBKDF2', false, ['deriveBits']);
       await Promise.all(Array.from({ length: 64 }, () => subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-512', salt: text('s'), iterations: 100_000 }, key, 512)));`,
      own,
    );
    expect(spent.status).toBe(503);
    expect(
      await cell.run('return [globalThis.kept, (await subtle.digest("SHA-1", text("a"))).byteLength];', own),
    ).toEqual([1, 20]);
  });

  test('the search for RSA primes cannot be stopped, and delays only other such searches', async () => {
    const strict = await CryptoService.start({ callCpuMs: 200 });
    try {
      const other = await strict.install();
      const searching = strict.post(
        `const rsa = { name: 'RSA-PSS', hash: 'SHA-1', modulusLength: 4096, publicExponent: Uint8Array.of(1, 0, 1) };
         for (;;) await Promise.all(Array.from({ length: 16 }, () => subtle.generateKey(rsa, true, ['sign'])));`,
      );
      let over = false;
      const ended = searching.finally(() => {
        over = true;
      });
      let served = 0;
      while (!over) {
        expect(await strict.run('return (await subtle.digest("SHA-1", text("a"))).byteLength;', other)).toBe(
          20,
        );
        served += 1;
      }
      expect((await ended).status).toBe(503);
      expect(served).toBeGreaterThan(1);
      expect(await strict.run('return (await subtle.digest("SHA-1", text("a"))).byteLength;', other)).toBe(
        20,
      );
    } finally {
      await strict.stop();
    }
  });
});

test('a script may use Web Crypto while it loads', async () => {
  const installed = await cell.service.deploy(
    'loading',
    `const digest = new Uint8Array(await crypto.subtle.digest('SHA-1', new Uint8Array())).toHex();
     export default { fetch: () => new Response(digest) };`,
  );
  expect(await (await fetch(installed.endpoint)).text()).toBe('da39a3ee5e6b4b0d3255bfef95601890afd80709');
});

test('a script that exceeds the CPU of a call while it loads is not published', async () => {
  const { status, body } = await cell.service.tryPublish('greedy', {
    'index.js': `const key = await crypto.subtle.importKey('raw', new Uint8Array(1), 'PBKDF2', false, ['deriveBits']);
      for (;;) await crypto.subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-512', salt: new Uint8Array(1), iterations: 100_000 }, key, 1_024);
      export default { fetch: () => new Response() };`,
  });
  expect(status).toBe(422);
  expect(JSON.stringify(body)).toContain('CPU');
});
