/**
 * Seals values at rest: secrets, signing secrets, `oauth_credentials` (REFERENCE D11). `sealed-columns.ts` lists them.
 *
 * AES-256-GCM under a key ring; the place of a value (table, column, row) is associated data, so that a sealed value
 * copied into another row, to be shown there to somebody else, does not open. A sealed value reads
 *
 *   <key id> . <96-bit nonce> . <ciphertext and 128-bit tag>          (base64url)
 *
 * and the key id says which key of the ring opens it, so that a ring can grow a new first key while old values stay
 * readable. A nonce is random: NIST SP 800-38D allows 2^32 values under one key. What the vault does not do is protect
 * against somebody who can read the key file.
 */
import { createCipheriv, createDecipheriv, createHash, hkdfSync } from 'node:crypto';
import { base64url, type RandomBytes } from '../../model/identifiers.ts';

export const VAULT_KEY_BYTES = 32;
/** Characters of a key's id, with which every sealed value begins. */
export const KEY_ID_CHARS = 8;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Where a sealed value lives: table, column, then whatever names the row. */
export type VaultPlace = readonly [table: string, column: string, ...row: string[]];

/** Short public name of a key, made from the key: two rings can never disagree about it. */
export const vaultKeyId = (key: Uint8Array): string =>
  createHash('sha256').update('annex vault key id').update(key).digest('hex').slice(0, KEY_ID_CHARS);

export class Vault {
  readonly #keys: ReadonlyMap<string, Uint8Array>;
  readonly #sealingId: string;
  readonly #randomBytes: RandomBytes;

  /** @param keys the ring: the first key seals, every key opens. */
  constructor(keys: readonly [Uint8Array, ...Uint8Array[]], randomBytes: RandomBytes) {
    this.#keys = new Map(keys.map((key) => [vaultKeyId(key), key]));
    this.#sealingId = vaultKeyId(keys[0]);
    this.#randomBytes = randomBytes;
  }

  /** Id of the key that seals. */
  get sealingKey(): string {
    return this.#sealingId;
  }

  /** Ids of all keys of the ring, the one that seals first. */
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

  /** @throws where the key is not in the ring, or the value was changed or moved from another place. */
  open(place: VaultPlace, sealed: string): string {
    const [keyId = '', nonce = '', body = ''] = sealed.split('.');
    const key = this.#key(keyId);
    const bytes = Buffer.from(body, 'base64url');
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64url'), {
        // Without a fixed length, a tag cut down to four bytes would be accepted: a forgery in 2^32 tries.
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
   * The same value under the key that seals now; as it is where that is its key already.
   *
   * @throws as `open`
   */
  renew(place: VaultPlace, sealed: string): string {
    return sealed.startsWith(`${this.#sealingId}.`) ? sealed : this.seal(place, this.open(place, sealed));
  }

  /**
   * Keys for another use, one of each key of the ring and in its order: whoever has one of them learns nothing of the ring's
   * own, and nothing of those for other uses (RFC 5869).
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

/** JSON keeps the parts apart whatever characters they hold: ["a","bc"] and ["ab","c"] stay different places. */
const associated = (place: VaultPlace): Buffer => Buffer.from(JSON.stringify(place), 'utf8');
