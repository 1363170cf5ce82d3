/**
 * Opens the store: turns an engine into the parts that read and write its database.
 *
 * By default that is SQLite in a data folder, which contains the database (`annex.db` and its
 * write-ahead log) and, by default, the vault's keys (`vault.key`); one process at a time may open
 * it. On an engine that is shared, many nodes open the same store. The store only stores: targets
 * are resolved in `targets/`; recipients of events are found, and deliveries scheduled, in
 * `delivery/`.
 */
import { join } from 'node:path';
import type { Limits } from '../../limits.ts';
import type { RandomBytes } from '../../model/identifiers.ts';
import type { Marketplace } from '../../model/review.ts';
import type { RuntimeTokenKeys } from '../../model/runtime-token-format.ts';
import type { DatabaseState, Engine, IntegrityState } from '../database/engine.ts';
import { GroupCommit } from '../database/group-commit.ts';
import { announce } from '../database/notices.ts';
import { Sequence } from '../database/sequence.ts';
import { SqliteEngine, type SqliteEngineOptions } from '../database/sqlite/sqlite-engine.ts';
import type { Database } from '../database/tables.ts';
import { Activity } from './activity.ts';
import { Audit } from './audit.ts';
import { Backlog } from './deliveries/backlog.ts';
import { DeliveryActionRows } from './deliveries/delivery-action-rows.ts';
import { DeliveryClaims, type DeliveryClaimsDeps } from './deliveries/delivery-claims.ts';
import { DeliveryFeed } from './deliveries/delivery-feed.ts';
import { DeliveryList } from './deliveries/delivery-list.ts';
import { DeliveryQueue } from './deliveries/delivery-queue.ts';
import { DeliveryRetention } from './deliveries/delivery-retention.ts';
import { EventTypes } from './event-types.ts';
import { EventList } from './events/event-list.ts';
import { EventOutbox, type EventOutboxDeps } from './events/event-outbox.ts';
import { SubscriberRows } from './events/subscriber-rows.ts';
import { TaskOutbox, type TaskOutboxDeps } from './events/task-outbox.ts';
import { Housekeeping } from './housekeeping.ts';
import type { WebhookUrlRefusal } from './installations/configuration-checks.ts';
import { CredentialLeases } from './installations/credential-leases.ts';
import { InstallLinks } from './installations/install-links.ts';
import { Installations } from './installations/installations.ts';
import { InstalledBlocks } from './installations/installed-blocks.ts';
import { LifecycleEvents } from './installations/lifecycle-events.ts';
import { LostConnections, type LostConnectionsDeps } from './installations/lost-connections.ts';
import { UsedOAuthStates } from './installations/used-oauth-states.ts';
import { BuiltIns } from './integrations/built-ins.ts';
import { Registry } from './integrations/registry.ts';
import { Secrets } from './integrations/secrets.ts';
import { Logs } from './logs.ts';
import { Organizations } from './organizations.ts';
import { ProductNotices } from './product-notices.ts';
import { Reseal, type ResealNote } from './reseal/reseal.ts';
import { keysInUse } from './reseal/sealed-columns.ts';
import { Schedules, type SchedulesDeps } from './schedules.ts';
import { SpentSignatures } from './spent-signatures.ts';
import { StatementKeys } from './statement-keys.ts';
import { Storage } from './storage/storage.ts';
import { type StoreChanges, storeChanges } from './store-changes.ts';
import { TargetSource } from './target-source.ts';
import { Tokens } from './tokens.ts';
import type { Vault } from './vault/vault.ts';
import { type KeySource, openVault } from './vault/vault-key.ts';
import { WebhookHealths, type WebhookHealthsDeps } from './webhooks/webhook-health.ts';
import type { DisablingRules } from './webhooks/webhook-health-rows.ts';
import { WebhookSecrets } from './webhooks/webhook-secrets.ts';

/**
 * Names the keys of runtime tokens among those derived from the vault's; a change would invalidate
 * all tokens.
 */
