/**
 * What the functions of `node:crypto` take and give: texts, bytes and keys, and errors as OpenSSL
 * has them.
 */
import { Buffer, type Bytes } from './buffer.ts';
import { encodingNamed } from './buffer-text.ts';
import { bytesOf } from './buffer-view.ts';
import { invalidArgType, invalidArgValue, nodeError } from './errors.ts';

export const BYTES = ['ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'];

/** @throws TypeError for what is neither text nor bytes */
export function bytesOfText(
  value: unknown,
  name: string,
  encoding?: unknown,
  expected: readonly string[] = ['string', ...BYTES],
): Bytes {
  const bytes = typeof value === 'string' ? Buffer.from(value, textEncoding(encoding)) : bytesOf(value);
  if (bytes === undefined) throw invalidArgType(name, expected, value);
  return bytes;
}
const textEncoding = (encoding: unknown): unknown => (encoding === 'buffer' ? 'utf8' : encoding);

/** The bytes of a text or a view, as a hash takes them. */
export function dataBytes(data: unknown, encoding: unknown, name = 'data'): Uint8Array {
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (typeof data !== 'string')
    throw invalidArgType(name, ['string', 'Buffer', 'TypedArray', 'DataView'], data);
  const named = encodingNamed(encoding);
  if (named?.name === 'hex' && data.length % 2 !== 0) {
    throw invalidArgValue('encoding', encoding, `is invalid for data of length ${data.length}`);
  }
  return Buffer.from(data, named?.name);
}

export const inEncoding = (bytes: Uint8Array, encoding: unknown): Bytes | string => {
  const buffer = Buffer.from(bytes);
  // A text of the encoding is made here, so that one that cannot be made throws.
  const name = encoding === undefined || encoding === null ? 'buffer' : `${encoding}`;
  return name === 'buffer' || encodingNamed(name) === undefined ? buffer : buffer.toString(name);
};

/** The member of a `KeyObject` that has its key; code does not see it. */
export const KEY = Symbol('key');
/** The key of a `KeyObject`: the bytes of a secret one, or a pair or its public half. */
export type Key =
  | { readonly type: 'secret'; readonly bytes: Bytes }
  | { readonly type: 'public' | 'private'; readonly material: object };
export interface Keyed {
  readonly [KEY]: Key;
}
export const isKeyed = (value: unknown): value is Keyed =>
  typeof value === 'object' && value !== null && KEY in value;

/** The bytes of a secret key. @throws TypeError for what is neither a key nor bytes */
export function secretOf(value: unknown, encoding?: unknown, name = 'key'): Bytes {
  if (!isKeyed(value))
    return bytesOfText(value, name, encoding, ['string', ...BYTES, 'KeyObject', 'CryptoKey']);
  const key = value[KEY];
  if (key.type !== 'secret') throw wrongKeyType(key.type, 'secret');
  return key.bytes;
}

export const wrongKeyType = (actual: string, expected: string): Error =>
  nodeError(
    TypeError,
    'ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE',
    `Invalid key object type ${actual}, expected ${expected}.`,
  );

/** Takes a time that does not depend on where the bytes differ. */
export function sameBytes(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let at = 0; at < one.length; at++) difference |= (one[at] ?? 0) ^ (other[at] ?? 0);
  return difference === 0;
}

/** What the code of an error begins with, by the library of OpenSSL that reports it. */
const PREFIXES: Readonly<Record<string, string>> = {
  'digital envelope routines': 'EVP_',
  'Diffie-Hellman routines': 'DH_',
  'common libcrypto routines': 'CRYPTO_',
  'rsa routines': 'RSA_',
};

/** An error of OpenSSL. @param number of the error, in hexadecimal digits */
export function opensslError(number: string, library: string, reason: string): Error {
  const code = `${PREFIXES[library] ?? ''}${reason.toUpperCase().replaceAll(/[ -]/g, '_')}`;
  const error = new Error(`error:${number}:${library}::${reason}`);
  return Object.assign(error, { library, reason, code: `ERR_OSSL_${code}` });
}
export const wrongKeyKind = (): Error =>
  opensslError('03000096', 'digital envelope routines', 'operation not supported for this keytype');
