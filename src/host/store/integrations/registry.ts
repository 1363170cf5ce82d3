/**
 * The registry: integrations and their published versions.
 *
 * It wraps the rows (`integration-rows.ts`) in transactions. A publish is one transaction: after a
 * crash it is stored completely or not at all. Routes authorize the caller; the rule that a name
 * has one owner is enforced here, inside the transaction.
 */

import { AnnexError } from '../../../errors.ts';
import type { Limits } from '../../../limits.ts';
import type { Actor } from '../../../model/actor.ts';
import {
  BUILT_IN_ORGANIZATION,
  endpointKey,
  type RandomBytes,
  signingSecret,
} from '../../../model/identifiers.ts';
import type { LoweredLimits } from '../../../model/lowered-limits.ts';
import type { PublishedManifest } from '../../../model/manifest/manifest.ts';
import { mayPublish, mayShadow } from '../../../model/principal.ts';
import type { NoticeType, ProductNotice } from '../../../model/product-notice.ts';
import {
  isApproved,
  isReviewed,
  type Marketplace,
  type Placement,
  placeActivated,
  placePublished,
} from '../../../model/review.ts';
import { unknownIntegration, unknownVersion } from '../../../model/unknown-name-errors.ts';
import { lock } from '../../database/locks.ts';
import { announce } from '../../database/notices.ts';
import type { Page, PageRequest } from '../../database/page.ts';
import type { Sequence } from '../../database/sequence.ts';
import type { Database } from '../../database/tables.ts';
import { inTransaction } from '../../database/transaction.ts';
import { insertAudit } from '../audit-rows.ts';
import type { NoticeWriter } from '../notice-writer.ts';
import { organizationLock, refuseSubdomain } from '../organizations.ts';
import type { Vault } from '../vault/vault.ts';
import { moveAside } from './built-ins.ts';
import { deleteLogs, isInstalledIn } from './installed-rows.ts';
import { type CanceledTaskFeed, removeIntegration } from './integration-removal.ts';
import {
  activateVersion,
  announceVersion,
  type Integration,
  type IntegrationsQuery,
  insertImages,
  insertVersion,
  integrationLock,
  integrationSecretPlace,
  listIntegrations,
  listVersions,
  noteWaiting,
  passOver,
  readCode,
  readImageRow,
  readIntegration,
  readStaticPaths,
  readVersion,
  type StoredImage,
  takeNextVersion,
  type Version,
  type VersionCode,
  writeReview,
} from './integration-rows.ts';
import { readLoweredLimits, writeLoweredLimits } from './limit-rows.ts';
import { pruneVersions } from './removal-rows.ts';
import { changeVersion } from './schedule-changes.ts';
import { addSecrets, listSecrets, openSecrets, replaceSecrets } from './secret-rows.ts';

export interface RegistryDeps {
  readonly database: Database;
  readonly vault: Vault;
  readonly limits: Limits;
  /** `open` if absent. */
  readonly marketplace?: Marketplace;
  /** Counts pending deliveries. */
  readonly backlog: { change(by: number): void };
  readonly deliveryFeed: CanceledTaskFeed;
  readonly productNotices: NoticeWriter;
  readonly wallNow: () => number;
  readonly randomBytes: RandomBytes;
  /** Numbers the audit entries. */
  readonly auditIds: Sequence;
  /** Called after a commit that changed an integration's limits, before its answer. */
  changed(integration: string): void;
  /**
   * Called after a commit that changed the active version or deleted the integration, before its
   * answer.
   */
  versionChanged(integration: string): void;
  /** Called after a commit, before its answer: the tenants of an integration were deleted. */
  removed(tenants: readonly string[]): void;
}

/** The content of a publish. */
export interface Publication extends VersionCode {
  readonly manifest: PublishedManifest;
  /** Values by name. A secret of the manifest that is not among them keeps its stored value. */
  readonly secrets: ReadonlyMap<string, string>;
  /** Whether the values replace stored ones; by default they are only for secrets without one. */
  readonly overwriteSecrets?: boolean;
  /** Its images; none if absent. */
  readonly images?: readonly StoredImage[];
}

/** What a publish did. */
export interface Published {
  readonly version: number;
  /** Secrets that keep a stored value although the publication has a different one. */
  readonly keptSecrets: readonly string[];
  /** Set where the version waits for the operator's approval. */
  readonly waits?: {
    /** The version that runs meanwhile: the active one. */
    readonly activeVersion: number;
  };
}

/** What a change does in its transaction, beside its audit entry. */
interface VersionChange {
  readonly action: 'integration.activate' | 'integration.approve' | 'integration.refuse';
  readonly notice?: NoticeType;
}