const RUNTIME_TOKEN_KEYS = 'annex runtime tokens';

export interface StoreOptions extends SqliteEngineOptions {
  /** Makes the engine of the database; SQLite in `folder` if absent. */
  readonly makeEngine?: (() => Engine) | undefined;
  readonly limits: Limits;
  readonly randomBytes: RandomBytes;
  readonly monotonicNow: () => number;
  /**
   * Receives errors of background work, such as a pass over the logs, whose lines are then lost;
   * later runs continue.
   */
  readonly onError: (error: unknown) => void;
  /** Source of the vault's keys; `vault.key` in the folder if absent. */
  readonly keys?: KeySource;
  /** Rule for receivers' URLs when they are saved; every URL is accepted if absent. */
  readonly webhookUrlRefusal?: WebhookUrlRefusal;
  /** When webhooks are disabled; never if absent. */
  readonly webhookRules?: DisablingRules;
  /** Whether versions of public integrations wait for the operator's approval; not if absent. */
  readonly marketplace?: Marketplace;
  /** Whether notices to the product have a receiver. */
  readonly hasNoticeReceiver?: boolean;
  /** Receives the progress of resealing after a key rotation. */
  readonly onReseal?: (note: ResealNote) => void;
}

export interface Store {
  readonly changes: StoreChanges;
  /** Whether other nodes use the same database. */
  readonly isShared: boolean;
  readonly targetSource: TargetSource;
  readonly runtimeTokenKeys: RuntimeTokenKeys;
  readonly registry: Registry;
  readonly secrets: Secrets;
  readonly installations: Installations;
  readonly installLinks: InstallLinks;
  readonly tokens: Tokens;
  readonly organizations: Organizations;
  readonly logs: Logs;
  readonly lifecycleEvents: LifecycleEvents;
  readonly eventTypes: EventTypes;
  readonly eventList: EventList;
  readonly eventOutbox: EventOutbox;
  readonly taskOutbox: TaskOutbox;
  readonly schedules: Schedules;
  readonly subscriberRows: SubscriberRows;
  readonly backlog: Backlog;
  readonly deliveryQueue: DeliveryQueue;
  readonly deliveryClaims: DeliveryClaims;
  readonly deliveryList: DeliveryList;
  readonly deliveryFeed: DeliveryFeed;
  readonly deliveryActionRows: DeliveryActionRows;
  readonly deliveryRetention: DeliveryRetention;
  readonly audit: Audit;
  /** What the service did in the last day. */
  readonly activity: Activity;
  readonly credentialLeases: CredentialLeases;
  readonly lostConnections: LostConnections;
  readonly productNotices: ProductNotices;
  readonly usedOAuthStates: UsedOAuthStates;
  /** Undefined where this node is alone, and remembers signatures itself. */
  readonly spentSignatures: SpentSignatures | undefined;
  readonly builtIns: BuiltIns;
  readonly installedBlocks: InstalledBlocks;
  readonly webhookSecrets: WebhookSecrets;
  readonly webhookHealths: WebhookHealths;
  readonly statementKeys: StatementKeys;
  /** Values that code of integrations keeps. */
  readonly storage: Storage;
  readonly integrity: { readonly state: IntegrityState };
  /** Whether the database does its work now. */
  readonly database: { readonly state: DatabaseState };
  /** Resolves when the first integrity check has ended. */
  readonly integrityChecked: Promise<void>;
  /** Tells the other nodes that there are more due deliveries than this node can start. */
  announceBacklog(): Promise<void>;
  /** Runs `work` while no other node runs work under the same name; waits for its turn. */
  alone<Result>(name: string, work: () => Promise<Result>): Promise<Result>;
  /** Writes buffered log lines and releases the database. */
  close(): Promise<void>;
}

