/**
 * Normalizing an algorithm
 * (https://www.w3.org/TR/WebCryptoAPI/#algorithm-normalization-normalize-an-algorithm): a script's
 * algorithm becomes a record of plain values and copied bytes before an operation begins.
 *
 * Attack: a member on `Object.prototype` in the place of one that is absent. The record is sent to
 * the cell, and has no prototype.
 */

import { DOMException } from '../dom-exception.ts';
import { type Bytes, copyBytes, viewBytes } from '../encoding/bytes.ts';
import { objectKeys, regExpExec, toUpperCase, typedArrayName } from '../primordials.ts';
import { isObject, toDOMString } from '../web-idl.ts';
import { type KeySlots, record, toKey } from './crypto-key.ts';

export type Operation =
  | 'decrypt'
  | 'deriveBits'
  | 'digest'
  | 'encrypt'
  | 'generateKey'
  | 'getKeyLength'
  | 'importKey'
  | 'sign'
  | 'unwrapKey'
  | 'verify'
  | 'wrapKey';

export interface Algorithm {
  name: string;
  hash?: string;
  length?: number;
  modulusLength?: number;
  namedCurve?: string;
  public?: KeySlots;
  publicExponent?: Bytes;
  [member: string]: string | number | Bytes | KeySlots | undefined;
}

/** An integer with its greatest value, or a kind of object. */
type Kind = number | 'bytes' | 'hash' | 'integer' | 'key' | 'text';
type Member = readonly [name: string, kind: Kind, optional?: 'optional'];
/**
 * Members in the order in which Web IDL reads them; undefined for an algorithm that is only a name.
 */
type Dictionary = readonly Member[] | undefined;
type Registry = Record<string, Dictionary>;

const OCTET = 0xff;
const USHORT = 0xffff;
const ULONG = 0xffffffff;

const HASH: Member = ['hash', 'hash'];
const IV: Member = ['iv', 'bytes'];
const ONLY_NAME = undefined;
const AES_GCM: Dictionary = [['additionalData', 'bytes', 'optional'], IV, ['tagLength', OCTET, 'optional']];
const AES_CTR: Dictionary = [
  ['counter', 'bytes'],
  ['length', OCTET],
];
const AES_LENGTH: Dictionary = [['length', USHORT]];
const HMAC: Dictionary = [HASH, ['length', ULONG, 'optional']];
const RSA_GENERATE: Dictionary = [['modulusLength', ULONG], ['publicExponent', 'integer'], HASH];
const EC: Dictionary = [['namedCurve', 'text']];
/** Algorithms whose name is their curve. */
const EDWARDS: Registry = { Ed25519: ONLY_NAME, Ed448: ONLY_NAME, X25519: ONLY_NAME, X448: ONLY_NAME };
const PUBLIC: Dictionary = [['public', 'key']];

const AES = ['AES-CBC', 'AES-CTR', 'AES-GCM', 'AES-KW'] as const;
const RSA = ['RSASSA-PKCS1-v1_5', 'RSA-PSS', 'RSA-OAEP'] as const;

const DIGEST: Registry = {
  'SHA-1': ONLY_NAME,
  'SHA-256': ONLY_NAME,
  'SHA-384': ONLY_NAME,
  'SHA-512': ONLY_NAME,
};
const SIGN: Registry = {
  'RSASSA-PKCS1-v1_5': ONLY_NAME,
  'RSA-PSS': [['saltLength', ULONG]],
  ECDSA: [HASH],
  Ed25519: ONLY_NAME,
  Ed448: [['context', 'bytes', 'optional']],
  HMAC: ONLY_NAME,
};
const ENCRYPT: Registry = {
  'RSA-OAEP': [['label', 'bytes', 'optional']],
  'AES-CBC': [IV],
  'AES-CTR': AES_CTR,
  'AES-GCM': AES_GCM,
};
const WRAP: Registry = { 'AES-KW': ONLY_NAME };

/** The same dictionary for several names. */
function each(names: readonly string[], dictionary: Dictionary, others: Registry): Registry {
  for (let i = 0; i < names.length; i++) others[names[i] as string] = dictionary;
  return others;
}

