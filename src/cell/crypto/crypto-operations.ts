/**
 * The operations of SubtleCrypto, by Node's own Web Crypto, on libuv's threads. A job runs one of
 * them.
 *
 * The isolate checks the usages of its keys. A job cannot name the key of another tenant, because
 * every job brings its own.
 */
import { webcrypto } from 'node:crypto';
import { CryptoError } from './crypto-errors.ts';
import { type CryptoKeys, describe, importKey, type MadeKey } from './crypto-keys.ts';
import {
  type Algorithm,
  type CryptoRequest,
  type Format,
  type KeptKey,
  keyLength,
  readJwk,
  requireAffordableDerivation,
  requireAffordableKey,
} from './crypto-request.ts';

const { subtle } = webcrypto;

/** The result of an operation: at most one of its members. */
export interface CryptoResult {
  readonly bytes?: ArrayBuffer | Uint8Array;
  readonly valid?: boolean;
  readonly keys?: readonly MadeKey[];
  readonly jwk?: object;
}

type Perform = (request: CryptoRequest, keys: CryptoKeys) => Promise<CryptoResult>;

/** An HMAC key holds any bytes: unwraps anything with a key that has no usage but `unwrapKey`. */
const ANY_BYTES = { name: 'HMAC', hash: 'SHA-256' } as const;

const OPERATIONS: Readonly<Record<string, Perform>> = {
  digest: async (request) => ({
    bytes: await subtle.digest(request.algorithm('algorithm').algorithm.name, request.bytes('data')),
  }),

  encrypt: async (request, keys) => ({
    bytes: await subtle.encrypt(
      named(request),
      await keys.use(request.key('key'), 'encrypt'),
      request.bytes('data'),
    ),
  }),

  decrypt: async (request, keys) => ({
    bytes: await subtle.decrypt(
      named(request),
      await keys.use(request.key('key'), 'decrypt'),
      request.bytes('data'),
    ),
  }),

  sign: async (request, keys) => ({
    bytes: await subtle.sign(
      named(request),
      await keys.use(request.key('key'), 'sign'),
      request.bytes('data'),
    ),
  }),

  verify: async (request, keys) => ({
    valid: await subtle.verify(
      named(request),
      await keys.use(request.key('key'), 'verify'),
      request.bytes('signature'),
      request.bytes('data'),
    ),
  }),

  generateKey: async (request) => {
    const { algorithm } = request.algorithm('algorithm');
    requireAffordableKey(algorithm);
    const made = (await subtle.generateKey(algorithm as never, true, request.usages)) as
      | webcrypto.CryptoKey
      | webcrypto.CryptoKeyPair;
    const keys = 'privateKey' in made ? [made.privateKey, made.publicKey] : [made];
    return { keys: await Promise.all(keys.map(describe)) };
  },

  importKey: async (request) => {
    const { algorithm } = request.algorithm('algorithm');
    const { format, usages, extractable } = request;
    const data = format === 'jwk' ? request.jwk : request.bytes('data');
    return { keys: [await importKey({ format, data, algorithm, usages, extractable })] };
  },

  exportKey: async (request, keys) => {
    const { format } = request;
    const exported = await exportKey(format, request.key('key'), keys);
    return exported instanceof ArrayBuffer ? { bytes: exported } : { jwk: exported };
  },

  deriveBits: async (request, keys) => ({ bytes: await deriveBits(request, request.length, keys) }),

  deriveKey: async (request, keys) => {
    const { algorithm: derived } = request.algorithm('derived');
    const data = new Uint8Array(await deriveBits(request, keyLength(derived), keys));
    const { usages, extractable } = request;
    return { keys: [await importKey({ format: 'raw', data, algorithm: derived, usages, extractable })] };
  },

  wrapKey: async (request, keys) => {
    const exported = await exportKey(request.format, request.key('wrapped'), keys);
    const bytes = exported instanceof ArrayBuffer ? exported : Buffer.from(toText(exported));
    const wrapping = await keys.use(request.key('key'), 'wrapKey');
    return { bytes: await subtle.wrapKey('raw', await anyBytes(bytes), wrapping, named(request) as never) };
  },

  unwrapKey: async (request, keys) => {
    const { format, usages, extractable } = request;
    const unwrapping = await keys.use(request.key('key'), 'unwrapKey');
    const key = await subtle.unwrapKey(
      'raw',
      request.bytes('data'),
      unwrapping,
      named(request) as never,
      ANY_BYTES,
      true,
      ['sign'],
    );
    const bytes = new Uint8Array(await subtle.exportKey('raw', key));
    const { algorithm } = request.algorithm('unwrapped');
    const data = format === 'jwk' ? parseJwk(bytes) : bytes;
    return { keys: [await importKey({ format, data, algorithm, usages, extractable })] };
  },
};

/** Runs the operation that a request asks for. @throws CryptoError, and whatever Node throws */
export function perform(request: CryptoRequest, keys: CryptoKeys): Promise<CryptoResult> {
  const operation = Object.hasOwn(OPERATIONS, request.operation) ? OPERATIONS[request.operation] : undefined;
  if (operation === undefined) throw new CryptoError('OperationError');
  return operation(request, keys);
}

/** Whether a job may hold a thread for seconds: the search for primes. */
export const isLong = (request: CryptoRequest): boolean =>
  request.operation === 'generateKey' && request.algorithm('algorithm').algorithm.modulusLength !== undefined;

const named = (request: CryptoRequest): Algorithm => request.algorithm('algorithm').algorithm;

const anyBytes = (bytes: ArrayBuffer | Uint8Array<ArrayBuffer>): Promise<webcrypto.CryptoKey> =>
  subtle.importKey('raw', bytes, ANY_BYTES, true, ['sign']);

async function exportKey(format: Format, key: KeptKey, keys: CryptoKeys): Promise<ArrayBuffer | object> {
  return subtle.exportKey(format as 'jwk', await keys.use(key));
}

async function deriveBits(
  request: CryptoRequest,
  bits: number | null,
  keys: CryptoKeys,
): Promise<ArrayBuffer> {
  const { algorithm, publicKey } = request.algorithm('algorithm');
  requireAffordableDerivation(algorithm, bits);
  const base = await keys.use(request.key('key'), 'deriveBits');
  const other = publicKey && { public: await keys.use(publicKey) };
  return subtle.deriveBits({ ...algorithm, ...other } as never, base, bits);
}

/**
 * A JsonWebKey as text. AES-KW takes whole blocks of 8 bytes, and the standard suggests white space
 * for the rest.
 */
function toText(jwk: object): string {
  const text = JSON.stringify(jwk);
  return text.padEnd(Math.ceil(text.length / 8) * 8);
}

function parseJwk(bytes: Uint8Array): webcrypto.JsonWebKey {
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(bytes).toString());
  } catch {
    throw new CryptoError('DataError');
  }
  return readJwk(parsed);
}
