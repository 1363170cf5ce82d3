/**
 * SubtleCrypto (https://www.w3.org/TR/WebCryptoAPI/#subtlecrypto-interface): reads the arguments as
 * Web IDL requires, enforces the usages of keys, and sends a job to the cell.
 *
 * Errors of steps before the standard returns its promise reject at once; those of parallel steps
 * reject a microtask later at the earliest. Bytes are copied before the call returns.
 */
import { DOMException } from '../dom-exception.ts';
import { type Bytes, copyBytes, viewBytes } from '../encoding/bytes.ts';
import { PromiseIntrinsic, typedArrayBuffer, typedArrayByteLength } from '../primordials.ts';
import { defineInterface, requireArguments, toDOMString } from '../web-idl.ts';
import { type Algorithm, normalize, type Operation, toIdentifier } from './algorithm.ts';
import { type KeySlots, member, record, toKey } from './crypto-key.ts';
import { JobRequest, type Settle } from './job-request.ts';
import { toJsonWebKey, toList } from './json-web-key.ts';

const INSIDE = Symbol();
/** Attack: RSA keys of more bits, which occupy a core of the cell for seconds. */
const MODULUS_LENGTH_MAX = 4_096;

/** The part of an operation that runs in parallel. */
type Work = (settle: Settle) => void;

/** Whether a value is a SubtleCrypto, whatever its prototype says. */
let isSubtle: (value: object) => boolean;

export class SubtleCrypto {
  readonly #brand = true;

  static {
    isSubtle = (value) => #brand in value;
  }

  constructor(...given: unknown[]) {
    if (given[0] !== INSIDE) throw new TypeError('Illegal constructor');
  }

  encrypt(_algorithm: unknown, _key: unknown, _data: unknown): Promise<unknown> {
    return transform(this, 'encrypt', arguments);
  }

  decrypt(_algorithm: unknown, _key: unknown, _data: unknown): Promise<unknown> {
    return transform(this, 'decrypt', arguments);
  }

  sign(_algorithm: unknown, _key: unknown, _data: unknown): Promise<unknown> {
    return transform(this, 'sign', arguments);
  }

  verify(algorithm: unknown, key: unknown, signature: unknown, data: unknown): Promise<unknown> {
    return perform(this, arguments, 'verify', () => {
      const identifier = toIdentifier(algorithm);
      const slots = toKey(key, 'verify: parameter 2');
      requireBytes(signature, 'verify: parameter 3');
      requireBytes(data, 'verify: parameter 4');
      const normalized = normalize('verify', identifier);
      const request = new JobRequest('verify');
      request.algorithm('algorithm', normalized);
      request.key('key', slots);
      request.bytes('signature', taken(signature));
      request.bytes('data', taken(data));
      return (settle) => {
        requireUse(slots, normalized.name, 'verify');
        request.send(settle, ({ valid }) => settle.resolve(valid));
      };
    });
  }

  digest(algorithm: unknown, data: unknown): Promise<unknown> {
    return perform(this, arguments, 'digest', () => {
      const identifier = toIdentifier(algorithm);
      requireBytes(data, 'digest: parameter 2');
      const request = new JobRequest('digest');
      request.algorithm('algorithm', normalize('digest', identifier));
      request.bytes('data', taken(data));
      return (settle) => request.send(settle, ({ buffer }) => settle.resolve(buffer));
    });
  }

  generateKey(algorithm: unknown, extractable: unknown, keyUsages: unknown): Promise<unknown> {
    return perform(this, arguments, 'generateKey', () => {
      const identifier = toIdentifier(algorithm);
      const usages = toUsages(keyUsages, 'generateKey: parameter 3');
      const normalized = normalize('generateKey', identifier);
      requireGenerable(normalized);
      const request = new JobRequest('generateKey');
      request.algorithm('algorithm', normalized);
      request.set('usages', usages);
      return (settle) =>
        request.send(settle, (answer) => {
          const keys = answer.keys(!!extractable);
          if (keys.length === 1) return settle.resolve(keys[0]);
          const pair = {};
          member(pair, 'privateKey', keys[0]);
          member(pair, 'publicKey', keys[1]);
          return settle.resolve(pair);
        });
    });
  }

