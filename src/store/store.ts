/**
 * Opens the store: turns a data folder into the parts that read and write it.
 *
 * The folder contains the database (`annex.db` and its write-ahead log) and, by default, the
 * vault's keys (`vault.key`). One process at a time may open a folder, because targets and
 * principals are cached in memory. The store only stores: targets are resolved in `targets/`;
 * recipients of events are found, and deliveries scheduled, in `delivery/`.
 */
import { EventEmitter } from 'node:events';
import { join } from 'node:path';
import { openDatabase } from '../database/database.ts';
import type { WalNote } from '../database/files/damaged-wal.ts';
import { prepareFolder, unusableDatabase } from '../database/files/data-folder.ts';
import { GroupCommit } from '../database/group-commit.ts';
import { Integrity, type IntegrityNote } from '../database/integrity/integrity.ts';
import { newerAnnex, noteVersion } from '../database/made-by.ts';
import { Sequence } from '../database/sequence.ts';
import { sqliteDialect } from '../database/sqlite-dialect.ts';
import type { Database } from '../database/tables.ts';
import type { Limits } from '../limits.ts';
import type { RandomBytes } from '../model/identifiers.ts';
import type { RuntimeTokenKeys } from '../model/runtime-token-format.ts';
import { Audit } from './audit.ts';
import { Backlog } from './deliveries/backlog.ts';
import { DeliveryClaims, type DeliveryClaimsParts } from './deliveries/delivery-claims.ts';
import { DeliveryList } from './deliveries/delivery-list.ts';
import { DeliveryOrderRows } from './deliveries/delivery-order-rows.ts';
import { DeliveryQueue } from './deliveries/delivery-queue.ts';
import { DeliveryRetention } from './deliveries/delivery-retention.ts';
import { EventList } from './events/event-list.ts';
import { EventOutbox, type EventOutboxParts } from './events/event-outbox.ts';
import { SubscriberRows } from './events/subscriber-rows.ts';
import { TaskOutbox, type TaskOutboxParts } from './events/task-outbox.ts';
import { Housekeeping } from './housekeeping.ts';
import type { WebhookUrlRefusal } from './installations/configuration-checks.ts';
import { CredentialLeases } from './installations/credential-leases.ts';
import { InstallLinks } from './installations/install-links.ts';
import { Installations } from './installations/installations.ts';
import { InstalledBlocks } from './installations/installed-blocks.ts';
import { LifecycleEvents } from './installations/lifecycle-events.ts';
import { SpentStates } from './installations/spent-states.ts';
import { BuiltIns } from './integrations/built-ins.ts';
import { Registry } from './integrations/registry.ts';
import { Secrets } from './integrations/secrets.ts';
import { Logs } from './logs.ts';
import { Reseal, type ResealNote } from './reseal/reseal.ts';
import { keysInUse } from './reseal/sealed-columns.ts';
import { StatementKeys } from './statement-keys.ts';
import { TargetSource } from './target-source.ts';
import { Tokens } from './tokens.ts';
import type { Vault } from './vault/vault.ts';
import { type KeySource, openVault } from './vault/vault-key.ts';
import { WebhookSecrets } from './webhooks/webhook-secrets.ts';

/**
 * Names the keys of runtime tokens among those derived from the vault's; a change would invalidate
 * all tokens.
 */
const RUNTIME_TOKEN_KEYS = 'annex runtime tokens';

export interface StoreOptions {
  /** Data folder; created for its owner alone if it does not exist. */
  readonly folder: string;
  readonly limits: Limits;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly randomBytes: RandomBytes;
  /**
   * Receives errors of background work, such as a pass over the logs, whose lines are then lost;
   * later runs continue.
   */
  readonly onError: (error: unknown) => void;
  /** Source of the vault's keys; `vault.key` in the folder if absent. */
  readonly keys?: KeySource;
  /** Rule for receivers' URLs when they are saved; every URL is accepted if absent. */
  readonly webhookUrlRefusal?: WebhookUrlRefusal;
  /** Version of this Annex, to be recorded in the database; not recorded if absent. */
  readonly version?: string;
  /**
   * Whether to start with a damaged write-ahead log and lose what was committed in it; false if
   * absent.
   */
  readonly acceptLoss?: boolean;
  /** Receives notes for the operator about the write-ahead log. */
  readonly onWal?: (note: WalNote) => void;
  /** Receives the result of each integrity check. */
  readonly onIntegrity?: (note: IntegrityNote) => void;
  /** Receives the progress of resealing after a key rotation. */
  readonly onReseal?: (note: ResealNote) => void;
}

/**
 * Notices for the layers above the store: emitted after a commit, before its answer. A listener
 * that throws would fail a change that is committed.
 */
export type StoreChanges = EventEmitter<{
  /** An integration has another active version, other secrets or limits, or was deleted. */
  integration: [integration: string];
  /** An integration has another active version, or was deleted. */
  version: [integration: string];
  /** An installation or one of its targets changed. */
  installation: [installationId: string, organization: string];
  /** A lifecycle event of this installation may have been written. */
  lifecycle: [installationId: string];
}>;

