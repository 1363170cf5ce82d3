/**
 * The key objects of `node:crypto`, and what its functions take for a key.
 */
import { Buffer, type Bytes } from './buffer.ts';
import { bytesOf } from './buffer-view.ts';
import { answer, type Done } from './callback.ts';
import {
  BYTES,
  bytesOfText,
  isKeyed,
  KEY,
  type Key,
  type Keyed,
  sameBytes,
  secretOf,
  wrongKeyType,
} from './crypto-bytes.ts';
import {
  type Encoding,
  jwkMaterial,
  type Kind,
  type Material,
  privateMaterial,
  publicMaterial,
  writeJwk,
  writePrivate,
  writePublic,
} from './crypto-material.ts';
import { bitsOf } from './crypto-numbers.ts';
import { randomFillSync } from './crypto-random.ts';
import { pssParameters } from './crypto-rsa.ts';
import {
  invalidArgType,
  invalidArgValue,
  nodeError,
  unavailable,
  validateFunction,
  validateInteger,
  validateObject,
  validateOneOf,
  validateString,
} from './errors.ts';

const AES_BITS = [128, 192, 256];
const KEY_TYPES = ['string', ...BYTES];
const ANY_KEY_TYPES = [...KEY_TYPES, 'KeyObject', 'CryptoKey'];

export class KeyObject implements Keyed {
  declare readonly [KEY]: Key;

  constructor(type: Key['type'], key: Key) {
    if (type !== 'secret' && type !== 'public' && type !== 'private') throw invalidArgValue('type', type);
    if (typeof key !== 'object' || key?.type !== type) throw invalidArgType('handle', 'object', key);
    Object.defineProperty(this, KEY, { value: key });
  }

  get type(): Key['type'] {
    return this[KEY].type;
  }

  get [Symbol.toStringTag](): string {
    return 'KeyObject';
  }

  equals(other: unknown): boolean {
    if (!isKeyed(other)) throw invalidArgType('otherKeyObject', 'KeyObject', other);
    const [one, two] = [this[KEY], other[KEY]];
    if (one.type === 'secret' || two.type === 'secret')
      return one.type === two.type && sameBytes(secretOf(this), secretOf(other));
    const halves = [this, other].map((key) => writePublic(materialOf(key), { format: 'der' }) as Bytes);
    return one.type === two.type && sameBytes(...(halves as [Bytes, Bytes]));
  }

  /** A key of Web Crypto gives its bytes only to code that waits. */
  static from(key: unknown): never {
    if (!(key instanceof CryptoKey)) throw invalidArgType('key', 'CryptoKey', key);
    throw unavailable('crypto.KeyObject.from');
  }

  toCryptoKey(): never {
    throw unavailable('crypto.KeyObject.toCryptoKey');
  }
}

class SecretKeyObject extends KeyObject {
  constructor(bytes: Bytes) {
    super('secret', { type: 'secret', bytes });
  }

  get symmetricKeySize(): number {
    return secretOf(this).length;
  }

  export(options?: { readonly format?: string }): Bytes | object {
    if (options !== undefined) {
      validateObject(options, 'options');
      validateOneOf(options.format, 'options.format', [undefined, 'buffer', 'jwk']);
    }
    const bytes = secretOf(this);
    return options?.format === 'jwk' ? { kty: 'oct', k: bytes.toString('base64url') } : Buffer.from(bytes);
  }
}

class AsymmetricKeyObject extends KeyObject {
  get asymmetricKeyType(): Kind {
    return materialOf(this).kind;
  }

  get asymmetricKeyDetails(): object {
    const material = materialOf(this);
    if (material.kind === 'ec') return { namedCurve: material.curve };
    if (material.kind !== 'rsa' && material.kind !== 'rsa-pss') return {};
    const { n, e } = material.rsa;
    return { modulusLength: bitsOf(n), publicExponent: e, ...pssParameters(material) };
  }
}

export class PublicKeyObject extends AsymmetricKeyObject {
  constructor(material: Material) {
    super('public', { type: 'public', material });
  }

  export(options?: Encoding): Bytes | string | object {
    return exported(this, options, 'public');
  }
}

export class PrivateKeyObject extends AsymmetricKeyObject {
  constructor(material: Material) {
    super('private', { type: 'private', material });
  }

  export(options?: Encoding): Bytes | string | object {
    if (options?.format === 'jwk' && options.passphrase !== undefined)
      throw incompatible('jwk', 'does not support encryption');
    return exported(this, options, 'private');
  }
}

function exported(key: KeyObject, options: Encoding | undefined, half: Half): Bytes | string | object {
  const material = materialOf(key);
  if (options?.format === 'jwk') return writeJwk(half === 'public' ? material.publicHalf : material);
  return written(material, encodingOf(options, 'options', half, material.kind), half);
}

export type Half = 'public' | 'private';
/** A key as an encoding says. */
export function written(material: Material, encoding: Encoding, half: Half): Bytes | string | object {
  if (encoding.format === 'jwk') return writeJwk(half === 'public' ? material.publicHalf : material);
  return half === 'public' ? writePublic(material, encoding) : writePrivate(material, encoding);
}

export function materialOf(key: Keyed): Material {
  const found = key[KEY];
  if (found.type === 'secret') throw wrongKeyType('secret', 'private or public');
  return found.material as Material;
}

