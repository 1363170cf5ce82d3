/**
 * Organizations that the product has declared, each with its subdomain and title
 * (docs/contract/api.md#organizations). All rows name an organization by its id; a subdomain is
 * another name for it in manifests alone.
 *
 * Attack: a customer who chooses the subdomain of its organization takes a name that another one
 * has, and with it what is published, installed or trusted under that name. So a name has one
 * meaning: a subdomain is no id in use, and no organization begins to use it as its id.
 */
import { AnnexError } from '../../errors.ts';
import type { Actor } from '../../model/actor.ts';
import { lock } from '../database/locks.ts';
import { type Page, type PageRequest, page } from '../database/page.ts';
import type { Sequence } from '../database/sequence.ts';
import type { Database, Tables } from '../database/tables.ts';
import { inTransaction } from '../database/transaction.ts';
import { type AuditAction, insertAudit } from './audit-rows.ts';

/** What the product declares. */
export interface OrganizationDeclaration {
  readonly subdomain?: string | undefined;
  readonly title?: string | undefined;
}

/** Times are milliseconds since 1970. */
export interface Organization extends OrganizationDeclaration {
  readonly id: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface OrganizationsDeps {
  readonly database: Database;
  readonly wallNow: () => number;
  /** Numbers the entries of the audit. */
  readonly auditIds: Sequence;
}

export class Organizations {
  readonly #deps: OrganizationsDeps;

  constructor(deps: OrganizationsDeps) {
    this.#deps = deps;
  }

  async read(id: string): Promise<Organization | undefined> {
    const row = await rowOf(this.#deps.database, id);
    return row && organizationOf(row);
  }

  /** Sorted by id. */
  async list({ cursor, limit }: PageRequest): Promise<Page<Organization>> {
    let query = this.#deps.database.selectFrom('organizations').selectAll();
    if (cursor !== undefined) query = query.where('id', '>', cursor);
    const rows = await query
      .orderBy('id')
      .limit(limit + 1)
      .execute();
    return page(rows, limit, (row) => row.id, organizationOf);
  }

  /** Declares one, or replaces its declaration. @throws AnnexError ORGANIZATION_TAKEN */
  async put(id: string, { subdomain, title }: OrganizationDeclaration, by: Actor): Promise<Organization> {
    return inTransaction(this.#deps.database, async (transaction) => {
      // An install and a token lock the name of their organization.
      const names = subdomain === undefined ? [] : [organizationLock(subdomain)];
      await lock(transaction, 'organizations', ...names);
      await refuseTaken(transaction, id, subdomain);
      const before = await rowOf(transaction, id);
      const declared = { subdomain: subdomain ?? null, title: title ?? null };
      const changed = (['subdomain', 'title'] as const).filter((name) => before?.[name] !== declared[name]);
      if (before !== undefined && changed.length === 0) return organizationOf(before);
      const now = this.#deps.wallNow();
      const row = { id, ...declared, created_at: before?.created_at ?? now, updated_at: now };
      await transaction
        .insertInto('organizations')
        .values(row)
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ ...declared, updated_at: now }))
        .execute();
      const action = before === undefined ? 'organization.declare' : 'organization.change';
      await this.#audit(transaction, action, by, { organization: id, details: { changed } });
      return organizationOf(row);
    });
  }

  /** Deletes a declaration. What the organization owns and has installed stays. */
  async delete(id: string, by: Actor): Promise<boolean> {
    return inTransaction(this.#deps.database, async (transaction) => {
      await lock(transaction, 'organizations');
      const deleted = await transaction
        .deleteFrom('organizations')
        .where('id', '=', id)
        .returning('id')
        .executeTakeFirst();
      if (deleted === undefined) return false;
      await this.#audit(transaction, 'organization.delete', by, { organization: id });
      return true;
    });
  }

  /** The organization that a manifest names: by its id, or by its subdomain. */
  async idOf(named: string): Promise<string> {
    return (await ownerOf(this.#deps.database, named)) ?? named;
  }

  /**
   * Entries of `--internal-organizations`, as manifests may name their organizations. Attack: an
   * organization whose subdomain is a name that the operator trusts as an id.
   *
   * @param entries ids, or `id/integration`
   */
  async trusted(entries: readonly string[]): Promise<readonly string[]> {
    if (entries.length === 0) return entries;
    const ids = entries.map(idIn);
    const rows = await this.#deps.database
      .selectFrom('organizations')
      .select(['id', 'subdomain'])
      .where(({ or, eb }) => or([eb('id', 'in', ids), eb('subdomain', 'in', ids)]))
      .execute();
    return entries.flatMap((entry) => {
      const id = idIn(entry);
      if (rows.some((row) => row.subdomain === id && row.id !== id)) return [];
      const subdomain = rows.find((row) => row.id === id)?.subdomain;
      return [entry, ...(subdomain ? [`${subdomain}${entry.slice(id.length)}`] : [])];
    });
  }

  async #audit(
    transaction: Database,
    action: AuditAction,
    by: Actor,
    about: { readonly organization: string; readonly details?: Readonly<Record<string, unknown>> },
  ): Promise<void> {
    const now = this.#deps.wallNow();
    const id = this.#deps.auditIds.next(now);
    await insertAudit(transaction, { id, at: now, by, entry: { action, ...about } });
  }
}

