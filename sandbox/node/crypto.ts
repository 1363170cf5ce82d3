/**
 * `node:crypto`: hashes, HMAC, key derivation and random values, without waiting, by
 * `@noble/hashes`; and the Web Crypto of the isolate as `webcrypto`.
 *
 * It has no ciphers, no signatures with key pairs and no `scrypt`: Web Crypto has the first two,
 * but only as promises. Such a function throws an error that names it.
 */
import { hkdf as nobleHkdf } from '@noble/hashes/hkdf.js';
import { hmac } from '@noble/hashes/hmac.js';
import { md5, ripemd160, sha1 } from '@noble/hashes/legacy.js';
import { pbkdf2 as noblePbkdf2 } from '@noble/hashes/pbkdf2.js';
import { sha224, sha256, sha384, sha512, sha512_256 } from '@noble/hashes/sha2.js';
import { absent } from './absent.ts';
import { Buffer } from './buffer.ts';

type Bytes = InstanceType<typeof Buffer>;
type Data = string | ArrayBuffer | ArrayBufferView | KeyObject;
type Done<T> = (error: Error | null, value?: T) => void;

const HASHES = { md5, ripemd160, sha1, sha224, sha256, sha384, sha512, 'sha512-256': sha512_256 };
type HashFunction = (typeof HASHES)[keyof typeof HASHES];
/** Bytes of one call of `getRandomValues`. */
const RANDOM_BYTES_MAX = 65_536;

function hashNamed(algorithm: string): HashFunction {
  const name = String(algorithm)
    .toLowerCase()
    .replace(/^rsa-/, '')
    .replace(/^sha-(\d)/, 'sha$1')
    .replace('/', '-');
  if (Object.hasOwn(HASHES, name)) return HASHES[name as keyof typeof HASHES];
  const known = Object.keys(HASHES).join(', ');
  throw Object.assign(new Error(`Digest method "${algorithm}" is not supported. Supported are: ${known}.`), {
    code: 'ERR_CRYPTO_INVALID_DIGEST',
  });
}

function bytesOf(data: Data, encoding?: string): Uint8Array {
  if (typeof data === 'string') return Buffer.from(data, encoding ?? 'utf8');
  if (data instanceof KeyObject) return data.export();
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  throw Object.assign(new TypeError('The data must be text, bytes or a key.'), {
    code: 'ERR_INVALID_ARG_TYPE',
  });
}

const inEncoding = (bytes: Uint8Array, encoding?: string): Bytes | string => {
  const buffer = Buffer.from(bytes);
  return encoding === undefined || encoding === 'buffer' ? buffer : buffer.toString(encoding);
};

interface Running {
  update(data: Uint8Array): unknown;
  digest(): Uint8Array;
  clone(): Running;
}

/** A hash or an HMAC that takes its data in parts. It is no stream. */
class Digest {
  readonly #running: Running;
  #finished = false;

  constructor(running: Running) {
    this.#running = running;
  }

