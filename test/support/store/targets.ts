/**
 * The targets layer for tests: over a whole store, or over a registry on the test's own database.
 */
import { randomBytes } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { Sequence } from '../../../src/host/database/sequence.ts';
import type { Database } from '../../../src/host/database/tables.ts';
import { Registry } from '../../../src/host/store/integrations/registry.ts';
import type { Store } from '../../../src/host/store/store.ts';
import type { StoreChanges } from '../../../src/host/store/store-changes.ts';
import { TargetSource } from '../../../src/host/store/target-source.ts';
import type { Vault } from '../../../src/host/store/vault/vault.ts';
import { type OpenTargets, openTargets } from '../../../src/host/targets/open-targets.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import { RETRY_SCHEDULES } from '../../../src/model/retry-schedule.ts';
import type { Marketplace } from '../../../src/model/review.ts';
import { CLOCK, ORIGINS } from './temporary-store.ts';

const OPTIONS = {
  ...{ origins: ORIGINS, limits: DEFAULT_LIMITS, wallNow: () => CLOCK.now },
  webhookRetries: RETRY_SCHEDULES.contract,
  webhookSignature: 'platform',
} as const;
const OPENED = new WeakMap<Store, OpenTargets>();

/** The targets and runtime tokens of a store; the same ones at each call. */
export function targetsOf(store: Store): OpenTargets {
  const opened = OPENED.get(store) ?? openTargets(store, OPTIONS);
  OPENED.set(store, opened);
  return opened;
}

/** Notices that are of no interest to a test. */
export const NO_NOTICES = { write: async () => [], written: () => undefined };

/** A registry on a database, with the targets layer over it and its change notices. */
export function registryOver(database: Database, vault: Vault, marketplace: Marketplace = 'open') {
  const changes: StoreChanges = new EventEmitter();
  const changed = (integration: string) => void changes.emit('integration', integration);
  const registry = new Registry({
    ...{ database, vault, randomBytes, changed, versionChanged: changed },
    marketplace,
    ...{ limits: DEFAULT_LIMITS, wallNow: OPTIONS.wallNow, auditIds: new Sequence(randomBytes) },
    removed: () => undefined,
    backlog: { change: () => undefined },
    deliveryFeed: { isFollowed: false, committed: () => undefined },
    productNotices: NO_NOTICES,
  });
  const targetSource = new TargetSource({ database, vault });
  const runtimeTokenKeys = vault.deriveKeys('annex runtime tokens');
  const { targets } = openTargets(
    { changes, targetSource, runtimeTokenKeys, tokens: { exists: async () => true } },
    OPTIONS,
  );
  return { registry, targets, changes };
}
