/**
 * Errors of Web Crypto inside an isolate: each case is run inside and on Node's own Web Crypto,
 * which follows the web-platform-tests, and must throw an error of the same name.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CryptoService } from '../../../support/web/crypto-service.ts';

let cell: CryptoService;
beforeAll(async () => {
  cell = await CryptoService.start({ callCpuMs: 20_000 });
});
afterAll(() => cell.stop());

const SETUP = `
  const { subtle } = crypto;
  const bytes = (length) => new Uint8Array(length);
  const all = ['encrypt', 'decrypt', 'sign', 'verify', 'deriveKey', 'deriveBits', 'wrapKey', 'unwrapKey'];
  const aes = await subtle.generateKey({ name: 'AES-GCM', length: 128 }, true, ['encrypt', 'decrypt', 'wrapKey', 'unwrapKey']);
  const fixed = await subtle.generateKey({ name: 'AES-CBC', length: 128 }, false, ['encrypt']);
  const kw = await subtle.generateKey({ name: 'AES-KW', length: 128 }, true, ['wrapKey', 'unwrapKey']);
  const hmac = await subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, true, ['sign', 'verify']);
  const signOnly = await subtle.importKey('raw', bytes(8), { name: 'HMAC', hash: 'SHA-1' }, true, ['sign']);
  const password = await subtle.importKey('raw', bytes(8), 'PBKDF2', false, ['deriveBits', 'deriveKey']);
  const hkdf = await subtle.importKey('raw', bytes(8), 'HKDF', false, ['deriveBits', 'deriveKey']);
  const ec = await subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']);
  const ecdh = await subtle.generateKey({ name: 'ECDH', namedCurve: 'P-256' }, true, ['deriveBits', 'deriveKey']);
  const ecdh384 = await subtle.generateKey({ name: 'ECDH', namedCurve: 'P-384' }, true, ['deriveBits']);
  const x = await subtle.generateKey('X25519', true, ['deriveBits', 'deriveKey']);
  const ed = await subtle.generateKey('Ed25519', true, ['sign', 'verify']);
  const exponent = Uint8Array.of(1, 0, 1);
  const rsa = await subtle.generateKey({ name: 'RSA-OAEP', hash: 'SHA-256', modulusLength: 1024, publicExponent: exponent }, true, ['encrypt', 'decrypt', 'wrapKey', 'unwrapKey']);
  const pss = await subtle.generateKey({ name: 'RSA-PSS', hash: 'SHA-512', modulusLength: 1024, publicExponent: exponent }, true, ['sign', 'verify']);
  const jwk = async (key) => ({ ...(await subtle.exportKey('jwk', key)) });
  const [ecJwk, edJwk, xJwk, rsaJwk, octJwk, aesJwk] = await Promise.all([ec.privateKey, ed.privateKey, x.privateKey, pss.privateKey, hmac, aes].map(jwk));
  for (const one of [ecJwk, edJwk, xJwk, rsaJwk, octJwk, aesJwk]) delete one.key_ops;
  const P256 = { name: 'ECDSA', namedCurve: 'P-256' };
  const PSS = { name: 'RSA-PSS', hash: 'SHA-512' };
  const nameOf = async (run) => { try { await run(); return 'none'; } catch (error) { return (error instanceof DOMException ? 'DOMException ' : error instanceof TypeError ? '' : '?') + error.name; } };
`;

/** Snippets by subject. Each is an expression. */
const CASES: Record<string, string[]> = {
  'the name of an algorithm': [
    `subtle.digest('MD5', bytes(1))`,
    `subtle.digest('', bytes(1))`,
    `subtle.digest({}, bytes(1))`,
    `subtle.digest(undefined, bytes(1))`,
    `subtle.digest(null, bytes(1))`,
    `subtle.digest(7, bytes(1))`,
    `subtle.digest(Symbol(), bytes(1))`,
    `subtle.digest({ name: Symbol() }, bytes(1))`,
    `subtle.digest('AES-GCM', bytes(1))`,
    `subtle.digest('sHa-512', bytes(1))`,
    `subtle.sign('SHA-1', hmac, bytes(1))`,
    `subtle.generateKey('PBKDF2', false, ['deriveBits'])`,
    `subtle.generateKey({ name: 'HMAC', hash: 'MD5' }, false, ['sign'])`,
    `subtle.generateKey({ name: 'HMAC' }, false, ['sign'])`,
    `subtle.generateKey('AES-GCM', false, ['encrypt'])`,
    `subtle.generateKey({ name: 'EC', namedCurve: 'P-256' }, false, ['sign'])`,
    `subtle.deriveBits('ECDH', ecdh.privateKey, 8)`,
    `subtle.wrapKey('raw', aes, kw, 'HMAC')`,
  ],
  'types of arguments': [
    `subtle.digest()`,
    `subtle.digest('SHA-1')`,
    `subtle.digest('SHA-1', 'text')`,
    `subtle.digest('SHA-1', [1])`,
    `subtle.digest('SHA-1', null)`,
    `subtle.encrypt({ name: 'AES-GCM', iv: bytes(12) }, {}, bytes(1))`,
    `subtle.encrypt({ name: 'AES-GCM', iv: [1] }, aes, bytes(1))`,
    `subtle.encrypt({ name: 'AES-GCM' }, aes, bytes(1))`,
    `subtle.encrypt({ name: 'AES-GCM', iv: bytes(12), tagLength: 256 }, aes, bytes(1))`,
    `subtle.encrypt({ name: 'AES-GCM', iv: bytes(12), tagLength: -1 }, aes, bytes(1))`,
    `subtle.encrypt({ name: 'AES-GCM', iv: bytes(12), tagLength: NaN }, aes, bytes(1))`,
    `subtle.encrypt({ name: 'AES-GCM', iv: bytes(12), tagLength: 1n }, aes, bytes(1))`,
    `subtle.generateKey({ name: 'AES-GCM', length: 65536 }, true, ['encrypt'])`,
    `subtle.generateKey({ name: 'AES-GCM', length: '128' }, true, ['encrypt'])`,
    `subtle.generateKey({ name: 'AES-GCM', length: 128 }, true, ['nothing'])`,
    `subtle.generateKey({ name: 'AES-GCM', length: 128 }, true, 'encrypt')`,
    `subtle.generateKey({ name: 'AES-GCM', length: 128 }, true, {})`,
    `subtle.generateKey({ name: 'AES-GCM', length: 128 }, true)`,
    `subtle.generateKey({ name: 'RSA-PSS', hash: 'SHA-1', modulusLength: 1024, publicExponent: [1, 0, 1] }, true, ['sign'])`,
    `subtle.generateKey({ name: 'RSA-PSS', hash: 'SHA-1', modulusLength: 1024, publicExponent: new ArrayBuffer(3) }, true, ['sign'])`,
    `subtle.importKey('der', bytes(16), 'AES-GCM', true, ['encrypt'])`,
    `subtle.importKey('raw', {}, 'AES-GCM', true, ['encrypt'])`,
    `subtle.importKey('raw', 'text', 'AES-GCM', true, ['encrypt'])`,
    `subtle.importKey('jwk', { kty: 'oct', key_ops: 'sign' }, 'AES-GCM', true, ['encrypt'])`,
    `subtle.importKey('jwk', null, 'AES-GCM', true, ['encrypt'])`,
    `subtle.exportKey('raw', {})`,
    `subtle.exportKey('x', aes)`,
    `subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-1', salt: bytes(1) }, password, 8)`,
    `subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-1', iterations: 1 }, password, 8)`,
    `subtle.deriveBits({ name: 'HKDF', hash: 'SHA-1', salt: bytes(1) }, hkdf, 8)`,
    `subtle.deriveBits({ name: 'ECDH', public: {} }, ecdh.privateKey, 8)`,
    `subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-1', iterations: 1, salt: bytes(1) })`,
    `subtle.constructor.prototype.digest.call({}, 'SHA-1', bytes(1))`,
  ],
  'parameters out of range': [
    `subtle.encrypt({ name: 'AES-GCM', iv: bytes(12), tagLength: 100 }, aes, bytes(1))`,
    `subtle.encrypt({ name: 'AES-GCM', iv: bytes(0) }, aes, bytes(1))`,
    `subtle.decrypt({ name: 'AES-GCM', iv: bytes(12) }, aes, bytes(3))`,
    `subtle.decrypt({ name: 'AES-GCM', iv: bytes(12) }, aes, bytes(32))`,
    `subtle.encrypt({ name: 'AES-CBC', iv: bytes(15) }, fixed, bytes(1))`,
    `subtle.importKey('raw', bytes(16), 'AES-CTR', true, ['encrypt']).then((key) => subtle.encrypt({ name: 'AES-CTR', counter: bytes(15), length: 64 }, key, bytes(1)))`,
    `subtle.importKey('raw', bytes(16), 'AES-CTR', true, ['encrypt']).then((key) => subtle.encrypt({ name: 'AES-CTR', counter: bytes(16), length: 0 }, key, bytes(1)))`,
    `subtle.importKey('raw', bytes(16), 'AES-CTR', true, ['encrypt']).then((key) => subtle.encrypt({ name: 'AES-CTR', counter: bytes(16), length: 129 }, key, bytes(1)))`,
    `subtle.importKey('raw', bytes(16), 'AES-CTR', true, ['encrypt']).then((key) => subtle.encrypt({ name: 'AES-CTR', counter: bytes(16), length: 1 }, key, bytes(64)))`,
    `subtle.encrypt('RSA-OAEP', rsa.publicKey, bytes(128))`,
    `subtle.decrypt('RSA-OAEP', rsa.privateKey, bytes(128))`,
    `subtle.sign({ name: 'RSA-PSS', saltLength: 1000 }, pss.privateKey, bytes(1))`,
    `subtle.generateKey({ name: 'AES-CBC', length: 64 }, true, ['encrypt'])`,
    `subtle.generateKey({ name: 'HMAC', hash: 'SHA-1', length: 0 }, true, ['sign'])`,
    `subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-512' }, true, ['sign'])`,
    `subtle.generateKey({ name: 'RSA-PSS', hash: 'SHA-1', modulusLength: 1024, publicExponent: bytes(1) }, true, ['sign'])`,
    `subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-1', salt: bytes(1), iterations: 0 }, password, 8)`,
    `subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-1', salt: bytes(1), iterations: 1 }, password, 7)`,
    `subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-1', salt: bytes(1), iterations: 1 }, password, null)`,
    `subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-1', salt: bytes(1), iterations: 1 }, password, 0)`,
    `subtle.deriveBits({ name: 'HKDF', hash: 'SHA-1', salt: bytes(1), info: bytes(0) }, hkdf, 7)`,
    `subtle.deriveBits({ name: 'HKDF', hash: 'SHA-1', salt: bytes(1), info: bytes(0) }, hkdf, null)`,
    `subtle.deriveBits({ name: 'HKDF', hash: 'SHA-1', salt: bytes(1), info: bytes(0) }, hkdf, 0)`,
    `subtle.deriveBits({ name: 'HKDF', hash: 'SHA-1', salt: bytes(1), info: bytes(0) }, hkdf, 255 * 160 + 8)`,
    `subtle.deriveBits({ name: 'ECDH', public: ecdh.publicKey }, ecdh.privateKey, 264)`,
    `subtle.deriveBits({ name: 'ECDH', public: ecdh.publicKey }, ecdh.privateKey, 0)`,
    `subtle.deriveBits({ name: 'X25519', public: x.publicKey }, x.privateKey, 264)`,
    `subtle.deriveKey({ name: 'X25519', public: x.publicKey }, x.privateKey, { name: 'AES-GCM', length: 100 }, true, ['encrypt'])`,
    `subtle.deriveKey({ name: 'X25519', public: x.publicKey }, x.privateKey, { name: 'HMAC', hash: 'SHA-1' }, true, ['sign'])`,
    `subtle.deriveKey({ name: 'X25519', public: x.publicKey }, x.privateKey, 'HKDF', true, ['deriveBits'])`,
    `subtle.deriveKey({ name: 'X25519', public: x.publicKey }, x.privateKey, 'HKDF', false, ['deriveBits'])`,
    `subtle.deriveKey({ name: 'X25519', public: x.publicKey }, x.privateKey, { name: 'AES-GCM', length: 128 }, true, [])`,
  ],
  'what a key may do': [
    `subtle.encrypt({ name: 'AES-CBC', iv: bytes(16) }, aes, bytes(1))`,
    `subtle.decrypt({ name: 'AES-CBC', iv: bytes(16) }, fixed, bytes(16))`,
    `subtle.verify('HMAC', signOnly, bytes(20), bytes(1))`,
    `subtle.sign('HMAC', aes, bytes(1))`,
    `subtle.sign({ name: 'ECDSA', hash: 'SHA-1' }, ec.publicKey, bytes(1))`,
    `subtle.verify({ name: 'ECDSA', hash: 'SHA-1' }, ec.privateKey, bytes(64), bytes(1))`,
    `subtle.exportKey('raw', fixed)`,
    `subtle.exportKey('raw', password)`,
    `subtle.exportKey('jwk', hkdf)`,
    `subtle.exportKey('spki', aes)`,
    `subtle.exportKey('raw', ec.privateKey)`,
    `subtle.exportKey('pkcs8', ec.publicKey)`,
    `subtle.exportKey('spki', ec.privateKey)`,
    `subtle.exportKey('raw', pss.publicKey)`,
    `subtle.wrapKey('raw', fixed, kw, 'AES-KW')`,
    `subtle.wrapKey('raw', hkdf, kw, 'AES-KW')`,
    `subtle.wrapKey('raw', aes, hmac, 'AES-KW')`,
    `subtle.wrapKey('raw', aes, rsa.privateKey, 'RSA-OAEP')`,
    `subtle.unwrapKey('raw', bytes(24), kw, 'AES-KW', 'AES-GCM', true, ['encrypt'])`,
    `subtle.unwrapKey('raw', bytes(7), kw, 'AES-KW', 'AES-GCM', true, ['encrypt'])`,
    `subtle.unwrapKey('jwk', bytes(40), aes, { name: 'AES-GCM', iv: bytes(12) }, 'AES-GCM', true, ['encrypt'])`,
    `subtle.deriveBits({ name: 'ECDH', public: ecdh384.publicKey }, ecdh.privateKey, 128)`,
    `subtle.deriveBits({ name: 'ECDH', public: ecdh.privateKey }, ecdh.privateKey, 128)`,
    `subtle.deriveBits({ name: 'ECDH', public: x.publicKey }, ecdh.privateKey, 128)`,
    `subtle.deriveBits({ name: 'ECDH', public: ecdh.publicKey }, ecdh.publicKey, 128)`,
    `subtle.deriveKey({ name: 'ECDH', public: ecdh384.publicKey }, ecdh384.privateKey, { name: 'AES-GCM', length: 128 }, true, ['encrypt'])`,
  ],
  'usages of a new key': [
    ...['AES-GCM', 'AES-KW'].flatMap((name) =>
      ['[]', `['sign']`, `['wrapKey', 'sign']`].map(
        (usages) => `subtle.generateKey({ name: '${name}', length: 128 }, true, ${usages})`,
      ),
    ),
    ...['Ed25519', 'Ed448', 'X25519', 'X448'].flatMap((name) =>
      ['[]', `['encrypt']`, `['verify']`].map((usages) => `subtle.generateKey('${name}', true, ${usages})`),
    ),
    `subtle.generateKey({ name: 'HMAC', hash: 'SHA-1' }, true, [])`,
    `subtle.generateKey({ name: 'HMAC', hash: 'SHA-1' }, true, ['encrypt'])`,
    `subtle.generateKey({ name: 'RSA-OAEP', hash: 'SHA-1', modulusLength: 1024, publicExponent: exponent }, true, ['encrypt'])`,
    `subtle.generateKey({ name: 'RSA-OAEP', hash: 'SHA-1', modulusLength: 1024, publicExponent: exponent }, true, ['sign'])`,
    `subtle.importKey('raw', bytes(16), 'AES-GCM', true, [])`,
    `subtle.importKey('raw', bytes(16), 'AES-GCM', true, ['sign'])`,
    `subtle.importKey('raw', bytes(1), 'HKDF', true, ['deriveBits'])`,
    `subtle.importKey('raw', bytes(1), 'PBKDF2', false, ['sign'])`,
    `subtle.importKey('raw', bytes(1), 'PBKDF2', false, [])`,
    `subtle.importKey('jwk', edJwk, 'Ed25519', true, ['verify'])`,
    `subtle.importKey('jwk', edJwk, 'Ed25519', true, [])`,
    `subtle.importKey('jwk', xJwk, 'X25519', true, [])`,
  ],
  'key data': [
    `subtle.importKey('raw', bytes(15), 'AES-GCM', true, ['encrypt'])`,
    `subtle.importKey('raw', bytes(0), { name: 'HMAC', hash: 'SHA-1' }, true, ['sign'])`,
    `subtle.importKey('raw', bytes(4), { name: 'HMAC', hash: 'SHA-1', length: 0 }, true, ['sign'])`,
    `subtle.importKey('raw', bytes(4), { name: 'HMAC', hash: 'SHA-1', length: 33 }, true, ['sign'])`,
    `subtle.importKey('raw', bytes(4), { name: 'HMAC', hash: 'SHA-1', length: 24 }, true, ['sign'])`,
    `subtle.importKey('raw', bytes(4), { name: 'HMAC', hash: 'SHA-1', length: 30 }, true, ['sign'])`,
    `subtle.importKey('pkcs8', bytes(16), 'AES-GCM', true, ['encrypt'])`,
    `subtle.importKey('spki', bytes(16), { name: 'HMAC', hash: 'SHA-1' }, true, ['sign'])`,
    `subtle.importKey('raw', bytes(65), P256, true, ['verify'])`,
    `subtle.importKey('raw', bytes(64), P256, true, ['verify'])`,
    `subtle.importKey('raw', bytes(31), 'Ed25519', true, ['verify'])`,
    `subtle.importKey('raw', bytes(33), 'X25519', true, [])`,
    `subtle.importKey('raw', bytes(32), 'RSA-PSS', true, ['verify'])`,
    `subtle.importKey('raw', bytes(32), PSS, true, ['verify'])`,
    `subtle.importKey('pkcs8', bytes(48), 'Ed25519', true, ['sign'])`,
    `subtle.importKey('spki', bytes(44), 'Ed25519', true, ['verify'])`,
    `subtle.exportKey('spki', ed.publicKey).then((key) => subtle.importKey('spki', key, 'X25519', true, []))`,
    `subtle.exportKey('spki', ec.publicKey).then((key) => subtle.importKey('spki', key, { name: 'ECDSA', namedCurve: 'P-384' }, true, ['verify']))`,
    `subtle.exportKey('spki', ec.publicKey).then((key) => subtle.importKey('spki', key, PSS, true, ['verify']))`,
    `subtle.importKey('raw', bytes(65), { name: 'ECDSA', namedCurve: 'P-1' }, true, ['verify'])`,
  ],
  'a JsonWebKey': [
    `subtle.importKey('jwk', {}, 'AES-GCM', true, ['encrypt'])`,
    `subtle.importKey('jwk', { ...octJwk, kty: 'RSA' }, { name: 'HMAC', hash: 'SHA-256' }, true, ['sign'])`,
    `subtle.importKey('jwk', { ...octJwk, alg: 'HS512' }, { name: 'HMAC', hash: 'SHA-256' }, true, ['sign'])`,
    `subtle.importKey('jwk', { ...octJwk, alg: undefined }, { name: 'HMAC', hash: 'SHA-256' }, true, ['sign'])`,
    `subtle.importKey('jwk', { ...octJwk, use: 'enc' }, { name: 'HMAC', hash: 'SHA-256' }, true, ['sign'])`,
    `subtle.importKey('jwk', { ...octJwk, key_ops: ['verify'] }, { name: 'HMAC', hash: 'SHA-256' }, true, ['sign'])`,
    `subtle.importKey('jwk', { ...octJwk, key_ops: ['sign', 'sign'] }, { name: 'HMAC', hash: 'SHA-256' }, true, ['sign'])`,
    `subtle.importKey('jwk', { ...octJwk, ext: false }, { name: 'HMAC', hash: 'SHA-256' }, true, ['sign'])`,
    `subtle.importKey('jwk', { ...octJwk, ext: false }, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])`,
    `subtle.importKey('jwk', { ...octJwk, k: undefined }, { name: 'HMAC', hash: 'SHA-256' }, true, ['sign'])`,
    `subtle.importKey('jwk', { ...octJwk, k: '!' }, { name: 'HMAC', hash: 'SHA-256' }, true, ['sign'])`,
    `subtle.importKey('jwk', { ...aesJwk, alg: 'A256GCM' }, 'AES-GCM', true, ['encrypt'])`,
    `subtle.importKey('jwk', { ...aesJwk, k: 'AAAA' }, 'AES-GCM', true, ['encrypt'])`,
    `subtle.importKey('jwk', aesJwk, 'AES-CBC', true, ['encrypt'])`,
    `subtle.importKey('jwk', { ...aesJwk, use: 'sig' }, 'AES-GCM', true, ['encrypt'])`,
    `subtle.importKey('jwk', aesJwk, 'HKDF', false, ['deriveBits'])`,
    ...['crv', 'kty', 'x', 'y', 'd'].map(
      (name) => `subtle.importKey('jwk', { ...ecJwk, ${name}: undefined }, P256, true, ['sign'])`,
    ),
    `subtle.importKey('jwk', { ...ecJwk, crv: 'P-384' }, P256, true, ['sign'])`,
    `subtle.importKey('jwk', { ...ecJwk, alg: 'ES384' }, P256, true, ['sign'])`,
    `subtle.importKey('jwk', { ...ecJwk, alg: 'ES256' }, P256, true, ['sign'])`,
    `subtle.importKey('jwk', { ...ecJwk, x: ecJwk.y }, P256, true, ['sign'])`,
    `subtle.importKey('jwk', { ...ecJwk, oth: [{}] }, P256, true, ['sign'])`,
    ...['crv', 'kty', 'x', 'd'].map(
      (name) => `subtle.importKey('jwk', { ...edJwk, ${name}: undefined }, 'Ed25519', true, ['sign'])`,
    ),
    `subtle.importKey('jwk', { ...edJwk, alg: 'EdDSA' }, 'Ed25519', true, ['sign'])`,
    `subtle.importKey('jwk', { ...edJwk, alg: 'ed25519' }, 'Ed25519', true, ['sign'])`,
    `subtle.importKey('jwk', { ...edJwk, crv: 'X25519' }, 'Ed25519', true, ['sign'])`,
    `subtle.importKey('jwk', { ...edJwk, x: xJwk.x }, 'Ed25519', true, ['sign'])`,
    `subtle.importKey('jwk', { ...xJwk, alg: 'ignored' }, 'X25519', true, ['deriveBits'])`,
    `subtle.importKey('jwk', { ...xJwk, use: 'sig' }, 'X25519', true, ['deriveBits'])`,
    ...['kty', 'n', 'e', 'd', 'p', 'q', 'dp', 'dq', 'qi'].map(
      (name) => `subtle.importKey('jwk', { ...rsaJwk, ${name}: undefined }, PSS, true, ['sign'])`,
    ),
    `subtle.importKey('jwk', { ...rsaJwk, alg: 'PS256' }, PSS, true, ['sign'])`,
    `subtle.importKey('jwk', rsaJwk, PSS, true, ['sign', 'verify'])`,
  ],
};

