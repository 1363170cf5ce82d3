/**
 * A configuration as the host product draws it: the fields of a form, in the author's order, with
 * what they hold (`docs/contract/configuration.md#form`).
 *
 * Pure. What was granted by OAuth is not among the values: of that a form knows only whether it is
 * there. Paths in a manifest become URLs here and nowhere else, below the target's own endpoint or
 * not at all.
 */

import {
  CREDENTIALS_PROPERTY,
  configurationAt,
  type InstallationStatus,
  type Level,
  type TargetName,
} from './installation.ts';
import type { ConfigurationProperty } from './manifest/configuration.ts';
import { ENDPOINT_PATH, ENDPOINT_PATH_CHARS_MAX } from './manifest/endpoint-path.ts';
import type { Configuration, Manifest } from './manifest/manifest.ts';

/** One field. Keys of the manifest are as the manifest writes them. */
export interface FormField {
  readonly name: string;
  readonly type: ConfigurationProperty['type'];
  readonly title?: string;
  readonly description?: string;
  readonly required: boolean;
  readonly default?: string | number | boolean | readonly string[];
  /** Choices of a dropdown. */
  readonly enum?: readonly string[];
  /** Several of them may be chosen: the value is a list. */
  readonly multiple?: true;
  /** The integration supplies the choices: they are asked for at `…/completions`. */
  readonly completion?: true;
  readonly button_text?: string;
  /** Where the button leads; absolute. */
  readonly callback_url?: string;
  /** What is set; absent where nothing is, and for what is sealed. */
  readonly value?: unknown;
  /** It holds credentials, which are shown to nobody. */
  readonly sealed?: true;
  /** Whether credentials are there; said of what is sealed alone. */
  readonly isSet?: boolean;
}

/** What a form is about. */
export interface ConfigurationForm {
  readonly level: Level;
  readonly status: InstallationStatus;
  /** The component that draws the settings itself, instead of fields. */
  readonly componentId?: string;
  /** In the manifest's order; empty where the integration has no settings at this level. */
  readonly properties?: readonly FormField[];
}

/** The target whose configuration it is. */
export interface FormTarget extends TargetName {
  readonly status: InstallationStatus;
  /** Without credentials. */
  readonly configuration: Readonly<Record<string, unknown>>;
  /** Whether there are any. */
  readonly hasCredentials: boolean;
  /** Absolute, without a trailing slash. */
  readonly publicEndpoint: string;
}

/** The form for a target's configuration. */
export function configurationForm(
  manifest: Pick<Manifest, 'configurations'>,
  target: FormTarget,
): ConfigurationForm {
  const { level, status } = target;
  const schema = configurationAt(manifest, level);
  if (schema?.componentId !== undefined) return { level, status, componentId: schema.componentId };
  const properties = Object.entries(schema?.properties ?? {}).map(([name, property]) =>
    fieldOf(name, property, schema?.required.includes(name) === true, target),
  );
  return { level, status, properties };
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
  // A property may bear the name of something that every object has, `constructor` for one.
  return Object.hasOwn(configuration, name) ? { value: configuration[name] } : {};
}

/**
 * The path, behind the endpoint, that completes this property; undefined where there is none, or no
 * such property.
 */
export function completionPath(schema: Configuration | undefined, name: string): string | undefined {
  const properties = schema?.properties ?? {};
  const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
  return property?.type === 'string' ? belowEndpoint(property.completion_url) : undefined;
}

/**
 * A path as a manifest writes it, as it follows an endpoint: with a slash in front. It was looked
 * at when it was published, and is again: what was published before there was such a look leads
 * nowhere rather than elsewhere.
 */
function belowEndpoint(written: unknown): string | undefined {
  if (typeof written !== 'string' || written.length > ENDPOINT_PATH_CHARS_MAX) return undefined;
  if (!ENDPOINT_PATH.test(written)) return undefined;
  return written.startsWith('/') ? written : `/${written}`;
}
