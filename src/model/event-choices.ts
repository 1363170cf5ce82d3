/**
 * What the settings of a webhook offer of the product's event types
 * (`docs/contract/webhooks.md#selection`).
 *
 * A manifest lists choices. A pattern among them (`invoice.*`, or `*`) stands for the declared
 * types that it fits, of the level of the settings, which users may select; and for the patterns of
 * groups of them. So the choices of a version change when the product declares a type. Without
 * declared types a pattern offers nothing.
 */
import type { EventCatalog, EventTypeChoice } from './event-type.ts';
import { configurationAt } from './installation.ts';
import type { Level } from './level.ts';
import type { Configuration, Manifest } from './manifest/manifest.ts';

type WebhookRules = Pick<Manifest, 'configurations' | 'webhook'>;

/** The settings of a level, with the choices of event types that they offer. */
export interface OfferedSettings {
  readonly settings: Configuration | undefined;
  /** Choice → its title; absent where no choice has one. */
  readonly titles?: ReadonlyMap<string, string>;
  /** Choices that are valid, and no longer offered to who has not chosen them. */
  readonly deprecated?: ReadonlySet<string>;
}

/** @returns the settings of a level as they are where the product declares nothing for them */
export function offeredSettings(
  manifest: WebhookRules,
  level: Level,
  catalog: EventCatalog,
): OfferedSettings {
  const settings = configurationAt(manifest, level);
  const { webhook } = manifest;
  const name = webhook?.eventTypes ?? '';
  const property =
    settings !== undefined && Object.hasOwn(settings.properties, name)
      ? settings.properties[name]
      : undefined;
  if (settings === undefined || webhook === undefined) return { settings };
  if (property?.type !== 'string' || property.enum === undefined) return { settings };
  const offered = catalog.choices(level, new Set(property.enum));
  if (offered.length === 0 && !property.enum.includes('*')) return { settings };
  const choices = new Set([
    ...property.enum.filter((choice) => choice !== '*'),
    ...offered.map(({ value }) => value),
  ]);
  if (choices.size === 0)
    return { settings: without(settings, [name, webhook.url, webhook.retriesSetting ?? '']) };
  const properties = { ...settings.properties, [name]: { ...property, enum: [...choices] } };
  return {
    settings: { ...settings, properties },
    ...(offered.length > 0 && titlesOf(offered)),
  };
}

/** What a form says of the choices. */
const titlesOf = (offered: readonly EventTypeChoice[]): Omit<OfferedSettings, 'settings'> => ({
  titles: new Map(offered.map(({ value, title }) => [value, title])),
  deprecated: new Set(offered.flatMap(({ value, deprecated }) => (deprecated ? [value] : []))),
});

/** Settings of a webhook that has nothing to select are not asked for. */
const without = (
  { properties, required, ...rest }: Configuration,
  names: readonly string[],
): Configuration => ({
  ...rest,
  properties: Object.fromEntries(Object.entries(properties).filter(([name]) => !names.includes(name))),
  required: required.filter((name) => !names.includes(name)),
});

/**
 * The settings of a level that hold a webhook's URL and event types. At the level of the
 * organization a manifest need not have them.
 */
export function webhookAt({ webhook, configurations }: WebhookRules, level: Level): WebhookRules['webhook'] {
  if (webhook === undefined || level !== 'organization') return webhook;
  const { properties = {} } = configurations.account ?? {};
  const isThere = [webhook.url, webhook.eventTypes].every((name) => Object.hasOwn(properties, name));
  return isThere ? webhook : undefined;
}