describe('the error of the standard', () => {
  test.each(Object.entries(CASES))('%s', async (_about, cases) => {
    const script = `${SETUP} const names = []; ${cases.map((body) => `names.push(await nameOf(() => ${body}));`).join('\n')} return names;`;
    const AsyncFunction = (async () => undefined).constructor as new (
      body: string,
    ) => () => Promise<string[]>;
    const expected = await new AsyncFunction(script)();
    // The snippet brings its own names.
    const found = (await cell.run(`return await (async () => { ${script} })();`)) as string[];
    const table = (names: string[]) => cases.map((body, i) => `${body} → ${names[i]}`);
    expect(table(found)).toEqual(table(expected));
  });
});

test.each([
  // Names are compared by their ASCII case, in which a long s is no s.
  [`subtle.digest('\u017fha-1', bytes(1))`, 'DOMException NotSupportedError'],
  [`subtle.generateKey({ name: 'HMAC', hash: {} }, false, ['sign'])`, 'TypeError'],
  [`subtle.importKey('jwk', bytes(16), 'AES-GCM', true, ['encrypt'])`, 'TypeError'],
  [`subtle.importKey('jwk', { ...rsaJwk, oth: [] }, PSS, true, ['sign'])`, 'DOMException NotSupportedError'],
  [
    `subtle.deriveKey({ name: 'X25519', public: x.publicKey }, x.privateKey, { name: 'HMAC', hash: 'SHA-1', length: 0 }, true, ['sign'])`,
    'TypeError',
  ],
])('if Node differs from the standard, the standard is followed: %s', async (body, name) => {
  expect(await cell.run(`return await (async () => { ${SETUP} return nameOf(() => ${body}); })();`)).toBe(
    name,
  );
});

