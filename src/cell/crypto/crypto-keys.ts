/**
 * Keys of one isolate: imported from any format, returned in the one form that the isolate keeps,
 * and cached so that the next job with the same key need not import it again.
 *
 * Each isolate has a cache of its own, and a hit needs the whole key to be the same. Attack: a job
 * with a forged id of a key, or with one id for two keys, is a miss.
 */
import { timingSafeEqual, webcrypto } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { CryptoError } from './crypto-errors.ts';
import {
  type Algorithm,
  type Format,
  type KeptKey,
  requireModulus,
  requireParsable,
  type Usage,
} from './crypto-request.ts';

const { subtle } = webcrypto;

const KEYS_MAX = 64;
/** Longer secrets are not cached. */
const CACHED_BYTES_MAX = 16 * 1024;
const KEPT_FORMATS = { secret: 'raw', private: 'pkcs8', public: 'spki' } as const;

/** A key on its way to the isolate. */
export interface MadeKey {
  readonly type: KeptKey['type'];
  readonly usages: readonly string[];
  readonly algorithm: Record<string, unknown>;
  readonly material: Buffer;
}

interface CachedKey {
  readonly description: string;
  readonly material: Buffer;
  readonly key: webcrypto.CryptoKey;
}

export class CryptoKeys {
  readonly #cached = new LRUCache<number, CachedKey>({ max: KEYS_MAX });

  /**
   * Node's key for one that the isolate keeps. @param needs the one usage that the job needs; all
   * of the key by default
   */
  async use({ id, type, algorithm, usages, material }: KeptKey, needs?: Usage): Promise<webcrypto.CryptoKey> {
    const uses = needs === undefined ? usages : [needs];
    const description = JSON.stringify([type, algorithm, uses]);
    const known = this.#cached.get(id);
    if (known?.description === description && same(known.material, material)) return known.key;
    const extractable = algorithm.name !== 'HKDF' && algorithm.name !== 'PBKDF2';
    if (type !== 'secret') requireParsable(material.byteLength);
    const key = await subtle.importKey(KEPT_FORMATS[type], material, algorithm as never, extractable, uses);
    requireSize(key);
    if (material.byteLength <= CACHED_BYTES_MAX) {
      this.#cached.set(id, { description, material: Buffer.from(material), key });
    }
    return key;
  }
}

const same = (one: Uint8Array, other: Uint8Array): boolean =>
  one.byteLength === other.byteLength && timingSafeEqual(one, other);

/** A key to import. */
export interface KeyImport {
  readonly format: Format;
  readonly data: Uint8Array<ArrayBuffer> | webcrypto.JsonWebKey;
  readonly algorithm: Algorithm;
  readonly usages: Usage[];
  readonly extractable: boolean;
}

/**
 * Imports a key as the standard asks. Whether it may be exported again is enforced by the isolate.
 */
export async function importKey(given: KeyImport): Promise<MadeKey> {
  const { data, algorithm, extractable } = given;
  if (algorithm.name === 'HKDF' || algorithm.name === 'PBKDF2') {
    // Never extractable: the isolate keeps the bytes as they came.
    const key = await imported(given);
    return { ...described(key), material: Buffer.from(data as Uint8Array) };
  }
  // Node must be able to export it, whatever the script may do: so `ext` is checked here, and not
  // by Node.
  const key = await imported({ ...given, data: withoutExt(data, extractable), extractable: true });
  requireSize(key);
  return describe(key);
}

function withoutExt<T extends Uint8Array | webcrypto.JsonWebKey>(data: T, extractable: boolean): T {
  if (data instanceof Uint8Array) return data;
  const { ext, ...others } = data as webcrypto.JsonWebKey;
  if (ext === false && extractable) throw new CryptoError('DataError');
  return others as T;
}

function imported(given: KeyImport): Promise<webcrypto.CryptoKey> {
  const { format, data, algorithm, usages, extractable } = given;
  if (data instanceof Uint8Array) {
    if (format !== 'raw') requireParsable(data.byteLength);
    return subtle.importKey(format as 'raw', data, algorithm as never, extractable, usages);
  }
  return subtle.importKey('jwk', data, algorithm as never, extractable, usages);
}

/** A key of Node, in the form in which an isolate keeps it. */
export async function describe(key: webcrypto.CryptoKey): Promise<MadeKey> {
  const material = await subtle.exportKey(KEPT_FORMATS[key.type as KeptKey['type']] as 'raw', key);
  return { ...described(key), material: Buffer.from(material) };
}

function described(key: webcrypto.CryptoKey): Omit<MadeKey, 'material'> {
  const { name, hash, length, modulusLength, namedCurve, publicExponent } =
    key.algorithm as unknown as Algorithm & {
      hash?: { name: string };
    };
  return {
    type: key.type as KeptKey['type'],
    usages: key.usages,
    algorithm: {
      name,
      hash: (hash as { name: string } | undefined)?.name,
      length,
      modulusLength,
      namedCurve,
      publicExponent: publicExponent && [...publicExponent],
    },
  };
}

function requireSize(key: webcrypto.CryptoKey): void {
  const { modulusLength } = key.algorithm as { modulusLength?: number };
  if (modulusLength !== undefined) requireModulus(modulusLength);
}
