/**
 * The hashes and HMACs of `node:crypto`, by `@noble/hashes`. Both are streams, too: what is written
 * is hashed, and the digest is read.
 */
import { blake2b, blake2s } from '@noble/hashes/blake2.js';
import { hmac } from '@noble/hashes/hmac.js';
import { md5, ripemd160, sha1 } from '@noble/hashes/legacy.js';
import { sha224, sha256, sha384, sha512, sha512_224, sha512_256 } from '@noble/hashes/sha2.js';
import {
  keccak_224,
  keccak_256,
  keccak_384,
  keccak_512,
  sha3_224,
  sha3_256,
  sha3_384,
  sha3_512,
  shake128,
  shake256,
} from '@noble/hashes/sha3.js';
import hashNames from 'node-tables/hashes.json';
import { Buffer, type Bytes } from './buffer.ts';
import { dataBytes, inEncoding, secretOf } from './crypto-bytes.ts';
import { nodeError, validateString, validateUint32 } from './errors.ts';
import { type OldClass, oldClass } from './named.ts';
import { Transform } from './stream.ts';

const HASHES = {
  blake2b512: blake2b,
  blake2s256: blake2s,
  'keccak-224': keccak_224,
  'keccak-256': keccak_256,
  'keccak-384': keccak_384,
  'keccak-512': keccak_512,
  md5,
  ripemd160,
  sha1,
  sha224,
  sha256,
  sha384,
  sha512,
  'sha512-224': sha512_224,
  'sha512-256': sha512_256,
  'sha3-224': sha3_224,
  'sha3-256': sha3_256,
  'sha3-384': sha3_384,
  'sha3-512': sha3_512,
  shake128,
  shake256,
} as const;
export type HashFunction = typeof sha256;

export interface Running {
  update(data: Uint8Array): unknown;
  digest(): Uint8Array;
  clone(): Running;
}

/** Another name of OpenSSL → the one of the table. */
function plainName(algorithm: string): string {
  const name = algorithm
    .toLowerCase()
    .replace(/^rsa-|^id-rsassa-pkcs1-v1_5-with-/, '')
    .replace(/with(?:rsa|rsaencryption)$/, '')
    .replace('/', '-')
    .replace(/^sha2?-(?=\d)/, 'sha')
    .replace(/^(blake2[bs]|shake|ripemd)-/, '$1')
    .replace(/^(sha1)-2$/, '$1');
  return name === 'rmd160' || name === 'ripemd' ? 'ripemd160' : name;
}

/** The hash of a name; undefined where there is none. */
export function hashNamed(algorithm: string): HashFunction | undefined {
  const name = plainName(algorithm);
  return Object.hasOwn(HASHES, name) ? (HASHES[name as 'sha256'] as HashFunction) : undefined;
}

/** @throws TypeError as HMAC and key derivation do */
export function digestNamed(algorithm: string): HashFunction {
  const found = hashNamed(algorithm);
  if (found !== undefined) return found;
  throw nodeError(TypeError, 'ERR_CRYPTO_INVALID_DIGEST', `Invalid digest: ${algorithm}`);
}

export const getHashes = (): string[] => hashNames.filter((name) => hashNamed(name) !== undefined);

const finalized = (): Error => nodeError(Error, 'ERR_CRYPTO_HASH_FINALIZED', 'Digest already called');

interface Digest {
  _running: Running;
  /** The digest, once it was asked for. */
  _digest: Uint8Array | undefined;
  _finalized: boolean;
  push(bytes: Uint8Array): void;
}
type Done = (error?: unknown) => void;
const Base = Transform as unknown as { readonly prototype: object } & Function;

/** What a hash and an HMAC have in common. */
const DIGEST = {
  update(this: Digest, data: unknown, encoding?: unknown): Digest {
    const bytes = dataBytes(data, encoding);
    if (this._finalized) throw finalized();
    this._running.update(bytes);
    return this;
  },

  _transform(this: Digest, chunk: Uint8Array | string, encoding: string, done: Done): void {
    this._running.update(dataBytes(chunk, encoding));
    done();
  },

  /** The stream ends with the digest, which code may ask for afterwards, too. */
  _flush(this: Digest, done: Done): void {
    this.push(Buffer.from(digestOf(this)));
    done();
  },
};

