/**
 * The registry: integrations and their versions, and what a call to an endpoint is for.
 *
 * Draws the transactions around the rows (`integration-rows.ts`) and keeps the targets
 * (`target-resolver.ts`) true to them. A publish is one transaction: a crash leaves all of it or
 * nothing. Who may ask for what is decided at the doors; what no caller may break (one owner a
 * name) is held here, inside the transaction.
 */

import type { Page, PageRequest } from '../../database/page.ts';
import type { Sequence } from '../../database/sequence.ts';
import type { Database } from '../../database/tables.ts';
import { AnnexError } from '../../errors.ts';
import type { Limits } from '../../limits.ts';
import type { Actor } from '../../model/actor.ts';
import { type RandomBytes, signingSecret } from '../../model/identifiers.ts';
import { type TargetName, wholeInstallation } from '../../model/installation.ts';
import type { LoweredLimits } from '../../model/lowered-limits.ts';
import type { PublishedManifest } from '../../model/manifest/manifest.ts';
import { mayPublish } from '../../model/principal.ts';
import type { Target } from '../../model/target.ts';
import { unknownIntegration, unknownVersion } from '../../model/unknown.ts';
import { type Origins, publicEndpoint, Targets } from '../../targets/target-resolver.ts';
import { insertAudit } from '../audit-rows.ts';
import type { GoneTarget } from '../installations/lifecycle-event-rows.ts';
import { findTarget, type Installation } from '../installations/target-rows.ts';
import type { Vault } from '../vault/vault.ts';
import { insertImages, readActiveImage, type StoredImage } from './image-rows.ts';
import {
  activateVersion,
  type Integration,
  insertVersion,
  integrationSecretPlace,
  listIntegrations,
  listVersions,
  readCode,
  readIntegration,
  readVersion,
  takeNextVersion,
  type Version,
  type VersionCode,
} from './integration-rows.ts';
import { readLoweredLimits, writeLoweredLimits } from './limit-rows.ts';
import {
  countInstallations,
  deleteIntegration,
  deleteLogs,
  installationsOf,
  pruneVersions,
} from './removal-rows.ts';
import { upsertSecrets } from './secret-rows.ts';

export interface RegistryParts {
  readonly database: Database;
  readonly vault: Vault;
  readonly origins: Origins;
  readonly limits: Limits;
  readonly clock: () => number;
  readonly randomBytes: RandomBytes;
  /** Numbers the entries of the audit. */
  readonly auditIds: Sequence;
}

/** Everything a publish stores. */
export interface Publication extends VersionCode {
  readonly manifest: PublishedManifest;
  /** Values by name, one for each name in the manifest. */
  readonly secrets: ReadonlyMap<string, string>;
  /** The images that the manifest names; none unless given. */
  readonly images?: readonly StoredImage[];
}

export class Registry {
  readonly #parts: RegistryParts;
  readonly #targets: Targets;
  /**
   * Told after a commit that has made another version the active one, or has deleted the
   * integration; before its answer.
   */
  onVersionChanged: ((integration: string) => void) | undefined;

  constructor(parts: RegistryParts) {
    this.#parts = parts;
    this.#targets = new Targets(parts);
  }

  /**
   * Stores a new version and makes it the active one; the integration's first publish creates it.
   * The oldest versions beyond `versionsPerIntegration` are forgotten.
   *
   * @returns the version's number, or undefined, with nothing changed, where the name belongs to
   * another organization.
   */
  async publish(
    { manifest, secrets, images = [], ...code }: Publication,
    by: Actor,
  ): Promise<number | undefined> {
    const { database, vault, limits, clock, randomBytes, auditIds } = this.#parts;
    const { name } = manifest;
    const now = clock();
    const secret = vault.seal(integrationSecretPlace(name), signingSecret(randomBytes));
    const number = await database.transaction().execute(async (transaction) => {
      const before = await readIntegration(transaction, name);
      const taken = await takeNextVersion(transaction, manifest, now, secret);
      if (taken === undefined) return undefined;
      await insertVersion(transaction, { number: taken, manifest, ...code, createdAt: now });
      await insertImages(transaction, { integration: name, number: taken }, images);
      await upsertSecrets(transaction, vault, { integration: name, values: secrets, now });
      const { organization } = manifest;
      const details = { version: taken };
      const entry = { action: 'integration.publish', organization, integration: name, details } as const;
      await insertAudit(transaction, { id: auditIds.next(now), at: now, by, entry });
      const kept = before === undefined ? [taken] : [taken, before.activeVersion];
      await pruneVersions(transaction, name, { max: limits.versionsPerIntegration, kept });
      return taken;
    });
    this.#versionChanged(name);
    return number;
  }