  // biome-ignore lint/complexity/useMaxParams: the signature of the Web Crypto standard.
  deriveKey(
    algorithm: unknown,
    baseKey: unknown,
    derivedKeyType: unknown,
    extractable: unknown,
    keyUsages: unknown,
  ): Promise<unknown> {
    return perform(this, arguments, 'deriveKey', () => {
      const identifier = toIdentifier(algorithm);
      const base = toKey(baseKey, 'deriveKey: parameter 2');
      const derivedIdentifier = toIdentifier(derivedKeyType);
      const usages = toUsages(keyUsages, 'deriveKey: parameter 5');
      const normalized = normalize('deriveBits', identifier);
      const imported = normalize('importKey', derivedIdentifier);
      const { length } = normalize('getKeyLength', derivedIdentifier);
      if (length !== undefined) imported.length = length;
      const request = new JobRequest('deriveKey');
      request.algorithm('algorithm', normalized);
      request.key('key', base);
      request.algorithm('derived', imported);
      request.set('extractable', !!extractable);
      request.set('usages', usages);
      return (settle) => {
        requireUse(base, normalized.name, 'deriveKey');
        request.send(settle, (answer) => settle.resolve(answer.keys(!!extractable)[0]));
      };
    });
  }

  deriveBits(algorithm: unknown, baseKey: unknown, length: unknown = null): Promise<unknown> {
    return perform(this, arguments, 'deriveBits', () => {
      const identifier = toIdentifier(algorithm);
      const base = toKey(baseKey, 'deriveBits: parameter 2');
      // Web IDL's unsigned long without [EnforceRange]: modulo 2^32.
      const bits = length === undefined || length === null ? null : (+(length as number) as number) >>> 0;
      const normalized = normalize('deriveBits', identifier);
      const request = new JobRequest('deriveBits');
      request.algorithm('algorithm', normalized);
      request.key('key', base);
      request.set('length', bits);
      return (settle) => {
        requireUse(base, normalized.name, 'deriveBits');
        request.send(settle, ({ buffer }) => settle.resolve(buffer));
      };
    });
  }

  // biome-ignore lint/complexity/useMaxParams: the signature of the Web Crypto standard.
  importKey(
    format: unknown,
    keyData: unknown,
    algorithm: unknown,
    extractable: unknown,
    keyUsages: unknown,
  ): Promise<unknown> {
    return perform(this, arguments, 'importKey', () => {
      const asked = toFormat(format, 'importKey: parameter 1');
      const jwk = viewBytes(keyData) === undefined ? toJsonWebKey(keyData) : undefined;
      const identifier = toIdentifier(algorithm);
      const usages = toUsages(keyUsages, 'importKey: parameter 5');
      const normalized = normalize('importKey', identifier);
      if ((jwk !== undefined) !== (asked === 'jwk')) {
        throw new TypeError(`importKey: parameter 2 does not fit the format ${asked}`);
      }
      const request = new JobRequest('importKey');
      request.set('format', asked);
      request.algorithm('algorithm', normalized);
      request.set('extractable', !!extractable);
      request.set('usages', usages);
      if (jwk === undefined) request.bytes('data', taken(keyData));
      else request.set('jwk', jwk);
      return (settle) => request.send(settle, (answer) => settle.resolve(answer.keys(!!extractable)[0]));
    });
  }

  exportKey(format: unknown, key: unknown): Promise<unknown> {
    return perform(this, arguments, 'exportKey', () => {
      const asked = toFormat(format, 'exportKey: parameter 1');
      const slots = toKey(key, 'exportKey: parameter 2');
      return (settle) => {
        requireExportable(slots);
        // The stored material; the cell converts to any other format.
        const kept = slots.type === 'secret' ? 'raw' : slots.type === 'private' ? 'pkcs8' : 'spki';
        if (asked === kept) return settle.resolve(typedArrayBuffer(copyBytes(slots.material)));
        const request = new JobRequest('exportKey');
        request.set('format', asked);
        request.key('key', slots);
        return request.send(settle, ({ jwk, buffer }) => settle.resolve(asked === 'jwk' ? jwk : buffer));
      };
    });
  }