const REGISTRIES: Record<Operation, Registry> = record({
  encrypt: ENCRYPT,
  decrypt: ENCRYPT,
  sign: SIGN,
  verify: SIGN,
  digest: DIGEST,
  wrapKey: WRAP,
  unwrapKey: WRAP,
  generateKey: each(
    AES,
    AES_LENGTH,
    each(RSA, RSA_GENERATE, record({ ECDSA: EC, ECDH: EC, ...EDWARDS, HMAC })),
  ),
  importKey: each(
    AES,
    ONLY_NAME,
    each(
      RSA,
      [HASH],
      record({
        ECDSA: EC,
        ECDH: EC,
        ...EDWARDS,
        HMAC,
        HKDF: ONLY_NAME,
        PBKDF2: ONLY_NAME,
      }),
    ),
  ),
  getKeyLength: each(AES, AES_LENGTH, record({ HMAC, HKDF: ONLY_NAME, PBKDF2: ONLY_NAME })),
  deriveBits: {
    ECDH: PUBLIC,
    X25519: PUBLIC,
    X448: PUBLIC,
    HKDF: [HASH, ['info', 'bytes'], ['salt', 'bytes']],
    PBKDF2: [HASH, ['iterations', ULONG], ['salt', 'bytes']],
  },
});

/** `AlgorithmIdentifier`: an object, or a name. */
export const toIdentifier = (value: unknown): object | string =>
  isObject(value) ? value : toDOMString(value);

/**
 * @throws TypeError if a member is missing or of the wrong type, NotSupportedError for an unknown
 *   name
 */
export function normalize(operation: Operation, identifier: object | string): Algorithm {
  const given = typeof identifier === 'string' ? record({ name: identifier }) : identifier;
  const asked = requiredName(given);
  const registry = REGISTRIES[operation];
  const name = registeredName(registry, asked);
  if (name === undefined) {
    throw new DOMException(`${operation}: the algorithm "${asked}" is not supported`, 'NotSupportedError');
  }
  const algorithm: Algorithm = record({ name });
  const dictionary = registry[name];
  if (dictionary === undefined) return algorithm;
  requiredName(given);
  for (let i = 0; i < dictionary.length; i++)
    read(given as Record<string, unknown>, dictionary[i] as Member, algorithm);
  // Bytes are copied last, because a getter above may change the bytes of another member.
  for (let i = 0; i < dictionary.length; i++) {
    const member = dictionary[i] as Member;
    const key = member[0];
    const kind = member[1];
    const value = algorithm[key];
    if (value === undefined) continue;
    if (kind === 'bytes' || kind === 'integer') algorithm[key] = copyBytes(viewBytes(value) as Bytes);
    else if (kind === 'hash') algorithm[key] = normalize('digest', value as unknown as object | string).name;
  }
  return algorithm;
}

function requiredName(given: object): string {
  const { name } = given as { name?: unknown };
  if (name === undefined) throw new TypeError('Algorithm: the member name is required');
  return toDOMString(name);
}

const ASCII = /^[\x20-\x7e]*$/;

/** Names are compared ASCII case-insensitively. */
function registeredName(registry: Registry, asked: string): string | undefined {
  if (regExpExec(ASCII, asked) === null) return undefined;
  const upper = toUpperCase(asked);
  const names = objectKeys(registry);
  for (let i = 0; i < names.length; i++) if (toUpperCase(names[i] as string) === upper) return names[i];
  return undefined;
}

/** Reads one member of a dictionary, converted as Web IDL requires. */
function read(given: Record<string, unknown>, member: Member, into: Algorithm): void {
  const key = member[0];
  const kind = member[1];
  const value = given[key];
  const what = `Algorithm: the member ${key}`;
  if (value === undefined) {
    if (member.length < 3) throw new TypeError(`${what} is required`);
  } else if (typeof kind === 'number') {
    into[key] = toInteger(value, kind, what);
  } else if (kind === 'hash') {
    into[key] = toIdentifier(value) as string;
  } else if (kind === 'text') {
    into[key] = toDOMString(value);
  } else if (kind === 'key') {
    into[key] = toKey(value, what);
  } else {
    const fits = kind === 'bytes' ? viewBytes(value) !== undefined : isObject(value) && isUint8Array(value);
    if (!fits) throw new TypeError(`${what} is not a ${kind === 'bytes' ? 'BufferSource' : 'Uint8Array'}`);
    into[key] = value as Bytes;
  }
}

function isUint8Array(value: object): boolean {
  return typedArrayName(value) === 'Uint8Array';
}

/** `[EnforceRange]` of an unsigned integer. */
function toInteger(value: unknown, max: number, what: string): number {
  const number = +(value as number);
  // NaN and the infinities become 0; others are rounded towards zero.
  if (number - number !== 0) throw new TypeError(`${what} is not a finite number`);
  const integer = number - (number % 1);
  if (integer < 0 || integer > max) throw new TypeError(`${what} is not between 0 and ${max}`);
  return integer + 0;
}