  integration(name: string): Promise<Integration | undefined> {
    return readIntegration(this.#parts.database, name);
  }

  /** Whether an organization has installed it. */
  async isInstalledIn(integration: string, organization: string): Promise<boolean> {
    const name = { integration, organization, level: 'organization', place: '' } as const;
    return (await findTarget(this.#parts.database, name)) !== undefined;
  }

  /** By name; `visibleTo` leaves out what that organization may not see. */
  integrations(query: PageRequest & { readonly visibleTo?: string | undefined }): Promise<Page<Integration>> {
    return listIntegrations(this.#parts.database, query);
  }

  version(integration: string, number: number): Promise<Version | undefined> {
    return readVersion(this.#parts.database, integration, number);
  }

  /** An image of the active version, PNG. @param path as its manifest names it */
  image(integration: string, path: string): Promise<Uint8Array | undefined> {
    return readActiveImage(this.#parts.database, integration, path);
  }

  /** Newest first. */
  versions(query: PageRequest & { readonly integration: string }): Promise<Page<Omit<Version, 'manifest'>>> {
    return listVersions(this.#parts.database, query);
  }

  /**
   * Makes a version the active one: how a publish is rolled back. That it is so already changes and
   * notes nothing. Installations keep their status, also where the version asks for other settings:
   * each edit looks at them anew.
   *
   * @throws `INTEGRATION_UNKNOWN`, `VERSION_UNKNOWN`
   */
  async activate(integration: string, number: number, by: Actor): Promise<void> {
    const { database, clock, auditIds } = this.#parts;
    const now = clock();
    await database.transaction().execute(async (transaction) => {
      const before = await readIntegration(transaction, integration);
      // The name may have changed hands since the door has looked.
      if (before === undefined || !mayPublish(by.principal, before.organization))
        throw unknownIntegration(integration);
      const version = await readVersion(transaction, integration, number);
      if (version === undefined) throw unknownVersion(integration, number);
      if (before.activeVersion === number) return;
      await activateVersion(transaction, version, now);
      const { organization } = version.manifest;
      const details = { version: number };
      const entry = { action: 'integration.activate', organization, integration, details } as const;
      await insertAudit(transaction, { id: auditIds.next(now), at: now, by, entry });
    });
    this.#versionChanged(integration);
  }

  /** Limits that are lowered for an integration; undefined where there is no such integration. */
  loweredLimits(integration: string): Promise<LoweredLimits | undefined> {
    return readLoweredLimits(this.#parts.database, integration);
  }

  /**
   * Lowers these limits for an integration and no others: calls that start after it are held to
   * them. @throws `INTEGRATION_UNKNOWN`
   */
  async lowerLimits(integration: string, lowered: LoweredLimits, by: Actor): Promise<void> {
    const { database, clock, auditIds } = this.#parts;
    const now = clock();
    await database.transaction().execute(async (transaction) => {
      const before = await readIntegration(transaction, integration);
      if (before === undefined) throw unknownIntegration(integration);
      await writeLoweredLimits(transaction, integration, lowered);
      const { organization } = before;
      const details = { lowered: Object.keys(lowered) };
      const entry = { action: 'integration.limits', organization, integration, details } as const;
      await insertAudit(transaction, { id: auditIds.next(now), at: now, by, entry });
    });
    this.integrationChanged(integration);
  }

  /**
   * Deletes an integration with its versions, images and secrets. Its installations are told
   * nothing: the code that would hear of it is gone, too. Calls under way may finish.
   *
   * @param owner whose it was when the caller's right to this was looked at: the name may have
   * changed hands since
   * @param cascade whether its installations, and what is theirs, go with it
   * @throws `INTEGRATION_UNKNOWN`, `INTEGRATION_INSTALLED` where there are installations and
   * `cascade` is not said
   */
  async delete(
    { name: integration, organization: owner }: Pick<Integration, 'name' | 'organization'>,
    { cascade }: { readonly cascade: boolean },
    by: Actor,
  ): Promise<void> {
    const { database, clock, auditIds } = this.#parts;
    const now = clock();
    const gone = await database.transaction().execute(async (transaction) => {
      const before = await readIntegration(transaction, integration);
      if (before?.organization !== owner) throw unknownIntegration(integration);
      const { organization, latestVersion } = before;
      const count = await countInstallations(transaction, integration);
      if (count > 0 && !cascade) throw installed(integration, count);
      const installations = await installationsOf(transaction, integration);
      // Each organization learns what has become of its own.
      for (const { installationId, organization: whose } of installations) {
        const target = wholeInstallation(installationId);
        const entry = { action: 'installation.delete', organization: whose, integration, target } as const;
        await insertAudit(transaction, { id: auditIds.next(now), at: now, by, entry });
      }
      await deleteIntegration(transaction, integration, { latestVersion, now });
      const details = { installations: installations.length };
      const entry = { action: 'integration.delete', organization, integration, details } as const;
      await insertAudit(transaction, { id: auditIds.next(now), at: now, by, entry });
      return installations;
    });
    this.#versionChanged(integration);
    // By far the most of what was theirs, and nobody can read it any more: not while everybody
    // waits for the transaction. What a crash leaves here, `Logs.sweep` finds.
    await deleteLogs(database, gone);
  }

  /** Base URL of the API, as integrations and browsers see it, without a trailing slash. */
  get apiUrl(): string {
    return this.#parts.origins.apiUrl;
  }

  /** The URL at which an installation answers (REFERENCE D7). */
  publicEndpoint(installation: Pick<Installation, 'endpointKey'>): string {
    return publicEndpoint(this.#parts.origins, installation.endpointKey);
  }

  /** What a call to this endpoint is for; undefined where no installation has it. */
  target(key: string): Promise<Target | undefined> {
    return this.#targets.get(key);
  }

  /** What a call to this target is for; undefined where there is none of that name. */
  targetNamed(name: TargetName): Promise<Target | undefined> {
    return this.#targets.named(name);
  }

  /**
   * What a call to a target that is deleted is for; undefined where its integration is gone, too.
   */
  goneTarget(gone: GoneTarget): Promise<Target | undefined> {
    return this.#targets.gone(gone);
  }

  /**
   * Has calls that start from now on see what has become of an integration. Called after a commit,
   * before its answer.
   */
  integrationChanged(integration: string): void {
    this.#targets.forget(integration);
  }

  #versionChanged(integration: string): void {
    this.integrationChanged(integration);
    this.onVersionChanged?.(integration);
  }

  /**
   * Has calls that start from now on see what has become of an installation. Called after a commit,
   * before its answer.
   */
  installationChanged(installationId: string): void {
    this.#targets.forgetInstallation(installationId);
  }

  /** The bundle of one version. @param key as `scriptKey` makes it. */
  async script(key: string): Promise<Uint8Array | undefined> {
    const text = await this.#code('script', key);
    return text === undefined ? undefined : Buffer.from(text, 'utf8');
  }

  /** The source map of one version, as JSON text; undefined where there is no such version. */
  sourceMap(key: string): Promise<string | undefined> {
    return this.#code('source_map', key);
  }

  async #code(column: 'script' | 'source_map', key: string): Promise<string | undefined> {
    const at = key.lastIndexOf('@');
    const number = Number(key.slice(at + 1));
    if (at < 1 || !Number.isSafeInteger(number)) return undefined;
    return readCode(this.#parts.database, column, key.slice(0, at), number);
  }
}

function installed(integration: string, installations: number): AnnexError {
  const many = installations === 1 ? 'an organization has' : `${installations} organizations have`;
  const message = `Integration "${integration}" cannot be deleted: ${many} it installed. "cascade=true" deletes that, too.`;
  return new AnnexError('INTEGRATION_INSTALLED', message, { extra: { installations } });
}
