/**
 * The secret keys of `node:crypto`. Pairs of keys are those of Web Crypto: `node:crypto` cannot
 * use them without waiting.
 */
import { Buffer, type Bytes } from './buffer.ts';
import { answer, type Done, randomFillSync } from './crypto-random.ts';
import {
  invalidArgType,
  invalidArgValue,
  validateFunction,
  validateInteger,
  validateObject,
  validateOneOf,
  validateString,
} from './errors.ts';

export const BYTES = ['ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'];
const AES_BITS = [128, 192, 256];

/** The bytes of a buffer, a view or a text; undefined for other values. */
export function secretBytes(value: unknown, encoding?: string): Bytes | undefined {
  if (typeof value === 'string') return Buffer.from(value, encoding);
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return value instanceof ArrayBuffer ? Buffer.from(value) : undefined;
}

/** @throws TypeError for what is neither a key nor bytes */
export function keyBytes(value: unknown, name: string): Uint8Array {
  const bytes = value instanceof KeyObject ? value.export() : secretBytes(value);
  if (bytes === undefined) throw invalidArgType(name, ['string', ...BYTES, 'KeyObject', 'CryptoKey'], value);
  return bytes;
}

export class KeyObject {
  readonly type = 'secret';
  readonly #bytes: Bytes;

  constructor(bytes: Bytes) {
    if (!(bytes instanceof Uint8Array)) throw invalidArgValue('type', bytes);
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
    if (!(other instanceof KeyObject)) throw invalidArgType('otherKeyObject', 'KeyObject', other);
    return sameBytes(other.#bytes, this.#bytes);
  }
}

/** Takes a time that does not depend on where the bytes differ. */
export function sameBytes(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let at = 0; at < one.length; at++) difference |= (one[at] ?? 0) ^ (other[at] ?? 0);
  return difference === 0;
}

export function createSecretKey(key: unknown, encoding?: string): KeyObject {
  const bytes = secretBytes(key, encoding);
  if (bytes === undefined) throw invalidArgType('key', BYTES, key);
  return new KeyObject(Buffer.from(bytes));
}

/** @returns bytes of a new key */
function sizeOfKey(type: unknown, options: unknown): number {
  validateString(type, 'type');
  validateObject(options, 'options');
  const { length } = options as { length?: unknown };
  if (type === 'aes') {
    validateOneOf(length, 'options.length', AES_BITS);
    return (length as number) / 8;
  }
  if (type !== 'hmac') throw invalidArgValue('type', type, 'must be a supported key type');
  validateInteger(length, 'options.length', 8, 2 ** 31 - 1);
  return Math.floor((length as number) / 8);
}

export function generateKeySync(type: string, options: object): KeyObject {
  const size = sizeOfKey(type, options);
  return new KeyObject(randomFillSync(Buffer.alloc(size)));
}

export function generateKey(type: string, options: object, done: Done<KeyObject>): void {
  const size = sizeOfKey(type, options);
  validateFunction(done, 'callback');
  answer(done, () => new KeyObject(randomFillSync(Buffer.alloc(size))));
}