/** Name of the lock that whoever begins to use an organization takes first. */
export const organizationLock = (organization: string): string => `organization ${organization}`;

/**
 * For what makes an id one that is in use, behind the lock of its name. @throws AnnexError
 * REQUEST_INVALID if it is the subdomain of another organization
 */
export async function refuseSubdomain(transaction: Database, organization: string): Promise<void> {
  const owner = await ownerOf(transaction, organization);
  if (owner === undefined || owner === organization) return;
  const message = `"${organization}" is the subdomain of the organization "${owner}": name that id.`;
  throw new AnnexError('REQUEST_INVALID', message);
}

const idIn = (entry: string): string => entry.split('/', 1)[0] ?? '';

const rowOf = (database: Database, id: string): Promise<Tables['organizations'] | undefined> =>
  database.selectFrom('organizations').selectAll().where('id', '=', id).executeTakeFirst();

/** Id of the organization with this subdomain. */
async function ownerOf(database: Database, subdomain: string): Promise<string | undefined> {
  const row = await database
    .selectFrom('organizations')
    .select('id')
    .where('subdomain', '=', subdomain)
    .executeTakeFirst();
  return row?.id;
}

async function refuseTaken(database: Database, id: string, subdomain: string | undefined): Promise<void> {
  const other = await ownerOf(database, id);
  if (other !== undefined && other !== id)
    throw taken(`"${id}" is the subdomain of the organization "${other}", so it cannot be an id.`);
  if (subdomain === undefined || subdomain === id) return;
  const holder = await ownerOf(database, subdomain);
  if (holder !== undefined && holder !== id)
    throw taken(`The subdomain "${subdomain}" is that of the organization "${holder}".`);
  if (await isInUse(database, subdomain))
    throw taken(
      `The subdomain "${subdomain}" is the id of another organization that is declared, owns or has installed an integration, or has a token.`,
    );
}

const taken = (message: string): AnnexError => new AnnexError('ORGANIZATION_TAKEN', message);

async function isInUse(database: Database, id: string): Promise<boolean> {
  if ((await rowOf(database, id)) !== undefined) return true;
  for (const table of ['integrations', 'targets', 'tokens'] as const) {
    const found = await database
      .selectFrom(table)
      .select('organization')
      .where('organization', '=', id)
      .limit(1)
      .executeTakeFirst();
    if (found !== undefined) return true;
  }
  return false;
}

const organizationOf = ({ id, subdomain, title, ...times }: Tables['organizations']): Organization => ({
  id,
  ...(subdomain !== null && { subdomain }),
  ...(title !== null && { title }),
  createdAt: times.created_at,
  updatedAt: times.updated_at,
});
