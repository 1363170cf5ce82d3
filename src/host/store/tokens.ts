/**
 * Bearer tokens of the control listener (docs/contract/api.md#tokens): each identifies a principal.
 *
 * A token is `annex_<kind>_` and 256 random bits. Only its SHA-256 is stored: with that much
 * randomness a plain hash cannot be reversed by guessing, and a stolen database grants no access.
 * Attack: to find a token by the timing of comparisons. A look-up by hash reveals at most how much
 * of a hash matches, which the caller cannot steer. The kind in the text is for people and secret
 * scanners; the row alone decides. Runtime tokens are signed instead (`targets/runtime-tokens.ts`).
 */
import { hash } from 'node:crypto';
import type { Actor } from '../../model/actor.ts';
import { entryCache } from '../../model/entry-cache.ts';
import { base64url, type RandomBytes, tokenId } from '../../model/identifiers.ts';
import { type Principal, TOKEN_KINDS, type TokenKind } from '../../model/principal.ts';
import { lock } from '../database/locks.ts';
import { announce } from '../database/notices.ts';
import { type Page, type PageRequest, page } from '../database/page.ts';
import type { Sequence } from '../database/sequence.ts';
import type { Database, Tables } from '../database/tables.ts';
import { inTransaction } from '../database/transaction.ts';
import { type AuditAction, type AuditEntry, insertAudit } from './audit-rows.ts';

const SHAPE = new RegExp(`^annex_(${TOKEN_KINDS.join('|')})_[A-Za-z0-9_-]{43}$`);
const PRINCIPALS_CACHED = 10_000;

/** A token as it is listed: never the token itself. */
export interface TokenRecord {
  readonly id: string;
  readonly kind: TokenKind;
  readonly organization?: string;
  readonly createdAt: number;
}

/** What a new token is for; only the kind `organization` has an `organization`. */
export type TokenGrant =
  | { readonly kind: 'admin' | 'platform' }
  | { readonly kind: 'organization'; readonly organization: string };

/** Keeps a new token where its owner finds it. */
export type KeepToken = (token: string) => void | Promise<void>;

export interface TokensDeps {
  readonly database: Database;
  readonly wallNow: () => number;
  readonly randomBytes: RandomBytes;
  /** Numbers the entries of the audit. */
  readonly auditIds: Sequence;
}

export class Tokens {
  readonly #deps: TokensDeps;
  /** Principals by hash. Unknown tokens are not cached: guesses must not evict real ones. */
  readonly #cache = entryCache<Principal>(PRINCIPALS_CACHED);
  /** Number of revocations: a look-up that began before one must not enter the cache after it. */
  #revocations = 0;

  constructor(deps: TokensDeps) {
    this.#deps = deps;
  }

  /** The token's principal; undefined if the token is malformed, unknown or revoked. */
  async authenticate(token: string): Promise<Principal | undefined> {
    if (!SHAPE.test(token)) return undefined;
    const hashed = hashOf(token);
    const known = this.#cache.get(hashed);
    if (known !== undefined) return known;
    const revocations = this.#revocations;
    const row = await this.#deps.database
      .selectFrom('tokens')
      .selectAll()
      .where('hash', '=', hashed)
      .executeTakeFirst();
    if (row === undefined) return undefined;
    const principal: Principal = { tokenId: row.id, kind: row.kind, ...organizationOf(row) };
    if (revocations === this.#revocations) this.#cache.set(hashed, principal);
    return principal;
  }

  /** The token's principal if it is cached; never reads the database. */
  known(token: string): Principal | undefined {
    return SHAPE.test(token) ? this.#cache.get(hashOf(token)) : undefined;
  }

  /** Makes a token. Its text appears only in this answer. */
  async create(grant: TokenGrant, by: Actor): Promise<TokenRecord & { readonly token: string }> {
    return inTransaction(this.#deps.database, async (transaction) => {
      const made = await this.#insert(transaction, grant);
      await this.#audit(transaction, 'token.create', made, by);
      return made;
    });
  }