  update(data: Data, encoding?: string): this {
    if (this.#finished) throw finished();
    this.#running.update(bytesOf(data, encoding));
    return this;
  }

  digest(encoding?: string): Bytes | string {
    if (this.#finished) throw finished();
    this.#finished = true;
    return inEncoding(this.#running.digest(), encoding);
  }

  copy(): Digest {
    if (this.#finished) throw finished();
    return new Digest(this.#running.clone());
  }
}

const finished = (): Error =>
  Object.assign(new Error('Digest already called'), { code: 'ERR_CRYPTO_HASH_FINALIZED' });

/** A secret key. Key pairs are those of Web Crypto. */
export class KeyObject {
  readonly type = 'secret';
  readonly #bytes: Bytes;

  constructor(bytes: Bytes) {
    this.#bytes = bytes;
  }

  get symmetricKeySize(): number {
    return this.#bytes.byteLength;
  }

  export(options?: { format?: string }): Bytes {
    if (options?.format !== 'jwk') return Buffer.from(this.#bytes);
    return { kty: 'oct', k: this.#bytes.toString('base64url') } as unknown as Bytes;
  }

  equals(other: KeyObject): boolean {
    const bytes = other.export();
    return bytes.byteLength === this.#bytes.byteLength && timingSafeEqual(bytes, this.#bytes);
  }
}

export { Digest as Hash, Digest as Hmac };
export const createHash = (algorithm: string): Digest => new Digest(hashNamed(algorithm).create() as Running);
export const createHmac = (algorithm: string, key: Data): Digest =>
  new Digest(hmac.create(hashNamed(algorithm), bytesOf(key)) as unknown as Running);
export const hash = (algorithm: string, data: Data, encoding = 'hex'): Bytes | string =>
  inEncoding(hashNamed(algorithm)(bytesOf(data)), encoding);
export const getHashes = (): string[] => Object.keys(HASHES);
export const createSecretKey = (key: Data, encoding?: string): KeyObject =>
  new KeyObject(Buffer.from(bytesOf(key, encoding)));

export function timingSafeEqual(
  one: ArrayBuffer | ArrayBufferView,
  other: ArrayBuffer | ArrayBufferView,
): boolean {
  const [left, right] = [bytesOf(one), bytesOf(other)];
  if (left.length !== right.length) {
    throw Object.assign(new RangeError('Input buffers must have the same byte length'), {
      code: 'ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH',
    });
  }
  let difference = 0;
  for (let at = 0; at < left.length; at++) difference |= (left[at] ?? 0) ^ (right[at] ?? 0);
  return difference === 0;
}

/** Calls back with the result, as Node.js does, after the code that runs. */
function answer<T>(done: Done<T>, make: () => T): void {
  setTimeout(() => {
    let made: T;
    try {
      made = make();
    } catch (error) {
      return done(error as Error);
    }
    done(null, made);
  }, 0);
}

export function randomFillSync<T extends ArrayBufferView>(target: T, from = 0, size?: number): T {
  const bytes = new Uint8Array(target.buffer as ArrayBuffer, target.byteOffset, target.byteLength);
  const part = bytes.subarray(from, size === undefined ? undefined : from + size);
  for (let at = 0; at < part.length; at += RANDOM_BYTES_MAX) {
    globalThis.crypto.getRandomValues(part.subarray(at, at + RANDOM_BYTES_MAX));
  }
  return target;
}
export function randomBytes(size: number, done?: Done<Bytes>): Bytes | undefined {
  if (done === undefined) return randomFillSync(Buffer.alloc(size));
  answer(done, () => randomFillSync(Buffer.alloc(size)));
  return undefined;
}
export const pseudoRandomBytes = randomBytes;
export function randomFill<T extends ArrayBufferView>(target: T, ...rest: [...number[], Done<T>]): void {
  const done = rest.pop() as Done<T>;
  answer(done, () => randomFillSync(target, ...(rest as number[])));
}

/** A whole number from `min` to below `max`, each as likely as the other. */
export function randomInt(min: number, max?: number | Done<number>, done?: Done<number>): number | undefined {
  if (typeof max !== 'number') return randomInt(0, min, max);
  if (done !== undefined) return void answer(done, () => randomInt(min, max) as number);
  const range = max - min;
  if (!(Number.isSafeInteger(min) && Number.isSafeInteger(max) && range > 0 && range <= 2 ** 48))
    throw new RangeError('The range must be of whole numbers, with max above min and at most 2 ** 48 apart.');
  // Numbers at the end of the space would make some results likelier.
  const fair = 2 ** 48 - (2 ** 48 % range);
  for (;;) {
    const bytes = randomFillSync(new Uint8Array(6));
    const drawn = bytes.reduce((sum, byte) => sum * 256 + byte, 0);
    if (drawn < fair) return min + (drawn % range);
  }
}
export const randomUUID = (): string => globalThis.crypto.randomUUID();

/** Where the derived key belongs to, as in Node.js: password, salt, iterations, length, digest. */
type Derivation = [password: Data, salt: Data, iterations: number, length: number, digest: string];
export function pbkdf2Sync(...[password, salt, iterations, length, digest]: Derivation): Bytes {
  const options = { c: iterations, dkLen: length };
  return Buffer.from(noblePbkdf2(hashNamed(digest), bytesOf(password), bytesOf(salt), options));
}
export function pbkdf2(...passed: [...Derivation, Done<Bytes>]): void {
  const done = passed.pop() as Done<Bytes>;
  answer(done, () => pbkdf2Sync(...(passed as unknown as Derivation)));
}
type Expansion = [digest: string, key: Data, salt: Data, info: Data, length: number];
export function hkdfSync(...[digest, key, salt, info, length]: Expansion): ArrayBuffer {
  const derived = nobleHkdf(hashNamed(digest), bytesOf(key), bytesOf(salt), bytesOf(info), length);
  return new Uint8Array(derived).buffer;
}
export function hkdf(...passed: [...Expansion, Done<ArrayBuffer>]): void {
  const done = passed.pop() as Done<ArrayBuffer>;
  answer(done, () => hkdfSync(...(passed as unknown as Expansion)));
}

const webcrypto = globalThis.crypto;
const { subtle } = webcrypto;
export const getRandomValues = (target: Uint8Array<ArrayBuffer>) => webcrypto.getRandomValues(target);
export const constants = {};

/** The functions of Node.js that need key pairs or ciphers without waiting. */
const others = absent('crypto', 'this bundle') as Record<string, Function>;
export const {
  createCipheriv,
  createDecipheriv,
  createDiffieHellman,
  createECDH,
  createPrivateKey,
  createPublicKey,
  createSign,
  createVerify,
  diffieHellman,
  generateKey,
  generateKeyPair,
  generateKeyPairSync,
  generateKeySync,
  privateDecrypt,
  privateEncrypt,
  publicDecrypt,
  publicEncrypt,
  scrypt,
  scryptSync,
  sign,
  verify,
} = others;
export const X509Certificate = others['X509Certificate'];

export { subtle, webcrypto };
export default Object.assign(others, {
  Hash: Digest,
  Hmac: Digest,
  KeyObject,
  constants,
  createHash,
  createHmac,
  createSecretKey,
  getHashes,
  getRandomValues,
  hash,
  hkdf,
  hkdfSync,
  pbkdf2,
  pbkdf2Sync,
  pseudoRandomBytes,
  randomBytes,
  randomFill,
  randomFillSync,
  randomInt,
  randomUUID,
  subtle,
  timingSafeEqual,
  webcrypto,
});
