/**
 * Checks the configuration of a target against a manifest
 * (docs/contract/configuration.md#validity).
 *
 * Beside the properties' schemas it checks the URL of a webhook's receiver, so that a user learns
 * of a bad URL when saving it. The webhook client applies the same rules again at each post.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  type ConfigurationChecker,
  type ConfigurationProblem,
  configurationChecker,
} from '../../../model/configuration-check.ts';
import { offeredSettings, webhookAt } from '../../../model/event-choices.ts';
import type { Level } from '../../../model/level.ts';
import type { Configuration, Manifest } from '../../../model/manifest/manifest.ts';
import type { EventTypes } from '../event-types.ts';

/** The parts of a manifest that a configuration must satisfy. */
export type ConfigurationRules = Pick<Manifest, 'configurations' | 'webhook'>;

/**
 * @returns why this URL cannot be posted to, in sentences that do not repeat it; undefined if it
 * can
 */
export type WebhookUrlRefusal = (url: string) => string | undefined;

export class ConfigurationChecks {
  readonly #webhookUrlRefusal: WebhookUrlRefusal;
  readonly #eventTypes: Pick<EventTypes, 'latest'>;
  /**
   * Compiled checkers by hash of their declaration. ajv's code takes a few times the declaration's
   * size.
   */
  readonly #compiled = new LRUCache<string, ConfigurationChecker>({ maxSize: 16 * 1024 * 1024 });

  /**
   * @param webhookUrlRefusal the webhook client's rule: the store does not know the egress policy
   */
  constructor(webhookUrlRefusal: WebhookUrlRefusal, eventTypes: Pick<EventTypes, 'latest'>) {
    this.#webhookUrlRefusal = webhookUrlRefusal;
    this.#eventTypes = eventTypes;
  }

  /** All problems of a target's whole configuration, by property; empty if it is valid. */
  problems(
    manifest: ConfigurationRules,
    level: Level,
    configuration: Readonly<Record<string, unknown>>,
  ): readonly ConfigurationProblem[] {
    const { settings } = offeredSettings(manifest, level, this.#eventTypes.latest);
    const problems = this.#checker(settings)(configuration);
    const webhook = webhookAt(manifest, level);
    if (webhook === undefined || problems.some(({ property }) => property === webhook.url)) return problems;
    const url = Object.hasOwn(configuration, webhook.url) ? configuration[webhook.url] : undefined;
    const refusal = typeof url === 'string' ? this.#webhookUrlRefusal(url) : undefined;
    if (refusal === undefined) return problems;
    return [
      ...problems,
      { property: webhook.url, message: `"${webhook.url}" cannot be posted to. ${refusal}` },
    ];
  }

  /**
   * Keyed by the declaration itself, so that versions with the same declaration share a checker.
   */
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
