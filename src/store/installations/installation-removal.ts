/**
 * Removal of an installation with its targets in spaces and sites, its log and its pending
 * lifecycle events. What remains is the lifecycle event of the deletion.
 */
import { setImmediate } from 'node:timers/promises';
import { type TargetName, wholeInstallation } from '../../model/installation.ts';
import type { Change } from './installation-changes.ts';
import { type OnCondition, refuseStale } from './installation-edit.ts';
import { cancelSetupEvents } from './lifecycle-event-rows.ts';
import { deleteTarget, readSomeBelow, readTarget, type SealedInstallation } from './target-rows.ts';

/**
 * Targets in memory at once: a configuration has up to 64 KiB, and there may be thousands of
 * targets.
 */
const TARGETS_AT_ONCE = 8;

/** @throws `INSTALLATION_UNKNOWN`, `INSTALLATION_CHANGED` */
export async function uninstall(
  change: Change,
  name: TargetName,
  condition: OnCondition = {},
): Promise<void> {
  const target = await change.hold(name);
  refuseStale(target, condition);
  await cancelSetupEvents(change.transaction, name, change.now);
  if (name.level !== 'organization') {
    const installation = await readTarget(change.transaction, wholeInstallation(name.installationId));
    await remove(change, target, installation);
    return change.audit('installation.delete', target);
  }
  const below = await removeBelow(change, target);
  await remove(change, target);
  change.removed.push(name.installationId);
  await change.transaction
    .deleteFrom('log_lines')
    .where('installation_id', '=', name.installationId)
    .execute();
  await change.audit('installation.delete', target, below > 0 ? { below } : undefined);
}

/** Targets first: the lifecycle event of the installation comes after those of its targets. */
async function removeBelow(change: Change, installation: SealedInstallation): Promise<number> {
  let removed = 0;
  for (;;) {
    const some = await readSomeBelow(change.transaction, installation.installationId, TARGETS_AT_ONCE);
    if (some.length === 0) return removed;
    for (const target of some) await remove(change, target, installation);
    removed += some.length;
    // Statements on SQLite are synchronous: thousands in a row would block every call of every
    // installation.
    await setImmediate();
  }
}

async function remove(
  change: Change,
  target: SealedInstallation,
  installation?: SealedInstallation,
): Promise<void> {
  const previous = { configuration: change.readableConfigurationOf(target) };
  await change.writeDeletedEvent(target, previous, { target, ...(installation && { installation }) });
  await deleteTarget(change.transaction, target);
}
