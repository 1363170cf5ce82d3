/**
 * Reads the request of a Web Crypto job: checks every member and copies it into a new object before
 * Node's Web Crypto sees it, and refuses what would cost too much, whatever the prelude has checked
 * before.
 */
import type { webcrypto } from 'node:crypto';
import { CryptoError } from './crypto-errors.ts';

/** Text of one request; a JsonWebKey of 4,096 bits has 4 KiB. */
const REQUEST_CHARS_MAX = 64 * 1024;
/** Bytes of one request: data, and about a MiB for keys and parameters. */
const BYTES_MAX = 17 * 1024 * 1024;
/** `key_ops`, `usages` and pieces of one request. */
const ITEMS_MAX = 64;
/** Key material that is parsed on the cell's main thread: an RSA key of 4,096 bits has 2.4 KiB. */
const PARSED_KEY_BYTES_MAX = 16 * 1024;

const PBKDF2_ITERATIONS_MAX = 100_000;
/**
 * Iterations times blocks of the hash: 1,024 bits by SHA-1 with the most iterations have 700,000.
 */
const PBKDF2_ROUNDS_MAX = 1_000_000;
/** As many as HKDF can derive with the longest hash (RFC 5869: 255 blocks). */
const DERIVED_BITS_MAX = 255 * 512;
const GENERATED_HMAC_BITS_MAX = 65_536;
const MODULUS_LENGTH_MAX = 4_096;

/** Bits of a digest, by hash. */
export const HASH_BITS: Readonly<Record<string, number>> = {
  'SHA-1': 160,
  'SHA-256': 256,
  'SHA-384': 384,
  'SHA-512': 512,
};
const CURVES = ['P-256', 'P-384', 'P-521'];
const FORMATS = ['raw', 'pkcs8', 'spki', 'jwk'] as const;
const ALGORITHMS = [
  ...Object.keys(HASH_BITS),
  'HMAC',
  'AES-CBC',
  'AES-CTR',
  'AES-GCM',
  'AES-KW',
  'RSASSA-PKCS1-v1_5',
  'RSA-PSS',
  'RSA-OAEP',
  'ECDSA',
  'ECDH',
  'Ed25519',
  'Ed448',
  'X25519',
  'X448',
  'HKDF',
  'PBKDF2',
];
const BYTE_MEMBERS = [
  'iv',
  'counter',
  'additionalData',
  'label',
  'salt',
  'info',
  'context',
  'publicExponent',
];
const USAGES = [
  'encrypt',
  'decrypt',
  'sign',
  'verify',
  'deriveKey',
  'deriveBits',
  'wrapKey',
  'unwrapKey',
] as const;
const JWK_TEXTS = [
  'alg',
  'crv',
  'd',
  'dp',
  'dq',
  'e',
  'k',
  'kty',
  'n',
  'p',
  'q',
  'qi',
  'use',
  'x',
  'y',
] as const;

export type Usage = (typeof USAGES)[number];
export type Format = (typeof FORMATS)[number];
type Bytes = Uint8Array<ArrayBuffer>;
type Members = Readonly<Record<string, unknown>>;

/** An algorithm as Node takes it. */
export interface Algorithm {
  name: string;
  hash?: string;
  length?: number;
  namedCurve?: string;
  modulusLength?: number;
  publicExponent?: Bytes;
  [member: string]: unknown;
}

/** A key as the isolate keeps it. */
export interface KeptKey {
  readonly id: number;
  readonly type: 'public' | 'private' | 'secret';
  readonly algorithm: Algorithm;
  readonly usages: Usage[];
  readonly material: Bytes;
}

/**
 * A request that has been read. Its methods throw a CryptoError for members that are missing or
 * invalid.
 */
export class CryptoRequest {
  readonly operation: string;
  readonly #members: Members;
  readonly #pieces: Bytes[] = [];

