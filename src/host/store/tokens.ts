/**
 * Bearer tokens of the control listener (docs/contract/api.md#tokens): each identifies a principal.
 *
 * A token is `annex_<kind>_` and 256 random bits. Only its SHA-256 is stored: with that much
 * randomness a plain hash cannot be reversed by guessing, and a stolen database grants no access.
 * Attack: to find a token by the timing of comparisons. A look-up by hash reveals at most how much
 * of a hash matches, which the caller cannot steer. The kind in the text is for people and secret
 * scanners; the row alone decides. Runtime tokens are signed instead (`targets/runtime-tokens.ts`).
 *
 * The last use of a token is written behind its requests, once a minute at most.
 */
import { hash } from 'node:crypto';
import { AnnexError } from '../../errors.ts';
import type { Actor } from '../../model/actor.ts';
import { entryCache } from '../../model/entry-cache.ts';
import { base64url, type RandomBytes, tokenId } from '../../model/identifiers.ts';
import type { PortalGrant } from '../../model/portal.ts';
import {
  type HolderPrincipal,
  portalRights,
  TOKEN_KINDS,
  type TokenKind,
  type TokenRight,
} from '../../model/principal.ts';
import { lock } from '../database/locks.ts';
import { announce } from '../database/notices.ts';
import { type Page, type PageRequest, page } from '../database/page.ts';
import type { Sequence } from '../database/sequence.ts';
import type { Database, Tables } from '../database/tables.ts';
import { inTransaction } from '../database/transaction.ts';
import { type AuditAction, type AuditEntry, insertAudit } from './audit-rows.ts';
import { organizationLock, refuseSubdomain } from './organizations.ts';

const SHAPE = new RegExp(`^annex_(${TOKEN_KINDS.join('|')})_[A-Za-z0-9_-]{43}$`);
const PRINCIPALS_CACHED = 10_000;

/** Between two writes of the last use of a token. */
const USE_EVERY_MS = 60_000;
const USES_PER_WRITE = 500;

/** A token as it is listed: never the token itself. Times are milliseconds since 1970. */
export interface TokenRecord {
  readonly id: string;
  readonly name?: string;
  readonly kind: TokenKind;
  readonly organization?: string;
  /** What it is narrowed to; absent if it has all rights of its kind. */
  readonly rights?: readonly TokenRight[];
  readonly createdAt: number;
  readonly expiresAt?: number;
  readonly lastUsedAt?: number;
}

/** What a new token is for; only the kind `organization` has an `organization`. */
export type TokenGrant = (
  | { readonly kind: 'admin' | 'platform' }
  | { readonly kind: 'organization'; readonly organization: string }
) & {
  readonly name?: string | undefined;
  readonly rights?: readonly TokenRight[] | undefined;
  /** How long it is valid; until it is revoked if absent. */
  readonly expiresInMs?: number | undefined;
  /** Of a session or a link of the portal. */
  readonly portal?: PortalGrant;
};

/** What a token of a page was made for: a session, or a link that begins one. */
const SESSION = 'console session';
const LINK = 'console link';
const PORTAL_SESSION = 'portal session';
const PORTAL_LINK = 'portal link';

/** Of the organization whose customers use the portal. */
export interface PortalOf extends PortalGrant {
  readonly organization: string;
}

/** What is remembered of a token. */
interface Known {
  readonly principal: HolderPrincipal;
  readonly expiresAt: number | null;
  /** The last use that was noted. */
  usedAt: number;
}

