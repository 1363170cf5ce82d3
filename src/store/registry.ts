/**
 * The registry: integrations and their versions, and what a call to an endpoint is for.
 *
 * Draws the transactions around the rows (`integration-rows.ts`) and keeps the targets (`targets.ts`) true to them. A
 * publish is one transaction: a crash leaves all of it or nothing. Who may ask for what is decided at the doors; what no
 * caller may break (one owner a name) is held here, inside the transaction.
 */
import { AnnexError } from '../errors.ts';
import type { Limits } from '../limits.ts';
import type { Actor } from '../model/actor.ts';
import { type RandomBytes, signingSecret } from '../model/identifiers.ts';
import type { TargetName } from '../model/installation.ts';
import type { LoweredLimits } from '../model/lowered-limits.ts';
import type { PublishedManifest } from '../model/manifest.ts';
import type { Target } from '../model/target.ts';
import { insertAudit } from './audit-rows.ts';
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
  upsertSecrets,
  type Version,
} from './integration-rows.ts';
import type { GoneTarget } from './life-event-rows.ts';
import { readLoweredLimits, writeLoweredLimits } from './limit-rows.ts';
import type { Page, PageRequest } from './page.ts';
import type { Sequence } from './sequence.ts';
import type { Database } from './tables.ts';
import type { Installation } from './target-rows.ts';
import { type Origins, publicEndpoint, Targets } from './targets.ts';
import type { Vault } from './vault.ts';

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
export interface Publication {
  readonly manifest: PublishedManifest;
  /** The bundle, as `BundleResult.script`. */
  readonly script: string;
  /** JSON text. */
  readonly sourceMap: string;
  /** Values by name, one for each name in the manifest. */
  readonly secrets: ReadonlyMap<string, string>;
}

export class Registry {
  readonly #parts: RegistryParts;
  readonly #targets: Targets;

  constructor(parts: RegistryParts) {
    this.#parts = parts;
    this.#targets = new Targets(parts);
  }

  /**
   * Stores a new version and makes it the active one; the integration's first publish creates it.
   *
   * @returns the version's number, or undefined, with nothing changed, where the name belongs to another organization.
   */
  async publish(
    { manifest, script, sourceMap, secrets }: Publication,
    by: Actor,
  ): Promise<number | undefined> {
    const { database, vault, clock, randomBytes, auditIds } = this.#parts;
    const { name } = manifest;
    const now = clock();
    const secret = vault.seal(integrationSecretPlace(name), signingSecret(randomBytes));
    const number = await database.transaction().execute(async (transaction) => {
      const taken = await takeNextVersion(transaction, manifest, now, secret);
      if (taken === undefined) return undefined;
      await insertVersion(transaction, { number: taken, manifest, script, sourceMap, createdAt: now });
      await upsertSecrets(transaction, vault, name, secrets);
      const { organization } = manifest;
      const details = { version: taken };
      const entry = { action: 'integration.publish', organization, integration: name, details } as const;
      await insertAudit(transaction, { id: auditIds.next(now), at: now, by, entry });
      return taken;
    });
    this.#targets.forget(name);
    return number;
  }

  integration(name: string): Promise<Integration | undefined> {
    return readIntegration(this.#parts.database, name);
  }

  /** By name; `visibleTo` leaves out what that organization may not see. */
  integrations(query: PageRequest & { readonly visibleTo?: string | undefined }): Promise<Page<Integration>> {
    return listIntegrations(this.#parts.database, query);
  }

  version(integration: string, number: number): Promise<Version | undefined> {
    return readVersion(this.#parts.database, integration, number);
  }

  /** Newest first. */
  versions(query: PageRequest & { readonly integration: string }): Promise<Page<Omit<Version, 'manifest'>>> {
    return listVersions(this.#parts.database, query);
  }

  /** Makes a version the active one: how a publish is rolled back. @throws `VERSION_UNKNOWN` */
  async activate(integration: string, number: number, by: Actor): Promise<void> {
    const { database, clock, auditIds } = this.#parts;
    const now = clock();
    await database.transaction().execute(async (transaction) => {
      const version = await readVersion(transaction, integration, number);
      if (version === undefined) {
        throw new AnnexError('VERSION_UNKNOWN', `Integration "${integration}" has no version ${number}.`);
      }
      await activateVersion(transaction, version, now);
      const { organization } = version.manifest;
      const details = { version: number };
      const entry = { action: 'integration.activate', organization, integration, details } as const;
      await insertAudit(transaction, { id: auditIds.next(now), at: now, by, entry });
    });
    this.#targets.forget(integration);
  }

  /** Limits that are lowered for an integration; undefined where there is no such integration. */
  loweredLimits(integration: string): Promise<LoweredLimits | undefined> {
    return readLoweredLimits(this.#parts.database, integration);
  }

  /** Lowers these limits for an integration and no others: calls that start after it are held to them. @throws `INTEGRATION_UNKNOWN` */
  async lowerLimits(integration: string, lowered: LoweredLimits): Promise<void> {
    if (!(await writeLoweredLimits(this.#parts.database, integration, lowered)))
      throw new AnnexError('INTEGRATION_UNKNOWN', `There is no integration "${integration}".`);
    this.#targets.forget(integration);
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

  /** What a call to a target that is deleted is for; undefined where its integration is gone, too. */
  goneTarget(gone: GoneTarget): Promise<Target | undefined> {
    return this.#targets.gone(gone);
  }

  /** Has calls that start from now on see what has become of an installation. Called after a commit, before its answer. */
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