  /** @throws CryptoError */
  constructor(json: unknown, bytes: unknown) {
    if (typeof json !== 'string' || json.length > REQUEST_CHARS_MAX || !(bytes instanceof ArrayBuffer))
      throw malformed();
    if (bytes.byteLength > BYTES_MAX) throw new CryptoError('OperationError');
    this.#members = parse(json);
    this.operation = text(this.#members['operation']);
    let at = 0;
    for (const length of list(this.#members['pieces'])) {
      const size = integer(length, bytes.byteLength - at);
      this.#pieces.push(new Uint8Array(bytes, at, size));
      at += size;
    }
  }

  /** The piece that a member refers to. */
  bytes(name: string): Bytes {
    return this.#piece(this.#members[name]);
  }

  get format(): Format {
    return oneOf(FORMATS, this.#members['format']);
  }

  get extractable(): boolean {
    return this.#members['extractable'] === true;
  }

  /** Bits that `deriveBits` derives: null for as many as the algorithm has. */
  get length(): number | null {
    const length = this.#members['length'];
    return length === null ? null : derivedLength(integer(length, 2 ** 32));
  }

  get usages(): Usage[] {
    return list(this.#members['usages']).map((usage) => oneOf(USAGES, usage));
  }

  get jwk(): webcrypto.JsonWebKey {
    return readJwk(this.#members['jwk']);
  }

  /** A key that the isolate keeps and has sent along. */
  key(name: string): KeptKey {
    return this.#key(this.#members[name]);
  }

  /** An algorithm with its parameters, and the public key of a derivation where there is one. */
  algorithm(name: string): { algorithm: Algorithm; publicKey: KeptKey | undefined } {
    const given = members(this.#members[name]);
    const algorithm = readAlgorithm(given);
    for (const member of BYTE_MEMBERS) {
      if (given[member] !== undefined) algorithm[member] = this.#piece(given[member]);
    }
    const publicKey = given['public'] === undefined ? undefined : this.#key(given['public']);
    return { algorithm, publicKey };
  }

  #piece(number: unknown): Bytes {
    const piece = this.#pieces[integer(number, this.#pieces.length)];
    if (piece === undefined) throw malformed();
    return piece;
  }

  #key(value: unknown): KeptKey {
    const { id, type, algorithm, usages, material } = members(value);
    return {
      id: integer(id, Number.MAX_SAFE_INTEGER),
      type: oneOf(['public', 'private', 'secret'] as const, type),
      algorithm: readAlgorithm(members(algorithm)),
      usages: list(usages).map((usage) => oneOf(USAGES, usage)),
      material: this.#piece(material),
    };
  }
}

function readAlgorithm(given: Members): Algorithm {
  const algorithm: Algorithm = { name: oneOf(ALGORITHMS, given['name']) };
  const { hash, namedCurve } = given;
  if (hash !== undefined) algorithm.hash = oneOf(Object.keys(HASH_BITS), hash);
  if (namedCurve !== undefined) {
    if (typeof namedCurve !== 'string' || !CURVES.includes(namedCurve))
      throw new CryptoError('NotSupportedError');
    algorithm.namedCurve = namedCurve;
  }
  for (const member of ['iterations', 'length', 'modulusLength', 'saltLength', 'tagLength']) {
    if (given[member] !== undefined) algorithm[member] = integer(given[member], 2 ** 32);
  }
  return algorithm;
}

/** @throws CryptoError where a key of this kind takes too long to make */
export function requireAffordableKey({ name, length = 0, modulusLength, publicExponent }: Algorithm): void {
  if (name === 'HMAC' && length > GENERATED_HMAC_BITS_MAX) {
    throw new CryptoError('OperationError', `An HMAC key may have ${GENERATED_HMAC_BITS_MAX} bits at most`);
  }
  if (!name.startsWith('RSA')) return;
  requireModulus(modulusLength ?? 0);
  const exponent = Buffer.from(publicExponent ?? [])
    .toString('hex')
    .replace(/^0+/, '');
  if (exponent !== '3' && exponent !== '10001') {
    throw new CryptoError('OperationError', 'The public exponent must be 3 or 65537');
  }
}

/** @throws CryptoError where an RSA key of so many bits would hold a core for seconds */
export function requireModulus(bits: number): void {
  if (bits > MODULUS_LENGTH_MAX) {
    throw new CryptoError('OperationError', `An RSA key may have ${MODULUS_LENGTH_MAX} bits at most`);
  }
}

/** @throws CryptoError where deriving takes too long */
export function requireAffordableDerivation(
  { name, hash = '', iterations }: Algorithm,
  bits: number | null,
): void {
  if (name !== 'PBKDF2') return;
  const count = Number(iterations);
  if (count > PBKDF2_ITERATIONS_MAX) {
    throw new CryptoError('OperationError', `PBKDF2 may have ${PBKDF2_ITERATIONS_MAX} iterations at most`);
  }
  const blocks = Math.ceil((bits ?? 0) / (HASH_BITS[hash] ?? 1));
  if (count * blocks > PBKDF2_ROUNDS_MAX) {
    throw new CryptoError(
      'OperationError',
      `PBKDF2 may have ${PBKDF2_ROUNDS_MAX} iterations at most, taken together for all blocks of the hash`,
    );
  }
}

/** @throws CryptoError for key material that is longer than any supported key */
export function requireParsable(byteLength: number): void {
  if (byteLength > PARSED_KEY_BYTES_MAX) throw new CryptoError('DataError');
}

function derivedLength(bits: number): number {
  if (bits > DERIVED_BITS_MAX) {
    throw new CryptoError('OperationError', `At most ${DERIVED_BITS_MAX} bits can be derived at once`);
  }
  return bits;
}

/** Bits of a derived key; null where the algorithm takes any length. */
export function keyLength({ name, length, hash = '' }: Algorithm): number | null {
  if (name === 'HKDF' || name === 'PBKDF2') return null;
  if (name !== 'HMAC') {
    if (length !== 128 && length !== 192 && length !== 256) throw new CryptoError('OperationError');
    return length;
  }
  if (length === 0) throw new CryptoError('TypeError', 'An HMAC key cannot have 0 bits');
  // The block of the hash (FIPS 198-1).
  return derivedLength(length ?? (hash === 'SHA-1' || hash === 'SHA-256' ? 512 : 1_024));
}

/** @throws CryptoError a DataError where it is not an object with members of the right types */
export function readJwk(value: unknown): webcrypto.JsonWebKey {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new CryptoError('DataError');
  const given = value as Members;
  const jwk: Record<string, unknown> = {};
  for (const name of JWK_TEXTS) {
    if (given[name] === undefined) continue;
    if (typeof given[name] !== 'string') throw new CryptoError('DataError');
    jwk[name] = given[name];
  }
  if (given['ext'] !== undefined) jwk['ext'] = given['ext'] === true;
  const { key_ops: operations } = given;
  if (operations !== undefined) {
    if (!Array.isArray(operations) || operations.length > ITEMS_MAX) throw new CryptoError('DataError');
    jwk['key_ops'] = operations.map(String);
  }
  // Keys of more than two primes: Node does not support them either.
  if (given['oth'] !== undefined && given['kty'] === 'RSA') throw new CryptoError('NotSupportedError');
  return jwk;
}

const malformed = (): CryptoError => new CryptoError('OperationError');

function parse(text: string): Members {
  try {
    return members(JSON.parse(text));
  } catch {
    throw malformed();
  }
}

function members(value: unknown): Members {
  if (typeof value !== 'object' || value === null) throw malformed();
  return value as Members;
}

function list(value: unknown): unknown[] {
  if (!Array.isArray(value) || value.length > ITEMS_MAX) throw malformed();
  return value;
}

function text(value: unknown): string {
  if (typeof value !== 'string') throw malformed();
  return value;
}

function integer(value: unknown, max: number): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0 || (value as number) > max) throw malformed();
  return value as number;
}

function oneOf<T extends string>(names: readonly T[], value: unknown): T {
  if (!names.includes(value as T)) throw malformed();
  return value as T;
}
