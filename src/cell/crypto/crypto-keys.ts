/**
 * Keys of one isolate: taken in in any format, handed back in the one form the isolate keeps, and remembered so that the
 * next job with the same key need not import it again.
 *
 * Each isolate has a memory of its own, and an entry counts only where the whole key is the same: an id that is forged, or
 * used twice, is a miss.
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
/** One long secret is not worth remembering. */
const REMEMBERED_BYTES_MAX = 16 * 1024;
const KEPT_FORMATS = { secret: 'raw', private: 'pkcs8', public: 'spki' } as const;

/** A key on its way to the isolate. */
export interface MadeKey {
  readonly type: KeptKey['type'];
  readonly usages: readonly string[];
  readonly algorithm: Record<string, unknown>;
  readonly material: Buffer;
}

interface Remembered {
  readonly description: string;
  readonly material: Buffer;
  readonly key: webcrypto.CryptoKey;
}

export class CryptoKeys {
  readonly #remembered = new LRUCache<number, Remembered>({ max: KEYS_MAX });

  /** A key that the isolate keeps, for Node; `usages` are what the key is for, or what this job needs. */
  async use({ id, type, algorithm, usages, material }: KeptKey, needs?: Usage): Promise<webcrypto.CryptoKey> {
    const uses = needs === undefined ? usages : [needs];
    const description = JSON.stringify([type, algorithm, uses]);
    const known = this.#remembered.get(id);
    if (known?.description === description && same(known.material, material)) return known.key;
    const extractable = algorithm.name !== 'HKDF' && algorithm.name !== 'PBKDF2';
    if (type !== 'secret') requireParsable(material.byteLength);
    const key = await subtle.importKey(KEPT_FORMATS[type], material, algorithm as never, extractable, uses);
    requireSize(key);
    if (material.byteLength <= REMEMBERED_BYTES_MAX) {
      this.#remembered.set(id, { description, material: Buffer.from(material), key });
    }
    return key;
  }
}

const same = (one: Uint8Array, other: Uint8Array): boolean =>
  one.byteLength === other.byteLength && timingSafeEqual(one, other);

/** Imports as the standard asks; whether the key may be exported again is for the isolate to remember. */
export async function importKey(
  format: Format,
  data: Uint8Array<ArrayBuffer> | webcrypto.JsonWebKey,
  algorithm: Algorithm,
  usages: Usage[],
  extractable: boolean,
): Promise<MadeKey> {
  if (algorithm.name === 'HKDF' || algorithm.name === 'PBKDF2') {
    // Never extractable: what is given is what is kept.
    const key = await imported(format, data, algorithm, usages, extractable);
    return { ...described(key), material: Buffer.from(data as Uint8Array) };
  }
  // Node must be able to export it, whatever the script may do: `ext` is looked at here, and not there.
  const key = await imported(format, withoutExt(data, extractable), algorithm, usages, true);
  requireSize(key);
  return describe(key);
}

function withoutExt<T extends Uint8Array | webcrypto.JsonWebKey>(data: T, extractable: boolean): T {
  if (data instanceof Uint8Array) return data;
  const { ext, ...others } = data as webcrypto.JsonWebKey;
  if (ext === false && extractable) throw new CryptoError('DataError');
  return others as T;
}

function imported(
  format: Format,
  data: Uint8Array<ArrayBuffer> | webcrypto.JsonWebKey,
  algorithm: Algorithm,
  usages: Usage[],
  extractable: boolean,
): Promise<webcrypto.CryptoKey> {
  if (data instanceof Uint8Array) {
    if (format !== 'raw') requireParsable(data.byteLength);
    return subtle.importKey(format as 'raw', data, algorithm as never, extractable, usages);
  }
  return subtle.importKey('jwk', data, algorithm as never, extractable, usages);
}

/** A key of Node in the form in which an isolate keeps it. */
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
