/**
 * Whether the configuration of a target is valid by a manifest, and what keeps it from being so (REFERENCE D11, D29).
 *
 * Beside what the manifest declares of each property, the URL of a webhook's receiver is looked at here, while whoever writes
 * it still looks. It is not the last look: a destination is held against the same rules again when it is posted to.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  type ConfigurationChecker,
  type ConfigurationProblem,
  configurationChecker,
} from '../../model/configuration-check.ts';
import { configurationAt, type Level } from '../../model/installation.ts';
import type { Configuration, Manifest } from '../../model/manifest/manifest.ts';

/** What a manifest says that a configuration is held against. */
export type ConfigurationRules = Pick<Manifest, 'configurations' | 'webhook'>;

/** @returns why nothing would be posted to this URL, in sentences that do not repeat it; undefined where it may be */
export type WebhookUrlRefusal = (url: string) => string | undefined;

export class ConfigurationChecks {
  readonly #webhookUrlRefusal: WebhookUrlRefusal;
  /** Checks that were compiled, by what they were compiled from. Code that ajv has made weighs a few times that. */
  readonly #compiled = new LRUCache<string, ConfigurationChecker>({ maxSize: 16 * 1024 * 1024 });

  /** @param webhookUrlRefusal of whoever posts: what may be reached is not the store's to know */
  constructor(webhookUrlRefusal: WebhookUrlRefusal) {
    this.#webhookUrlRefusal = webhookUrlRefusal;
  }

  /** Everything that keeps a target's whole configuration from being valid, by property; empty where nothing does. */
  problems(
    manifest: ConfigurationRules,
    level: Level,
    configuration: Readonly<Record<string, unknown>>,
  ): readonly ConfigurationProblem[] {
    const problems = this.#checker(configurationAt(manifest, level))(configuration);
    const webhook = level === 'organization' ? undefined : manifest.webhook;
    if (webhook === undefined || problems.some(({ property }) => property === webhook.url)) return problems;
    const url = Object.hasOwn(configuration, webhook.url) ? configuration[webhook.url] : undefined;
    const refusal = typeof url === 'string' ? this.#webhookUrlRefusal(url) : undefined;
    if (refusal === undefined) return problems;
    return [
      ...problems,
      { property: webhook.url, message: `"${webhook.url}" cannot be posted to. ${refusal}` },
    ];
  }

  /** By the declaration itself, not by name and version: a name that changes hands may count its versions anew. */
  #checker(declared: Configuration | undefined): ConfigurationChecker {
    const text = JSON.stringify(declared) ?? '';
    const key = createHash('sha256').update(text).digest('base64url');
    const known = this.#compiled.get(key);
    if (known !== undefined) return known;
    const checker = configurationChecker(declared);
    this.#compiled.set(key, checker, { size: 1024 + 4 * text.length });
    return checker;
  }
}
