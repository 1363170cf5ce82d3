/**
 * The common frame of all changes of installations: one transaction with the rows, the lifecycle
 * event and the audit entry; after its commit, caches are invalidated.
 *
 * Changes of one installation and its targets are serialized: each locks the installation's row
 * until it commits. So no edit overwrites another, and lifecycle events have the order of the
 * commits. The changes themselves are in `installation-setup.ts`, `installation-edit.ts` and
 * `installations.ts`.
 */

import { AnnexError } from '../../../errors.ts';
import type { Limits } from '../../../limits.ts';
import type { Actor } from '../../../model/actor.ts';
import { lifecycleEventId, type RandomBytes } from '../../../model/identifiers.ts';
import { type InstallationStatus, type TargetName, wholeInstallation } from '../../../model/installation.ts';
import { limitClause, limitError } from '../../../model/limit-met.ts';
import { CREDENTIALS_PROPERTY } from '../../../model/manifest/configuration.ts';
import type { PublishedManifest } from '../../../model/manifest/manifest.ts';
import type { NoticeType, ProductNotice } from '../../../model/product-notice.ts';
import { eventIds } from '../../../model/target.ts';
import { unknownIntegration, unknownTarget } from '../../../model/unknown-name-errors.ts';
import { announce, inNotices } from '../../database/notices.ts';
import type { Sequence } from '../../database/sequence.ts';
import type { Database } from '../../database/tables.ts';
import { inTransaction } from '../../database/transaction.ts';
import { type AuditAction, insertAudit } from '../audit-rows.ts';
import type { EventTypes } from '../event-types.ts';
import { readIntegration, readVersion } from '../integrations/integration-rows.ts';
import type { NoticeWriter } from '../notice-writer.ts';
import type { Vault } from '../vault/vault.ts';
import type { WebhookUrlRefusal } from './configuration-checks.ts';
import {
  countPendingLifecycleEvents,
  type DeletedTarget,
  insertLifecycleEvent,
  type LifecycleEventRecord,
  type LifecycleEventsOf,
  lifecycleEventType,
  takeHeldEdit,
} from './lifecycle-event-rows.ts';
import {
  credentialsPlace,
  holdInstallation,
  type Installation,
  readTarget,
  type SealedInstallation,
} from './target-rows.ts';

export interface InstallationsDeps {
  readonly database: Database;
  /** The event types of the product; none if absent. */
  readonly eventTypes?: Pick<EventTypes, 'latest'>;
  readonly vault: Vault;
  readonly limits: Pick<
    Limits,
    | 'callDepth'
    | 'configurationBytes'
    | 'installationsPerOrganization'
    | 'lifeEventsPendingPerInstallation'
    | 'placesPerInstallation'
  >;
  readonly wallNow: () => number;
  readonly randomBytes: RandomBytes;
  /** Numbers the entries of the audit. */
  readonly auditIds: Sequence;
  readonly productNotices: NoticeWriter;
  /** Rule for receivers' URLs when they are saved; every URL is accepted if absent. */
  readonly webhookUrlRefusal?: WebhookUrlRefusal | undefined;
  /**
   * Called after a commit, before its answer: targets of this installation changed, and there may
   * be a new lifecycle event.
   *
   * @param organization the organization that installed it
   */
  changed(installationId: string, organization: string): void;
  /** Called after a commit, before its answer: these installations were deleted. */
  removed(installationIds: readonly string[]): void;
}

/** A whole configuration, with sealed properties opened. */
export type OpenConfiguration = Readonly<Record<string, unknown>>;

/** The state before a change, for its lifecycle event. */
type Previous = { readonly status?: InstallationStatus; readonly configuration: OpenConfiguration };

export class Changes {
  readonly #deps: InstallationsDeps;

  constructor(deps: InstallationsDeps) {
    this.#deps = deps;
  }

  /**
   * Runs one change in a transaction: everything that `work` writes is committed, or nothing.
   *
   * @throws `CALL_TOO_DEEP`, and what `work` throws
   */
  async make<Result>(by: Actor, work: (change: Change) => Promise<Result>): Promise<Result> {
    const { database, limits, productNotices } = this.#deps;
    const { callDepth: max } = limits;
    // Attack: an endless loop, in which the handler of an edit's event makes another edit.
    if (by.depth > max) {
      const limit = { name: 'callDepth', max, used: by.depth } as const;
      const message = `The change was made inside of ${by.depth} calls; ${limitClause(limit)}.`;
      throw new AnnexError('CALL_TOO_DEEP', message, { limit });
    }
    const { result, touched, removed, told } = await inTransaction(database, async (transaction) => {
      const change = new Change(this.#deps, transaction, by);
      const done = await work(change);
      for (const [id, organization] of change.touched)
        await announce(transaction, 'installation', id, organization);
      for (const some of inNotices(change.removed)) await announce(transaction, 'removed', ...some);
      const written = await productNotices.write(transaction, change.notices, change.now);
      return { result: done, touched: change.touched, removed: change.removed, told: written };
    });
    productNotices.written(told);
    for (const [id, organization] of touched) this.#deps.changed(id, organization);
    if (removed.length > 0) this.#deps.removed(removed);
    return result;
  }
}

/** A change in its transaction. */
export class Change {
  readonly deps: InstallationsDeps;
  readonly transaction: Database;
  readonly now: number;
  /** Changed installations, with their organizations. */
  readonly touched = new Map<string, string>();
  /** Installations that are deleted. */
  readonly removed: string[] = [];
  /** What the product is told of it. */
  readonly notices: ProductNotice[] = [];
  readonly #by: Actor;