/** A token as it is made. */
export interface MadeToken extends TokenRecord {
  readonly token: string;
  readonly portal?: PortalGrant;
}

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
  readonly #cache = entryCache<Known>(PRINCIPALS_CACHED);
  /** Last uses that are not written yet, by id. */
  readonly #uses = new Map<string, number>();
  /** Number of revocations: a look-up that began before one must not enter the cache after it. */
  #revocations = 0;

  constructor(deps: TokensDeps) {
    this.#deps = deps;
  }

  /** The token's principal; undefined if the token is malformed, unknown or revoked. */
  async authenticate(token: string): Promise<HolderPrincipal | 'expired' | undefined> {
    if (!SHAPE.test(token)) return undefined;
    const hashed = hashOf(token);
    const known = this.#cache.get(hashed) ?? (await this.#read(hashed));
    return known && this.#used(known);
  }

  /** The token's principal if it is cached and valid; never reads the database. */
  known(token: string): HolderPrincipal | undefined {
    const known = SHAPE.test(token) ? this.#cache.get(hashOf(token)) : undefined;
    const used = known && this.#used(known);
    return used === 'expired' ? undefined : used;
  }

  async #read(hashed: string): Promise<Known | undefined> {
    const revocations = this.#revocations;
    const row = await this.#deps.database
      .selectFrom('tokens')
      .selectAll()
      .where('hash', '=', hashed)
      .executeTakeFirst();
    if (row === undefined) return undefined;
    const { id: tokenId, kind, expires_at: expiresAt, last_used_at: usedAt } = row;
    const principal = { tokenId, kind, ...organizationOf(row), ...rightsOf(row), ...portalOf(row) };
    const known = { principal, expiresAt, usedAt: usedAt ?? Number.NEGATIVE_INFINITY };
    if (revocations === this.#revocations) this.#cache.set(hashed, known);
    return known;
  }

  #used(known: Known): HolderPrincipal | 'expired' {
    const now = this.#deps.wallNow();
    if (known.expiresAt !== null && now >= known.expiresAt) return 'expired';
    if (now - known.usedAt >= USE_EVERY_MS) {
      known.usedAt = now;
      this.#uses.set(known.principal.tokenId, now);
    }
    return known.principal;
  }

  /** Writes the last uses; those that another node has written in this minute stay. */
  async writeUses(): Promise<void> {
    const uses = [...this.#uses];
    this.#uses.clear();
    for (let at = 0; at < uses.length; at += USES_PER_WRITE) {
      const some = uses.slice(at, at + USES_PER_WRITE);
      const last = Math.max(...some.map(([, usedAt]) => usedAt));
      await this.#deps.database
        .updateTable('tokens')
        .set({ last_used_at: last })
        .where(
          'id',
          'in',
          some.map(([id]) => id),
        )
        .where(({ or, eb }) =>
          or([eb('last_used_at', 'is', null), eb('last_used_at', '<=', last - USE_EVERY_MS)]),
        )
        .execute();
    }
  }

  /**
   * Makes a token. Its text appears only in this answer. @throws AnnexError REQUEST_INVALID for a
   * subdomain
   */
  async create(grant: TokenGrant, by: Actor): Promise<MadeToken> {
    return inTransaction(this.#deps.database, async (transaction) => {
      if (grant.kind === 'organization') {
        await lock(transaction, organizationLock(grant.organization));
        await refuseSubdomain(transaction, grant.organization);
      }
      const made = await this.#insert(transaction, grant);
      await this.#audit(transaction, 'token.create', made, by);
      return made;
    });
  }

  /**
   * Makes a link's token: it signs in to the console once, with the rights of the token that asks.
   * By itself it has none.
   */
  openLink(from: HolderPrincipal, expiresInMs: number, by: Actor): Promise<MadeToken | undefined> {
    return inTransaction(this.#deps.database, (transaction) =>
      this.#derive(transaction, from.tokenId, { name: LINK, rights: [], expiresInMs }, by),
    );
  }

  /** The same for the portal of one organization, whose session has fewer rights. */
  openPortalLink(
    from: HolderPrincipal,
    { organization, ...portal }: PortalOf,
    expiresInMs: number,
    by: Actor,
  ): Promise<MadeToken | undefined> {
    return inTransaction(this.#deps.database, async (transaction) => {
      await lock(transaction, organizationLock(organization));
      await refuseSubdomain(transaction, organization);
      const own = { kind: 'organization', organization, name: PORTAL_LINK, rights: [], expiresInMs, portal };
      return this.#derive(transaction, from.tokenId, own as TokenGrant, by);
    });
  }

  /**
   * Makes a session of the console, with the rights of the token that signs in. A link is used up.
   *
   * @returns undefined if that token was revoked meanwhile, or the link used
   */
  async openSession(from: HolderPrincipal, expiresInMs: number, by: Actor): Promise<MadeToken | undefined> {
    const { link, session } = await inTransaction(this.#deps.database, async (transaction) => {
      const link = await useLink(transaction, from, LINK);
      const own = { name: SESSION, expiresInMs };
      return { link, session: await this.#derive(transaction, link?.parent ?? from.tokenId, own, by) };
    });
    if (link !== undefined) this.#drop([link.hash]);
    return session;
  }

  /** Makes a session of the portal, by a link alone. @returns undefined as above */
  async openPortalSession(from: HolderPrincipal, by: Actor): Promise<MadeToken | undefined> {
    const opened = await inTransaction(this.#deps.database, async (transaction) => {
      const link = await useLink(transaction, from, PORTAL_LINK);
      if (link?.parent == null || from.portal === undefined || from.organization === undefined)
        return undefined;
      const { portal, organization } = from;
      const own = { kind: 'organization', organization, name: PORTAL_SESSION, portal } as const;
      const expiresInMs = portal.expiresIn * 1_000;
      return { link, session: await this.#derive(transaction, link.parent, { ...own, expiresInMs }, by) };
    });
    if (opened !== undefined) this.#drop([opened.link.hash]);
    return opened?.session;
  }

  /** A token that ends with another one, and has no more rights. */
  async #derive(
    transaction: Database,
    id: string,
    own: Partial<TokenGrant>,
    by: Actor,
  ): Promise<MadeToken | undefined> {
    // Locked: a revocation at the same time finds this one, or makes it fail.
    const parent = await transaction
      .updateTable('tokens')
      .set(({ ref }) => ({ id: ref('id') }))
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirst();
    if (parent === undefined) return undefined;
    // Those that have ended are of no more use to anybody.
    await transaction
      .deleteFrom('tokens')
      .where('parent', 'is not', null)
      .where('expires_at', '<=', this.#deps.wallNow())
      .execute();
    const { rights } = rightsOf(parent);
    const ofParent = { kind: parent.kind, ...organizationOf(parent), ...(rights && { rights }) };
    const fewer = own.portal && { rights: portalRights(own.portal, rights) };
    const grant = { ...ofParent, ...fewer, ...own } as TokenGrant;
    const made = await this.#insert(transaction, grant, parent.parent ?? parent.id);
    await this.#audit(transaction, 'token.create', made, by);
    return made;
  }

  /** Sorted by id. */
  async list({ cursor, limit }: PageRequest): Promise<Page<TokenRecord>> {
    await this.writeUses();
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
   *
   * @throws AnnexError TOKEN_LAST
   */
  async revoke(id: string, by: Actor): Promise<boolean> {
    const rows = await inTransaction(this.#deps.database, async (transaction) => {
      // Two revocations at once, each of which leaves the other's token, would leave none.
      await lock(transaction, 'tokens');
      // With the sessions and links that were made from it.
      const revoked = await transaction
        .deleteFrom('tokens')
        .where(({ or, eb }) => or([eb('id', '=', id), eb('parent', '=', id)]))
        .returningAll()
        .execute();
      const own = revoked.find((row) => row.id === id);
      if (own === undefined) return undefined;
      if (isLastingAdmin(own)) await refuseLast(transaction);
      await this.#audit(transaction, 'token.revoke', recordOf(own), by);
      await announce(transaction, 'tokens');
      return revoked;
    });
    if (rows === undefined) return false;
    this.#drop(rows.map(({ hash }) => hash));
    return true;
  }

  /**
   * Makes an admin token for somebody at the machine itself, who has the keys of the vault
   * (`docs/operating/tokens.md#a-lost-admin-token`).
   */
  async recover(): Promise<MadeToken> {
    return inTransaction(this.#deps.database, async (transaction) => {
      const made = await this.#insert(transaction, { kind: 'admin', name: 'annex token recover' });
      const principal = { kind: 'admin', tokenId: made.id } as const;
      await this.#audit(transaction, 'token.recover', made, {
        ...{ principal, depth: 0 },
        requestId: 'annex-token-recover',
      });
      return made;
    });
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

  /** Whether the token of this id is neither revoked nor expired. */
  async exists(id: string): Promise<boolean> {
    const row = await this.#deps.database
      .selectFrom('tokens')
      .select('expires_at')
      .where('id', '=', id)
      .executeTakeFirst();
    return row !== undefined && (row.expires_at === null || this.#deps.wallNow() < row.expires_at);
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

  #drop(hashes: readonly string[]): void {
    this.#revocations += 1;
    for (const one of hashes) this.#cache.delete(one);
  }

  /** Drops all principals: another node may have revoked their tokens. */
  forget(): void {
    this.#revocations += 1;
    this.#cache.clear();
  }

  async #audit(
    transaction: Database,
    action: AuditAction,
    { id, kind, organization, name, rights }: TokenRecord,
    by: Actor,
  ): Promise<void> {
    const { wallNow, auditIds } = this.#deps;
    const now = wallNow();
    const details = { token: id, kind, ...(name !== undefined && { name }), ...(rights && { rights }) };
    const entry = { action, ...(organization && { organization }), details };
    await insertAudit(transaction, { id: auditIds.next(now), at: now, by, entry });
  }

  async #insert(database: Database, grant: TokenGrant, parent: string | null = null): Promise<MadeToken> {
    const { wallNow, randomBytes } = this.#deps;
    const token = `annex_${grant.kind}_${base64url(randomBytes(32))}`;
    const { kind, name, rights, expiresInMs, portal } = grant;
    const now = wallNow();
    const row = {
      id: tokenId(randomBytes),
      kind,
      organization: grant.kind === 'organization' ? grant.organization : null,
      hash: hashOf(token),
      created_at: now,
      name: name ?? null,
      rights: rights === undefined ? null : JSON.stringify(rights),
      expires_at: expiresInMs === undefined ? null : now + expiresInMs,
      last_used_at: null,
      parent,
      portal: portal === undefined ? null : JSON.stringify(portal),
    };
    await database.insertInto('tokens').values(row).execute();
    return { ...recordOf(row), ...portalOf(row), token };
  }
}

