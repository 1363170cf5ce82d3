/**
 * The settings form of a target for the host product: fields in the author's order, with their
 * values (`docs/contract/configuration.md#form`).
 *
 * Pure. OAuth credentials are never among the values; the form only says whether they are set.
 * Paths of the manifest become URLs only here, and only below the target's own endpoint.
 */

import { type OfferedSettings, offeredSettings } from './event-choices.ts';
import { type EventCatalog, NO_EVENT_TYPES } from './event-type.ts';
import type { InstallationStatus, TargetName } from './installation.ts';
import type { Level } from './level.ts';
import { type ConfigurationProperty, CREDENTIALS_PROPERTY } from './manifest/configuration.ts';
import { ENDPOINT_PATH, ENDPOINT_PATH_CHARS_MAX } from './manifest/endpoint-path.ts';
import type { Configuration, Manifest } from './manifest/manifest.ts';

/** One field. Members taken from the manifest keep the names of its keys. */
export interface FormField {
  readonly name: string;
  readonly type: ConfigurationProperty['type'];
  readonly title?: string;
  readonly description?: string;
  readonly required: boolean;
  readonly default?: string | number | boolean | readonly string[];
  /** Choices of a dropdown. */
  readonly enum?: readonly string[];
  /** Choice → its title, where choices have titles. */
  readonly titles?: Readonly<Record<string, string>>;
  /** The value is a list of choices. */
  readonly multiple?: true;
  /** The integration supplies the choices; the product requests them at `…/completions`. */
  readonly completion?: true;
  readonly button_text?: string;
  /** Absolute URL that the button opens. */
  readonly callback_url?: string;
  /** The current value; absent where none is set, and for a sealed field. */
  readonly value?: unknown;
  /** The field holds credentials, and its value is never shown. */
  readonly sealed?: true;
  /** Whether credentials are set; only on sealed fields. */
  readonly isSet?: boolean;
}

/** The form of one target. */
export interface ConfigurationForm {
  readonly level: Level;
  readonly status: InstallationStatus;
  /** The component that draws the settings itself, instead of fields. */
  readonly componentId?: string;
  /** Fields in the manifest's order; empty where the integration has no settings at this level. */
  readonly properties?: readonly FormField[];
}

/** The target that the form configures. */
export interface FormTarget extends TargetName {
  readonly status: InstallationStatus;
  /** Without credentials. */
  readonly configuration: Readonly<Record<string, unknown>>;
  /** Whether credentials are set. */
  readonly hasCredentials: boolean;
  /** Absolute, without a trailing slash. */
  readonly publicEndpoint: string;
}

/**
 * The form for a target's configuration.
 * @param catalog the event types of the product
 */
export function configurationForm(
  manifest: Pick<Manifest, 'configurations' | 'webhook'>,
  target: FormTarget,
  catalog: EventCatalog = NO_EVENT_TYPES,
): ConfigurationForm {
  const { level, status } = target;
  const { settings: schema, ...offered } = offeredSettings(manifest, level, catalog);
  if (schema?.componentId !== undefined) return { level, status, componentId: schema.componentId };
  const properties = Object.entries(schema?.properties ?? {}).map(([name, property]) =>
    fieldOf(name, property, schema?.required.includes(name) === true, target),
  );
  const types = manifest.webhook?.eventTypes;
  return {
    level,
    status,
    properties: properties.map((field) => (field.name === types ? titled(field, offered) : field)),
  };
}

/** The event types that a webhook may select, with their titles. */
function titled(field: FormField, { titles, deprecated }: Omit<OfferedSettings, 'settings'>): FormField {
  if (titles === undefined) return field;
  const chosen: readonly unknown[] = Array.isArray(field.value) ? field.value : [];
  const offered = (field.enum ?? []).filter((one) => !deprecated?.has(one) || chosen.includes(one));
  const titleOf = (choice: string) =>
    `${titles.get(choice) ?? choice}${deprecated?.has(choice) ? ' (deprecated)' : ''}`;
  const shown = offered.filter((choice) => titles.has(choice));
  return {
    ...field,
    enum: offered,
    titles: Object.fromEntries(shown.map((choice) => [choice, titleOf(choice)])),
  };
}

function fieldOf(
  name: string,
  property: ConfigurationProperty,
  required: boolean,
  target: FormTarget,
): FormField {
  const { type, title, description } = property;
  return {
    name,
    type,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    required,
    ...(property.type !== 'button' && property.default !== undefined && { default: property.default }),
    ...(property.type === 'string' && choicesOf(property)),
    ...(property.type === 'button' && buttonOf(property, target.publicEndpoint)),
    ...heldValue(name, target),
  };
}

function choicesOf(property: Extract<ConfigurationProperty, { type: 'string' }>): Partial<FormField> {
  return {
    ...(property.enum !== undefined && { enum: property.enum }),
    ...(property.multiple && { multiple: true as const }),
    ...(belowEndpoint(property.completion_url) !== undefined && { completion: true as const }),
  };
}

function buttonOf(
  { button_text, callback_url }: Extract<ConfigurationProperty, { type: 'button' }>,
  publicEndpoint: string,
): Partial<FormField> {
  const path = belowEndpoint(callback_url);
  return {
    ...(button_text !== undefined && { button_text }),
    ...(path !== undefined && { callback_url: `${publicEndpoint}${path}` }),
  };
}

function heldValue(name: string, { configuration, hasCredentials }: FormTarget): Partial<FormField> {
  if (name === CREDENTIALS_PROPERTY) return { sealed: true, isSet: hasCredentials };
  // A property may have the name of a member of `Object.prototype`, for example `constructor`.
  return Object.hasOwn(configuration, name) ? { value: configuration[name] } : {};
}

/**
 * The path below the endpoint that supplies the choices of a property; undefined where it has no
 * such path, or does not exist.
 */
export function completionPath(schema: Configuration | undefined, name: string): string | undefined {
  const properties = schema?.properties ?? {};
  const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
  return property?.type === 'string' ? belowEndpoint(property.completion_url) : undefined;
}

/**
 * Normalises a path of the manifest to begin with a slash. Paths are validated at publish and again
 * here: versions that were published before that validation existed must not lead outside of the
 * endpoint.
 */
function belowEndpoint(written: unknown): string | undefined {
  if (typeof written !== 'string' || written.length > ENDPOINT_PATH_CHARS_MAX) return undefined;
  if (!ENDPOINT_PATH.test(written)) return undefined;
  return written.startsWith('/') ? written : `/${written}`;
}
