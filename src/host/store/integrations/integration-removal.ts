/**
 * Deletes an integration with everything that belongs to it, in one transaction with its audit
 * entries.
 */

import { AnnexError } from '../../../errors.ts';
import type { Actor } from '../../../model/actor.ts';
import { wholeInstallation } from '../../../model/installation.ts';
import { integrationTenant } from '../../../model/target.ts';
import { unknownIntegration } from '../../../model/unknown-name-errors.ts';
import { lock } from '../../database/locks.ts';
import { announce, inNotices } from '../../database/notices.ts';
import type { Sequence } from '../../database/sequence.ts';
import type { Database } from '../../database/tables.ts';
import { inTransaction } from '../../database/transaction.ts';
import { insertAudit } from '../audit-rows.ts';
import { countInstallations, installationsOf } from './installed-rows.ts';
import { announceVersion, type Integration, integrationLock, readIntegration } from './integration-rows.ts';
import { type CanceledTask, cancelTasks, deleteIntegration } from './removal-rows.ts';

/** Hands tasks that were canceled to the followers of deliveries, after the commit. */
export interface CanceledTaskFeed {
  /** Whether there are followers. */
  readonly isFollowed: boolean;
  committed(tasks: readonly (CanceledTask & { readonly step: 'ended' })[]): void;
}

export interface IntegrationRemovalDeps {
  readonly database: Database;
  /** Counts pending deliveries. */
  readonly backlog: { change(by: number): void };
  readonly deliveryFeed: CanceledTaskFeed;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
  /** Numbers the audit entries. */
  readonly auditIds: Sequence;
}

/**
 * Everything of `Registry.delete` but the logs, which are removed after the transaction.
 *
 * @returns the tenants that were deleted: its installations, and the one behind its own endpoint
 * @throws `INTEGRATION_UNKNOWN`, `INTEGRATION_INSTALLED`
 */
export async function removeIntegration(
  { database, backlog, deliveryFeed, wallNow, auditIds }: IntegrationRemovalDeps,
  { name: integration, organization: owner }: Pick<Integration, 'name' | 'organization'>,
  { cascade, by }: { readonly cascade: boolean; readonly by: Actor },
): Promise<readonly string[]> {
  const now = wallNow();
  const removed = await inTransaction(database, async (transaction) => {
    await lock(transaction, integrationLock(integration));
    const before = await readIntegration(transaction, integration);
    if (before?.organization !== owner) throw unknownIntegration(integration);
    const { organization, latestVersion, endpointKey } = before;
    const count = await countInstallations(transaction, integration);
    if (count > 0 && !cascade) throw stillInstalled(integration, count);
    const installations = await installationsOf(transaction, integration);
    // One entry for each organization, so that it finds the deletion of its own installation.
    for (const { installationId, organization: installer } of installations) {
      const target = wholeInstallation(installationId);
      const entry = { action: 'installation.delete', organization: installer, integration, target } as const;
      await insertAudit(transaction, { id: auditIds.next(now), at: now, by, entry });
    }
    // Other deliveries are canceled when they are due. Attack: an integration is deleted with
    // thousands of tasks that are due in a day, which the next one of this name would be counted.
    const canceled = await cancelTasks(transaction, integration, now);
    await deleteIntegration(transaction, integration, { latestVersion, now });
    const details = { installations: installations.length };
    const entry = { action: 'integration.delete', organization, integration, details } as const;
    await insertAudit(transaction, { id: auditIds.next(now), at: now, by, entry });
    await announceVersion(transaction, integration);
    const tenants = [
      integrationTenant(endpointKey),
      ...installations.map(({ installationId }) => installationId),
    ];
    for (const some of inNotices(tenants)) await announce(transaction, 'removed', ...some);
    return { tenants, canceled };
  });
  backlog.change(-removed.canceled.length);
  if (deliveryFeed.isFollowed)
    deliveryFeed.committed(removed.canceled.map((task) => ({ ...task, step: 'ended' })));
  return removed.tenants;
}

function stillInstalled(integration: string, installations: number): AnnexError {
  const many = installations === 1 ? 'an organization has' : `${installations} organizations have`;
  const message = `Integration "${integration}" cannot be deleted: ${many} it installed. "cascade=true" deletes that, too.`;
  return new AnnexError('INTEGRATION_INSTALLED', message, { extra: { installations } });
}