export interface Store {
  readonly changes: StoreChanges;
  readonly targetSource: TargetSource;
  readonly runtimeTokenKeys: RuntimeTokenKeys;
  readonly registry: Registry;
  readonly secrets: Secrets;
  readonly installations: Installations;
  readonly installLinks: InstallLinks;
  readonly tokens: Tokens;
  readonly logs: Logs;
  readonly lifecycleEvents: LifecycleEvents;
  readonly eventList: EventList;
  readonly eventOutbox: EventOutbox;
  readonly taskOutbox: TaskOutbox;
  readonly subscriberRows: SubscriberRows;
  readonly backlog: Backlog;
  readonly deliveryQueue: DeliveryQueue;
  readonly deliveryClaims: DeliveryClaims;
  readonly deliveryList: DeliveryList;
  readonly deliveryOrderRows: DeliveryOrderRows;
  readonly deliveryRetention: DeliveryRetention;
  readonly audit: Audit;
  readonly credentialLeases: CredentialLeases;
  readonly spentStates: SpentStates;
  readonly builtIns: BuiltIns;
  readonly installedBlocks: InstalledBlocks;
  readonly webhookSecrets: WebhookSecrets;
  readonly statementKeys: StatementKeys;
  readonly integrity: Integrity;
  /** Resolves when the first integrity check has ended. */
  readonly integrityChecked: Promise<void>;
  /** Writes buffered log lines and releases the folder. */
  close(): Promise<void>;
}

/**
 * @throws if the folder cannot be written, the schema cannot be migrated, or a key is missing that
 * is in use
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { folder, randomBytes, clock } = options;
  const file = await prepareFolder(folder);
  const { acceptLoss = false, onWal: note = () => {} } = options;
  const database = await openDatabase(sqliteDialect(file, { acceptLoss, clock, note })).catch((failure) => {
    throw newerAnnex(file, failure, options.version) ?? unusableDatabase(file, failure);
  });
  const integrity = new Integrity({ file, clock, note: (result) => options.onIntegrity?.(result) });
  try {
    if (options.version !== undefined) await noteVersion(database, options.version);
    const source = options.keys ?? { file: join(folder, 'vault.key') };
    const vault = await openVault({ source, randomBytes, inUse: await keysInUse(database) });
    const backlog = await Backlog.count(database);
    return startStore({ options, database, vault, backlog, integrity });
  } catch (error) {
    await database.destroy();
    throw error;
  }
}

interface OpenedParts {
  readonly options: StoreOptions;
  readonly database: Database;
  readonly vault: Vault;
  readonly backlog: Backlog;
  readonly integrity: Integrity;
}

/** Composes the store and starts its background work. */
function startStore({ options, database, vault, backlog, integrity }: OpenedParts): Store {
  const { limits, randomBytes, onError } = options;
  const reseal = new Reseal({ database, vault, report: (note) => options.onReseal?.(note) });
  const commits = new GroupCommit(database);
  const parts = { ...options, database, vault, commits, backlog, auditIds: new Sequence(randomBytes) };
  const deliveryRetention = new DeliveryRetention(parts);
  const logs = new Logs({ database, limits, randomBytes, onError });
  const lifecycleEvents = new LifecycleEvents(parts);
  const webhookSecrets = new WebhookSecrets(parts);
  const audit = new Audit(parts);
  const changes: StoreChanges = new EventEmitter();
  const changed = (integration: string) => void changes.emit('integration', integration);
  const versionChanged = (integration: string) => {
    changed(integration);
    changes.emit('version', integration);
  };
  const installationChanged = (installationId: string, organization: string) => {
    webhookSecrets.forgetInstallation(installationId);
    changes.emit('installation', installationId, organization);
    changes.emit('lifecycle', installationId);
  };
  const housekeeping = new Housekeeping({ logs, lifecycleEvents, deliveryRetention, audit, onError });
  void reseal.start();
  return {
    ...{ changes, logs, lifecycleEvents, backlog, deliveryRetention, audit, webhookSecrets, integrity },
    ...eventsAndDeliveries(parts),
    targetSource: new TargetSource(parts),
    runtimeTokenKeys: vault.deriveKeys(RUNTIME_TOKEN_KEYS),
    registry: new Registry({ ...parts, changed, versionChanged }),
    secrets: new Secrets({ ...parts, changed }),
    installations: new Installations({ ...parts, changed: installationChanged }),
    installLinks: new InstallLinks(parts),
    tokens: new Tokens(parts),
    credentialLeases: new CredentialLeases(parts),
    spentStates: new SpentStates(parts),
    statementKeys: new StatementKeys(parts),
    builtIns: new BuiltIns(parts),
    installedBlocks: new InstalledBlocks(parts),
    integrityChecked: integrity.start(),
    async close() {
      housekeeping.stopTimers();
      await integrity.stop();
      await reseal.stop();
      await housekeeping.finish();
      await commits.close();
      await database.destroy();
    },
  };
}

/** The parts of the store that `delivery/` and the API read and write. */
const eventsAndDeliveries = (
  parts: EventOutboxParts & TaskOutboxParts & DeliveryClaimsParts & { readonly database: Database },
) => ({
  eventList: new EventList(parts.database),
  eventOutbox: new EventOutbox(parts),
  taskOutbox: new TaskOutbox(parts),
  subscriberRows: new SubscriberRows(parts.database),
  deliveryQueue: new DeliveryQueue(parts.database),
  deliveryClaims: new DeliveryClaims(parts),
  deliveryList: new DeliveryList(parts.database),
  deliveryOrderRows: new DeliveryOrderRows(parts),
});
