/**
 * Resolves targets by endpoint key or name, cached: the first step of every call.
 *
 * A target is dropped from the cache after the commit of a change to it and before the answer to
 * that change, so a call that starts after the answer sees the change. Unknown keys are not cached.
 * Attack: to evict real targets by guessing keys.
 */
import { LRUCache } from 'lru-cache';
import type { Database } from '../database/tables.ts';
import type { Limits } from '../limits.ts';
import { endpointUrl } from '../model/endpoint-url.ts';
import { buildEnvironment, type Environment, type TargetParts } from '../model/environment.ts';
import { ENDPOINT_KEY } from '../model/identifiers.ts';
import { CREDENTIALS_PROPERTY, type TargetName, wholeInstallation } from '../model/installation.ts';
import { isolateLimits, limitsUnder } from '../model/lowered-limits.ts';
import { policyHeader } from '../model/manifest/content-security-policy.ts';
import { EgressHosts } from '../model/manifest/egress-hosts.ts';
import type { PublishedManifest } from '../model/manifest/manifest.ts';
import { isolateKey, type Target } from '../model/target.ts';
import type { GoneTarget } from '../store/installations/lifecycle-event-rows.ts';
import {
  credentialsPlace,
  readTarget,
  readTargetByEndpoint,
  type SealedInstallation,
  signingSecretPlace,
} from '../store/installations/target-rows.ts';
import { integrationSecretPlace, readActiveVersion } from '../store/integrations/integration-rows.ts';
import { loweredLimitsOf } from '../store/integrations/limit-rows.ts';
import { openSecrets } from '../store/integrations/secret-rows.ts';
import type { Vault } from '../store/vault/vault.ts';
import { LiveEnvironment } from './live-environment.ts';
import { RuntimeTokenMint, type RuntimeTokenSubject } from './runtime-tokens.ts';

const TARGETS_CACHED = 20_000;
/**
 * An environment can hold 100 KiB of secrets: a bound on the number of targets alone would allow
 * gigabytes.
 */
const TARGET_BYTES_CACHED = 128 * 1024 * 1024;
/** Estimated size of a target beside its environment. */
const TARGET_BASE_BYTES = 2 * 1024;

/**
 * Both base URLs, without a trailing slash. Read at each use, because a port may be known only
 * after listening.
 */
export interface Origins {
  /** Of the public listener; `endpointUrl` derives endpoints from it. */
  readonly publicUrl: string;
  /** Of the control API, as integrations and browsers reach it. */
  readonly apiUrl: string;
}