/** One call: a `Hash` object would cost three times as much, at every request with a token. */
const hashOf = (token: string): string => hash('sha256', token);

const organizationOf = (row: Tables['tokens']): { organization?: string } =>
  row.organization === null ? {} : { organization: row.organization };

/** Corrupt text throws: a token whose rights are not known has none. */
const rightsOf = ({ rights }: Tables['tokens']): { rights?: readonly TokenRight[] } =>
  rights === null ? {} : { rights: JSON.parse(rights) };

const portalOf = ({ portal }: Tables['tokens']): { portal?: PortalGrant } =>
  portal === null ? {} : { portal: JSON.parse(portal) };

/** Uses a link up: of two that use it at once, one deletes it. */
async function useLink(transaction: Database, { tokenId: id }: HolderPrincipal, name: string) {
  const link = await transaction
    .deleteFrom('tokens')
    .where('id', '=', id)
    .where('name', '=', name)
    .where('parent', 'is not', null)
    .returning(['parent', 'hash'])
    .executeTakeFirst();
  if (link !== undefined) await announce(transaction, 'tokens');
  return link;
}

const recordOf = (row: Tables['tokens']): TokenRecord => ({
  id: row.id,
  ...(row.name !== null && { name: row.name }),
  kind: row.kind,
  ...organizationOf(row),
  ...rightsOf(row),
  createdAt: row.created_at,
  ...(row.expires_at !== null && { expiresAt: row.expires_at }),
  ...(row.last_used_at !== null && { lastUsedAt: row.last_used_at }),
});

/** Whether it can make tokens, for as long as it is not revoked. */
const isLastingAdmin = ({ kind, rights, expires_at }: Tables['tokens']): boolean =>
  kind === 'admin' && rights === null && expires_at === null;

/**
 * @throws AnnexError TOKEN_LAST if there is no other admin token, with which the operator can make
 *   more
 */
async function refuseLast(transaction: Database): Promise<void> {
  const other = await transaction
    .selectFrom('tokens')
    .select('id')
    .where('kind', '=', 'admin')
    .where('rights', 'is', null)
    .where('expires_at', 'is', null)
    .limit(1)
    .executeTakeFirst();
  if (other !== undefined) return;
  throw new AnnexError(
    'TOKEN_LAST',
    'This is the last admin token with all rights and without an expiry, and nobody could make another one after it. Make ' +
      'another one first (annex token create --kind admin), and revoke this one with it.',
  );
}
