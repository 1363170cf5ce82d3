/**
 * What every change of an installation has in common: one transaction, in which the rows, the event that tells the
 * integration and the entry in the audit are written, and what is done after its commit.
 *
 * Changes of one installation, and of what lies below it, come one after the other: each holds the installation's own row
 * until it is over. So no edit overwrites another, and events have the order of the commits that they tell of. What a change
 * consists of is in `installation-setup.ts`, `installation-edit.ts` and `installation-removal.ts`.
 */

import type { Sequence } from '../../database/sequence.ts';
import type { Database } from '../../database/tables.ts';
import { AnnexError } from '../../errors.ts';
import type { Limits } from '../../limits.ts';
import type { Actor } from '../../model/actor.ts';
import { lifecycleEventId, type RandomBytes } from '../../model/identifiers.ts';
import {
  CREDENTIALS_PROPERTY,
  type InstallationStatus,
  type TargetName,
  wholeInstallation,
} from '../../model/installation.ts';
import { limitClause, limitError } from '../../model/limit-met.ts';
import type { PublishedManifest } from '../../model/manifest/manifest.ts';
import { eventIds } from '../../model/target.ts';
import { unknownIntegration, unknownTarget } from '../../model/unknown.ts';
import { type AuditAction, insertAudit } from '../audit-rows.ts';
import { readIntegration, readVersion } from '../integrations/integration-rows.ts';
import type { Vault } from '../vault/vault.ts';
import type { WebhookUrlRefusal } from './configuration-checks.ts';
import {
  countPendingLifecycleEvents,
  type GoneTarget,
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

export interface InstallationsParts {
  readonly database: Database;
  readonly vault: Vault;
  readonly limits: Pick<
    Limits,
    | 'callDepth'
    | 'configurationBytes'
    | 'installationsPerOrganization'
    | 'lifeEventsPendingPerInstallation'
    | 'placesPerInstallation'
  >;
  readonly clock: () => number;
  readonly randomBytes: RandomBytes;
  /** Numbers the entries of the audit. */
  readonly auditIds: Sequence;
  /** What is refused of receivers' URLs when they are saved; nothing unless told. */
  readonly webhookUrlRefusal?: WebhookUrlRefusal | undefined;
  /**
   * Told after a commit, before its answer: targets of this installation are not what they were, and there may be an event
   * that tells of it.
   *
   * @param organization that has installed it
   */
  changed(installationId: string, organization: string): void;
}

/** A configuration in full: what is sealed is open in it. */
export type OpenConfiguration = Readonly<Record<string, unknown>>;

/** What an event says of how things were. */
type Previous = { readonly status?: InstallationStatus; readonly configuration: OpenConfiguration };

export class Changes {
  readonly #parts: InstallationsParts;

  constructor(parts: InstallationsParts) {
    this.#parts = parts;
  }

  /**
   * Makes one change: all that `work` writes is there after it, or none of it.
   *
   * @throws `CALL_TOO_DEEP`, and what `work` throws
   */
  async make<Result>(by: Actor, work: (change: Change) => Promise<Result>): Promise<Result> {
    const { database, limits } = this.#parts;
    const { callDepth: max } = limits;
    // The attack: a handler that is told of an edit edits again, is told of that, and so on for ever.
    if (by.depth > max) {
      const limit = { name: 'callDepth', max, used: by.depth } as const;
      const message = `The change was made inside of ${by.depth} calls; ${limitClause(limit)}.`;
      throw new AnnexError('CALL_TOO_DEEP', message, { limit });
    }
    const { result, touched } = await database.transaction().execute(async (transaction) => {
      const change = new Change(this.#parts, transaction, by);
      return { result: await work(change), touched: change.touched };
    });
    for (const [id, organization] of touched) this.#parts.changed(id, organization);
    return result;
  }
}

/** A change under way. */
export class Change {
  readonly parts: InstallationsParts;
  readonly transaction: Database;
  readonly now: number;
  /** Installations that are not what they were, and who has installed them. */
  readonly touched = new Map<string, string>();
  readonly #by: Actor;

  constructor(parts: InstallationsParts, transaction: Database, by: Actor) {
    this.parts = parts;
    this.transaction = transaction;
    this.#by = by;
    this.now = parts.clock();
  }

  /** Reads a target and holds its installation until the change is over. @throws `INSTALLATION_UNKNOWN` */
  async hold(name: TargetName): Promise<SealedInstallation> {
    const held = await holdInstallation(this.transaction, name.installationId);
    const target = held && (await readTarget(this.transaction, name));
    if (!target) throw unknownTarget(name);
    return target;
  }

  /** The manifest that rules now. @throws `INTEGRATION_UNKNOWN` */
  async manifest(name: string): Promise<PublishedManifest> {
    const integration = await readIntegration(this.transaction, name);
    const version = integration && (await readVersion(this.transaction, name, integration.activeVersion));
    if (version === undefined) throw unknownIntegration(name);
    return version.manifest;
  }

  /**
   * The attack: changes in a loop, while the handler that hears of each takes its time, fill the disk with events.
   *
   * @param of one installation; before it is there, all that came before it at the same place
   * @throws `INSTALLATION_BUSY`
   */
  async refuseWhileBusy(of: LifecycleEventsOf): Promise<void> {
    const { lifeEventsPendingPerInstallation: max } = this.parts.limits;
    const used = await countPendingLifecycleEvents(this.transaction, of);
    if (used < max) return;
    throw limitError('INSTALLATION_BUSY', { name: 'lifeEventsPendingPerInstallation', max, used });
  }

  /** A target's whole configuration, `oauth_credentials` included. */
  configurationOf(target: SealedInstallation): OpenConfiguration {
    const { sealedCredentials, configuration } = target;
    if (sealedCredentials === null) return configuration;
    const credentials: unknown = JSON.parse(
      this.parts.vault.open(credentialsPlace(target), sealedCredentials),
    );
    return { ...configuration, [CREDENTIALS_PROPERTY]: credentials };
  }

  /** The same, without credentials that cannot be opened: what is damaged can still be removed. */
  whatCanBeRead(target: SealedInstallation): OpenConfiguration {
    try {
      return this.configurationOf(target);
    } catch {
      return target.configuration;
    }
  }

  /** Puts down that a target is set up. */
  async tellSetup(target: Installation): Promise<void> {
    await this.#tell(target, 'setup', { status: target.status });
  }

  /**
   * Puts down that a target is set up differently. Edits of a target that is paused are told once, after it is resumed: the
   * event of the edit before is replaced, and tells what was before that one.
   */
  async tellEdit(target: Installation, previous: Previous): Promise<void> {
    const { status } = target;
    if (!(await this.#isPaused(target))) return this.#tell(target, 'setup', { status, previous });
    const replaced = await takeHeldEdit(this.transaction, this.parts.vault, target);
    return this.#tell(target, 'setup', { status, previous, ...replaced?.event }, { held: true });
  }

  /** By itself, or with its installation. */
  async #isPaused({ level, status, installationId }: Installation): Promise<boolean> {
    if (status === 'paused' || level === 'organization') return status === 'paused';
    const installation = await readTarget(this.transaction, wholeInstallation(installationId));
    return installation?.status === 'paused';
  }

  /** Puts down that a target is no more. */
  async tellDeleted(target: Installation, previous: Previous, gone: GoneTarget): Promise<void> {
    await this.#tell(target, 'deleted', { previous }, { gone });
  }

  /** Notes the change in the audit. @param details names of what was changed, never values */
  async note(
    action: AuditAction,
    target: Installation,
    details?: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    const { installationId, level, place, organization, integration } = target;
    this.touched.set(installationId, organization);
    await insertAudit(this.transaction, {
      id: this.parts.auditIds.next(this.now),
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

  async #tell(
    target: Installation,
    what: 'setup' | 'deleted',
    more: Readonly<Record<string, unknown>>,
    record: Pick<LifecycleEventRecord, 'gone' | 'held'> = {},
  ): Promise<void> {
    const eventId = lifecycleEventId(this.parts.randomBytes);
    const type = lifecycleEventType(what, target.level);
    await insertLifecycleEvent(this.transaction, this.parts.vault, {
      event: { eventId, type, ...eventIds(target), ...more },
      ...record,
      eventId,
      type,
      target,
      integration: target.integration,
      organization: target.organization,
      depth: this.#by.depth,
      at: this.now,
    });
  }
}

/** A target as everybody may hold it: without what is sealed. */
export function unsealed({
  sealedCredentials,
  sealedSigningSecret,
  ...target
}: SealedInstallation): Installation {
  return target;
}
