/**
 * Resolves targets by endpoint key or name, cached: the first step of every call.
 *
 * A target is dropped from the cache after the commit of a change to it and before the answer to
 * that change, so a call that starts after the answer sees the change. Unknown keys are not cached.
 * Attack: to evict real targets by guessing keys.
 */
import { LRUCache } from 'lru-cache';
import { endpointUrl } from '../../model/endpoint-url.ts';
import { entryCache } from '../../model/entry-cache.ts';
import { ENDPOINT_KEY } from '../../model/identifiers.ts';
import type { TargetName } from '../../model/installation.ts';
import type { Target } from '../../model/target.ts';
import type { DeletedTarget } from '../store/installations/lifecycle-event-rows.ts';
import type { TargetSource } from '../store/target-source.ts';
import { type Origins, TargetBuilder, type TargetBuilderDeps } from './target-builder.ts';

const TARGETS_CACHED = 20_000;
/**
 * An environment can hold 100 KiB of secrets: a bound on the number of targets alone would allow
 * gigabytes.
 */
const TARGET_BYTES_CACHED = 128 * 1024 * 1024;
/** Estimated size of a target beside its environment. */
const TARGET_BASE_BYTES = 2 * 1024;

export interface TargetResolverDeps extends TargetBuilderDeps {
  readonly source: Pick<TargetSource, 'atEndpoint' | 'endpointKeyOf' | 'integrationKeyOf' | 'deleted'>;
}

export type { Origins } from './target-builder.ts';

/** The URL of a target's endpoint (docs/contract/endpoints.md#urls). */
export const publicEndpoint = (origins: Pick<Origins, 'publicUrl'>, endpointKey: string): string =>
  endpointUrl(origins.publicUrl, endpointKey);

export class TargetResolver {
  readonly #source: TargetResolverDeps['source'];
  readonly #builder: TargetBuilder;
  readonly #cache = new LRUCache<string, Target>({
    max: TARGETS_CACHED,
    maxSize: TARGET_BYTES_CACHED,
    // Twice: the JSON text and the parsed object.
    sizeCalculation: (target) => TARGET_BASE_BYTES + 2 * target.environmentJson.byteLength,
  });
  /**
   * Endpoint keys by the names of targets and of integrations. Each keeps its key for life; the key
   * of a deleted one resolves to none.
   */
  readonly #keys = entryCache<string>(TARGETS_CACHED);
  /**
   * Reads in flight, shared by concurrent callers: an uncached endpoint under load is read once.
   */
  readonly #reading = new Map<string, Promise<Target | undefined>>();

  constructor(deps: TargetResolverDeps) {
    this.#source = deps.source;
    this.#builder = new TargetBuilder(deps);
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

  /** Drops every target: changes of other nodes may have been missed. */
  forgetAll(): void {
    this.#reading.clear();
    this.#cache.clear();
  }

  /** The target of this name; undefined if there is none. */
  named(name: TargetName): Promise<Target | undefined> {
    const { installationId, level, place } = name;
    return this.#keyed(`${installationId} ${level} ${place}`, () => this.#source.endpointKeyOf(name));
  }

  /** The target behind an integration's own endpoint; undefined if there is no such integration. */
  async ofIntegration(integration: string): Promise<Target | undefined> {
    const read = () => this.#source.integrationKeyOf(integration);
    const target = await this.#keyed(integration, read);
    if (target === undefined || target.integration === integration) return target;
    // A built-in integration took its endpoint along to another name.
    this.#keys.delete(integration);
    return this.#keyed(integration, read);
  }

  async #keyed(name: string, read: () => Promise<string | undefined>): Promise<Target | undefined> {
    const key = this.#keys.get(name);
    const known = key === undefined ? undefined : await this.get(key);
    if (known !== undefined) return known;
    const endpointKey = await read();
    if (endpointKey === undefined) return undefined;
    this.#keys.set(name, endpointKey);
    return this.get(endpointKey);
  }

  /**
   * A deleted target as it was; undefined if its integration is deleted, too. Never cached. It gets
   * only an integration token, because its installation token would name a target that does not
   * exist.
   */
  async deleted(gone: DeletedTarget): Promise<Target | undefined> {
    const record = await this.#source.deleted(gone);
    return record && this.#builder.build(record, 'deleted');
  }

  async #read(endpointKey: string): Promise<Target | undefined> {
    const record = await this.#source.atEndpoint(endpointKey);
    return record && this.#builder.build(record, 'existing');
  }
}