const noticeOfVersion = (
  type: NoticeType,
  { name: integration, organization }: Pick<PublishedManifest, 'name' | 'organization'>,
  version: number,
): ProductNotice => ({ type, organization, integration, details: { version } });

export class Registry {
  readonly #deps: RegistryDeps;

  constructor(deps: RegistryDeps) {
    this.#deps = deps;
  }

  /**
   * Stores a new version and makes it the active one, unless it waits for the operator's approval;
   * the first publish creates the integration.
   * Prunes the oldest versions beyond `versionsPerIntegration`. A built-in integration of that name
   * gets another one, with its installations (`moveAside`).
   *
   * @returns undefined, with nothing changed, if the name belongs to another organization
   * @throws AnnexError REQUEST_INVALID if the organization has become the subdomain of another one
   */
  async publish(
    { manifest, secrets, overwriteSecrets = false, images = [], ...code }: Publication,
    by: Actor,
  ): Promise<Published | undefined> {
    const { database, vault, limits, wallNow, randomBytes, auditIds, productNotices } = this.#deps;
    const { name, organization } = manifest;
    const now = wallNow();
    const secret = vault.seal(integrationSecretPlace(name), signingSecret(randomBytes));
    const fresh = { sealedSigningSecret: secret, endpointKey: endpointKey(randomBytes) };
    const storeSecrets = overwriteSecrets ? replaceSecrets : addSecrets;
    const done = await inTransaction(database, async (transaction) => {
      await lock(transaction, integrationLock(name), organizationLock(organization));
      await refuseSubdomain(transaction, organization);
      const before = await readIntegration(transaction, name);
      const isBuiltIn =
        before?.organization === BUILT_IN_ORGANIZATION && before.organization !== organization;
      if (isBuiltIn && mayShadow(by.principal, manifest.visibility))
        await moveAside(transaction, vault, name, { ...fresh, organization, now });
      const placement = this.#placed(isBuiltIn ? undefined : before, manifest, by);
      const taken = await takeNextVersion(transaction, manifest, now, { ...fresh, ...placement });
      if (taken === undefined) return undefined;
      const review = placement.review && { state: placement.review, at: now };
      await insertVersion(transaction, {
        ...{ number: taken, manifest, ...code, createdAt: now },
        ...(review && { review }),
      });
      await insertImages(transaction, { integration: name, number: taken }, images);
      const keptSecrets = await storeSecrets(transaction, vault, { integration: name, values: secrets, now });
      const details = { version: taken };
      const entry = { action: 'integration.publish', organization, integration: name, details } as const;
      await insertAudit(transaction, { id: auditIds.next(now), at: now, by, entry });
      if (placement.isActive)
        await changeVersion(transaction, manifest, { before: before?.activeVersion, now });
      const kept = before === undefined ? [taken] : [taken, before.activeVersion];
      await pruneVersions(transaction, name, { max: limits.versionsPerIntegration, kept });
      await settleReviews(transaction, { name, before, number: taken, placement, now });
      await announceVersion(transaction, name);
      const waits = placement.review === 'waiting' && {
        activeVersion: placement.isActive ? taken : (before?.activeVersion ?? taken),
      };
      const types: NoticeType[] = [
        ...(placement.isActive ? (['integration.published'] as const) : []),
        ...(waits ? (['integration.submitted'] as const) : []),
      ];
      // Those that come with Annex are published by itself.
      const notices = organization === BUILT_IN_ORGANIZATION ? [] : types;
      const told = notices.map((type) => noticeOfVersion(type, manifest, taken));
      return {
        ...{ version: taken, keptSecrets, ...(waits && { waits }) },
        told: await productNotices.write(transaction, told, now),
      };
    });
    this.#deps.versionChanged(name);
    if (done === undefined) return undefined;
    const { told, ...published } = done;
    productNotices.written(told);
    return published;
  }

  #placed(before: Integration | undefined, { visibility }: PublishedManifest, by: Actor): Placement {
    if (this.#deps.marketplace === 'reviewed') return placePublished(before, visibility, by.principal);
    return { isActive: true, visibility, isUnderReview: before?.isUnderReview ?? false };
  }