test('an argument is refused before the next microtask, an operation after it', async () => {
  expect(
    await cell.run(`
      const whenRejected = async (run) => {
        let late = false;
        const settled = run().then(() => 'none', (error) => [error.name, late ? 'late' : 'at once']);
        Promise.resolve().then(() => { late = true; });
        return settled;
      };
      const rsa = (publicExponent, modulusLength = 1024) => ({ name: 'RSA-PSS', hash: 'SHA-1', modulusLength, publicExponent });
      return [
        await whenRejected(() => subtle.generateKey('nothing', true, [])),
        await whenRejected(() => subtle.generateKey({}, true, [])),
        await whenRejected(() => subtle.generateKey({ name: 'AES-GCM', length: 64 }, true, ['encrypt'])),
        await whenRejected(() => subtle.generateKey({ name: 'ECDH', namedCurve: 'P-512' }, true, ['deriveBits'])),
        await whenRejected(() => subtle.generateKey(rsa(Uint8Array.of(1)), true, ['sign'])),
        await whenRejected(() => subtle.generateKey(rsa(Uint8Array.of(1, 0, 0)), true, ['sign'])),
        await whenRejected(() => subtle.digest('SHA-1')),
        await whenRejected(() => subtle.generateKey({ name: 'AES-GCM', length: 128 }, true, ['sign'])),
        await whenRejected(() => subtle.importKey('raw', new Uint8Array(16), 'AES-GCM', true, [])),
      ];`),
  ).toEqual([
    ['NotSupportedError', 'at once'],
    ['TypeError', 'at once'],
    ['OperationError', 'at once'],
    ['NotSupportedError', 'at once'],
    ['OperationError', 'at once'],
    ['OperationError', 'at once'],
    ['TypeError', 'at once'],
    ['SyntaxError', 'late'],
    ['SyntaxError', 'late'],
  ]);
});

test('messages name no function of OpenSSL, no path and no code', async () => {
  const messages = await cell.run(`
    const messages = [];
    for (const run of [
      () => subtle.importKey('pkcs8', new Uint8Array(48), 'Ed25519', true, ['sign']),
      () => subtle.importKey('spki', text('nothing'), { name: 'RSA-PSS', hash: 'SHA-1' }, true, ['verify']),
      () => subtle.importKey('raw', new Uint8Array(65), { name: 'ECDSA', namedCurve: 'P-256' }, true, ['verify']),
    ]) await run().catch((error) => messages.push(error.name + ' ' + error.message + ' ' + String(error.cause)));
    return messages;`);
  expect(messages).toEqual(
    Array(3).fill('DataError The data does not fit the format or the algorithm undefined'),
  );
});
