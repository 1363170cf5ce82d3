/**
 * The Ed25519 keys that sign statements to the product's API
 * (docs/contract/api.md#the-products-api).
 *
 * There are always two at least: one that signs, and the next one. The next one is published before
 * it signs, so a product that caches the public keys knows it in time. A rotation makes the next
 * key the signing one; the key before stays published, for statements that are on their way.
 * Private halves are sealed in the vault. Signing itself is in `targets/caller-statements.ts`.
 */
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { Actor } from '../../model/actor.ts';
import { base64url, type RandomBytes } from '../../model/identifiers.ts';
import { lock } from '../database/locks.ts';
import { announce } from '../database/notices.ts';
import type { Sequence } from '../database/sequence.ts';
import type { Database, Tables } from '../database/tables.ts';
import { inTransaction } from '../database/transaction.ts';
import { insertAudit } from './audit-rows.ts';
import type { Vault, VaultPlace } from './vault/vault.ts';

const KID_BYTES = 12;
/** The next key, the one that signs, and the one that signed before. */
const KEPT = 3;

export const statementKeyPlace = (kid: string): VaultPlace => ['statement_keys', 'sealed_key', kid];

/** The public half of a key. */
export interface StatementKey {
  readonly kid: string;
  /** `x` of the JWK. */
  readonly x: string;
  /** `next` signs after the next rotation, `previous` no more. */
  readonly state: 'next' | 'signing' | 'previous';
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

export interface SigningKey {
  readonly kid: string;
  readonly key: KeyObject;
}

interface Keys {
  readonly published: readonly StatementKey[];
  /** Undefined until its first use. */
  signing?: SigningKey;
  /** @throws if its row is damaged; a rotation replaces it */
  open(): SigningKey;
}

export interface StatementKeysDeps {
  readonly database: Database;
  readonly vault: Pick<Vault, 'seal' | 'open'>;
  readonly wallNow: () => number;
  readonly randomBytes: RandomBytes;
  /** Numbers the entries of the audit. */
  readonly auditIds: Sequence;
}

type Row = Tables['statement_keys'];

export class StatementKeys {
  readonly #deps: StatementKeysDeps;
  /** Read once, and again after a rotation. */
  #keys: Promise<Keys> | undefined;

  constructor(deps: StatementKeysDeps) {
    this.#deps = deps;
  }

  /** Every key that may have signed a valid statement, or will sign next; newest first. */
  async published(): Promise<readonly StatementKey[]> {
    return (await this.#load()).published;
  }

  /** The key that signs. @throws if its row is damaged; `rotate` puts the next one in its place */
  async signing(): Promise<SigningKey> {
    const keys = await this.#load();
    keys.signing ??= keys.open();
    return keys.signing;
  }

  /**
   * Makes the next key the signing one, and a new next key.
   *
   * @param forget whether the keys so far are withdrawn at once, because one has leaked: two new
   *   keys replace them, and statements that they signed are not accepted any more
   */
  async rotate({ forget }: { readonly forget: boolean }, by: Actor): Promise<readonly StatementKey[]> {
    const { database, auditIds, wallNow } = this.#deps;
    await this.#load();
    await inTransaction(database, async (transaction) => {
      await lock(transaction, 'statement keys');
      const before = await rowsOf(transaction);
      const latest = before[0]?.number ?? 0;
      const made = forget ? [this.#newRow(latest + 2), this.#newRow(latest + 1)] : [this.#newRow(latest + 1)];
      const kept = [...made, ...(forget ? [] : before)].slice(0, KEPT);
      await transaction.insertInto('statement_keys').values(made).execute();
      await transaction
        .deleteFrom('statement_keys')
        .where('number', '<', kept.at(-1)?.number ?? 0)
        .execute();
      const now = wallNow();
      const details = { signing: kept[1]?.kid, ...(forget && { forget }) };
      const entry = { action: 'statement-keys.rotate', details } as const;
      await insertAudit(transaction, { id: auditIds.next(now), at: now, by, entry });
      await announce(transaction, 'statementKeys');
    });
    // Read again: another node may have rotated them meanwhile.
    this.forget();
    return this.published();
  }

  /** Drops the keys, which another node may have rotated. */
  forget(): void {
    this.#keys = undefined;
  }

  #load(): Promise<Keys> {
    if (this.#keys !== undefined) return this.#keys;
    const keys = this.#read();
    this.#keys = keys;
    keys.catch(() => {
      if (this.#keys === keys) this.#keys = undefined;
    });
    return keys;
  }

  /** The keys of the store; at the first use they are made. */
  async #read(): Promise<Keys> {
    const rows = await inTransaction(this.#deps.database, async (transaction) => {
      await lock(transaction, 'statement keys');
      const stored = await rowsOf(transaction);
      if (stored.length > 0) return stored;
      const made = [this.#newRow(2), this.#newRow(1)];
      await transaction.insertInto('statement_keys').values(made).execute();
      return made;
    });
    return this.#keysOf(rows);
  }

  #newRow(number: number): Row {
    const { vault, wallNow, randomBytes } = this.#deps;
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const kid = base64url(randomBytes(KID_BYTES));
    const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
    const { x = '' } = publicKey.export({ format: 'jwk' });
    const sealed = vault.seal(statementKeyPlace(kid), pem);
    return { kid, number, sealed_key: sealed, public_key: x, created_at: wallNow() };
  }

  /** @param rows newest first, two at least */
  #keysOf(rows: readonly Row[]): Keys {
    const signing = rows[1];
    if (signing === undefined) throw new Error('The store has too few keys of statements.');
    const { kid, sealed_key: sealed } = signing;
    const open = () => ({
      kid,
      key: createPrivateKey(this.#deps.vault.open(statementKeyPlace(kid), sealed)),
    });
    const published = rows.map(({ kid, public_key: x, created_at: createdAt }, at) => {
      return { kid, x, state: STATES[at] ?? 'previous', createdAt };
    });
    return { published, open };
  }
}

/** By position, newest first. */
const STATES = ['next', 'signing', 'previous'] as const;

const rowsOf = (database: Database): Promise<Row[]> =>
  database.selectFrom('statement_keys').selectAll().orderBy('number', 'desc').execute();
