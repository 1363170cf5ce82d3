/**
 * Targets by endpoint key, cached: what every call of every integration asks for first.
 *
 * A cached target is dropped after the commit that changes anything in it and before that commit is answered, so a call
 * that starts after the answer sees the change. Keys that no installation has are not kept: guessing keys must not push
 * real targets out.
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
/** An environment can hold 100 KiB of secrets: bounding the number of targets alone would allow gigabytes. */
const TARGET_BYTES_CACHED = 128 * 1024 * 1024;
/** What a target weighs beside its environment's text, roughly, the parsed copy left out. */
const TARGET_BASE_BYTES = 2 * 1024;

/** The two base URLs, without a trailing slash. Read at each use, since a port may be known only after listening. */
export interface Origins {
  /** Of the public listener; `endpointUrl` makes an endpoint's of it. */
  readonly publicUrl: string;
  /** Of the API, as integrations see it. */
  readonly apiUrl: string;
}

export interface TargetsParts {
  readonly database: Database;
  readonly vault: Vault;
  readonly origins: Origins;
  /** The deployment's; an integration may have lower ones. */
  readonly limits: Limits;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** A target's row, and the row of the installation it is part of: the same one, for the installation itself. */
interface TargetRows {
  readonly own: SealedInstallation;
  readonly installation: SealedInstallation;
}

export const publicEndpoint = (origins: Origins, endpointKey: string): string =>
  endpointUrl(origins.publicUrl, endpointKey);

export class Targets {
  readonly #parts: TargetsParts;
  readonly #cache = new LRUCache<string, Target>({
    max: TARGETS_CACHED,
    maxSize: TARGET_BYTES_CACHED,
    // Twice: the text and the object it was made of.
    sizeCalculation: (target) => TARGET_BASE_BYTES + 2 * target.environmentJson.byteLength,
  });
  /** Endpoint keys by target name. A target keeps its key for life; one that is gone is found not to be there by it. */
  readonly #keys = new LRUCache<string, string>({ max: TARGETS_CACHED });
  /** Reads under way, shared by all who ask meanwhile: a cold endpoint under load is read once. */
  readonly #reading = new Map<string, Promise<Target | undefined>>();
  readonly #mint: RuntimeTokenMint;

  constructor(parts: TargetsParts) {
    this.#parts = parts;
    this.#mint = new RuntimeTokenMint(parts.vault);
  }

  async get(endpointKey: string): Promise<Target | undefined> {
    const known = this.#cache.get(endpointKey) ?? this.#reading.get(endpointKey);
    if (known !== undefined) return known;
    if (!ENDPOINT_KEY.test(endpointKey)) return undefined;
    const reading = this.#read(endpointKey);
    this.#reading.set(endpointKey, reading);
    try {
      const target = await reading;
      // A read that `forget` has disowned may be from before the change.
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

  /** A target by its name rather than its endpoint; undefined where there is none. */
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
   * A target that is deleted, as it was; undefined where its integration is gone, too. Never cached. It speaks for nothing
   * that is there, so of the tokens it has the integration's alone.
   */
  async gone({ target, installation }: GoneTarget): Promise<Target | undefined> {
    const rows = await this.#rows(target, installation);
    if (rows === undefined) return undefined;
    const integration = await readActiveVersion(this.#parts.database, target.integration);
    // Attack: to take the name of an integration that is gone, and be handed what its installations were deleted with.
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

  /** @param above the installation of a target in a space or a site, where it is known */
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

  /** A target as its own code sees it: with its credentials. */
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

/** An integration's row, as far as a target needs it, and its active version. */
type ActiveIntegration = Exclude<Awaited<ReturnType<typeof readActiveVersion>>, undefined>;
