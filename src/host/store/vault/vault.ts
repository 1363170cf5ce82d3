/**
 * Seals values at rest: secrets, signing secrets and OAuth credentials
 * (docs/decisions/sealed-values.md). `sealed-columns.ts` lists the sealed columns.
 *
 * AES-256-GCM under a key ring. The place of a value (table, column, row) is associated data.
 * Attack: to copy a sealed value into another row, where another target can read it; it does not
 * open there. A sealed value reads
 *
 *   <key id> . <96-bit nonce> . <ciphertext and 128-bit tag>          (base64url)
 *
 * The key id names the key that opens it, so a ring can get a new first key while old values stay
 * readable. Nonces are random: NIST SP 800-38D allows 2^32 values under one key. The vault does not
 * protect against a reader of the key file.
 */
import { createCipheriv, createDecipheriv, createHash, hkdfSync } from 'node:crypto';
import { base64url, type RandomBytes } from '../../../model/identifiers.ts';

export const VAULT_KEY_BYTES = 32;
/** Length of a key's id, with which every sealed value begins. */
export const KEY_ID_CHARS = 8;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The location of a sealed value: table, column, then the key of the row. */
export type VaultPlace = readonly [table: string, column: string, ...row: string[]];

/** Public id of a key, derived from the key, so that two rings always agree about it. */
export const vaultKeyId = (key: Uint8Array): string =>
  createHash('sha256').update('annex vault key id').update(key).digest('hex').slice(0, KEY_ID_CHARS);

export class Vault {
  readonly #keys: ReadonlyMap<string, Uint8Array>;
  readonly #sealingId: string;
  readonly #randomBytes: RandomBytes;

  /** @param keys the ring: the first key seals, every key opens */
  constructor(keys: readonly [Uint8Array, ...Uint8Array[]], randomBytes: RandomBytes) {
    this.#keys = new Map(keys.map((key) => [vaultKeyId(key), key]));
    this.#sealingId = vaultKeyId(keys[0]);
    this.#randomBytes = randomBytes;
  }

  /** Id of the key that seals. */
  get sealingKey(): string {
    return this.#sealingId;
  }

  /** Ids of all keys of the ring, the sealing one first. */
  get keys(): readonly string[] {
    return [...this.#keys.keys()];
  }

  seal(place: VaultPlace, text: string): string {
    const nonce = this.#randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key(this.#sealingId), nonce);
    cipher.setAAD(associated(place));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return [this.#sealingId, base64url(nonce), base64url(sealed)].join('.');
  }

  /** @throws if the key is not in the ring, or the value was changed or moved from another place */
  open(place: VaultPlace, sealed: string): string {
    const [keyId = '', nonce = '', body = ''] = sealed.split('.');
    const key = this.#key(keyId);
    const bytes = Buffer.from(body, 'base64url');
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64url'), {
        // Attack: to cut the tag to four bytes, which Node accepts by default, and forge in 2^32
        // tries.
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(associated(place));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]).toString(
        'utf8',
      );
    } catch (cause) {
      throw new Error(`The sealed value at ${place.join('/')} was altered, or sealed for another row.`, {
        cause,
      });
    }
  }

  /**
   * Reseals a value under the sealing key; returns it unchanged if that key sealed it already.
   *
   * @throws as `open`
   */
  renew(place: VaultPlace, sealed: string): string {
    return sealed.startsWith(`${this.#sealingId}.`) ? sealed : this.seal(place, this.open(place, sealed));
  }

  /**
   * Derives one key for another use from each key of the ring, in its order (HKDF, RFC 5869). A
   * derived key reveals nothing about the ring's keys, nor about those derived for other uses.
   *
   * @param info names the use
   */
  deriveKeys(info: string): readonly [Uint8Array, ...Uint8Array[]] {
    const derive = (id: string) =>
      new Uint8Array(hkdfSync('sha256', this.#key(id), '', info, VAULT_KEY_BYTES));
    const others = [...this.#keys.keys()].filter((id) => id !== this.#sealingId);
    return [derive(this.#sealingId), ...others.map(derive)];
  }

  #key(id: string): Uint8Array {
    const key = this.#keys.get(id);
    if (key === undefined)
      throw new Error(`The vault has no key "${id.slice(0, KEY_ID_CHARS)}"; add it to the key ring.`);
    return key;
  }
}

/**
 * JSON keeps the parts distinct, whatever characters they contain: ["a","bc"] and ["ab","c"] are
 * different places.
 */
const associated = (place: VaultPlace): Buffer => Buffer.from(JSON.stringify(place), 'utf8');