  wrapKey(format: unknown, key: unknown, wrappingKey: unknown, wrapAlgorithm: unknown): Promise<unknown> {
    return perform(this, arguments, 'wrapKey', () => {
      const asked = toFormat(format, 'wrapKey: parameter 1');
      const slots = toKey(key, 'wrapKey: parameter 2');
      const wrapping = toKey(wrappingKey, 'wrapKey: parameter 3');
      const normalized = normalizeEither('wrapKey', 'encrypt', toIdentifier(wrapAlgorithm));
      const request = new JobRequest('wrapKey');
      request.set('format', asked);
      request.key('wrapped', slots);
      request.key('key', wrapping);
      request.algorithm('algorithm', normalized);
      return (settle) => {
        requireUse(wrapping, normalized.name, 'wrapKey');
        requireExportable(slots);
        request.send(settle, ({ buffer }) => settle.resolve(buffer));
      };
    });
  }

  // biome-ignore lint/complexity/useMaxParams: the signature of the Web Crypto standard.
  unwrapKey(
    format: unknown,
    wrappedKey: unknown,
    unwrappingKey: unknown,
    unwrapAlgorithm: unknown,
    unwrappedKeyAlgorithm: unknown,
    extractable: unknown,
    keyUsages: unknown,
  ): Promise<unknown> {
    return perform(this, arguments, 'unwrapKey', () => {
      const asked = toFormat(format, 'unwrapKey: parameter 1');
      requireBytes(wrappedKey, 'unwrapKey: parameter 2');
      const unwrapping = toKey(unwrappingKey, 'unwrapKey: parameter 3');
      const identifier = toIdentifier(unwrapAlgorithm);
      const unwrappedIdentifier = toIdentifier(unwrappedKeyAlgorithm);
      const usages = toUsages(keyUsages, 'unwrapKey: parameter 7');
      const normalized = normalizeEither('unwrapKey', 'decrypt', identifier);
      const unwrapped = normalize('importKey', unwrappedIdentifier);
      const request = new JobRequest('unwrapKey');
      request.set('format', asked);
      request.bytes('data', taken(wrappedKey));
      request.key('key', unwrapping);
      request.algorithm('algorithm', normalized);
      request.algorithm('unwrapped', unwrapped);
      request.set('extractable', !!extractable);
      request.set('usages', usages);
      return (settle) => {
        requireUse(unwrapping, normalized.name, 'unwrapKey');
        request.send(settle, (answer) => settle.resolve(answer.keys(!!extractable)[0]));
      };
    });
  }
}
defineInterface(SubtleCrypto, 'SubtleCrypto');

export const createSubtle = (): SubtleCrypto => new SubtleCrypto(INSIDE);

/** `encrypt`, `decrypt` and `sign` differ only in their names. */
function transform(
  self: object,
  operation: 'decrypt' | 'encrypt' | 'sign',
  given: IArguments,
): Promise<unknown> {
  return perform(self, given, operation, () => {
    const identifier = toIdentifier(given[0]);
    const slots = toKey(given[1], `${operation}: parameter 2`);
    requireBytes(given[2], `${operation}: parameter 3`);
    const normalized = normalize(operation, identifier);
    const request = new JobRequest(operation);
    request.algorithm('algorithm', normalized);
    request.key('key', slots);
    request.bytes('data', taken(given[2]));
    return (settle) => {
      requireUse(slots, normalized.name, operation);
      request.send(settle, ({ buffer }) => settle.resolve(buffer));
    };
  });
}

/**
 * One operation: `prepare` runs now, and its result runs a microtask later. `await` of a primitive
 * looks up nothing that a script could have replaced.
 */
function perform(
  self: object,
  given: IArguments,
  name: keyof typeof REQUIRED_ARGUMENTS,
  prepare: () => Work,
): Promise<unknown> {
  return new PromiseIntrinsic((resolve, reject) => {
    try {
      if (!isSubtle(self)) throw new TypeError('Illegal invocation');
      requireArguments(given.length, REQUIRED_ARGUMENTS[name], name);
      void later(prepare(), { resolve, reject });
    } catch (thrown) {
      reject(thrown);
    }
  });
}

