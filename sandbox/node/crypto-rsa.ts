/**
 * RSA (RFC 8017) without waiting: signatures and encryption with both paddings.
 *
 * `BigInt` does not take the same time for all numbers, so a private key works on a number that was
 * multiplied by a random one: the time of the operation says nothing about the message.
 */
import { Buffer, type Bytes } from './buffer.ts';
import { opensslError, sameBytes } from './crypto-bytes.ts';
import {
  bytesOfNumber,
  type DerReader,
  der,
  derInteger,
  derNull,
  derOid,
  numbered,
  numberOf,
  OCTET_STRING,
  SEQUENCE,
} from './crypto-der.ts';
import { type HashFunction, hashNamed } from './crypto-hash.ts';
import type { Material, RsaNumbers } from './crypto-material.ts';
import { bitsOf, bytesOf, inverse, power, randomBelow } from './crypto-numbers.ts';
import { randomBytes } from './crypto-random.ts';

export const [PKCS1, NONE, OAEP, PSS] = [1, 3, 4, 6] as const;
const MODULUS_BITS_MAX = 16_384;
const [SALT_OF_DIGEST, SALT_MAX] = [-1, -2];

/** The last digits of the object identifiers of hashes, below that of NIST or another one. */
const HASH_OIDS: Readonly<Record<string, string>> = {
  md5: '2a864886f70d0205',
  ripemd160: '2b24030201',
  sha1: '2b0e03021a',
  sha224: '608648016503040204',
  sha256: '608648016503040201',
  sha384: '608648016503040202',
  sha512: '608648016503040203',
  'sha512-224': '608648016503040205',
  'sha512-256': '608648016503040206',
  'sha3-224': '608648016503040207',
  'sha3-256': '608648016503040208',
  'sha3-384': '608648016503040209',
  'sha3-512': '60864801650304020a',
};
const MGF1 = '2a864886f70d010108';
const hashOid = (hash: HashFunction): string =>
  Object.entries(HASH_OIDS).find(([name]) => hashNamed(name) === hash)?.[1] ?? invalidDigest();
const hashAlgorithm = (hash: HashFunction): Bytes => der(SEQUENCE, derOid(hashOid(hash)), derNull());
export function invalidDigest(): never {
  throw opensslError('1C80007A', 'Provider routines', 'invalid digest');
}
const rsaError = (number: string, reason: string): Error =>
  opensslError(`020000${number}`, 'rsa routines', reason);
const tooLarge = () => rsaError('6E', 'data too large for key size');
const badPadding = () => rsaError('8A', 'invalid padding');

function publicly({ n, e }: RsaNumbers, input: bigint): bigint {
  if (bitsOf(n) > MODULUS_BITS_MAX || bitsOf(e) > bitsOf(n)) throw rsaError('69', 'modulus too large');
  if (input >= n) throw rsaError('84', 'data too large for modulus');
  return power(input, e, n);
}

function privately(numbers: RsaNumbers, input: bigint): bigint {
  const { n, e, d, primes } = numbers;
  if (d === undefined || primes === undefined) throw rsaError('B3', 'missing private key');
  let [blind, unblind]: [bigint, bigint | undefined] = [0n, undefined];
  while (unblind === undefined) {
    blind = randomBelow(n);
    unblind = inverse(blind, n);
  }
  if (input >= n) throw rsaError('84', 'data too large for modulus');
  const hidden = (publicly(numbers, blind) * input) % n;
  const [p, q, dp, dq, qi] = primes;
  const [one, other] = [power(hidden, dp, p), power(hidden, dq, q)];
  const found = other + q * (((((one - other) * qi) % p) + p) % p);
  const result = (found * unblind) % n;
  // Attack: one of the halves is computed wrongly, so that the result tells a prime.
  return power(result, e, n) === input ? result : (power(hidden, d, n) * unblind) % n;
}