/**
 * @throws if the database cannot be used, the schema cannot be migrated, or a key is missing that
 * is in use
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const engine = options.makeEngine?.() ?? new SqliteEngine(options);
  const database = await engine.open();
  try {
    // Two nodes that start at once must not make a key each.
    const vault = await engine.alone('vault', () => openKeys(options, engine, database));
    const { monotonicNow } = options;
    const backlog = await Backlog.count({ database, isShared: engine.isShared, monotonicNow });
    const store = startStore({ options, engine, database, vault, backlog });
    await store.eventTypes.catalog();
    return store;
  } catch (error) {
    await engine.close();
    await database.destroy();
    throw error;
  }
}

async function openKeys(options: StoreOptions, { isShared }: Engine, database: Database): Promise<Vault> {
  const { keys, folder, randomBytes, wallNow } = options;
  const source = keys ?? { file: join(folder, 'vault.key') };
  const vault = await openVault({ source, randomBytes, inUse: await keysInUse(database) });
  // Seals the first values. A node that starts later with other keys finds them, and refuses to.
  const auditIds = new Sequence(randomBytes);
  if (isShared) await new StatementKeys({ database, vault, wallNow, randomBytes, auditIds }).published();
  return vault;
}

interface OpenedDeps {
  readonly options: StoreOptions;
  readonly engine: Engine;
  readonly database: Database;
  readonly vault: Vault;
  readonly backlog: Backlog;
}

/** Composes the store and starts its background work. */
function startStore({ options, engine, database, vault, backlog }: OpenedDeps): Store {
  const { randomBytes, onError, monotonicNow } = options;
  const reseal = new Reseal({ database, vault, engine, report: (note) => options.onReseal?.(note) });
  const commits = new GroupCommit(database, {
    inFlightMax: engine.commitsInFlight,
    waitMsMax: engine.commitWaitMs,
  });
  const deliveryFeed = new DeliveryFeed({
    ...{ database, isShared: engine.isShared, wallNow: options.wallNow, onError },
    monotonicNow,
    announce: (change, about) => announce(database, change, ...about),
  });
  const auditIds = new Sequence(randomBytes);
  const changes = storeChanges(engine);
  const productNotices = new ProductNotices({
    ...{ ...options, database, commits, backlog, hasNoticeReceiver: options.hasNoticeReceiver === true },
    noticesWaiting: (deliveries) => void changes.emit('notices', deliveries),
  });
  const deps = { ...options, database, vault, commits, backlog, deliveryFeed, auditIds, productNotices };
  const deliveryRetention = new DeliveryRetention(deps);
  const logs = new Logs({ ...options, database, isShared: engine.isShared, monotonicNow });
  const lifecycleEvents = new LifecycleEvents(deps);
  const webhookSecrets = new WebhookSecrets(deps);
  const tokens = new Tokens(deps);
  const statementKeys = new StatementKeys(deps);
  const audit = new Audit(deps);
  const spentSignatures = engine.isShared ? new SpentSignatures(deps) : undefined;
  const [storage, activity] = [new Storage(deps), new Activity(deps)];
  const eventTypes = new EventTypes({ ...deps, changed: () => void changes.emit('eventTypes') });
  forgetChanged(changes, { webhookSecrets, tokens, statementKeys, eventTypes });
  feedChanges(changes, deliveryFeed);
  const changed = (integration: string) => void changes.emit('integration', integration);
  const versionChanged = (integration: string) => {
    changed(integration);
    changes.emit('version', integration);
  };
  const installationChanged = (installationId: string, organization: string) => {
    changes.emit('installation', installationId, organization);
    changes.emit('lifecycle', installationId);
  };
  const removed = (tenants: readonly string[]) => {
    for (const tenant of tenants) changes.emit('removed', tenant);
  };
  const housekeeping = new Housekeeping({
    ...{ ...deps, engine, logs, lifecycleEvents, deliveryRetention, audit, spentSignatures, storage },
    ...{ tokens, activity },
  });
  void reseal.start();
  return {
    ...{ changes, logs, lifecycleEvents, backlog, deliveryRetention, audit, webhookSecrets, deliveryFeed },
    ...{ tokens, statementKeys, eventTypes, spentSignatures, storage, activity, isShared: engine.isShared },
    ...eventsAndDeliveries({
      ...{ ...deps, isShared: engine.isShared },
      webhookRules: options.webhookRules ?? { onGone: false },
      webhooksChanged: (some) => void changes.emit('webhooks', some),
    }),
    ...ofTargets(deps),
    targetSource: new TargetSource(deps),
    runtimeTokenKeys: vault.deriveKeys(RUNTIME_TOKEN_KEYS),
    registry: new Registry({ ...deps, changed, versionChanged, removed }),
    secrets: new Secrets({ ...deps, changed }),
    installations: new Installations({ ...deps, eventTypes, changed: installationChanged, removed }),
    ...{ productNotices, builtIns: new BuiltIns(deps), organizations: new Organizations(deps) },
    integrity: {
      get state() {
        return engine.integrity;
      },
    },
    database: engine,
    integrityChecked: engine.startChecks(),
    announceBacklog: () => announce(database, 'backlog'),
    alone: (name, work) => engine.alone(name, work),
    async close() {
      housekeeping.stopTimers();
      await deliveryFeed.stop();
      await reseal.stop();
      await housekeeping.finish();
      await commits.close();
      await engine.close();
      await database.destroy();
    },
  };
}