  /** Sorted by id. */
  async list({ cursor, limit }: PageRequest): Promise<Page<TokenRecord>> {
    let query = this.#deps.database.selectFrom('tokens').selectAll();
    if (cursor !== undefined) query = query.where('id', '>', cursor);
    const rows = await query
      .orderBy('id')
      .limit(limit + 1)
      .execute();
    return page(rows, limit, (row) => row.id, recordOf);
  }

  /**
   * No request that starts after this resolves is accepted with the token. @returns false if there
   * is no such token
   */
  async revoke(id: string, by: Actor): Promise<boolean> {
    const row = await inTransaction(this.#deps.database, async (transaction) => {
      const revoked = await transaction
        .deleteFrom('tokens')
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst();
      if (revoked === undefined) return undefined;
      await this.#audit(transaction, 'token.revoke', recordOf(revoked), by);
      await announce(transaction, 'tokens');
      return revoked;
    });
    if (row === undefined) return false;
    this.#revocations += 1;
    this.#cache.delete(row.hash);
    return true;
  }

  /**
   * Makes an admin token if the store has none, at the first start; not audited.
   *
   * @param keep keeps the token where the operator finds it, before the commit: after a crash
   *   between the two another start makes another token, and no store has one that was lost
   * @returns the token, or undefined
   */
  async firstAdmin(keep: KeepToken = () => {}): Promise<string | undefined> {
    return inTransaction(this.#deps.database, async (transaction) => {
      await lock(transaction, 'tokens');
      const admin = await transaction
        .selectFrom('tokens')
        .select('id')
        .where('kind', '=', 'admin')
        .limit(1)
        .executeTakeFirst();
      if (admin !== undefined) return undefined;
      const { token } = await this.#insert(transaction, { kind: 'admin' });
      await keep(token);
      return token;
    });
  }

  /** Whether the token of this id is not revoked. */
  async exists(id: string): Promise<boolean> {
    const row = await this.#deps.database
      .selectFrom('tokens')
      .select('id')
      .where('id', '=', id)
      .executeTakeFirst();
    return row !== undefined;
  }

  /** Records that a token for a page was made, which is signed and not stored. */
  async recordUiToken(made: Omit<AuditEntry, 'action'>, by: Actor): Promise<void> {
    const { database, wallNow, auditIds } = this.#deps;
    const now = wallNow();
    const entry = { ...made, action: 'ui-token.create' } as const;
    await inTransaction(database, (transaction) =>
      insertAudit(transaction, { id: auditIds.next(now), at: now, by, entry }),
    );
  }

  /** Drops all principals: another node may have revoked their tokens. */
  forget(): void {
    this.#revocations += 1;
    this.#cache.clear();
  }

  async #audit(
    transaction: Database,
    action: AuditAction,
    { id, kind, organization }: TokenRecord,
    by: Actor,
  ): Promise<void> {
    const { wallNow, auditIds } = this.#deps;
    const now = wallNow();
    const entry = { action, ...(organization && { organization }), details: { token: id, kind } };
    await insertAudit(transaction, { id: auditIds.next(now), at: now, by, entry });
  }

  async #insert(database: Database, grant: TokenGrant): Promise<TokenRecord & { readonly token: string }> {
    const { wallNow, randomBytes } = this.#deps;
    const token = `annex_${grant.kind}_${base64url(randomBytes(32))}`;
    const row = {
      id: tokenId(randomBytes),
      kind: grant.kind,
      organization: grant.kind === 'organization' ? grant.organization : null,
      hash: hashOf(token),
      created_at: wallNow(),
    };
    await database.insertInto('tokens').values(row).execute();
    return { ...recordOf(row), token };
  }
}

/** One call: a `Hash` object would cost three times as much, at every request with a token. */
const hashOf = (token: string): string => hash('sha256', token);

const organizationOf = (row: Tables['tokens']): { organization?: string } =>
  row.organization === null ? {} : { organization: row.organization };

const recordOf = (row: Tables['tokens']): TokenRecord => ({
  id: row.id,
  kind: row.kind,
  ...organizationOf(row),
  createdAt: row.created_at,
});
