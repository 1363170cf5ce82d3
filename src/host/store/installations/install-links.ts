/**
 * Install links: each lets organizations that have its token install an `unlisted` integration
 * (docs/contract/manifest.md#install-links).
 *
 * An integration has at most one link; a new one replaces it, and the old token becomes invalid.
 * The token is 256 random bits, of which only the SHA-256 is stored, for the reasons given in
 * `tokens.ts`. A link does not work while its integration is `private`: it neither shows nor
 * installs it.
 */
import { hash } from 'node:crypto';
import { AnnexError } from '../../../errors.ts';
import type { Actor } from '../../../model/actor.ts';
import { base64url, type RandomBytes } from '../../../model/identifiers.ts';
import { mayPublish } from '../../../model/principal.ts';
import { unknownIntegration } from '../../../model/unknown-name-errors.ts';
import { lock } from '../../database/locks.ts';
import type { Sequence } from '../../database/sequence.ts';
import type { Database } from '../../database/tables.ts';
import { inTransaction } from '../../database/transaction.ts';
import { type AuditAction, insertAudit } from '../audit-rows.ts';
import { type Integration, integrationLock, readIntegration } from '../integrations/integration-rows.ts';

const PREFIX = 'annex_install_';
const SHAPE = new RegExp(`^${PREFIX}[A-Za-z0-9_-]{43}$`);

export interface InstallLinksDeps {
  readonly database: Database;
  readonly wallNow: () => number;
  readonly randomBytes: RandomBytes;
  /** Numbers the entries of the audit. */
  readonly auditIds: Sequence;
}

export class InstallLinks {
  readonly #deps: InstallLinksDeps;

  constructor(deps: InstallLinksDeps) {
    this.#deps = deps;
  }

  /**
   * Makes an install link; replaces an existing one.
   *
   * @returns the link's token, which appears only in this answer
   * @throws `INTEGRATION_UNKNOWN`
   */
  async create(integration: string, by: Actor): Promise<string> {
    const token = `${PREFIX}${base64url(this.#deps.randomBytes(32))}`;
    await this.#replace(integration, hashOf(token), 'install-link.create', by);
    return token;
  }

  /**
   * Removes the link of an integration. @throws `INTEGRATION_UNKNOWN`, `INSTALL_LINK_UNKNOWN` if it
   * has none
   */
  async remove(integration: string, by: Actor): Promise<void> {
    const had = await this.#replace(integration, null, 'install-link.delete', by);
    if (had) return;
    throw new AnnexError('INSTALL_LINK_UNKNOWN', `Integration "${integration}" has no install link.`);
  }

  /** The integration whose link has this token; undefined if there is none or it is private. */
  async integration(token: string): Promise<Integration | undefined> {
    if (!SHAPE.test(token)) return undefined;
    const { database } = this.#deps;
    const row = await database
      .selectFrom('integrations')
      .select('name')
      .where('install_link_hash', '=', hashOf(token))
      .where('visibility', '!=', 'private')
      .executeTakeFirst();
    return row && readIntegration(database, row.name);
  }

  /**
   * @returns whether there was a link before; removing a missing link changes nothing and writes no
   * audit entry
   */
  async #replace(
    name: string,
    install_link_hash: string | null,
    action: AuditAction,
    by: Actor,
  ): Promise<boolean> {
    const { database, wallNow, auditIds } = this.#deps;
    const now = wallNow();
    return inTransaction(database, async (transaction) => {
      await lock(transaction, integrationLock(name));
      const integration = await transaction
        .selectFrom('integrations')
        .select(['organization', 'install_link_hash'])
        .where('name', '=', name)
        .executeTakeFirst();
      // The name may belong to another organization since the route authorized the caller.
      if (integration === undefined || !mayPublish(by.principal, integration.organization)) {
        throw unknownIntegration(name);
      }
      const had = integration.install_link_hash !== null;
      if (!had && install_link_hash === null) return had;
      await transaction
        .updateTable('integrations')
        .set({ install_link_hash })
        .where('name', '=', name)
        .execute();
      const { organization } = integration;
      const entry = { action, organization, integration: name };
      await insertAudit(transaction, { id: auditIds.next(now), at: now, by, entry });
      return had;
    });
  }
}

/** Whether this is the token of the integration's install link. */
export async function isInstallToken(
  database: Database,
  integration: string,
  token: string,
): Promise<boolean> {
  if (!SHAPE.test(token)) return false;
  const row = await database
    .selectFrom('integrations')
    .select('name')
    .where('name', '=', integration)
    .where('install_link_hash', '=', hashOf(token))
    .executeTakeFirst();
  return row !== undefined;
}

const hashOf = (token: string): string => hash('sha256', token);
