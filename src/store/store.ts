/**
 * The store, opened: a data folder becomes a registry, tokens and logs.
 *
 * The folder holds the database (`annex.db` and its write-ahead log) and, unless a setting says
 * otherwise, the vault's keys (`vault.key`). One process at a time may have a folder open, because
 * targets and principals are cached in its memory.
 */
import { join } from 'node:path';
import { openDatabase } from '../database/database.ts';
import type { WalNote } from '../database/files/damaged-wal.ts';
import { prepareFolder, unusableDatabase } from '../database/files/data-folder.ts';
import { GroupCommit } from '../database/group-commit.ts';
import { Integrity, type IntegrityNote } from '../database/integrity/integrity.ts';
import { newerAnnex, noteVersion } from '../database/made-by.ts';
import { Sequence } from '../database/sequence.ts';
import { sqliteDialect } from '../database/sqlite-dialect.ts';
import type { Limits } from '../limits.ts';
import type { RandomBytes } from '../model/identifiers.ts';
import type { Origins } from '../targets/target-resolver.ts';
import { Audit } from './audit.ts';
import { Backlog } from './deliveries/backlog.ts';
import { Deliveries } from './deliveries/deliveries.ts';
import { AcceptedEvents } from './events/accepted-events.ts';
import { RecipientResolver } from './events/recipients.ts';
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
import { Tokens } from './tokens.ts';
import { Reseal, type ResealNote } from './vault/reseal.ts';
import { keysInUse } from './vault/sealed-columns.ts';
import { type KeySource, openVault } from './vault/vault-key.ts';
import { WebhookSecrets } from './webhooks/webhook-secrets.ts';
import { WebhookTests } from './webhooks/webhook-tests.ts';

/** How long a log line waits before it can be read. */
const LOG_PASS_MS = 250;
/** How often what is too old is removed. */
const PRUNE_EVERY_MS = 60_000;

export interface StoreOptions {
  /** Data folder; made, for its owner alone, where it does not exist. */
  readonly folder: string;
  readonly origins: Origins;
  readonly limits: Limits;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly randomBytes: RandomBytes;
  /**
   * Told when a pass over the logs fails; its lines are lost, and the next pass runs all the same.
   */
  readonly onError: (error: unknown) => void;
  /** Where the vault's keys are; `vault.key` in the folder unless told. */
  readonly keys?: KeySource;
  /** What is refused of receivers' URLs when they are saved; nothing unless told. */
  readonly webhookUrlRefusal?: WebhookUrlRefusal;
  /** Version of this Annex, which is noted in the database; none is noted unless told. */
  readonly version?: string;
  /**
   * Whether to start although the write-ahead log is damaged, without what was committed in it; no
   * unless told.
   */
  readonly acceptLoss?: boolean;
  /** Receives what an operator has to know about the write-ahead log that was found. */
  readonly onWal?: (note: WalNote) => void;
  /** Receives the result of each check of the database. */
  readonly onIntegrity?: (note: IntegrityNote) => void;
  /** Told of values that are sealed anew after the ring has got another first key. */
  readonly onReseal?: (note: ResealNote) => void;
}

export interface Store {
  readonly registry: Registry;
  readonly secrets: Secrets;
  readonly installations: Installations;
  readonly installLinks: InstallLinks;
  readonly tokens: Tokens;
  readonly logs: Logs;
  readonly lifeEvents: LifecycleEvents;
  readonly acceptedEvents: AcceptedEvents;
  readonly deliveries: Deliveries;
  readonly audit: Audit;
  readonly credentialLeases: CredentialLeases;
  readonly spentStates: SpentStates;
  readonly builtIns: BuiltIns;
  readonly installedBlocks: InstalledBlocks;
  readonly webhookSecrets: WebhookSecrets;
  readonly webhookTests: WebhookTests;
  readonly integrity: Integrity;
  /** Resolves when the check of the database at this start is over. */
  readonly integrityChecked: Promise<void>;
  /** Writes what is buffered and lets go of the folder. */
  close(): Promise<void>;
}

/**
 * @throws where the folder cannot be written, the schema cannot be migrated, or a key is missing
 * that values are sealed with.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { folder, limits, randomBytes, onError } = options;
  const file = await prepareFolder(folder);
  const { acceptLoss = false, clock, onWal: note = () => {} } = options;
  const database = await openDatabase(sqliteDialect(file, { acceptLoss, clock, note })).catch((failure) => {
    throw newerAnnex(file, failure, options.version) ?? unusableDatabase(file, failure);
  });
  const integrity = new Integrity({ file, clock, note: (told) => options.onIntegrity?.(told) });
  try {
    if (options.version !== undefined) await noteVersion(database, options.version);
    const source = options.keys ?? { file: join(folder, 'vault.key') };
    const vault = await openVault({ source, randomBytes, inUse: await keysInUse(database) });
    const reseal = new Reseal({ database, vault, tell: (note) => options.onReseal?.(note) });
    const commits = new GroupCommit(database);
    const shared = { database, vault, commits, backlog: await Backlog.count(database) };
    const parts = { ...options, ...shared, auditIds: new Sequence(randomBytes) };
    const registry = new Registry(parts);
    const recipients = new RecipientResolver(parts);
    registry.onVersionChanged = (integration) => recipients.forgetIntegration(integration);
    const acceptedEvents = new AcceptedEvents({ ...parts, recipients });
    const deliveries = new Deliveries(parts);
    const logs = new Logs({ database, limits, randomBytes });
    const lifeEvents = new LifecycleEvents(parts);
    const webhookSecrets = new WebhookSecrets(parts);
    const timer = setInterval(() => logs.pass().catch(onError), LOG_PASS_MS).unref();
    void reseal.start();
    const audit = new Audit(parts);
    const prune = () => {
      void lifeEvents.prune().catch(onError);
      void deliveries.prune().catch(onError);
      void logs.sweep().catch(onError);
      void audit.prune().catch(onError);
    };
    const pruneTimer = setInterval(prune, PRUNE_EVERY_MS).unref();
    const changed = (installationId: string, organization: string) => {
      registry.installationChanged(installationId);
      recipients.forgetOrganization(organization);
      webhookSecrets.forgetInstallation(installationId);
      lifeEvents.onWritten?.(installationId);
    };
    return {
      registry,
      secrets: new Secrets({ ...parts, changed: (name) => registry.integrationChanged(name) }),
      installations: new Installations({ ...parts, changed }),
      installLinks: new InstallLinks(parts),
      tokens: new Tokens(parts),
      logs,
      lifeEvents,
      acceptedEvents,
      deliveries,
      audit,
      credentialLeases: new CredentialLeases(parts),
      spentStates: new SpentStates(parts),
      builtIns: new BuiltIns(parts),
      installedBlocks: new InstalledBlocks(parts),
      webhookSecrets,
      webhookTests: new WebhookTests({ ...parts, acceptedEvents }),
      integrity,
      integrityChecked: integrity.start(),
      async close() {
        clearInterval(timer);
        clearInterval(pruneTimer);
        await integrity.stop();
        await reseal.stop();
        await logs.pass().catch(onError);
        await deliveries.stop();
        await commits.close();
        await database.destroy();
      },
    };
  } catch (error) {
    await database.destroy();
    throw error;
  }
}
