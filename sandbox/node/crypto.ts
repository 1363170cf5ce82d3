/**
 * `node:crypto`: hashes, key derivation, ciphers, keys, signatures and random values, without
 * waiting, by `@noble/hashes`, `@noble/ciphers` and `@noble/curves`; and the Web Crypto of the
 * isolate as `webcrypto`.
 *
 * All work is done in the isolate, in JavaScript. What has no library throws an error that names
 * it.
 */
import { hkdf as nobleHkdf } from '@noble/hashes/hkdf.js';
import { pbkdf2 as noblePbkdf2 } from '@noble/hashes/pbkdf2.js';
import { scrypt as nobleScrypt } from '@noble/hashes/scrypt.js';
import constants from 'node-tables/crypto.json';
import { absentMembers } from './absent.ts';
import { Buffer, type Bytes } from './buffer.ts';
import { bytesOf } from './buffer-view.ts';
import { answer, type Done } from './callback.ts';
import { BYTES, bytesOfText, sameBytes, secretOf } from './crypto-bytes.ts';
import { Cipheriv, createCipheriv, createDecipheriv, Decipheriv } from './crypto-cipher.ts';
import { getCipherInfo, getCiphers } from './crypto-cipher-modes.ts';
import {
  createDiffieHellman,
  createDiffieHellmanGroup,
  createECDH,
  DiffieHellman,
  DiffieHellmanGroup,
  diffieHellman,
  ECDH,
  getCurves,
  getDiffieHellman,
} from './crypto-exchange.ts';
import { createHash, createHmac, digestNamed, getHashes, Hash, Hmac, hash } from './crypto-hash.ts';
import {
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  generateKey,
  generateKeySync,
  KeyObject,
} from './crypto-keys.ts';
import {
  checkPrime,
  checkPrimeSync,
  generateKeyPair,
  generateKeyPairSync,
  generatePrime,
  generatePrimeSync,
} from './crypto-pairs.ts';
import {
  randomBytes,
  randomFill,
  randomFillSync,
  randomInt,
  randomUUID,
  randomUUIDv7,
} from './crypto-random.ts';
import {
  createSign,
  createVerify,
  privateDecrypt,
  privateEncrypt,
  publicDecrypt,
  publicEncrypt,
  Sign,
  sign,
  Verify,
  verify,
} from './crypto-sign.ts';
import {
  listed,
  nodeError,
  outOfRange,
  validateFunction,
  validateInteger,
  validateString,
  validateUint32,
} from './errors.ts';

const LENGTH_MAX = 2 ** 31 - 1;

/** The message of Node.js does not show the value: it may be a secret. */
function viewedBytes(value: unknown, name: string): Bytes {
  const bytes = bytesOf(value);
  if (bytes !== undefined) return bytes;
  const message = `The "${name}" argument must be an instance of ${listed(BYTES, 'or')}.`;
  throw nodeError(TypeError, 'ERR_INVALID_ARG_TYPE', message);
}

export function timingSafeEqual(one: unknown, other: unknown): boolean {
  const [left, right] = [viewedBytes(one, 'buf1'), viewedBytes(other, 'buf2')];
  if (left.length === right.length) return sameBytes(left, right);
  const message = 'Input buffers must have the same byte length';
  throw nodeError(RangeError, 'ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH', message);
}

/** The arguments of Node.js: password, salt, iterations, length and digest. */
function pbkdf2Of([password, salt, iterations, length, digest]: readonly unknown[]): () => Bytes {
  validateString(digest, 'digest');
  const [key, start] = [bytesOfText(password, 'password'), bytesOfText(salt, 'salt')];
  validateInteger(iterations, 'iterations', 1, LENGTH_MAX);
  validateInteger(length, 'keylen', 0, LENGTH_MAX);
  const hashed = digestNamed(digest);
  if (length === 0) return () => Buffer.alloc(0);
  return () => Buffer.from(noblePbkdf2(hashed, key, start, { c: iterations, dkLen: length }));
}
export const pbkdf2Sync = (...passed: unknown[]): Bytes => pbkdf2Of(passed)();
export function pbkdf2(...passed: unknown[]): void {
  // The digest was once not needed.
  const [options, done] =
    typeof passed[4] === 'function' ? [passed.slice(0, 4), passed[4]] : [passed, passed[5]];
  const derive = pbkdf2Of(options);
  validateFunction(done, 'callback');
  answer(done as unknown as Done<Bytes>, derive);
}

/** The arguments of Node.js: digest, key, salt, info and length. */
function hkdfOf([digest, key, salt, info, length]: readonly unknown[]): () => ArrayBuffer {
  validateString(digest, 'digest');
  const bytes = secretOf(key, undefined, 'ikm');
  const [start, context] = [bytesOfText(salt, 'salt'), bytesOfText(info, 'info')];
  validateInteger(length, 'length', 0, LENGTH_MAX);
  if (context.length > 1_024)
    throw outOfRange('info', 'must not contain more than 1024 bytes', context.length);
  const hashed = digestNamed(digest);
  if (length > 255 * hashed.outputLen)
    throw nodeError(RangeError, 'ERR_CRYPTO_INVALID_KEYLEN', 'Invalid key length');
  if (length === 0) return () => new ArrayBuffer(0);
  return () => new Uint8Array(nobleHkdf(hashed, bytes, start, context, length)).buffer;
}
export const hkdfSync = (...passed: unknown[]): ArrayBuffer => hkdfOf(passed)();
export function hkdf(...passed: unknown[]): void {
  const derive = hkdfOf(passed);
  validateFunction(passed[5], 'callback');
  answer(passed[5] as unknown as Done<ArrayBuffer>, derive);
}