/** As many bytes of the mask of a seed (MGF1). */
function mask(hash: HashFunction, seed: Uint8Array, size: number): Bytes {
  const parts: Uint8Array[] = [];
  for (let count = 0; count * hash.outputLen < size; count++) {
    const number = Buffer.from([count >>> 24, count >>> 16, count >>> 8, count]);
    parts.push(hash(Buffer.concat([seed, number])));
  }
  return Buffer.concat(parts, size);
}
const combined = (one: Uint8Array, other: Uint8Array): Bytes =>
  Buffer.from(one.map((byte, at) => byte ^ (other[at] as number)));

/** Padding of a signature or a ciphertext of PKCS #1: `0 1 ff ff … 0` or `0 2 random … 0`. */
function padded(data: Uint8Array, size: number, kind: 1 | 2): Bytes {
  if (data.length > size - 11) throw tooLarge();
  let fill = Buffer.alloc(size - 3 - data.length, 0xff);
  if (kind === 2) fill = Buffer.from((randomBytes(fill.length) as Bytes).map((byte) => byte || 1));
  return Buffer.concat([Buffer.from([0, kind]), fill, Buffer.from([0]), data]);
}

export interface Padding {
  readonly padding?: number | undefined;
  readonly saltLength?: number | undefined;
}

/** What the parameters of a key that is for PSS alone fix; empty where they fix nothing. */
export function pssParameters({ kind, parameters }: Material): {
  hashAlgorithm?: string;
  mgf1HashAlgorithm?: string;
  saltLength?: number;
} {
  if (kind !== 'rsa-pss' || parameters.tag !== SEQUENCE) return {};
  const fixed = parameters.inner(SEQUENCE);
  const nameOf = (reader: DerReader): string => {
    const oid = reader.inner(SEQUENCE).oid();
    return Object.keys(HASH_OIDS).find((name) => HASH_OIDS[name] === oid) ?? invalidDigest();
  };
  const found = { hashAlgorithm: 'sha1', mgf1HashAlgorithm: 'sha1', saltLength: 20 };
  if (fixed.tag === numbered(0)) found.hashAlgorithm = nameOf(fixed.inner(numbered(0)));
  if (fixed.tag === numbered(1)) {
    const mgf = fixed.inner(numbered(1)).inner(SEQUENCE);
    mgf.oid();
    found.mgf1HashAlgorithm = nameOf(mgf);
  }
  if (fixed.tag === numbered(2)) found.saltLength = Number(fixed.inner(numbered(2)).integer());
  return found;
}

export const pssAlgorithm = (hash: HashFunction, mgf: HashFunction, saltLength: number): Bytes =>
  der(
    SEQUENCE,
    der(numbered(0), hashAlgorithm(hash)),
    der(numbered(1), der(SEQUENCE, derOid(MGF1), hashAlgorithm(mgf))),
    der(numbered(2), derInteger(BigInt(saltLength))),
  );

/** The padding of a signature; undefined where it is that of PKCS #1. */
function pssOf(material: Material, hash: HashFunction, { padding, saltLength }: Padding) {
  const isPss = material.kind === 'rsa-pss';
  const asked = padding ?? (isPss ? PSS : PKCS1);
  if (asked !== PSS && (asked !== PKCS1 || isPss))
    throw opensslError('1C8000A5', 'Provider routines', 'illegal or unsupported padding mode');
  if (asked !== PSS) return undefined;
  const fixed = pssParameters(material);
  if (fixed.hashAlgorithm !== undefined && hashNamed(fixed.hashAlgorithm) !== hash)
    throw opensslError('1C8000AE', 'Provider routines', 'digest not allowed');
  const salt = saltLength ?? (fixed.saltLength === undefined ? SALT_MAX : fixed.saltLength);
  if (salt < -3) throw opensslError('1C800070', 'Provider routines', 'invalid salt length');
  if (salt >= 0 && salt < (fixed.saltLength ?? 0))
    throw opensslError('1C8000AC', 'Provider routines', 'pss saltlen too small');
  return { mgf: hashNamed(fixed.mgf1HashAlgorithm ?? '') ?? hash, salt };
}

const digestInfo = (hash: HashFunction, digest: Uint8Array): Bytes =>
  der(SEQUENCE, hashAlgorithm(hash), der(OCTET_STRING, digest));

