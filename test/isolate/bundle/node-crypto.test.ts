/**
 * Ciphers, keys and signatures of `node:crypto` in a bundle. Each expression has the value, or
 * throws the error, that it has in the Node.js that runs the tests; where chance is in a value, the
 * one side reads what the other has made.
 */
import crypto from 'node:crypto';
import { createRequire } from 'node:module';
import { beforeAll, describe, expect, test } from 'vitest';
import { evaluate } from '../../support/bundle/uploaded.ts';

const pem = { format: 'pem' } as const;
/** By types that are known only when it runs. */
const newPair = crypto.generateKeyPairSync as unknown as (
  type: string,
  options?: object,
) => { readonly privateKey: crypto.KeyObject; readonly publicKey: crypto.KeyObject };
const PASSPHRASE = 'a passphrase';
/** Keys that Node.js has made: PEM by a short name. */
const PEMS: Readonly<Record<string, string>> = (() => {
  const rsa = newPair('rsa', { modulusLength: 1024 });
  const pss = newPair('rsa-pss', {
    modulusLength: 1024,
    hashAlgorithm: 'sha256',
    mgf1HashAlgorithm: 'sha1',
    saltLength: 16,
  });
  const dh = newPair('dh', { group: 'modp5' });
  const pairs = {
    rsa,
    pss,
    dh,
    p256: newPair('ec', { namedCurve: 'P-256' }),
    p384: newPair('ec', { namedCurve: 'P-384' }),
    p521: newPair('ec', { namedCurve: 'P-521' }),
    k1: newPair('ec', { namedCurve: 'secp256k1' }),
    ed25519: newPair('ed25519'),
    ed448: newPair('ed448'),
    x25519: newPair('x25519'),
    x448: newPair('x448'),
  };
  const all = Object.entries(pairs).flatMap(([name, { privateKey, publicKey }]) => [
    [name, privateKey.export({ type: 'pkcs8', ...pem })],
    [`${name}Public`, publicKey.export({ type: 'spki', ...pem })],
  ]);
  const sealed = { cipher: 'aes-256-cbc', passphrase: PASSPHRASE } as const;
  return {
    ...Object.fromEntries(all),
    rsaOld: rsa.privateKey.export({ type: 'pkcs1', ...pem }),
    rsaPublicOld: rsa.publicKey.export({ type: 'pkcs1', ...pem }),
    p256Old: pairs.p256.privateKey.export({ type: 'sec1', ...pem }),
    rsaSealed: rsa.privateKey.export({ type: 'pkcs8', ...pem, ...sealed }),
    rsaOldSealed: rsa.privateKey.export({ type: 'pkcs1', ...pem, ...sealed }),
  };
})();

/** What the code of both sides begins with. */
const SETUP = `
  const crypto = require('crypto');
  const P = ${JSON.stringify(PEMS)};
  const K = Buffer.alloc(32, 'key'), IV = Buffer.alloc(16, 'iv'), TEXT = Buffer.from('größer als ein Block von Bytes ?>');
  const passphrase = '${PASSPHRASE}';
  const enc = (name, size, iv, options, use = () => {}) => { const c = crypto.createCipheriv(name, K.subarray(0, size), iv, options); use(c); const out = Buffer.concat([c.update(TEXT.subarray(0, 7)), c.update(TEXT.subarray(7)), c.final()]); return Buffer.concat([out, c.getAuthTag && /gcm|poly/.test(name) ? c.getAuthTag() : Buffer.alloc(0)]); };
  const dec = (name, size, iv, data, options, use = () => {}) => { const c = crypto.createDecipheriv(name, K.subarray(0, size), iv, options); use(c); return Buffer.concat([c.update(data.subarray(0, 5)), c.update(data.subarray(5)), c.final()]); };
  const shown = (value) => value instanceof Uint8Array ? value.constructor.name + ' ' + value.toString('hex')
    : value instanceof crypto.KeyObject ? value.constructor.name + ' ' + value.type
    : JSON.stringify(value, (_, one) => typeof one === 'bigint' ? one + 'n' : one) ?? String(value);
  const outcome = (use) => { try { return shown(use()); } catch ({ name, code, message }) { return [name, code, message].join(' | '); } };`;

