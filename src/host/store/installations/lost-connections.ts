/**
 * Connections that are lost: a provider has refused to renew the credentials of a target for good
 * (docs/contract/oauth.md#getoauthtoken), and a person has to connect the account again.
 *
 * Code reports it, and it is written once, with a notice to the product, until credentials are
 * stored again. A report counts for the credentials that it is about: the caller holds their lease,
 * and the target has the revision with which they were leased.
 */
import { AnnexError } from '../../../errors.ts';
import type { TargetName } from '../../../model/installation.ts';
import { unknownTarget } from '../../../model/unknown-name-errors.ts';
import type { Database } from '../../database/tables.ts';
import { inTransaction } from '../../database/transaction.ts';
import type { NoticeWriter } from '../notice-writer.ts';
import { type OnCondition, refuseStale } from './installation-edit.ts';
import { holdInstallation, readTarget, targetKey } from './target-rows.ts';

export interface LostConnectionsDeps {
  readonly database: Database;
  readonly wallNow: () => number;
  readonly productNotices: NoticeWriter;
}

export class LostConnections {
  readonly #deps: LostConnectionsDeps;

  constructor(deps: LostConnectionsDeps) {
    this.#deps = deps;
  }

  /** Whether a person has to connect the account of the target again. */
  async isLost(name: TargetName): Promise<boolean> {
    const row = await this.#deps.database
      .selectFrom('lost_connections')
      .select('since')
      .where((one) => one.and(targetKey(name)))
      .executeTakeFirst();
    return row !== undefined;
  }

  /**
   * @param lease the lease on the credentials that could not be renewed
   * @throws AnnexError `INSTALLATION_UNKNOWN`, `INSTALLATION_CHANGED`, `LEASE_OVER`
   */
  async report(name: TargetName, lease: string, condition: OnCondition): Promise<void> {
    const { database, wallNow, productNotices } = this.#deps;
    const told = await inTransaction(database, async (transaction) => {
      const held = await holdInstallation(transaction, name.installationId);
      const target = held && (await readTarget(transaction, name));
      if (!target) throw unknownTarget(name);
      refuseStale(target, condition);
      const now = wallNow();
      if (!(await holdsLease(transaction, name, lease, now))) throw leaseOver();
      const isNew = target.hasCredentials && (await insert(transaction, name, now));
      const { installationId, level, place, organization, integration } = target;
      const about = { organization, integration, target: { installationId, level, place } };
      return productNotices.write(transaction, isNew ? [{ type: 'connection.lost', ...about }] : [], now);
    });
    productNotices.written(told);
  }
}

/** @returns false if it is known as lost already */
async function insert(transaction: Database, name: TargetName, now: number): Promise<boolean> {
  const row = await transaction
    .insertInto('lost_connections')
    .values({ ...targetKey(name), since: now })
    .onConflict((conflict) => conflict.columns(['installation_id', 'level', 'place']).doNothing())
    .returning('since')
    .executeTakeFirst();
  return row !== undefined;
}

async function holdsLease(
  transaction: Database,
  name: TargetName,
  lease: string,
  now: number,
): Promise<boolean> {
  const row = await transaction
    .selectFrom('credential_leases')
    .select('holder')
    .where((row) => row.and(targetKey(name)))
    .where('holder', '=', lease)
    .where('expires_at', '>', now)
    .executeTakeFirst();
  return row !== undefined;
}

const leaseOver = (): AnnexError =>
  new AnnexError('LEASE_OVER', 'The call does not hold this lease on the credentials, or not any more.');