/** Tells the feed of deliveries what other nodes announce. */
function feedChanges(changes: StoreChanges, deliveryFeed: DeliveryFeed): void {
  changes.on('deliveryFollowers', (...scopes) => deliveryFeed.followedElsewhere(scopes));
  changes.on('deliverySteps', (...steps) => deliveryFeed.committedElsewhere(steps));
  changes.on('missed', () => deliveryFeed.missed());
}

/** Drops what the store itself caches of changes. */
function forgetChanged(
  changes: StoreChanges,
  {
    webhookSecrets,
    tokens,
    statementKeys,
    eventTypes,
  }: Pick<Store, 'webhookSecrets' | 'tokens' | 'statementKeys' | 'eventTypes'>,
): void {
  changes.on('installation', (installationId) => webhookSecrets.forgetInstallation(installationId));
  changes.on('webhookSecrets', (installationId) => webhookSecrets.forgetInstallation(installationId));
  changes.on('removed', (...tenants) => {
    for (const tenant of tenants) webhookSecrets.forgetInstallation(tenant);
  });
  changes.on('tokens', () => tokens.forget());
  changes.on('statementKeys', () => statementKeys.forget());
  changes.on('eventTypes', () => eventTypes.refresh());
  changes.on('missed', () => {
    webhookSecrets.forget();
    tokens.forget();
    statementKeys.forget();
    eventTypes.refresh();
  });
}

/** What targets have beside their rows. */
const ofTargets = (
  deps: LostConnectionsDeps &
    WebhookHealthsDeps &
    ConstructorParameters<typeof CredentialLeases>[0] &
    ConstructorParameters<typeof InstallLinks>[0] &
    ConstructorParameters<typeof InstalledBlocks>[0],
) => ({
  webhookHealths: new WebhookHealths(deps),
  credentialLeases: new CredentialLeases(deps),
  lostConnections: new LostConnections(deps),
  usedOAuthStates: new UsedOAuthStates(deps),
  installLinks: new InstallLinks(deps),
  installedBlocks: new InstalledBlocks(deps),
});

/** The parts of the store that `delivery/` and the API read and write. */
const eventsAndDeliveries = (
  deps: EventOutboxDeps &
    TaskOutboxDeps &
    SchedulesDeps &
    DeliveryClaimsDeps & { readonly database: Database },
) => ({
  eventList: new EventList(deps.database),
  eventOutbox: new EventOutbox(deps),
  taskOutbox: new TaskOutbox(deps),
  schedules: new Schedules(deps),
  subscriberRows: new SubscriberRows(deps.database),
  deliveryQueue: new DeliveryQueue(deps.database),
  deliveryClaims: new DeliveryClaims(deps),
  deliveryList: new DeliveryList(deps.database),
  deliveryActionRows: new DeliveryActionRows(deps),
});