/** Signs the digest of a message. */
export function signRsa(material: Material, hash: HashFunction, digest: Uint8Array, how: Padding): Bytes {
  const { n } = material.rsa;
  const size = bytesOf(n);
  const pss = pssOf(material, hash, how);
  if (pss === undefined) {
    const info = digestInfo(hash, digest);
    if (info.length > size - 11) throw rsaError('70', 'digest too big for rsa key');
    return bytesOfNumber(privately(material.rsa, numberOf(padded(info, size, 1))), size);
  }
  const bits = bitsOf(n) - 1;
  const room = Math.ceil(bits / 8) - digest.length - 2;
  const saltLength = pss.salt === SALT_OF_DIGEST ? digest.length : pss.salt < 0 ? room : pss.salt;
  if (saltLength > room || room < 0) throw tooLarge();
  const salt = randomBytes(saltLength) as Bytes;
  const seed = hash(Buffer.concat([Buffer.alloc(8), digest, salt]));
  const block = Buffer.concat([Buffer.alloc(room - saltLength), Buffer.from([1]), salt]);
  const hidden = combined(block, mask(pss.mgf, seed, block.length));
  hidden[0] = (hidden[0] as number) & (0xff >> (8 * Math.ceil(bits / 8) - bits));
  const encoded = Buffer.concat([hidden, seed, Buffer.from([0xbc])]);
  return bytesOfNumber(privately(material.rsa, numberOf(encoded)), size);
}

/** Whether a signature is that of a digest. */
export function verifyRsa(
  material: Material,
  { hash, digest, signature }: { hash: HashFunction; digest: Uint8Array; signature: Uint8Array },
  how: Padding,
): boolean {
  const { n } = material.rsa;
  const size = bytesOf(n);
  const pss = pssOf(material, hash, how);
  const number = numberOf(signature);
  if (signature.length !== size || number >= n) return false;
  const opened = publicly(material.rsa, number);
  if (pss === undefined) {
    const info = digestInfo(hash, digest);
    return info.length <= size - 11 && sameBytes(bytesOfNumber(opened, size), padded(info, size, 1));
  }
  const bits = bitsOf(n) - 1;
  const length = Math.ceil(bits / 8);
  if (bitsOf(opened) > length * 8 || length < digest.length + 2) return false;
  const encoded = bytesOfNumber(opened, length);
  const [hidden, seed] = [
    encoded.subarray(0, length - digest.length - 1),
    encoded.subarray(length - digest.length - 1, length - 1),
  ];
  const spare = 8 * length - bits;
  if (encoded[length - 1] !== 0xbc || (hidden[0] as number) >> (8 - spare) !== 0) return false;
  const block = combined(hidden, mask(pss.mgf, seed, hidden.length));
  block[0] = (block[0] as number) & (0xff >> spare);
  const start = block.findIndex((byte) => byte !== 0);
  const salt = block.subarray(start + 1);
  const wanted = pss.salt === SALT_OF_DIGEST ? digest.length : pss.salt;
  if (block[start] !== 1 || (wanted >= 0 && salt.length !== wanted)) return false;
  return sameBytes(seed, hash(Buffer.concat([Buffer.alloc(8), digest, salt])));
}

export interface EncryptionPadding {
  readonly padding: number;
  readonly hash: HashFunction;
  readonly label: Uint8Array;
}

function toEncrypt(data: Uint8Array, size: number, { padding, hash, label }: EncryptionPadding): Bytes {
  if (padding === PKCS1) return padded(data, size, 2);
  const room = size - 2 * hash.outputLen - 2;
  if (data.length > room) throw tooLarge();
  const fill = Buffer.alloc(room - data.length);
  const block = Buffer.concat([hash(label), fill, Buffer.from([1]), data]);
  const seed = randomBytes(hash.outputLen) as Bytes;
  const hidden = combined(block, mask(hash, seed, block.length));
  return Buffer.concat([Buffer.from([0]), combined(seed, mask(hash, hidden, seed.length)), hidden]);
}

