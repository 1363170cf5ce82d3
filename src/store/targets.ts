/**
 * Targets by endpoint key, cached: what every call of every integration asks for first.
 *
 * A cached target is dropped after the commit that changes anything in it and before that commit is answered, so a call
 * that starts after the answer sees the change. Keys that no installation has are not kept: guessing keys must not push
 * real targets out.
 */
import { LRUCache } from 'lru-cache';
import type { Limits } from '../limits.ts';
import { EgressHosts } from '../model/egress-hosts.ts';
import { endpointUrl } from '../model/endpoint-url.ts';
import { buildEnvironment } from '../model/environment.ts';
import { ENDPOINT_KEY } from '../model/identifiers.ts';
import type { TargetName } from '../model/installation.ts';
import { isolateLimits, limitsUnder } from '../model/lowered-limits.ts';
import { isolateKey, type Target } from '../model/target.ts';
import { integrationSecretPlace, openSecrets, readVersion } from './integration-rows.ts';
import type { GoneTarget } from './life-event-rows.ts';
import { loweredLimitsOf } from './limit-rows.ts';
import type { Database } from './tables.ts';
import {
  readTarget,
  readTargetByEndpoint,
  type SealedInstallation,
  signingSecretPlace,
} from './target-rows.ts';
import type { Vault } from './vault.ts';

const TARGETS_CACHED = 20_000;
/** An environment can hold 100 KiB of secrets: bounding the number of targets alone would allow gigabytes. */
const TARGET_BYTES_CACHED = 128 * 1024 * 1024;
/** What a target weighs beside its environment's text, roughly, the parsed copy left out. */
const TARGET_BASE_BYTES = 1024;

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
  /** Reads under way, shared by all who ask meanwhile: a cold endpoint under load is read once. */
  readonly #reading = new Map<string, Promise<Target | undefined>>();

  constructor(parts: TargetsParts) {
    this.#parts = parts;
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
    const row = await readTarget(this.#parts.database, name);
    return row && this.get(row.endpointKey);
  }

  /** A target that is deleted, as it was; undefined where its integration is gone, too. Never cached. */
  async gone({ target }: GoneTarget): Promise<Target | undefined> {
    return this.#build(target);
  }

  async #read(endpointKey: string): Promise<Target | undefined> {
    const row = await readTargetByEndpoint(this.#parts.database, endpointKey);
    return row && this.#build(row);
  }

  async #build(installation: SealedInstallation): Promise<Target | undefined> {
    const { database, vault, origins, limits: deployment } = this.#parts;
    const { endpointKey } = installation;
    const active = await database
      .selectFrom('integrations')
      .select(['active_version', 'sealed_signing_secret', 'lowered_limits'])
      .where('name', '=', installation.integration)
      .executeTakeFirst();
    if (active === undefined) return undefined;
    const version = await readVersion(database, installation.integration, active.active_version);
    if (version === undefined)
      throw new Error(`Version ${active.active_version} of ${installation.integration} is gone.`);
    const { number, manifest } = version;
    const endpoint = publicEndpoint(origins, endpointKey);
    const signingSecret = vault.open(signingSecretPlace(installation), installation.sealedSigningSecret);
    const environment = buildEnvironment({
      apiEndpoint: origins.apiUrl,
      publicEndpoint: endpoint,
      manifest,
      version: number,
      secrets: await openSecrets(database, vault, manifest.name, manifest.secrets),
      signingSecrets: {
        integration: vault.open(integrationSecretPlace(manifest.name), active.sealed_signing_secret),
        installation: signingSecret,
      },
      installation: { ...installation, id: installation.installationId },
    });
    const limits = limitsUnder(deployment, loweredLimitsOf(active.lowered_limits));
    const lowered = isolateLimits(deployment, limits);
    return {
      endpointKey,
      publicEndpoint: endpoint,
      integration: manifest.name,
      version: number,
      installationId: installation.installationId,
      organization: installation.organization,
      status: installation.status,
      limits,
      ...(lowered && { isolateLimits: lowered }),
      isolate: isolateKey(installation.installationId, manifest.name, number, lowered),
      environment,
      environmentJson: Buffer.from(JSON.stringify(environment), 'utf8'),
      ...(manifest.egress && { egress: new EgressHosts(manifest.egress) }),
      signingSecrets: [signingSecret],
    };
  }
}