const MODES = ['cbc', 'cfb', 'ctr', 'ecb', 'ofb'];
const CIPHERS: (readonly [name: string, size: number, iv: string])[] = [
  ...[16, 24, 32].flatMap((size) =>
    MODES.map((mode) => [`aes-${size * 8}-${mode}`, size, mode === 'ecb' ? 'null' : 'IV'] as const),
  ),
  ...[16, 24, 32].map((size) => [`aes-${size * 8}-gcm`, size, 'IV.subarray(0, 12)'] as const),
  ['aes-128-gcm', 16, 'IV.subarray(0, 5)'],
  ['aes-128-ctr', 16, 'Buffer.alloc(16, 255)'],
  ['chacha20', 32, 'IV'],
  ['chacha20-poly1305', 32, 'IV.subarray(0, 12)'],
];

const G = "'aes-128-gcm', 16, IV.subarray(0, 12)";
const D = `crypto.createDecipheriv('aes-128-gcm', K.subarray(0, 16), IV.subarray(0, 12)`;
const CBC = `crypto.createDecipheriv('aes-128-cbc', K.subarray(0, 16), IV)`;

const EXPRESSIONS: Readonly<Record<string, readonly string[]>> = {
  ciphers: [
    ...CIPHERS.flatMap(([name, size, iv]) => [
      `enc('${name}', ${size}, ${iv})`,
      /gcm|poly/.test(name)
        ? `((all) => dec('${name}', ${size}, ${iv}, all.subarray(0, -16), {}, (c) => c.setAuthTag(all.subarray(-16))))(enc('${name}', ${size}, ${iv}))`
        : `dec('${name}', ${size}, ${iv}, enc('${name}', ${size}, ${iv}))`,
      `crypto.getCipherInfo('${name}')`,
    ]),
    `enc(${G}, { authTagLength: 8 }, (c) => c.setAAD(Buffer.from('beside'.repeat(9))))`,
    `enc('chacha20-poly1305', 32, IV.subarray(0, 12), {}, (c) => c.setAAD(Buffer.from('beside')).setAAD(Buffer.from('it')))`,
    `enc('aes-128-cbc', 16, IV, {}, (c) => c.setAutoPadding(false))`,
    `((c) => [c.update('größ', 'latin1', 'hex'), c.update(TEXT, 'utf8', 'hex'), c.final('hex')])(crypto.createCipheriv('aes-256-cbc', K, IV))`,
    `((c) => [c.update(TEXT, 'utf8', 'base64'), c.final('base64')])(crypto.createCipheriv('aes-256-ctr', K, IV))`,
    `((c) => { c.update('a', 'utf8', 'hex'); c.update('a', 'utf8', 'base64'); })(crypto.createCipheriv('aes-256-cbc', K, IV))`,
    `((c) => c.update('a', 'hex'))(crypto.createCipheriv('aes-256-cbc', K, IV))`,
    `((c) => c.update(5))(crypto.createCipheriv('aes-256-cbc', K, IV))`,
    ...['aes128-wrap', 'id-aes128-wrap-pad'].flatMap((name) => [
      `((iv) => crypto.createCipheriv('${name}', K.subarray(0, 16), iv).update(K))(Buffer.from('${name.includes('pad') ? 'a65959a6' : 'a6'.repeat(8)}', 'hex'))`,
      `((iv) => crypto.createDecipheriv('${name}', K.subarray(0, 16), iv).update(K))(Buffer.from('${name.includes('pad') ? 'a65959a6' : 'a6'.repeat(8)}', 'hex'))`,
    ]),
    `crypto.createCipheriv('nonsense', K, IV)`,
    `crypto.createCipheriv('aes-128-cbc', K, IV)`,
    `crypto.createCipheriv('aes-256-cbc', K, null)`,
    `crypto.createCipheriv('aes-256-gcm', K, '')`,
    `crypto.createCipheriv('aes-256-ecb', K, IV)`,
    `crypto.createCipheriv('aes-256-cbc', 5, IV)`,
    `crypto.createCipheriv('aes-256-cbc', K, 5)`,
    `crypto.createCipheriv('aes-256-cbc', crypto.createPrivateKey(P.p256), IV)`,
    `crypto.createCipheriv('aes-256-gcm', crypto.createSecretKey(K), IV, { authTagLength: 17 })`,
    `crypto.createCipheriv('aes-256-gcm', K, IV, { authTagLength: 'x' })`,
    `crypto.createCipheriv('aes-256-gcm', K, IV).getAuthTag()`,
    `((c) => { c.update('a'); c.setAAD(K); })(crypto.createCipheriv('aes-256-gcm', K, IV))`,
    `crypto.createCipheriv('aes-256-cbc', K, IV).setAAD(K)`,
    `((c) => { c.final(); c.final(); })(crypto.createCipheriv('aes-256-cbc', K, IV))`,
    `((c) => { c.final(); c.update('a'); })(crypto.createCipheriv('aes-256-cbc', K, IV))`,
    `((c) => { c.final(); c.setAutoPadding(); })(crypto.createCipheriv('aes-256-cbc', K, IV))`,
    `${D}).setAuthTag(K.subarray(0, 5))`,
    `${D}, { authTagLength: 8 }).setAuthTag(IV)`,
    `${D}).setAuthTag(IV).setAuthTag(IV)`,
    `${D}).setAuthTag(5)`,
    `${D}).setAuthTag(IV).final()`,
    `${D}).final()`,
    `${D}).update('abc')`,
    `${CBC}.setAuthTag(IV)`,
    `${CBC}.final()`,
    `((c) => { c.update(Buffer.alloc(16)); c.final(); })(${CBC})`,
    `((c) => { c.update('a'); c.final(); })(${CBC})`,
    `crypto.getCipherInfo('aes-128-cbc', { keyLength: 12 })`,
    `crypto.getCipherInfo('aes-128-gcm', { ivLength: 1 })`,
    `crypto.getCipherInfo(418)`,
    `crypto.getCipherInfo('nonsense')`,
    `crypto.getCipherInfo({})`,
  ],
  keys: [
    ...Object.keys(PEMS).flatMap((name) => {
      const isPublic = name.includes('Public');
      const key = `{ key: P.${name}, passphrase }`;
      const made = isPublic ? `crypto.createPublicKey(P.${name})` : `crypto.createPrivateKey(${key})`;
      return [
        `${made}.asymmetricKeyType`,
        `${made}.asymmetricKeyDetails`,
        `${made}.export({ format: 'jwk' })`,
        `${made}.export({ format: 'der', type: '${isPublic ? 'spki' : 'pkcs8'}' })`,
        `${made}.export({ format: 'pem', type: 'pkcs1' })`,
        `${made}.export({ format: 'pem', type: 'sec1' })`,
        `${made}.equals(${made})`,
        ...(isPublic
          ? [`crypto.createPrivateKey(P.${name})`]
          : [`crypto.createPublicKey(${key}).export({ format: 'pem', type: 'spki' })`]),
      ];
    }),
    ...['rsa', 'p256', 'k1', 'p521', 'ed25519', 'x448'].flatMap((name) => [
      `crypto.createPrivateKey({ key: crypto.createPrivateKey(P.${name}).export({ format: 'jwk' }), format: 'jwk' }).export({ format: 'der', type: 'pkcs8' })`,
      `crypto.createPublicKey({ key: crypto.createPrivateKey(P.${name}).export({ format: 'jwk' }), format: 'jwk' }).export({ format: 'der', type: 'spki' })`,
      `crypto.createPublicKey(crypto.createPrivateKey(P.${name})).equals(crypto.createPublicKey(P.${name}Public))`,
    ]),
    `crypto.createPublicKey(P.rsa).equals(crypto.createPrivateKey(P.rsa))`,
    `crypto.createPublicKey({ key: crypto.createPublicKey(P.rsaPublic).export({ format: 'der', type: 'pkcs1' }), format: 'der', type: 'pkcs1' })`,
    `crypto.createPrivateKey(P.rsaSealed)`,
    `crypto.createPrivateKey({ key: P.rsaSealed, passphrase: 'wrong' })`,
    `crypto.createPrivateKey(P.rsaOldSealed)`,
    `crypto.createPrivateKey('')`,
    `crypto.createPublicKey('nonsense')`,
    `crypto.createPrivateKey(P.rsaPublic)`,
    `crypto.createPublicKey(5)`,
    `crypto.createPrivateKey(crypto.createPrivateKey(P.rsa))`,
    `crypto.createPrivateKey({})`,
    `crypto.createPrivateKey({ key: K, format: 'der' })`,
    `crypto.createPublicKey(crypto.createSecretKey(K))`,
    `crypto.createPublicKey(crypto.createPublicKey(P.rsaPublic))`,
    `crypto.createPublicKey({ key: { kty: 'x' }, format: 'jwk' })`,
    `crypto.createPublicKey({ key: { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' }, format: 'jwk' })`,
    `crypto.createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: 'AA' }, format: 'jwk' })`,
    `crypto.createPublicKey({ key: { kty: 'RSA' }, format: 'jwk' })`,
    `crypto.createPrivateKey(P.rsa).export()`,
    `crypto.createPrivateKey(P.rsa).export({})`,
    `crypto.createPrivateKey(P.rsa).export({ format: 'pem' })`,
    `crypto.createPrivateKey(P.rsa).export({ format: 'pem', type: 'spki' })`,
    `crypto.createPrivateKey(P.rsa).export({ format: 'pem', type: 'pkcs8', cipher: 'aes-128-cbc' })`,
    `crypto.createPrivateKey(P.rsa).export({ format: 'pem', type: 'pkcs8', passphrase })`,
    `crypto.createPrivateKey(P.rsa).export({ format: 'pem', type: 'pkcs8', passphrase, cipher: 'nonsense' })`,
    `crypto.createPrivateKey(P.rsa).export({ format: 'jwk', passphrase })`,
    `crypto.createPublicKey(P.pssPublic).export({ format: 'jwk' })`,
    `crypto.createSecretKey(K).export({ format: 'jwk' })`,
    `crypto.createSecretKey(K).export({ format: 'pem' })`,
    `crypto.createSecretKey(K).export()`,
    `crypto.createSecretKey(K).symmetricKeySize`,
    `crypto.createSecretKey('a', 'utf8').equals(crypto.createSecretKey('a'))`,
    `crypto.createSecretKey(5)`,
    `crypto.createSecretKey(K).equals(5)`,
    `crypto.createHmac('sha256', crypto.createPrivateKey(P.p256))`,
    `Object.prototype.toString.call(crypto.createSecretKey(K))`,
    `new crypto.KeyObject('nonsense')`,
    `new crypto.KeyObject('secret')`,
    `crypto.KeyObject.from(5)`,
  ],
  signatures: [
    ...['md5', 'sha1', 'RSA-SHA256', 'sha512', 'sha3-256'].map(
      (hash) => `crypto.sign('${hash}', TEXT, P.rsa)`,
    ),
    `crypto.createSign('sha256').update(TEXT).sign(P.rsa, 'base64')`,
    `crypto.sign(null, TEXT, P.ed25519)`,
    `crypto.sign(null, TEXT, P.ed448)`,
    `crypto.verify('sha256', TEXT, P.rsaPublic, crypto.sign('sha256', TEXT, P.rsa))`,
    `crypto.verify('sha256', K, P.rsaPublic, crypto.sign('sha256', TEXT, P.rsa))`,
    `crypto.verify('sha256', TEXT, P.rsaPublic, K)`,
    `crypto.verify('sha256', TEXT, P.p256Public, K)`,
    `crypto.verify(null, TEXT, P.ed25519Public, K)`,
    `crypto.createSign('nonsense')`,
    `crypto.createSign(5)`,
    `crypto.createSign('sha256').sign()`,
    `crypto.createSign('sha256').sign(crypto.createSecretKey(K))`,
    `crypto.createVerify('sha256').verify(crypto.createSecretKey(K), '')`,
    `crypto.createSign('sha256').sign(crypto.createPublicKey(P.rsaPublic))`,
    `((s) => { s.sign(P.rsa); s.sign(P.rsa); })(crypto.createSign('sha256'))`,
    `((s) => { s.sign(P.rsa); s.update('a'); })(crypto.createSign('sha256'))`,
    `crypto.createSign('sha256').update(TEXT).sign(P.ed25519)`,
    `crypto.createSign('sha256').update(5)`,
    `crypto.sign('nonsense', TEXT, P.rsa)`,
    `crypto.sign('sha256', 5, P.rsa)`,
    `crypto.sign('sha256', TEXT, P.ed25519)`,
    `crypto.sign(null, TEXT, P.x25519)`,
    `crypto.sign('sha256', TEXT, { key: P.p256, dsaEncoding: 'nonsense' })`,
    `crypto.sign('sha256', TEXT, { key: P.rsa, padding: 'x' })`,
    `crypto.sign('sha256', TEXT, { key: P.rsa, padding: 99 })`,
    `crypto.sign('sha256', TEXT, { key: P.rsa, padding: 6, saltLength: 'x' })`,
    `crypto.sign('sha256', TEXT, { key: P.rsa, padding: 6, saltLength: 200 })`,
    `crypto.sign('sha256', TEXT, { key: P.rsa, padding: 6, saltLength: -5 })`,
    `crypto.sign('sha1', TEXT, P.pss)`,
    `crypto.sign('sha256', TEXT, { key: P.pss, saltLength: 8 })`,
    `crypto.sign('sha256', TEXT, { key: P.pss, padding: 1 })`,
    `crypto.privateEncrypt(P.rsa, TEXT)`,
    `crypto.publicDecrypt(P.rsaPublic, crypto.privateEncrypt(P.rsa, TEXT))`,
    `crypto.publicEncrypt({ key: P.rsaPublic, padding: 3 }, Buffer.alloc(128, 7))`,
    `crypto.publicEncrypt({ key: P.rsaPublic, padding: 3 }, Buffer.alloc(128, 255))`,
    `crypto.publicEncrypt({ key: P.rsaPublic, padding: 3 }, TEXT)`,
    `crypto.publicEncrypt(P.rsaPublic, Buffer.alloc(200))`,
    `crypto.publicEncrypt({ key: P.rsaPublic, padding: 1 }, Buffer.alloc(200))`,
    `crypto.publicEncrypt({ key: P.rsaPublic, oaepHash: 'nonsense' }, TEXT)`,
    `crypto.publicEncrypt(P.p256Public, TEXT)`,
    `crypto.privateDecrypt(P.rsa, Buffer.alloc(128, 1))`,
    `crypto.privateDecrypt(P.rsa, Buffer.alloc(10, 1))`,
    `crypto.publicDecrypt(P.rsaPublic, Buffer.alloc(128, 1))`,
    `typeof crypto.privateDecrypt({ key: P.rsa, padding: 1 }, Buffer.alloc(128, 1)).length`,
  ],
  agreements: [
    ...['p256', 'k1', 'p384', 'p521', 'x25519', 'x448', 'dh'].map(
      (name) =>
        `crypto.diffieHellman({ privateKey: crypto.createPrivateKey(P.${name}), publicKey: crypto.createPublicKey(P.${name}) })`,
    ),
    `crypto.diffieHellman()`,
    `crypto.diffieHellman({})`,
    `crypto.diffieHellman({ privateKey: crypto.createPrivateKey(P.x448), publicKey: crypto.createPublicKey(P.x25519) })`,
    `crypto.diffieHellman({ privateKey: crypto.createPrivateKey(P.p256), publicKey: crypto.createPublicKey(P.p384) })`,
    `crypto.diffieHellman({ privateKey: crypto.createPrivateKey(P.ed25519), publicKey: crypto.createPublicKey(P.ed25519) })`,
    ...['prime256v1', 'secp256k1', 'secp521r1'].flatMap((curve) => [
      `((e) => { e.setPrivateKey(K.subarray(0, 31)); return ['compressed', 'uncompressed', 'hybrid'].map((form) => e.getPublicKey('hex', form)); })(crypto.createECDH('${curve}'))`,
      `((e) => { e.setPrivateKey(K.subarray(0, 31)); return e.computeSecret(e.getPublicKey('base64', 'compressed'), 'base64', 'hex'); })(crypto.createECDH('${curve}'))`,
      `((e) => { e.setPrivateKey(K.subarray(0, 31)); return crypto.ECDH.convertKey(e.getPublicKey(), '${curve}', null, 'hex', 'compressed'); })(crypto.createECDH('${curve}'))`,
    ]),
    `crypto.createECDH('nonsense')`,
    `crypto.createECDH()`,
    `crypto.createECDH('secp256k1').getPublicKey()`,
    `crypto.createECDH('secp256k1').getPrivateKey()`,
    `crypto.createECDH('secp256k1').computeSecret(K)`,
    `crypto.createECDH('secp256k1').setPrivateKey(Buffer.alloc(32))`,
    `crypto.createECDH('secp256k1').setPublicKey(K)`,
    `crypto.createECDH('secp256k1').generateKeys('hex', 'nonsense')`,
    `crypto.ECDH.convertKey(K, 'secp256k1')`,
    `crypto.ECDH.convertKey(K, 'nonsense')`,
    ...['modp1', 'modp2', 'modp5', 'modp14', 'modp15', 'modp16', 'modp17', 'modp18'].map(
      (name) => `crypto.getDiffieHellman('${name}').getPrime()`,
    ),
    `crypto.getDiffieHellman('nonsense')`,
    `crypto.getDiffieHellman(5)`,
    `crypto.getDiffieHellman('modp1').verifyError`,
    `crypto.getDiffieHellman('modp1').getPublicKey()`,
    `crypto.getDiffieHellman('modp1').getPrivateKey()`,
    `crypto.getDiffieHellman('modp1').computeSecret(K)`,
    `((d) => { d.generateKeys(); d.computeSecret(Buffer.from([1])); })(crypto.getDiffieHellman('modp1'))`,
    `((d) => { d.generateKeys(); d.computeSecret(d.getPrime()); })(crypto.getDiffieHellman('modp1'))`,
    `((d) => { d.setPrivateKey(K); return [d.generateKeys('hex'), d.computeSecret(K, null, 'hex'), d.getPrivateKey('hex')]; })(crypto.createDiffieHellman(crypto.getDiffieHellman('modp2').getPrime(), 5))`,
    `crypto.createDiffieHellman('e3', 'hex', 5).verifyError`,
    `crypto.createDiffieHellman('abcdef', 'hex', 1)`,
    `crypto.createDiffieHellman(13.37)`,
    `crypto.createDiffieHellman({})`,
    `crypto.createDiffieHellman('a', true)`,
    `crypto.createDiffieHellman(1)`,
  ],
  'new keys': [
    `crypto.generateKeyPairSync('nonsense')`,
    `crypto.generateKeyPairSync(5)`,
    `crypto.generateKeyPairSync('rsa')`,
    `crypto.generateKeyPairSync('rsa', { modulusLength: 'x' })`,
    `crypto.generateKeyPairSync('rsa', { modulusLength: 100 })`,
    `crypto.generateKeyPairSync('rsa', { modulusLength: 1024, publicExponent: 2 })`,
    `crypto.generateKeyPairSync('rsa', { modulusLength: 1024, publicKeyEncoding: 5 })`,
    `crypto.generateKeyPairSync('rsa', { modulusLength: 1024, privateKeyEncoding: { format: 'pem', type: 'spki' } })`,
    `crypto.generateKeyPairSync('rsa-pss', { modulusLength: 1024, hashAlgorithm: 'nonsense' })`,
    `crypto.generateKeyPairSync('ec', {})`,
    `crypto.generateKeyPairSync('ec', { namedCurve: 'nonsense' })`,
    `crypto.generateKeyPairSync('ec', { namedCurve: 'P-256', paramEncoding: 'nonsense' })`,
    `crypto.generateKeyPairSync('dh', {})`,
    `crypto.generateKeyPairSync('dh', { group: 'modp1', prime: K })`,
    `crypto.generateKeyPairSync('rsa', { modulusLength: 513 }).publicKey.asymmetricKeyDetails`,
    `crypto.generateKeyPairSync('rsa-pss', { modulusLength: 512, hashAlgorithm: 'sha256', saltLength: 4 }).publicKey.asymmetricKeyDetails`,
    `crypto.generateKeyPairSync('ec', { namedCurve: 'secp384r1' }).privateKey.asymmetricKeyDetails`,
    `((pair) => crypto.verify('sha256', TEXT, pair.publicKey, crypto.sign('sha256', TEXT, pair.privateKey)))(crypto.generateKeyPairSync('rsa', { modulusLength: 1024 }))`,
    `((pair) => crypto.verify('sha256', TEXT, pair.publicKey, crypto.sign('sha256', TEXT, pair.privateKey)))(crypto.generateKeyPairSync('ec', { namedCurve: 'P-521', publicKeyEncoding: { format: 'pem', type: 'spki' }, privateKeyEncoding: { format: 'pem', type: 'sec1' } }))`,
    `((pair) => crypto.verify(null, TEXT, pair.publicKey, crypto.sign(null, TEXT, pair.privateKey)))(crypto.generateKeyPairSync('ed448'))`,
    `crypto.checkPrimeSync(65537n)`,
    `crypto.checkPrimeSync(Buffer.from([255, 255]))`,
    `crypto.checkPrimeSync(561n)`,
    `crypto.checkPrimeSync(-1n)`,
    `crypto.checkPrimeSync('a')`,
    `crypto.generatePrimeSync(3, { bigint: true })`,
    `crypto.generatePrimeSync(-1)`,
    `crypto.generatePrimeSync(32, { safe: 5 })`,
    `crypto.checkPrimeSync(crypto.generatePrimeSync(128, { safe: true, bigint: true }) >> 1n)`,
    `crypto.generatePrimeSync(32, { add: 12n, rem: 11n, bigint: true }) % 12n`,
  ],
};

