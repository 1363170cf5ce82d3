/**
 * Reads what targets are made of: their rows, the active version of their integration, and its
 * secrets, with sealed values opened. Caches nothing: `targets/target-resolver.ts` caches the
 * targets that it builds from these records.
 */

import { type TargetName, wholeInstallation } from '../../model/installation.ts';
import type { LoweredLimits } from '../../model/lowered-limits.ts';
import { CREDENTIALS_PROPERTY } from '../../model/manifest/configuration.ts';
import type { Database } from '../database/tables.ts';
import type { DeletedTarget } from './installations/lifecycle-event-rows.ts';
import { countSpaces } from './installations/place-rows.ts';
import {
  credentialsPlace,
  type Installation,
  readTarget,
  readTargetByEndpoint,
  type SealedInstallation,
  signingSecretPlace,
  targetKey,
} from './installations/target-rows.ts';
import {
  integrationSecretPlace,
  readActiveVersion,
  readIntegration,
  readNameByEndpoint,
  type Version,
} from './integrations/integration-rows.ts';
import { loweredLimitsOf } from './integrations/limit-rows.ts';
import { openSecrets } from './integrations/secret-rows.ts';
import type { Vault } from './vault/vault.ts';

export interface TargetSourceDeps {
  readonly database: Database;
  readonly vault: Pick<Vault, 'open'>;
}

/** A target of an integration, and the installation that it is part of. */
export interface InstalledRecord {
  /** With `oauth_credentials` in its configuration. */
  readonly own: Installation;
  /** The target's installation; the same object if the target is an installation. */
  readonly installation: Installation;
  /** Those of both; the same if the target is an installation. */
  readonly signingSecrets: { readonly own: string; readonly installation: string };
  /** Number of spaces that the installation was added to. */
  readonly spaces: number;
}

/**
 * What answers at an endpoint, with everything that its environment contains, except URLs and
 * runtime tokens.
 */
export interface EndpointRecord {
  /** Absent for the integration's own endpoint. */
  readonly installed?: InstalledRecord;
  /** Key of the integration's own endpoint. */
  readonly integrationKey: string;
  /** Version that its calls run. */
  readonly version: Version;
  /** Event types that the version handles; absent if not known. */
  readonly handles?: readonly string[];
  /** When the integration was first published, in milliseconds since 1970. */
  readonly since: number;
  readonly loweredLimits: LoweredLimits;
  /** Values of the secrets that the version declares, by name. */
  readonly secrets: ReadonlyMap<string, string>;
  /** Of the integration. */
  readonly signingSecret: string;
}

/** The rows of a target and its installation; the same row if the target is an installation. */
interface TargetRows {
  readonly own: SealedInstallation;
  readonly installation: SealedInstallation;
}

type ActiveIntegration = Exclude<Awaited<ReturnType<typeof readActiveVersion>>, undefined>;

export class TargetSource {
  readonly #deps: TargetSourceDeps;

  constructor(deps: TargetSourceDeps) {
    this.#deps = deps;
  }

  /** What answers at the endpoint with this key; undefined if there is nothing. */
  async atEndpoint(endpointKey: string): Promise<EndpointRecord | undefined> {
    const { database } = this.#deps;
    const own = await readTargetByEndpoint(database, endpointKey);
    if (own === undefined) return this.#atIntegration(endpointKey);
    const rows = await this.#rows(own);
    const integration = rows && (await readActiveVersion(database, rows.own.integration));
    return integration && this.#record(integration, rows);
  }

  async #atIntegration(endpointKey: string): Promise<EndpointRecord | undefined> {
    const { database } = this.#deps;
    const name = await readNameByEndpoint(database, endpointKey);
    const integration = name === undefined ? undefined : await readActiveVersion(database, name);
    // Between the two statements, the name may have become that of another integration.
    return integration?.endpoint_key === endpointKey ? this.#record(integration) : undefined;
  }

  /** Key of an integration's own endpoint; undefined if there is no such integration. */
  async integrationKeyOf(integration: string): Promise<string | undefined> {
    return (await readIntegration(this.#deps.database, integration))?.endpointKey;
  }

  /** Endpoint key of the target of this name; undefined if there is none. */
  async endpointKeyOf(name: TargetName): Promise<string | undefined> {
    return (await readTarget(this.#deps.database, name))?.endpointKey;
  }

  /** A deleted target as it was; undefined if its integration is deleted, too. */
  async deleted({ target, installation }: DeletedTarget): Promise<EndpointRecord | undefined> {
    const rows = await this.#rows(target, installation);
    if (rows === undefined) return undefined;
    const integration = await readActiveVersion(this.#deps.database, target.integration);
    // Attack: to republish under the name of a deleted integration, and receive the secrets of its
    // deleted installations.
    if (integration === undefined || integration.created_at > rows.installation.createdAt) return undefined;
    return this.#record(integration, rows);
  }

  /**
   * When the integration of this name was first published, in milliseconds since 1970; undefined if
   * there is none.
   */
  async firstPublishedAt(integration: string): Promise<number | undefined> {
    const row = await this.#deps.database
      .selectFrom('integrations')
      .select('created_at')
      .where('name', '=', integration)
      .executeTakeFirst();
    return row?.created_at;
  }

  /** Organization of a target of this integration; undefined if there is none. */
  async organizationOf(target: TargetName, integration: string): Promise<string | undefined> {
    const row = await this.#deps.database
      .selectFrom('targets')
      .select('organization')
      .where((row) => row.and(targetKey(target)))
      .where('integration', '=', integration)
      .executeTakeFirst();
    return row?.organization;
  }

  /** @param above the installation of a space or site target, if it was read already */
  async #rows(own: SealedInstallation, above?: SealedInstallation): Promise<TargetRows | undefined> {
    if (own.level === 'organization') return { own, installation: own };
    const installation =
      above ?? (await readTarget(this.#deps.database, wholeInstallation(own.installationId)));
    return installation && { own, installation };
  }

  async #record(
    { version, handles, created_at: since, ...row }: ActiveIntegration,
    rows?: TargetRows,
  ): Promise<EndpointRecord> {
    const { database, vault } = this.#deps;
    const { name, secrets } = version.manifest;
    return {
      ...(rows && { installed: await this.#installed(rows) }),
      integrationKey: row.endpoint_key,
      ...{ version, since },
      ...(handles && { handles }),
      loweredLimits: loweredLimitsOf(row.lowered_limits),
      secrets: await openSecrets(database, vault, name, secrets),
      signingSecret: vault.open(integrationSecretPlace(name), row.sealed_signing_secret),
    };
  }

  async #installed({ own, installation }: TargetRows): Promise<InstalledRecord> {
    const { installationId } = installation;
    const spaces = (await countSpaces(this.#deps.database, [installationId])).get(installationId) ?? 0;
    const whole = this.#opened(installation);
    const secretOf = (target: SealedInstallation): string =>
      this.#deps.vault.open(signingSecretPlace(target), target.sealedSigningSecret);
    return {
      own: own === installation ? whole : this.#opened(own),
      installation: whole,
      signingSecrets: { own: secretOf(own), installation: secretOf(installation) },
      spaces,
    };
  }

  #opened({ sealedCredentials, sealedSigningSecret, ...target }: SealedInstallation): Installation {
    if (sealedCredentials === null) return target;
    const credentials: unknown = JSON.parse(
      this.#deps.vault.open(credentialsPlace(target), sealedCredentials),
    );
    return { ...target, configuration: { ...target.configuration, [CREDENTIALS_PROPERTY]: credentials } };
  }
}
