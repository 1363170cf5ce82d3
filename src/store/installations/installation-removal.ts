/**
 * How an installation ends, and what lies below it with it: its rows, what it carries, its log and the events that told of
 * its life. What remains is the event that tells of its end.
 */
import { setImmediate } from 'node:timers/promises';
import { type TargetName, wholeInstallation } from '../../model/installation.ts';
import type { Change } from './installation-changes.ts';
import { type OnCondition, refuseStale } from './installation-edit.ts';
import { cancelSetupEvents } from './lifecycle-event-rows.ts';
import { deleteTarget, readSomeBelow, readTarget, type SealedInstallation } from './target-rows.ts';

/** Targets that are held at once: a configuration has up to 64 KiB, and there may be thousands. */
const TARGETS_AT_ONCE = 8;

/** @throws `INSTALLATION_UNKNOWN`, `INSTALLATION_CHANGED` */
export async function uninstall(change: Change, name: TargetName, on: OnCondition = {}): Promise<void> {
  const target = await change.hold(name);
  refuseStale(target, on);
  await cancelSetupEvents(change.transaction, name, change.now);
  if (name.level !== 'organization') {
    const installation = await readTarget(change.transaction, wholeInstallation(name.installationId));
    await remove(change, target, installation);
    return change.note('installation.delete', target);
  }
  const below = await removeBelow(change, target);
  await remove(change, target);
  await change.transaction
    .deleteFrom('log_lines')
    .where('installation_id', '=', name.installationId)
    .execute();
  await change.note('installation.delete', target, below > 0 ? { below } : undefined);
}

/** Children first: whoever hears of the end of an installation has heard of all that was below it. */
async function removeBelow(change: Change, installation: SealedInstallation): Promise<number> {
  let removed = 0;
  for (;;) {
    const some = await readSomeBelow(change.transaction, installation.installationId, TARGETS_AT_ONCE);
    if (some.length === 0) return removed;
    for (const target of some) await remove(change, target, installation);
    removed += some.length;
    // Statements are synchronous on SQLite: thousands in a row would hold up every call of every installation.
    await setImmediate();
  }
}

async function remove(
  change: Change,
  target: SealedInstallation,
  installation?: SealedInstallation,
): Promise<void> {
  const previous = { configuration: change.whatCanBeRead(target) };
  await change.tellDeleted(target, previous, { target, ...(installation && { installation }) });
  await deleteTarget(change.transaction, target);
}