async function later(work: Work, settle: Settle): Promise<void> {
  await undefined;
  try {
    work(settle);
  } catch (thrown) {
    settle.reject(thrown);
  }
}

/** Normalizes for wrapping, or else for encrypting, as the standard does. */
function normalizeEither(first: Operation, second: Operation, identifier: object | string): Algorithm {
  try {
    return normalize(first, identifier);
  } catch {
    return normalize(second, identifier);
  }
}

function requireBytes(value: unknown, what: string): void {
  if (viewBytes(value) === undefined) throw new TypeError(`${what} is not a BufferSource`);
}

/** A copy of the bytes as they are now. */
const taken = (value: unknown): Bytes => copyBytes(viewBytes(value) as Bytes);

const FORMATS = record({ raw: true, pkcs8: true, spki: true, jwk: true } as Record<string, boolean>);

function toFormat(value: unknown, what: string): string {
  const format = toDOMString(value);
  if (FORMATS[format] !== true) throw new TypeError(`${what} is not a key format`);
  return format;
}

const USAGES = record({
  encrypt: true,
  decrypt: true,
  sign: true,
  verify: true,
  deriveKey: true,
  deriveBits: true,
  wrapKey: true,
  unwrapKey: true,
} as Record<string, boolean>);

const toUsages = (value: unknown, what: string): string[] =>
  toList(value, what, (item) => {
    const usage = toDOMString(item);
    if (USAGES[usage] !== true) throw new TypeError(`${what} holds something that is not a key usage`);
    return usage;
  });

function requireUse(key: KeySlots, name: string, usage: string): void {
  if (key.algorithm.name !== name) {
    throw new DOMException(
      `${usage}: the key is for ${key.algorithm.name}, not for ${name}`,
      'InvalidAccessError',
    );
  }
  for (let i = 0; i < key.usages.length; i++) if (key.usages[i] === usage) return;
  throw new DOMException(`${usage}: the key may not be used for this`, 'InvalidAccessError');
}

function requireExportable({ algorithm, extractable }: KeySlots): void {
  if (algorithm.name === 'HKDF' || algorithm.name === 'PBKDF2') {
    throw new DOMException(`Keys of ${algorithm.name} cannot be exported`, 'NotSupportedError');
  }
  if (!extractable) throw new DOMException('The key is not extractable', 'InvalidAccessError');
}

/** Refuses parameters for which no key can be made, at once, as browsers do. */
function requireGenerable({ name, length, namedCurve, modulusLength, publicExponent }: Algorithm): void {
  if (
    namedCurve !== undefined &&
    namedCurve !== 'P-256' &&
    namedCurve !== 'P-384' &&
    namedCurve !== 'P-521'
  ) {
    throw new DOMException(`The curve "${namedCurve}" is not supported`, 'NotSupportedError');
  }
  if (name !== 'HMAC' && length !== undefined && length !== 128 && length !== 192 && length !== 256) {
    throw new DOMException('An AES key has 128, 192 or 256 bits', 'OperationError');
  }
  if (publicExponent !== undefined && !isUsualExponent(publicExponent)) {
    throw new DOMException('The public exponent must be 3 or 65537', 'OperationError');
  }
  if (modulusLength !== undefined && modulusLength > MODULUS_LENGTH_MAX) {
    throw new DOMException(`An RSA key may have ${MODULUS_LENGTH_MAX} bits at most`, 'OperationError');
  }
}

/** 3 or 65537, big-endian. */
function isUsualExponent(bytes: Bytes): boolean {
  let value = 0;
  for (let i = 0; i < typedArrayByteLength(bytes); i++) value = value * 256 + (bytes[i] as number);
  return value === 3 || value === 65_537;
}

/** Number of arguments that each operation of SubtleCrypto requires (Web IDL). */
const REQUIRED_ARGUMENTS = {
  decrypt: 3,
  deriveBits: 2,
  deriveKey: 5,
  digest: 2,
  encrypt: 3,
  exportKey: 2,
  generateKey: 3,
  importKey: 5,
  sign: 3,
  unwrapKey: 7,
  verify: 4,
  wrapKey: 4,
} as const;