export interface TargetsParts {
  readonly database: Database;
  readonly vault: Vault;
  readonly origins: Origins;
  /** The deployment's limits; an integration may have lower ones. */
  readonly limits: Limits;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** The rows of a target and its installation; the same row if the target is an installation. */
interface TargetRows {
  readonly own: SealedInstallation;
  readonly installation: SealedInstallation;
}

/** The URL of a target's endpoint (docs/contract/endpoints.md#urls). */
export const publicEndpoint = (origins: Origins, endpointKey: string): string =>
  endpointUrl(origins.publicUrl, endpointKey);

export class Targets {
  readonly #parts: TargetsParts;
  readonly #cache = new LRUCache<string, Target>({
    max: TARGETS_CACHED,
    maxSize: TARGET_BYTES_CACHED,
    // Twice: the JSON text and the parsed object.
    sizeCalculation: (target) => TARGET_BASE_BYTES + 2 * target.environmentJson.byteLength,
  });
  /**
   * Endpoint keys by target name. A target keeps its key for life; the key of a deleted target
   * resolves to none.
   */
  readonly #keys = new LRUCache<string, string>({ max: TARGETS_CACHED });
  /**
   * Reads in flight, shared by concurrent callers: an uncached endpoint under load is read once.
   */
  readonly #reading = new Map<string, Promise<Target | undefined>>();
  readonly #mint: RuntimeTokenMint;

  constructor(parts: TargetsParts) {
    this.#parts = parts;
    this.#mint = new RuntimeTokenMint(parts.vault);
  }

  /** The target with this endpoint key; undefined if there is none. */
  async get(endpointKey: string): Promise<Target | undefined> {
    const known = this.#cache.get(endpointKey) ?? this.#reading.get(endpointKey);
    if (known !== undefined) return known;
    if (!ENDPOINT_KEY.test(endpointKey)) return undefined;
    const reading = this.#read(endpointKey);
    this.#reading.set(endpointKey, reading);
    try {
      const target = await reading;
      // A read dropped by `forget` may have seen the state before the change.
      if (target !== undefined && this.#reading.get(endpointKey) === reading)
        this.#cache.set(endpointKey, target);
      return target;
    } finally {
      if (this.#reading.get(endpointKey) === reading) this.#reading.delete(endpointKey);
    }
  }

  /** Drops every target of an integration. Called after a commit, before its answer. */
  forget(integration: string): void {
    this.#reading.clear();
    for (const [key, target] of this.#cache.entries()) {
      if (target.integration === integration) this.#cache.delete(key);
    }
  }

  /** Drops every target of an installation. Called after a commit, before its answer. */
  forgetInstallation(installationId: string): void {
    this.#reading.clear();
    for (const [key, target] of this.#cache.entries()) {
      if (target.installationId === installationId) this.#cache.delete(key);
    }
  }

  /** The target of this name; undefined if there is none. */
  async named(name: TargetName): Promise<Target | undefined> {
    const named = `${name.installationId} ${name.level} ${name.place}`;
    const key = this.#keys.get(named);
    const known = key === undefined ? undefined : await this.get(key);
    if (known !== undefined) return known;
    const row = await readTarget(this.#parts.database, name);
    if (row === undefined) return undefined;
    this.#keys.set(named, row.endpointKey);
    return this.get(row.endpointKey);
  }

  /**
   * A deleted target as it was; undefined if its integration is deleted, too. Never cached. It gets
   * only an integration token, because its installation token would name a target that does not
   * exist.
   */
  async gone({ target, installation }: GoneTarget): Promise<Target | undefined> {
    const rows = await this.#rows(target, installation);
    if (rows === undefined) return undefined;
    const integration = await readActiveVersion(this.#parts.database, target.integration);
    // Attack: to republish under the name of a deleted integration, and receive the secrets of its
    // deleted installations.
    if (integration === undefined || integration.created_at > rows.installation.createdAt) return undefined;
    return this.#build(rows, integration, 'gone');
  }

  async #read(endpointKey: string): Promise<Target | undefined> {
    const own = await readTargetByEndpoint(this.#parts.database, endpointKey);
    const rows = own && (await this.#rows(own));
    if (rows === undefined) return undefined;
    const integration = await readActiveVersion(this.#parts.database, rows.own.integration);
    return integration && this.#build(rows, integration, 'there');
  }

  /** @param above the installation of a space or site target, if it was read already */
  async #rows(own: SealedInstallation, above?: SealedInstallation): Promise<TargetRows | undefined> {
    if (own.level === 'organization') return { own, installation: own };
    const installation =
      above ?? (await readTarget(this.#parts.database, wholeInstallation(own.installationId)));
    return installation && { own, installation };
  }

  async #build(rows: TargetRows, integration: ActiveIntegration, state: 'there' | 'gone'): Promise<Target> {
    const { origins, limits: deployment } = this.#parts;
    const { own, installation } = rows;
    const { installationId, level, place, endpointKey, organization } = own;
    const { number, manifest } = integration.version;
    const limits = limitsUnder(deployment, loweredLimitsOf(integration.lowered_limits));
    const lowered = isolateLimits(deployment, limits);
    const signingSecret = this.#parts.vault.open(signingSecretPlace(own), own.sealedSigningSecret);
    const environment = await this.#environment(rows, integration, signingSecret);
    const live = this.#live(environment, limits, {
      integration: manifest.name,
      since: integration.created_at,
      scopes: manifest.scopes,
      ...(state === 'there' && { target: { installationId, level, place } }),
    });
    return {
      ...{ endpointKey, integration: manifest.name, version: number, organization },
      ...{ installationId, level, place },
      publicEndpoint: publicEndpoint(origins, endpointKey),
      status: installation.status === 'paused' ? 'paused' : own.status,
      revision: `${own.revision}@${number}`,
      ...pausedAtOf(rows),
      limits,
      ...(lowered && { isolateLimits: lowered }),
      isolate: isolateKey(installationId, manifest.name, number, lowered),
      get environment() {
        return live.current.environment;
      },
      get environmentJson() {
        return live.current.json;
      },
      ...policyOf(manifest),
      ...(manifest.egress && { egress: new EgressHosts(manifest.egress) }),
      ...(integration.handles && { handles: new Set(integration.handles) }),
      ...(manifest.webhook && level !== 'organization' && { webhook: manifest.webhook }),
      signingSecrets: [signingSecret],
    };
  }

  async #environment(
    { own, installation }: TargetRows,
    { version: { number, manifest }, sealed_signing_secret }: ActiveIntegration,
    signingSecret: string,
  ): Promise<Omit<Environment, 'apiTokens'>> {
    const { database, vault, origins } = this.#parts;
    const place = integrationSecretPlace(manifest.name);
    return buildEnvironment({
      apiEndpoint: origins.apiUrl,
      manifest,
      version: number,
      secrets: await openSecrets(database, vault, manifest.name, manifest.secrets),
      signingSecrets: { integration: vault.open(place, sealed_signing_secret), installation: signingSecret },
      installation: { ...installation, ...this.#opened(installation) },
      ...(own.level !== 'organization' && { below: this.#opened(own) }),
    });
  }

  #live(
    environment: Omit<Environment, 'apiTokens'>,
    limits: Limits,
    subject: RuntimeTokenSubject,
  ): LiveEnvironment {
    const mint = (expiresAt: number) => this.#mint.tokens(subject, expiresAt);
    return new LiveEnvironment({ environment, limits, clock: this.#parts.clock, mint });
  }

  /** A target as its own code sees it: with credentials opened. */
  #opened(row: SealedInstallation): TargetParts {
    const { installationId, level, place, status, configuration, externalIds, sealedCredentials } = row;
    const credentials =
      sealedCredentials === null
        ? {}
        : {
            [CREDENTIALS_PROPERTY]: JSON.parse(
              this.#parts.vault.open(credentialsPlace(row), sealedCredentials),
            ),
          };
    return {
      ...{ installationId, level, place, status, externalIds },
      configuration: { ...configuration, ...credentials },
      publicEndpoint: publicEndpoint(this.#parts.origins, row.endpointKey),
    };
  }
}

function pausedAtOf({ own, installation }: TargetRows): Pick<Target, 'pausedAt'> {
  const pausedAt = Math.max(own.pausedAt ?? 0, installation.pausedAt ?? 0);
  return pausedAt === 0 ? {} : { pausedAt };
}

function policyOf({
  contentSecurityPolicy: policy,
}: PublishedManifest): Pick<Target, 'contentSecurityPolicy'> {
  const header = policy === undefined ? '' : policyHeader(policy);
  return header === '' ? {} : { contentSecurityPolicy: header };
}

/**
 * The active version of an integration, with the columns of the integration that a target needs.
 */
type ActiveIntegration = Exclude<Awaited<ReturnType<typeof readActiveVersion>>, undefined>;