function decryptedOaep(block: Bytes, { hash, label }: EncryptionPadding): Bytes {
  const size = hash.outputLen;
  const hidden = block.subarray(1 + size);
  const seed = combined(block.subarray(1, 1 + size), mask(hash, hidden, size));
  const data = combined(hidden, mask(hash, seed, hidden.length));
  const end = data.findIndex((byte, at) => at >= size && byte !== 0);
  // Attack: an answer that says which check failed tells the message (Manger). All fail alike.
  const fits = Number(block[0] === 0) & Number(sameBytes(data.subarray(0, size), hash(label)));
  if ((fits & Number(data[end] === 1)) === 0) throw rsaError('79', 'oaep decoding error');
  return data.subarray(end + 1);
}

/**
 * The data of a padded block. One that is none gives random data, which depend on the block alone,
 * instead of an error.
 *
 * Attack: an error says whether a chosen ciphertext has a padding, and after many of them the
 * message is known (Bleichenbacher).
 */
function decryptedPkcs1(block: Bytes, secret: bigint, ciphertext: Uint8Array): Bytes {
  const end = block.findIndex((byte, at) => at > 1 && byte === 0);
  if (block[0] === 0 && block[1] === 2 && end >= 10) return block.subarray(end + 1);
  const hash = hashNamed('sha256') as HashFunction;
  const seed = hash(Buffer.concat([bytesOfNumber(secret), ciphertext]));
  return mask(hash, seed, ((seed[0] as number) * 256 + (seed[1] as number)) % (block.length - 10));
}

function raw(data: Uint8Array, size: number): Bytes {
  if (data.length > size) throw tooLarge();
  if (data.length < size) throw rsaError('7A', 'data too small for key size');
  return Buffer.from(data);
}
const unknownPadding = (): Error => rsaError('76', 'unknown padding type');

export function encryptRsa({ rsa }: Material, data: Uint8Array, how: EncryptionPadding): Bytes {
  const size = bytesOf(rsa.n);
  if (how.padding !== PKCS1 && how.padding !== NONE && how.padding !== OAEP) throw unknownPadding();
  const block = how.padding === NONE ? raw(data, size) : toEncrypt(data, size, how);
  return bytesOfNumber(publicly(rsa, numberOf(block)), size);
}

export function decryptRsa({ rsa }: Material, data: Uint8Array, how: EncryptionPadding): Bytes {
  const size = bytesOf(rsa.n);
  if (how.padding !== PKCS1 && how.padding !== NONE && how.padding !== OAEP) throw unknownPadding();
  const isShort = how.padding === OAEP && (data.length !== size || size < 2 * how.hash.outputLen + 2);
  if (isShort) throw rsaError('79', 'oaep decoding error');
  if (data.length > size) throw rsaError('6C', 'data greater than mod len');
  const block = bytesOfNumber(privately(rsa, numberOf(data)), size);
  if (how.padding === NONE) return block;
  return how.padding === OAEP ? decryptedOaep(block, how) : decryptedPkcs1(block, rsa.d ?? 0n, data);
}

/** What a signature of some bytes is, without a hash. */
export function encryptPrivately({ rsa }: Material, data: Uint8Array, padding: number): Bytes {
  const size = bytesOf(rsa.n);
  if (padding !== PKCS1 && padding !== NONE) throw unknownPadding();
  const block = padding === NONE ? raw(data, size) : padded(data, size, 1);
  return bytesOfNumber(privately(rsa, numberOf(block)), size);
}

export function decryptPublicly({ rsa }: Material, data: Uint8Array, padding: number): Bytes {
  const size = bytesOf(rsa.n);
  if (padding !== PKCS1 && padding !== NONE) throw unknownPadding();
  if (data.length > size) throw rsaError('6C', 'data greater than mod len');
  const block = bytesOfNumber(publicly(rsa, numberOf(data)), size);
  if (padding === NONE) return block;
  const end = block.findIndex((byte, at) => at > 1 && byte !== 0xff);
  if (block[0] !== 0 || block[1] !== 1 || end < 10 || block[end] !== 0) throw badPadding();
  return block.subarray(end + 1);
}