interface ScryptOptions {
  readonly [name: string]: number | undefined;
}
const SCRYPT_MEMORY_BYTES = 32 * 1024 * 1024;

function scryptOf([password, salt, length, given]: readonly unknown[]): () => Bytes {
  const options = (given ?? {}) as ScryptOptions;
  const [key, start] = [bytesOfText(password, 'password'), bytesOfText(salt, 'salt')];
  validateInteger(length, 'keylen', 0, LENGTH_MAX);
  const numberOf = (long: string, short: string, byDefault: number): number => {
    const value = options[long] ?? options[short] ?? byDefault;
    validateUint32(value, options[long] === undefined ? short : long);
    return value;
  };
  const [N, r, p] = [
    numberOf('cost', 'N', 16_384),
    numberOf('blockSize', 'r', 8),
    numberOf('parallelization', 'p', 1),
  ];
  const most = options['maxmem'] ?? SCRYPT_MEMORY_BYTES;
  if (N < 2 || (N & (N - 1)) !== 0) throw scryptError('Invalid scrypt params');
  if (128 * N * r > most) {
    throw scryptError(
      'Invalid scrypt params: error:030000AC:digital envelope routines::memory limit exceeded',
    );
  }
  if (length === 0) return () => Buffer.alloc(0);
  return () =>
    Buffer.from(nobleScrypt(key, start, { N, r, p, dkLen: length, maxmem: most + 1024 * r * p + 1024 }));
}
const scryptError = (message: string): Error =>
  nodeError(RangeError, 'ERR_CRYPTO_INVALID_SCRYPT_PARAMS', message);
export const scryptSync = (...passed: unknown[]): Bytes => scryptOf(passed)();
export function scrypt(...passed: unknown[]): void {
  const done = typeof passed[3] === 'function' ? passed[3] : passed[4];
  const derive = scryptOf(typeof passed[3] === 'function' ? passed.slice(0, 3) : passed);
  validateFunction(done, 'callback');
  answer(done as unknown as Done<Bytes>, derive);
}

const webcrypto = globalThis.crypto;
const { subtle } = webcrypto;
export const getRandomValues = (target: Uint8Array<ArrayBuffer>) => webcrypto.getRandomValues(target);
export const getMacs = (): string[] => ['hmac'];
export const getFips = (): number => 0;

/** What needs a library of the machine. */
const absent = absentMembers('crypto', [
  'Certificate',
  'X509Certificate',
  'argon2',
  'argon2Sync',
  'createMac',
  'decapsulate',
  'encapsulate',
  'parsePKCS12',
  'secureHeapUsed',
  'setEngine',
  'setFips',
]);
export const { Certificate, X509Certificate, argon2, argon2Sync, createMac, decapsulate } = absent;
export const { encapsulate, parsePKCS12, secureHeapUsed, setEngine, setFips } = absent;

export {
  Cipheriv,
  checkPrime,
  checkPrimeSync,
  constants,
  createCipheriv,
  createDecipheriv,
  createDiffieHellman,
  createDiffieHellmanGroup,
  createECDH,
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  createSign,
  createVerify,
  Decipheriv,
  DiffieHellman,
  DiffieHellmanGroup,
  diffieHellman,
  ECDH,
  generateKey,
  generateKeyPair,
  generateKeyPairSync,
  generateKeySync,
  generatePrime,
  generatePrimeSync,
  getCipherInfo,
  getCiphers,
  getCurves,
  getDiffieHellman,
  getHashes,
  Hash,
  Hmac,
  hash,
  KeyObject,
  privateDecrypt,
  privateEncrypt,
  publicDecrypt,
  publicEncrypt,
  randomBytes,
  randomFill,
  randomFillSync,
  randomInt,
  randomUUID,
  randomUUIDv7,
  Sign,
  sign,
  subtle,
  Verify,
  verify,
  webcrypto,
};

/** Deprecated aliases, which are not enumerable. */
const unlisted = { value: randomBytes, writable: true, configurable: true };
const all = {
  ...absent,
  Cipheriv,
  Decipheriv,
  DiffieHellman,
  DiffieHellmanGroup,
  ECDH,
  Hash,
  Hmac,
  KeyObject,
  Sign,
  Verify,
  checkPrime,
  checkPrimeSync,
  constants,
  createCipheriv,
  createDecipheriv,
  createDiffieHellman,
  createDiffieHellmanGroup,
  createECDH,
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  createSign,
  createVerify,
  diffieHellman,
  generateKey,
  generateKeyPair,
  generateKeyPairSync,
  generateKeySync,
  generatePrime,
  generatePrimeSync,
  getCipherInfo,
  getCiphers,
  getCurves,
  getDiffieHellman,
  getFips,
  getHashes,
  getMacs,
  getRandomValues,
  hash,
  hkdf,
  hkdfSync,
  pbkdf2,
  pbkdf2Sync,
  privateDecrypt,
  privateEncrypt,
  publicDecrypt,
  publicEncrypt,
  randomBytes,
  randomFill,
  randomFillSync,
  randomInt,
  randomUUID,
  randomUUIDv7,
  scrypt,
  scryptSync,
  sign,
  subtle,
  timingSafeEqual,
  verify,
  webcrypto,
};
export default /* @__PURE__ */ Object.defineProperties(all, {
  prng: unlisted,
  pseudoRandomBytes: unlisted,
  rng: unlisted,
});