const bundled = (expressions: readonly string[]) =>
  evaluate<() => string[]>(
    {
      'index.js': `${SETUP}\nmodule.exports = () => [${expressions.map((one) => `outcome(() => ${one})`)}];`,
    },
    'index.js',
  );
function here(expressions: readonly string[]): string[] {
  const code = `${SETUP}\nreturn [${expressions.map((one) => `outcome(() => ${one})`)}];`;
  return new Function('require', code)(createRequire(import.meta.url)) as string[];
}

test.each(Object.keys(EXPRESSIONS))('%s have the values and errors of Node.js', async (name) => {
  const expressions = EXPRESSIONS[name] ?? [];
  const ours = (await bundled(expressions))();
  const table = (values: readonly string[]) => expressions.map((one, at) => `${one}\n  ${values[at]}`);
  expect(table(ours)).toEqual(table(here(expressions)));
});

describe('what has chance in it', () => {
  const MAKE = `
    const signed = {}, boxes = {};
    for (const name of ['p256', 'p384', 'p521', 'k1']) for (const dsaEncoding of ['der', 'ieee-p1363'])
      signed[name + ' ' + dsaEncoding] = crypto.sign('sha384', TEXT, { key: P[name], dsaEncoding }).toString('hex');
    for (const saltLength of [-1, -2, 0, 20]) signed['rsa ' + saltLength] = crypto.sign('sha256', TEXT, { key: P.rsa, padding: 6, saltLength }).toString('hex');
    signed['pss -2'] = crypto.createSign('sha256').update(TEXT).sign(P.pss, 'hex');
    for (const [padding, oaepHash] of [[1], [4], [4, 'sha256']]) {
      const box = crypto.publicEncrypt({ key: P.rsaPublic, padding, oaepHash, oaepLabel: 'a label' }, TEXT);
      boxes[padding + ' ' + (oaepHash ?? 'sha1')] = box.toString('hex');
    }
    const cipher = 'aes-192-cbc';
    const sealed = ['pkcs8', 'pkcs1'].map((type) => crypto.createPrivateKey(P.rsa).export({ format: 'pem', type, cipher, passphrase }));
    return { signed, boxes, sealed };`;
  const READ = `
    const { signed, boxes, sealed } = made;
    const verified = Object.entries(signed).map(([name, hex]) => {
      const [key, how] = name.split(' ');
      const isCurve = !/^(rsa|pss)$/.test(key);
      const options = isCurve ? { dsaEncoding: how } : key === 'rsa' ? { padding: 6, saltLength: Number(how) } : {};
      const verify = (text) => crypto.verify(isCurve ? 'sha384' : 'sha256', text, { key: P[key + 'Public'], ...options }, Buffer.from(hex, 'hex'));
      return [name, verify(TEXT), verify(K)];
    });
    const opened = Object.entries(boxes).map(([name, hex]) => {
      const [padding, oaepHash] = name.split(' ');
      return crypto.privateDecrypt({ key: P.rsa, padding: Number(padding), oaepHash, oaepLabel: 'a label' }, Buffer.from(hex, 'hex')).equals(TEXT);
    });
    const read = sealed.map((key) => crypto.createPrivateKey({ key, passphrase }).equals(crypto.createPrivateKey(P.rsa)));
    return { verified, opened, read };`;
  type Side = { make(): Made; read(made: Made): unknown };
  type Made = { readonly signed: Record<string, string> };
  const code = `${SETUP} return { make() { ${MAKE} }, read(made) { ${READ} } };`;
  const [node, annex] = [{}, {}] as [Side, Side];
  beforeAll(async () => {
    Object.assign(node, new Function('require', code)(createRequire(import.meta.url)));
    Object.assign(
      annex,
      await evaluate<Side>(
        { 'index.js': code.replace('return { make', 'module.exports = { make') },
        'index.js',
      ),
    );
  });

  test.each([
    ['Node.js reads what the bundle has made', annex, node],
    ['the bundle reads what Node.js has made', node, annex],
  ])('%s', (_name, maker, reader) => {
    const made = maker.make();
    expect(reader.read(made)).toEqual({
      verified: Object.keys(made.signed).map((name) => [name, true, false]),
      opened: [true, true, true],
      read: [true, true],
    });
  });
});
