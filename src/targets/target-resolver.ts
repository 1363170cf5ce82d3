/**
 * Resolves targets by endpoint key or name, cached: the first step of every call.
 *
 * A target is dropped from the cache after the commit of a change to it and before the answer to
 * that change, so a call that starts after the answer sees the change. Unknown keys are not cached.
 * Attack: to evict real targets by guessing keys.
 */
import { LRUCache } from 'lru-cache';
import type { Limits } from '../limits.ts';
import { endpointUrl } from '../model/endpoint-url.ts';
import { buildEnvironment, type Environment, type TargetParts } from '../model/environment.ts';
import { ENDPOINT_KEY } from '../model/identifiers.ts';
import type { TargetName } from '../model/installation.ts';
import { isolateLimits, limitsUnder } from '../model/lowered-limits.ts';
import { policyHeader } from '../model/manifest/content-security-policy.ts';
import { EgressHosts } from '../model/manifest/egress-hosts.ts';
import type { PublishedManifest } from '../model/manifest/manifest.ts';
import { isolateKey, type Target } from '../model/target.ts';
import type { DeletedTarget } from '../store/installations/lifecycle-event-rows.ts';
import type { Installation } from '../store/installations/target-rows.ts';
import type { TargetRecord, TargetSource } from '../store/target-source.ts';
import { LiveEnvironment } from './live-environment.ts';
import type { RuntimeTokenMint } from './runtime-tokens.ts';

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

export interface TargetResolverParts {
  readonly source: Pick<TargetSource, 'atEndpoint' | 'endpointKeyOf' | 'deleted'>;
  readonly mint: RuntimeTokenMint;
  readonly origins: Origins;
  /** The deployment's limits; an integration may have lower ones. */
  readonly limits: Limits;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** The URL of a target's endpoint (docs/contract/endpoints.md#urls). */
export const publicEndpoint = (origins: Origins, endpointKey: string): string =>
  endpointUrl(origins.publicUrl, endpointKey);

export class TargetResolver {
  readonly #parts: TargetResolverParts;
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

  constructor(parts: TargetResolverParts) {
    this.#parts = parts;
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
    const endpointKey = await this.#parts.source.endpointKeyOf(name);
    if (endpointKey === undefined) return undefined;
    this.#keys.set(named, endpointKey);
    return this.get(endpointKey);
  }

  /**
   * A deleted target as it was; undefined if its integration is deleted, too. Never cached. It gets
   * only an integration token, because its installation token would name a target that does not
   * exist.
   */
  async deleted(gone: DeletedTarget): Promise<Target | undefined> {
    const record = await this.#parts.source.deleted(gone);
    return record && this.#build(record, 'deleted');
  }

  async #read(endpointKey: string): Promise<Target | undefined> {
    const record = await this.#parts.source.atEndpoint(endpointKey);
    return record && this.#build(record, 'existing');
  }

  #build(record: TargetRecord, state: 'existing' | 'deleted'): Target {
    const { limits: deployment } = this.#parts;
    const { own, installation, handles, signingSecrets } = record;
    const { installationId, level, place, endpointKey, organization } = own;
    const { number, manifest } = record.version;
    const limits = limitsUnder(deployment, record.loweredLimits);
    const lowered = isolateLimits(deployment, limits);
    const live = this.#live(record, limits, state);
    return {
      ...{ endpointKey, integration: manifest.name, version: number, organization },
      ...{ installationId, level, place },
      publicEndpoint: this.#endpointOf(own),
      status: installation.status === 'paused' ? 'paused' : own.status,
      revision: `${own.revision}@${number}`,
      ...pausedAtOf(record),
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
      ...(handles && { handles: new Set(handles) }),
      ...(manifest.webhook && level !== 'organization' && { webhook: manifest.webhook }),
      signingSecrets: [signingSecrets.installation],
    };
  }

  #live(record: TargetRecord, limits: Limits, state: 'existing' | 'deleted'): LiveEnvironment {
    const { mint, clock } = this.#parts;
    const { own, version, since } = record;
    const { installationId, level, place } = own;
    const subject = {
      integration: version.manifest.name,
      since,
      version: version.number,
      scopes: version.manifest.scopes,
      ...(state === 'existing' && { target: { installationId, level, place } }),
    };
    return new LiveEnvironment({
      environment: this.#environment(record),
      limits,
      clock,
      mint: (expiresAt) => mint.tokens(subject, expiresAt),
    });
  }

  #environment(record: TargetRecord): Omit<Environment, 'apiTokens'> {
    const { own, installation, version, secrets, signingSecrets } = record;
    return buildEnvironment({
      apiEndpoint: this.#parts.origins.apiUrl,
      manifest: version.manifest,
      version: version.number,
      ...{ secrets, signingSecrets },
      installation: { ...installation, publicEndpoint: this.#endpointOf(installation) },
      ...(own.level !== 'organization' && { below: this.#withEndpoint(own) }),
    });
  }

  #withEndpoint(target: Installation): TargetParts {
    const { installationId, level, place, status, configuration, externalIds } = target;
    const publicEndpoint = this.#endpointOf(target);
    return { installationId, level, place, status, configuration, externalIds, publicEndpoint };
  }

  #endpointOf({ endpointKey }: Installation): string {
    return publicEndpoint(this.#parts.origins, endpointKey);
  }
}

function pausedAtOf({ own, installation }: TargetRecord): Pick<Target, 'pausedAt'> {
  const pausedAt = Math.max(own.pausedAt ?? 0, installation.pausedAt ?? 0);
  return pausedAt === 0 ? {} : { pausedAt };
}

function policyOf({
  contentSecurityPolicy: policy,
}: PublishedManifest): Pick<Target, 'contentSecurityPolicy'> {
  const header = policy === undefined ? '' : policyHeader(policy);
  return header === '' ? {} : { contentSecurityPolicy: header };
}