  constructor(deps: InstallationsDeps, transaction: Database, by: Actor) {
    this.deps = deps;
    this.transaction = transaction;
    this.#by = by;
    this.now = deps.wallNow();
  }

  /** Tells the product of it when the transaction commits. */
  tell(type: NoticeType, { installationId, level, place, organization, integration }: Installation): void {
    const target = { installationId, level, place };
    this.notices.push({ type, organization, integration, target });
  }

  /**
   * Locks the installation until the transaction ends, and reads the target. @throws
   * `INSTALLATION_UNKNOWN`
   */
  async hold(name: TargetName, use?: 'toRemove'): Promise<SealedInstallation> {
    const held = await holdInstallation(this.transaction, name.installationId);
    const target = held && (await readTarget(this.transaction, name, use));
    if (!target) throw unknownTarget(name);
    return target;
  }

  /** Manifest of the active version. @throws `INTEGRATION_UNKNOWN` */
  async manifest(name: string): Promise<PublishedManifest> {
    const integration = await readIntegration(this.transaction, name);
    const version = integration && (await readVersion(this.transaction, name, integration.activeVersion));
    if (version === undefined) throw unknownIntegration(name);
    return version.manifest;
  }

  /**
   * Attack: changes in a loop, faster than a slow handler takes their events, which would fill the
   * disk with events.
   *
   * @param of the installation; or before it exists, all earlier ones of the integration in the
   * organization
   * @throws `INSTALLATION_BUSY`
   */
  async refuseWhileBusy(of: LifecycleEventsOf): Promise<void> {
    const { lifeEventsPendingPerInstallation: max } = this.deps.limits;
    const used = await countPendingLifecycleEvents(this.transaction, of);
    if (used < max) return;
    throw limitError('INSTALLATION_BUSY', { name: 'lifeEventsPendingPerInstallation', max, used });
  }

  /** A target's whole configuration, with `oauth_credentials` opened. */
  configurationOf(target: SealedInstallation): OpenConfiguration {
    const { sealedCredentials, configuration } = target;
    if (sealedCredentials === null) return configuration;
    const credentials: unknown = JSON.parse(
      this.deps.vault.open(credentialsPlace(target), sealedCredentials),
    );
    return { ...configuration, [CREDENTIALS_PROPERTY]: credentials };
  }

  /**
   * The same, without credentials that cannot be opened, so that a damaged target can still be
   * removed.
   */
  readableConfigurationOf(target: SealedInstallation): OpenConfiguration {
    try {
      return this.configurationOf(target);
    } catch {
      return target.configuration;
    }
  }

  /** Writes the lifecycle event of an installed target. */
  async writeSetupEvent(target: Installation): Promise<void> {
    await this.#writeEvent(target, 'setup', { status: target.status });
  }

  /**
   * Writes the lifecycle event of an edit. Edits during a pause result in one event after it: the
   * event of the previous edit is replaced, and its `previous` state is kept.
   */
  async writeEditEvent(target: Installation, previous: Previous): Promise<void> {
    const { status } = target;
    if (!(await this.#isPaused(target))) return this.#writeEvent(target, 'setup', { status, previous });
    const replaced = await takeHeldEdit(this.transaction, this.deps.vault, target, this.now);
    return this.#writeEvent(target, 'setup', { status, previous, ...replaced?.event }, { held: true });
  }

  /** Paused itself, or through its installation. */
  async #isPaused({ level, status, installationId }: Installation): Promise<boolean> {
    if (status === 'paused' || level === 'organization') return status === 'paused';
    const installation = await readTarget(this.transaction, wholeInstallation(installationId));
    return installation?.status === 'paused';
  }

  /** Writes the lifecycle event of a deleted target. */
  async writeDeletedEvent(target: Installation, previous: Previous, gone: DeletedTarget): Promise<void> {
    await this.#writeEvent(target, 'deleted', { previous }, { gone });
  }

  /** Writes the audit entry. @param details names of what was changed, never values */
  async audit(
    action: AuditAction,
    target: Installation,
    details?: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    const { installationId, level, place, organization, integration } = target;
    this.touched.set(installationId, organization);
    await insertAudit(this.transaction, {
      id: this.deps.auditIds.next(this.now),
      at: this.now,
      by: this.#by,
      entry: {
        action,
        organization,
        integration,
        target: { installationId, level, place },
        ...(details && { details }),
      },
    });
  }

  async #writeEvent(
    target: Installation,
    what: 'setup' | 'deleted',
    more: Readonly<Record<string, unknown>>,
    record: Pick<LifecycleEventRecord, 'gone' | 'held'> = {},
  ): Promise<void> {
    const eventId = lifecycleEventId(this.deps.randomBytes);
    const type = lifecycleEventType(what, target.level);
    await insertLifecycleEvent(this.transaction, this.deps.vault, {
      event: { eventId, type, ...eventIds(target), ...more },
      ...record,
      eventId,
      type,
      target,
      integration: target.integration,
      organization: target.organization,
      depth: this.#by.depth,
      generation: this.#by.generation ?? 0,
      at: this.now,
    });
  }
}

/** A target without its sealed values. */
export function unsealed({
  sealedCredentials,
  sealedSigningSecret,
  ...target
}: SealedInstallation): Installation {
  return target;
}
