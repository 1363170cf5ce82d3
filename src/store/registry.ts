/**
 * The registry: integrations, their versions, and where they are installed.
 *
 * Draws the transactions around the rows (`integration-rows.ts`, `installation-rows.ts`) and keeps the targets
 * (`targets.ts`) true to them. A publish is one transaction: a crash leaves all of it or nothing. Who may ask for what
 * is decided at the doors; what no caller may break (one owner a name, one installation an organization, visibility)
 * is held here, inside the transaction.
 */
import { AnnexError } from '../errors.ts';
import type { Limits } from '../limits.ts';
import { endpointKey, installationId, type RandomBytes, signingSecret } from '../model/identifiers.ts';
import { initialInstallation } from '../model/installation.ts';
import type { LoweredLimits } from '../model/lowered-limits.ts';
import type { PublishedManifest } from '../model/manifest.ts';
import type { Target } from '../model/target.ts';
import { mayInstall } from '../model/visibility.ts';
import {
  type Installation,
  type InstallationQuery,
  insertInstallation,
  installationSecretPlace,
  listInstallations,
  readInstallation,
} from './installation-rows.ts';
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
import { readLoweredLimits, writeLoweredLimits } from './limit-rows.ts';
import type { Page, PageRequest } from './page.ts';
import type { Database } from './tables.ts';
import { type Origins, publicEndpoint, Targets } from './targets.ts';
import type { Vault } from './vault.ts';

export interface RegistryParts {
  readonly database: Database;
  readonly vault: Vault;
  readonly origins: Origins;
  readonly limits: Limits;
  readonly clock: () => number;
  readonly randomBytes: RandomBytes;
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
  async publish({ manifest, script, sourceMap, secrets }: Publication): Promise<number | undefined> {
    const { database, vault, clock, randomBytes } = this.#parts;
    const { name } = manifest;
    const now = clock();
    const secret = vault.seal(integrationSecretPlace(name), signingSecret(randomBytes));
    const number = await database.transaction().execute(async (transaction) => {
      const taken = await takeNextVersion(transaction, manifest, now, secret);
      if (taken === undefined) return undefined;
      await insertVersion(transaction, { number: taken, manifest, script, sourceMap, createdAt: now });
      await upsertSecrets(transaction, vault, name, secrets);
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
  async activate(integration: string, number: number): Promise<void> {
    const { database, clock } = this.#parts;
    await database.transaction().execute(async (transaction) => {
      const version = await readVersion(transaction, integration, number);
      if (version === undefined) {
        throw new AnnexError('VERSION_UNKNOWN', `Integration "${integration}" has no version ${number}.`);
      }
      await activateVersion(transaction, version, clock());
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

  /**
   * Installs the active version into an organization: status and configuration as REFERENCE D11 has them at first.
   *
   * @throws `INTEGRATION_UNKNOWN`, `INSTALLATION_FORBIDDEN` (REFERENCE D12), `INSTALLATION_EXISTS`
   */
  async install(request: {
    readonly integration: string;
    readonly organization: string;
    readonly externalIds: readonly string[];
  }): Promise<Installation> {
    const { database, vault, clock, randomBytes } = this.#parts;
    const { integration: name, organization } = request;
    return database.transaction().execute(async (transaction) => {
      const integration = await readIntegration(transaction, name);
      const version = integration && (await readVersion(transaction, name, integration.activeVersion));
      if (integration === undefined || version === undefined) {
        throw new AnnexError('INTEGRATION_UNKNOWN', `There is no integration "${name}".`);
      }
      if (!mayInstall(integration.visibility, integration.organization, organization)) {
        const message = `Integration "${name}" is ${integration.visibility}; "${organization}" may not install it.`;
        throw new AnnexError('INSTALLATION_FORBIDDEN', message);
      }
      const id = installationId(randomBytes);
      const now = clock();
      const installation: Installation = {
        ...request,
        ...initialInstallation(version.manifest),
        // One row an id: the external ids are a set.
        externalIds: [...new Set(request.externalIds)],
        id,
        endpointKey: endpointKey(randomBytes),
        createdAt: now,
        updatedAt: now,
      };
      const sealedSigningSecret = vault.seal(installationSecretPlace(id), signingSecret(randomBytes));
      if (!(await insertInstallation(transaction, { ...installation, sealedSigningSecret }))) {
        throw new AnnexError('INSTALLATION_EXISTS', `"${organization}" has already installed "${name}".`);
      }
      return installation;
    });
  }

  installation(id: string): Promise<Installation | undefined> {
    return readInstallation(this.#parts.database, id);
  }

  installations(query: InstallationQuery): Promise<Page<Installation>> {
    return listInstallations(this.#parts.database, query);
  }

  /** The URL at which an installation answers (REFERENCE D7). */
  publicEndpoint(installation: Pick<Installation, 'endpointKey'>): string {
    return publicEndpoint(this.#parts.origins, installation.endpointKey);
  }

  /** What a call to this endpoint is for; undefined where no installation has it. */
  target(key: string): Promise<Target | undefined> {
    return this.#targets.get(key);
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