  integration(name: string): Promise<Integration | undefined> {
    return readIntegration(this.#deps.database, name);
  }

  /** Secrets that would keep a stored value if this were published now. */
  async keptSecrets({ manifest, secrets, overwriteSecrets }: Publication): Promise<readonly string[]> {
    const { database, vault } = this.#deps;
    if (overwriteSecrets) return [];
    const stored = await openSecrets(database, vault, manifest.name, [...secrets.keys()]);
    return [...stored].filter(([name, value]) => value !== secrets.get(name)).map(([name]) => name);
  }

  /** Names of the secrets of an integration that have a value. */
  async secretNames(name: string): Promise<readonly string[]> {
    return (await listSecrets(this.#deps.database, name)).map((secret) => secret.name);
  }

  /** Whether an organization has installed it. */
  isInstalledIn(integration: string, organization: string): Promise<boolean> {
    return isInstalledIn(this.#deps.database, integration, organization);
  }

  /** Sorted by name; with `visibleTo`, only integrations that this organization can see. */
  integrations(query: IntegrationsQuery): Promise<Page<Integration>> {
    return listIntegrations(this.#deps.database, query);
  }

  version(integration: string, number: number): Promise<Version | undefined> {
    return readVersion(this.#deps.database, integration, number);
  }

  /** An image of a version. @param path from the folder of the manifest */
  image(integration: string, number: number, path: string): Promise<Uint8Array | undefined> {
    return readImageRow(this.#deps.database, { integration, number }, path);
  }

  /** Paths of the static files of a version. */
  staticPaths(integration: string, number: number): Promise<readonly string[]> {
    return readStaticPaths(this.#deps.database, { integration, number });
  }

  /** Newest first. */
  versions(query: PageRequest & { readonly integration: string }): Promise<Page<Omit<Version, 'manifest'>>> {
    return listVersions(this.#deps.database, query);
  }

  /**
   * Makes a version the active one, for instance to roll back a publish. Does nothing if it is
   * active already. Installations keep their status, also if the version requires other settings;
   * their next edit is checked against it.
   *
   * @throws `INTEGRATION_UNKNOWN`, `VERSION_UNKNOWN`, `VERSION_UNAPPROVED`
   */
  async activate(integration: string, number: number, by: Actor): Promise<void> {
    await this.#audited(integration, number, by, async (transaction, before, version, now) => {
      if (before.activeVersion === number) return undefined;
      const { visibility: wanted } = version.manifest;
      const placement =
        this.#deps.marketplace === 'reviewed'
          ? placeActivated(before, { number, wanted, review: version.review })
          : { visibility: wanted, isUnderReview: before.isUnderReview };
      await activateVersion(transaction, version, placement, now);
      await changeVersion(transaction, version.manifest, { before: before.activeVersion, now });
      return { action: 'integration.activate' };
    });
  }

  /**
   * Approves a version: it becomes the active one, with the visibility of its manifest. Does
   * nothing if it is approved already.
   *
   * @throws `INTEGRATION_UNKNOWN`, `VERSION_UNKNOWN`
   */
  async approve(integration: string, number: number, by: Actor): Promise<Version> {
    return this.#audited(integration, number, by, async (transaction, before, version, now) => {
      if (version.review?.state === 'approved') return undefined;
      const { visibility } = version.manifest;
      const isUnderReview = isReviewed(before) || visibility === 'public';
      const placement = { isActive: true, visibility, isUnderReview, review: 'approved' } as const;
      await writeReview(transaction, version, { state: 'approved', at: now });
      await activateVersion(transaction, version, placement, now);
      await settleReviews(transaction, { name: integration, before, number, placement, now });
      if (before.activeVersion !== number)
        await changeVersion(transaction, version.manifest, { before: before.activeVersion, now });
      return { action: 'integration.approve', notice: 'integration.approved' };
    });
  }

  /**
   * Refuses a version. An approved one is refused as well, so that it is not activated again. Does
   * nothing if it was refused for the same reason.
   *
   * @throws `INTEGRATION_UNKNOWN`, `VERSION_UNKNOWN`
   * @throws `VERSION_ACTIVE` if it runs, unless it waits and so runs for nobody but its owner
   */
  async refuse(integration: string, number: number, reason: string, by: Actor): Promise<Version> {
    return this.#audited(integration, number, by, async (transaction, before, version, now) => {
      const { review } = version;
      if (review?.state === 'refused' && review.reason === reason) return undefined;
      if (before.activeVersion === number && (isApproved(review) || isReviewed(before)))
        throw new AnnexError('VERSION_ACTIVE', `Version ${number} of "${integration}" is the active one.`);
      await writeReview(transaction, version, { state: 'refused', at: now, reason });
      await noteWaiting(transaction, integration);
      return { action: 'integration.refuse', notice: 'integration.refused' };
    });
  }

  /**
   * Changes a version under the lock of its integration, with an audit entry and a notice.
   *
   * @param change undefined where there is nothing to change
   * @returns the version as it is afterwards
   */
  async #audited(
    integration: string,
    number: number,
    by: Actor,
    change: (
      transaction: Database,
      before: Integration,
      version: Version,
      now: number,
    ) => Promise<VersionChange | undefined>,
  ): Promise<Version> {
    const { database, wallNow, auditIds, productNotices } = this.#deps;
    const now = wallNow();
    const { version, told } = await inTransaction(database, async (transaction) => {
      await lock(transaction, integrationLock(integration));
      const before = await readIntegration(transaction, integration);
      // The name may belong to another organization since the route authorized the caller.
      if (before === undefined || !mayPublish(by.principal, before.organization))
        throw unknownIntegration(integration);
      const found = await readVersion(transaction, integration, number);
      if (found === undefined) throw unknownVersion(integration, number);
      const changed = await change(transaction, before, found, now);
      if (changed === undefined) return { version: found, told: [] };
      const { action, notice } = changed;
      const { organization } = found.manifest;
      const entry = { action, organization, integration, details: { version: number } };
      await insertAudit(transaction, { id: auditIds.next(now), at: now, by, entry });
      await announceVersion(transaction, integration);
      const notices = notice === undefined ? [] : [noticeOfVersion(notice, found.manifest, number)];
      return {
        version: (await readVersion(transaction, integration, number)) ?? found,
        told: await productNotices.write(transaction, notices, now),
      };
    });
    this.#deps.versionChanged(integration);
    productNotices.written(told);
    return version;
  }

  /** Limits that are lowered for an integration; undefined if there is no such integration. */
  loweredLimits(integration: string): Promise<LoweredLimits | undefined> {
    return readLoweredLimits(this.#deps.database, integration);
  }

  /**
   * Replaces an integration's lowered limits; they apply to calls that start afterwards. @throws
   * `INTEGRATION_UNKNOWN`
   */
  async lowerLimits(integration: string, lowered: LoweredLimits, by: Actor): Promise<void> {
    const { database, wallNow, auditIds } = this.#deps;
    const now = wallNow();
    await inTransaction(database, async (transaction) => {
      await lock(transaction, integrationLock(integration));
      const before = await readIntegration(transaction, integration);
      if (before === undefined) throw unknownIntegration(integration);
      await writeLoweredLimits(transaction, integration, lowered);
      const { organization } = before;
      const details = { lowered: Object.keys(lowered) };
      const entry = { action: 'integration.limits', organization, integration, details } as const;
      await insertAudit(transaction, { id: auditIds.next(now), at: now, by, entry });
      await announce(transaction, 'integration', integration);
    });
    this.#deps.changed(integration);
  }

  /**
   * Deletes an integration with its versions, images and secrets. Its installations get no
   * lifecycle event, because the code that would handle it is deleted, too. Calls in flight may
   * finish.
   *
   * @param owned the integration, and its owner when the caller was authorized: the name may belong
   * to another one by now
   * @param cascade whether its installations are deleted, too
   * @throws `INTEGRATION_UNKNOWN`; `INTEGRATION_INSTALLED` if there are installations and `cascade`
   * is false
   */
  async delete(
    owned: Pick<Integration, 'name' | 'organization'>,
    { cascade }: { readonly cascade: boolean },
    by: Actor,
  ): Promise<void> {
    const { database } = this.#deps;
    const tenants = await removeIntegration(this.#deps, owned, { cascade, by });
    this.#deps.versionChanged(owned.name);
    this.#deps.removed(tenants);
    // After the transaction, for which other writers wait: logs are by far the most rows, and no
    // principal can read them any more. `Logs.sweep` removes those that a crash leaves here.
    await deleteLogs(database, tenants);
  }

  /** The bundle of one version. @param key as `scriptKey` makes it. */
  async script(key: string): Promise<Uint8Array | undefined> {
    const text = await this.#code('script', key);
    return text === undefined ? undefined : Buffer.from(text, 'utf8');
  }

  /** The source map of one version, as JSON text; undefined if there is no such version. */
  sourceMap(key: string): Promise<string | undefined> {
    return this.#code('source_map', key);
  }

  async #code(column: 'script' | 'source_map', key: string): Promise<string | undefined> {
    const at = key.lastIndexOf('@');
    const number = Number(key.slice(at + 1));
    if (at < 1 || !Number.isSafeInteger(number)) return undefined;
    return readCode(this.#deps.database, column, key.slice(0, at), number);
  }
}

/** What a version that was placed does to the review of the others, and of the integration. */
async function settleReviews(
  transaction: Database,
  {
    name,
    before,
    number,
    placement: { review, isUnderReview },
    now,
  }: {
    readonly name: string;
    readonly before: Integration | undefined;
    readonly number: number;
    readonly placement: Placement;
    readonly now: number;
  },
): Promise<void> {
  const othersWait = before?.waitingVersion !== undefined;
  const becomesPublic = isUnderReview && before !== undefined && !isReviewed(before);
  if (review === 'approved' && (othersWait || becomesPublic))
    await passOver(transaction, name, { number, becomesPublic, now });
  if (review === 'waiting' || othersWait) await noteWaiting(transaction, name);
}