const incompatible = (encoding: string, reason: string): Error =>
  nodeError(Error, 'ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS', `The selected key encoding ${encoding} ${reason}.`);

/** Where a type of encoding is good for. */
function checkType(type: unknown, name: string, half: Half | undefined, kind: Kind | undefined): void {
  if (type === 'pkcs1') {
    if (kind !== undefined && kind !== 'rsa') throw incompatible(type, 'can only be used for RSA keys');
    return;
  }
  if (type === 'spki' && half !== 'private') return;
  if (half === 'public' || (type !== 'pkcs8' && type !== 'sec1')) throw invalidArgValue(name, type);
  if (type === 'sec1' && kind !== undefined && kind !== 'ec')
    throw incompatible(type, 'can only be used for EC keys');
}

/**
 * Reads an encoding.
 *
 * @param kind of the key that is written; undefined for one that is read
 */
export function encodingOf(value: unknown, name: string, half: Half | undefined, kind?: Kind): Encoding {
  validateObject(value, name === 'options' || name === 'key' ? name : name.replace('options.', ''));
  const { format, type, cipher, passphrase, encoding } = value as Record<string, unknown>;
  const reads = kind === undefined;
  if (!['pem', 'der', 'jwk', ...(reads ? [undefined] : [])].includes(format as string))
    throw invalidArgValue(`${name}.format`, format);
  const required = format !== 'jwk' && (!reads || format === 'der');
  if (required || type !== undefined) checkType(type, `${name}.type`, half, kind);
  const how = { format: (format ?? 'pem') as string, type: type as string | undefined };
  if (half === 'public') return how;
  const isGiven = passphrase !== undefined && passphrase !== null;
  const isSealed = cipher !== undefined && cipher !== null;
  if (!reads && isSealed) {
    if (typeof cipher !== 'string') throw invalidArgValue(`${name}.cipher`, cipher);
    if (format === 'der' && (type === 'pkcs1' || type === 'sec1'))
      throw incompatible(type, 'does not support encryption');
  } else if (!reads && passphrase !== undefined) {
    throw invalidArgValue(`${name}.cipher`, cipher, 'is required when a passphrase is specified');
  }
  const isBytes = typeof passphrase === 'string' || bytesOf(passphrase) !== undefined;
  if (!isBytes && (reads ? isGiven : isSealed)) throw invalidArgValue(`${name}.passphrase`, passphrase);
  if (!isGiven) return how;
  return {
    ...how,
    cipher: cipher as string | undefined,
    passphrase: bytesOfText(passphrase, 'key.passphrase', encoding),
  };
}

type Wanted = 'private' | 'public or private' | 'new public' | 'new private';

function keyObjectFor({ [KEY]: key }: Keyed, wanted: Wanted): Material {
  if (key.type !== 'private' && (wanted === 'private' || wanted === 'new public'))
    throw wrongKeyType(key.type, 'private');
  if (key.type === 'secret') throw wrongKeyType(key.type, 'private or public');
  return key.material as Material;
}

/** What a function takes for one of a pair of keys: an object, PEM, DER, or a JSON Web Key. */
export function asymmetricKey(value: unknown, wanted: Wanted): Material {
  const isNew = wanted === 'new private';
  const isPrivate = isNew || wanted === 'private';
  const types = isNew ? [...KEY_TYPES, 'URL'] : ANY_KEY_TYPES;
  const read = isPrivate ? privateMaterial : publicMaterial;
  if (isKeyed(value) && !isNew) return keyObjectFor(value, wanted);
  if (typeof value === 'string' || bytesOf(value) !== undefined) {
    return read(bytesOfText(value, 'key'), { format: 'pem' });
  }
  if (typeof value !== 'object' || isKeyed(value)) throw invalidArgType('key', types, value);
  const { key: data, encoding, format } = value as Record<string, unknown>;
  if (isKeyed(data) && !isNew) return keyObjectFor(data, wanted);
  if (format === 'jwk') return jwkMaterial(data, !isPrivate);
  if (typeof data !== 'string' && bytesOf(data) === undefined) throw invalidArgType('key.key', types, data);
  const how = encodingOf(value, 'key', isPrivate ? 'private' : undefined);
  return read(bytesOfText(data, 'key', encoding), how);
}

export function createSecretKey(key: unknown, encoding?: string): KeyObject {
  const types = typeof key === 'string' ? KEY_TYPES : BYTES;
  return new SecretKeyObject(Buffer.from(bytesOfText(key, 'key', encoding, types)));
}
export const createPublicKey = (key: unknown): KeyObject =>
  new PublicKeyObject(asymmetricKey(key, 'new public').publicHalf);
export const createPrivateKey = (key: unknown): KeyObject =>
  new PrivateKeyObject(asymmetricKey(key, 'new private'));

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

export const generateKeySync = (type: string, options: object): KeyObject =>
  new SecretKeyObject(randomFillSync(Buffer.alloc(sizeOfKey(type, options))));

export function generateKey(type: string, options: object, done: Done<KeyObject>): void {
  sizeOfKey(type, options);
  validateFunction(done, 'callback');
  answer(done, () => generateKeySync(type, options));
}