function digestOf(digest: Digest): Uint8Array {
  digest._digest ??= digest._running.digest();
  return digest._digest;
}

interface HashOptions {
  readonly outputLength?: number;
}
export interface Hash extends Digest {
  update(data: unknown, encoding?: unknown): this;
  digest(encoding?: unknown): Bytes | string;
  copy(options?: HashOptions): Hash;
}
export interface Hmac extends Digest {
  update(data: unknown, encoding?: unknown): this;
  digest(encoding?: unknown): Bytes | string;
}

const digestClass = <Made extends Digest>(
  name: string,
  begin: (...parts: never[]) => Running,
  methods: object,
): OldClass<Made> =>
  oldClass<Made>(name, Base, { ...DIGEST, ...methods }, function (...parts) {
    const running = begin(...parts);
    Base.call(this, parts.at(-1));
    Object.assign(this, { _running: running, _digest: undefined, _finalized: false });
  });

function beginHash(algorithm: unknown, options: HashOptions = {}): Running {
  if (typeof algorithm === 'object' && algorithm !== null && '_running' in algorithm) {
    return (algorithm as Digest)._running.clone();
  }
  validateString(algorithm, 'algorithm');
  const { outputLength } = options;
  if (outputLength !== undefined) validateUint32(outputLength, 'options.outputLength');
  const hash = hashNamed(algorithm);
  if (hash === undefined) throw new Error('Digest method not supported');
  if (outputLength === undefined || outputLength === hash.outputLen) return hash.create() as Running;
  if (hash !== (HASHES.shake128 as unknown) && hash !== (HASHES.shake256 as unknown)) {
    const message = 'error:030000B2:digital envelope routines::not XOF or invalid length';
    throw nodeError(Error, 'ERR_OSSL_EVP_NOT_XOF_OR_INVALID_LENGTH', message);
  }
  if (outputLength === 0)
    return {
      update() {},
      digest: () => new Uint8Array(0),
      clone() {
        return this;
      },
    };
  return (hash as unknown as typeof shake128).create({ dkLen: outputLength }) as unknown as Running;
}

export const Hash = digestClass<Hash>('Hash', beginHash as never, {
  digest(this: Hash, encoding?: unknown): Bytes | string {
    if (this._finalized) throw finalized();
    const digest = inEncoding(digestOf(this), encoding);
    this._finalized = true;
    return digest;
  },

  copy(this: Hash, options?: HashOptions): Hash {
    if (this._finalized) throw finalized();
    return new Hash(this, options);
  },
});

function beginHmac(algorithm: unknown, key: unknown): Running {
  validateString(algorithm, 'hmac');
  const bytes = secretOf(key);
  return hmac.create(digestNamed(algorithm), bytes) as unknown as Running;
}

export const Hmac = digestClass<Hmac>('Hmac', beginHmac as never, {
  /** Empty where it was asked for before. */
  digest(this: Hmac, encoding?: unknown): Bytes | string {
    if (this._finalized) return inEncoding(new Uint8Array(0), encoding);
    const digest = inEncoding(digestOf(this), encoding);
    this._finalized = true;
    return digest;
  },
});

export const createHash = (algorithm: string, options?: HashOptions): Hash => new Hash(algorithm, options);
export const createHmac = (algorithm: string, key: unknown, options?: object): Hmac =>
  new Hmac(algorithm, key, options);

/** @param options an encoding, or `{ outputEncoding, outputLength }` */
export function hash(
  algorithm: string,
  input: unknown,
  options: string | { readonly outputEncoding?: string; readonly outputLength?: number } = {},
): Bytes | string {
  validateString(algorithm, 'algorithm');
  const bytes = dataBytes(input, 'utf8', 'input');
  const { outputEncoding = 'hex', ...manner } =
    typeof options === 'string' ? { outputEncoding: options } : options;
  if (hashNamed(algorithm) === undefined) throw new Error(`Digest method ${algorithm} is not supported`);
  const running = beginHash(algorithm, manner);
  running.update(bytes);
  return inEncoding(running.digest(), outputEncoding);
}
