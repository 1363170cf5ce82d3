/** Keys of Web Crypto inside an isolate: formats, wrapping, and the attributes of a CryptoKey. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CryptoService } from '../../../support/web/crypto-service.ts';

let cell: CryptoService;
beforeAll(async () => {
  cell = await CryptoService.start({ callCpuMs: 20_000 });
});
afterAll(() => cell.stop());

test('a CryptoKey shows copies, the same each time, and changing them does not change the key', async () => {
  expect(
    await cell.run(`
      const { publicKey, privateKey } = await subtle.generateKey({ name: 'RSA-PSS', hash: 'sha-256', modulusLength: 1024, publicExponent: Uint8Array.of(1, 0, 1) }, false, ['verify', 'sign', 'sign']);
      const shown = [publicKey, privateKey].map(({ type, extractable, algorithm, usages }) => ({ type, extractable, algorithm, usages }));
      const text_ = JSON.stringify(shown, (key, value) => (ArrayBuffer.isView(value) ? [...value] : value));
      const same = privateKey.algorithm === privateKey.algorithm && privateKey.usages === privateKey.usages && publicKey.algorithm !== privateKey.algorithm;
      privateKey.algorithm.name = 'RSASSA-PKCS1-v1_5';
      privateKey.algorithm.hash.name = 'SHA-1';
      privateKey.algorithm.publicExponent.fill(9);
      privateKey.usages.push('decrypt');
      publicKey.usages.length = 0;
      const pss = { name: 'RSA-PSS', saltLength: 0 };
      const signature = await subtle.sign(pss, privateKey, text('a'));
      return [JSON.parse(text_), same, await subtle.verify(pss, publicKey, signature, text('a')),
        await nameOf(() => subtle.sign('RSASSA-PKCS1-v1_5', privateKey, text('a'))), (await subtle.exportKey('jwk', publicKey)).key_ops];`),
  ).toEqual([
    [
      {
        type: 'public',
        extractable: true,
        algorithm: {
          name: 'RSA-PSS',
          modulusLength: 1024,
          publicExponent: [1, 0, 1],
          hash: { name: 'SHA-256' },
        },
        usages: ['verify'],
      },
      {
        type: 'private',
        extractable: false,
        algorithm: {
          name: 'RSA-PSS',
          modulusLength: 1024,
          publicExponent: [1, 0, 1],
          hash: { name: 'SHA-256' },
        },
        usages: ['sign'],
      },
    ],
    true,
    true,
    'InvalidAccessError',
    ['verify'],
  ]);
});

test('every kind of key is exported from every format as it was imported', async () => {
  expect(
    await cell.run(`
      const rsa = { hash: 'SHA-384', modulusLength: 1024, publicExponent: Uint8Array.of(1, 0, 1) };
      const kinds = [
        [{ name: 'RSASSA-PKCS1-v1_5', ...rsa }, ['sign', 'verify']], [{ name: 'RSA-PSS', ...rsa }, ['sign', 'verify']], [{ name: 'RSA-OAEP', ...rsa }, ['encrypt', 'decrypt']],
        ...['P-256', 'P-384', 'P-521'].flatMap((namedCurve) => [[{ name: 'ECDSA', namedCurve }, ['sign', 'verify']], [{ name: 'ECDH', namedCurve }, ['deriveBits']]]),
        ...['Ed25519', 'Ed448'].map((name) => [{ name }, ['sign', 'verify']]), ...['X25519', 'X448'].map((name) => [{ name }, ['deriveKey']]),
        ...['CBC', 'CTR', 'GCM', 'KW'].map((mode) => [{ name: 'AES-' + mode, length: 192 }, ['wrapKey', 'unwrapKey']]),
        ...['SHA-1', 'SHA-256', 'SHA-384', 'SHA-512'].map((hash) => [{ name: 'HMAC', hash }, ['sign', 'verify']]),
      ];
      const same = (a, b) => a instanceof ArrayBuffer ? hex(a) === hex(b) : JSON.stringify(a) === JSON.stringify(b);
      const wrong = [];
      let count = 0;
      for (const [algorithm, usages] of kinds) {
        const made = await subtle.generateKey(algorithm, true, usages);
        for (const key of made instanceof CryptoKey ? [made] : [made.publicKey, made.privateKey]) {
          const raw = key.type === 'secret' || (key.type === 'public' && !key.algorithm.name.startsWith('RSA'));
          const formats = ['jwk', ...(raw ? ['raw'] : []), ...(key.type === 'public' ? ['spki'] : []), ...(key.type === 'private' ? ['pkcs8'] : [])];
          for (const format of formats) {
            const data = await subtle.exportKey(format, key);
            const again = await subtle.importKey(format, data, key.algorithm, true, key.usages);
            count++;
            const equal = same(data, await subtle.exportKey(format, again)) && JSON.stringify(again.algorithm) === JSON.stringify(key.algorithm) && again.type === key.type && again.usages.join() === key.usages.join();
            if (!equal) wrong.push([key.algorithm.name, key.type, format]);
          }
        }
      }
      return [wrong, count];`),
  ).toEqual([[], 3 * 4 + 6 * 5 + 4 * 5 + 4 * 2 + 4 * 2]);
});

test('a JsonWebKey has the members of its algorithm, and no other', async () => {
  expect(
    await cell.run(`
      const members = async (key) => { const jwk = await subtle.exportKey('jwk', key); return [jwk.kty, jwk.alg ?? null, jwk.ext, Object.keys(jwk).sort().join()]; };
      const ed = await subtle.generateKey('Ed25519', true, ['sign', 'verify']);
      const ecdh = await subtle.generateKey({ name: 'ECDH', namedCurve: 'P-256' }, true, ['deriveBits']);
      const rsa = await subtle.generateKey({ name: 'RSA-OAEP', hash: 'SHA-1', modulusLength: 1024, publicExponent: Uint8Array.of(3) }, true, ['encrypt', 'decrypt']);
      const aes = await subtle.generateKey({ name: 'AES-KW', length: 256 }, true, ['wrapKey']);
      return [await members(ed.privateKey), await members(ecdh.publicKey), await members(rsa.privateKey), await members(rsa.publicKey), await members(aes)];`),
  ).toEqual([
    ['OKP', 'Ed25519', true, 'alg,crv,d,ext,key_ops,kty,x'],
    ['EC', null, true, 'crv,ext,key_ops,kty,x,y'],
    ['RSA', 'RSA-OAEP', true, 'alg,d,dp,dq,e,ext,key_ops,kty,n,p,q,qi'],
    ['RSA', 'RSA-OAEP', true, 'alg,e,ext,key_ops,kty,n'],
    ['oct', 'A256KW', true, 'alg,ext,k,key_ops,kty'],
  ]);
});

describe('wrapping', () => {
  test('every wrapping algorithm takes every format, and unwraps the same key with the requested usages', async () => {
    expect(
      await cell.run(`
        const both = ['wrapKey', 'unwrapKey'];
        const aes = async (name) => { const key = await subtle.generateKey({ name, length: 256 }, false, both); return [key, key]; };
        const rsa = await subtle.generateKey({ name: 'RSA-OAEP', hash: 'SHA-256', modulusLength: 4096, publicExponent: Uint8Array.of(1, 0, 1) }, false, both);
        const wrappers = [
          ['AES-KW', await aes('AES-KW')], [{ name: 'AES-GCM', iv: new Uint8Array(12) }, await aes('AES-GCM')],
          [{ name: 'AES-CBC', iv: new Uint8Array(16) }, await aes('AES-CBC')], [{ name: 'AES-CTR', counter: new Uint8Array(16), length: 64 }, await aes('AES-CTR')],
          ['RSA-OAEP', [rsa.publicKey, rsa.privateKey]],
        ];
        const ec = await subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']);
        const hmac = await subtle.generateKey({ name: 'HMAC', hash: 'SHA-256', length: 128 }, true, ['sign', 'verify']);
        const P256 = { name: 'ECDSA', namedCurve: 'P-256' };
        const results = {};
        for (const [algorithm, [wrapping, unwrapping]] of wrappers) {
          const name = algorithm.name ?? algorithm;
          results[name] = [];
          for (const [format, key, as, usages] of [['raw', hmac, { name: 'HMAC', hash: 'SHA-256' }, ['sign']], ['jwk', hmac, { name: 'HMAC', hash: 'SHA-256' }, ['verify']], ['pkcs8', ec.privateKey, P256, ['sign']], ['spki', ec.publicKey, P256, ['verify']], ['jwk', ec.privateKey, P256, ['sign']]]) {
            try {
              const wrapped = await subtle.wrapKey(format, key, wrapping, algorithm);
              const again = await subtle.unwrapKey(format, wrapped, unwrapping, algorithm, as, true, usages);
              const sealed = await subtle.unwrapKey(format, wrapped, unwrapping, algorithm, as, false, usages);
              const same = JSON.stringify({ ...await subtle.exportKey('jwk', key), key_ops: 0 }) === JSON.stringify({ ...await subtle.exportKey('jwk', again), key_ops: 0 });
              results[name].push(same && again.usages.join() === usages.join() && again.extractable && !sealed.extractable);
            } catch (error) { results[name].push(error.name); }
          }
        }
        return results;`),
    ).toEqual({
      // RFC 3394 wraps whole blocks of 8 bytes only.
      'AES-KW': [true, true, 'OperationError', 'OperationError', true],
      'AES-GCM': [true, true, true, true, true],
      'AES-CBC': [true, true, true, true, true],
      'AES-CTR': [true, true, true, true, true],
      'RSA-OAEP': [true, true, true, true, true],
    });
  });

  test('a key that another party wrapped as not extractable stays so', async () => {
    expect(
      await cell.run(`
        const kek = await subtle.generateKey({ name: 'AES-GCM', length: 128 }, true, ['encrypt', 'unwrapKey']);
        const gcm = { name: 'AES-GCM', iv: new Uint8Array(12) };
        const jwk = { kty: 'oct', k: 'AAAAAAAAAAAAAAAAAAAAAA', ext: false };
        const wrapped = await subtle.encrypt(gcm, kek, text(JSON.stringify(jwk)));
        const unwrap = (extractable) => subtle.unwrapKey('jwk', wrapped, kek, gcm, 'AES-CBC', extractable, ['encrypt']);
        return [await nameOf(() => unwrap(true)), (await unwrap(false)).extractable];`),
    ).toEqual(['DataError', false]);
  });
});

test('a structured clone of a key has the same usages, and an imitation is not cloned as a key', async () => {
  expect(
    await cell.run(`
      const key = await subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
      const { inner: clone } = structuredClone({ inner: key });
      const macs = await Promise.all([key, clone].map(async (one) => hex(await subtle.sign('HMAC', one, text('a')))));
      return [clone !== key && clone instanceof CryptoKey, macs[0] === macs[1], clone.extractable, await nameOf(() => subtle.exportKey('raw', clone)),
        await nameOf(() => structuredClone(Object.create(CryptoKey.prototype))), structuredClone(new QuotaExceededError('a', { quota: 1, requested: 2 })).requested];`),
  ).toEqual([true, true, false, 'InvalidAccessError', 'DataCloneError', 2]);
});
