/**
 * Reads the configuration schemas of a manifest (`docs/contract/configuration.md#properties`): the
 * settings of an installation.
 *
 * Read once at publish; all other code relies on the resulting shape. Does not validate values
 * (`configuration-check.ts` does). Members are named as the YAML keys.
 */

import { ENDPOINT_PATH, ENDPOINT_PATH_CHARS_MAX, ENDPOINT_PATH_WANTED } from './endpoint-path.ts';
import type { YamlFields } from './yaml-fields.ts';

/**
 * The one property whose value is encrypted at rest and shown only to the integration itself
 * (`docs/contract/configuration.md#credentials`).
 */
export const CREDENTIALS_PROPERTY = 'oauth_credentials';

/** `account` is the level of the organization. */
export const CONFIGURATION_LEVELS = ['account', 'site', 'space'] as const;
const PROPERTY_TYPES = ['string', 'number', 'boolean', 'button'] as const;
/** Names of these types in other languages, for hints. */
const OTHER_TYPES = new Map<string, (typeof PROPERTY_TYPES)[number]>([
  ['text', 'string'],
  ['str', 'string'],
  ['int', 'number'],
  ['integer', 'number'],
  ['float', 'number'],
  ['bool', 'boolean'],
]);

/**
 * Name of a property. It is a member of a JavaScript object and part of a URL, so it is a plain
 * word.
 */
export const PROPERTY_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
/** Maximum properties of a configuration; a form has one field for each. */
export const PROPERTIES_MAX = 100;
/** Maximum choices of a property. For longer lists there is `completion_url`. */
export const ENUM_MAX = 500;

interface PropertyTexts {
  readonly title?: string;
  readonly description?: string;
}

export interface StringProperty extends PropertyTexts {
  readonly type: 'string';
  /** One of `enum`, if it is present; with `multiple`, a list of them. */
  readonly default?: string | readonly string[];
  /** Choices of a dropdown, each once. */
  readonly enum?: readonly string[];
  /**
   * The value is a list of unique choices, at least one where the property is required. Only
   * together with `enum`.
   */
  readonly multiple?: true;
  /** Path below the endpoint that supplies the choices. */
  readonly completion_url?: string;
}

export interface NumberProperty extends PropertyTexts {
  readonly type: 'number';
  readonly default?: number;
}

export interface BooleanProperty extends PropertyTexts {
  readonly type: 'boolean';
  readonly default?: boolean;
}

/**
 * A button that opens a URL of the integration, usually to connect by OAuth. It has no value,
 * unless it is `oauth_credentials`.
 */
export interface ButtonProperty extends PropertyTexts {
  readonly type: 'button';
  readonly button_text?: string;
  /** Path below the endpoint that the button opens. */
  readonly callback_url: string;
  readonly default?: never;
}

export type ConfigurationProperty = StringProperty | NumberProperty | BooleanProperty | ButtonProperty;

/** Either properties, or a component that draws the settings itself. */
export interface Configuration {
  readonly properties: Readonly<Record<string, ConfigurationProperty>>;
  /** Names of properties that must be set. */
  readonly required: readonly string[];
  readonly componentId?: string;
}

export type Configurations = { readonly [Level in (typeof CONFIGURATION_LEVELS)[number]]?: Configuration };

/**
 * Keys of all properties. A button's `default` is listed so that it is reported as an error, not as
 * unknown.
 */
const PROPERTY_KEYS = ['type', 'title', 'description'];
const PROPERTY_KEYS_OF = {
  string: ['default', 'enum', 'multiple', 'completion_url'],
  number: ['default'],
  boolean: ['default'],
  button: ['button_text', 'callback_url', 'default'],
} as const satisfies Record<ConfigurationProperty['type'], readonly string[]>;

/** Reads the `configurations` of a manifest. */
export function readConfigurations(fields: YamlFields | undefined): Configurations {
  if (fields === undefined) return {};
  fields.warnUnknown(CONFIGURATION_LEVELS);
  const found = CONFIGURATION_LEVELS.flatMap((level) => {
    const own = fields.map(level);
    return own === undefined ? [] : [[level, readConfiguration(own)] as const];
  });
  return Object.fromEntries(found);
}

function readConfiguration(fields: YamlFields): Configuration {
  fields.warnUnknown(['properties', 'required', 'componentId']);
  const componentId = fields.optionalText('componentId');
  if (componentId !== undefined) {
    for (const key of ['properties', 'required'].filter((other) => fields.has(other)))
      fields.error(key, `A configuration has either "${key}" or a "componentId", not both.`);
    return { properties: {}, required: [], componentId };
  }
  const map = fields.map('properties');
  if (map === undefined && !fields.has('componentId'))
    fields.error(undefined, 'A configuration needs "properties" or a "componentId".');
  const properties = readProperties(map);
  return { properties, required: readRequired(fields, properties) };
}

function readProperties(map: YamlFields | undefined): Record<string, ConfigurationProperty> {
  map?.refuseEmpty('property');
  const names = map?.keys() ?? [];
  if (names.length > PROPERTIES_MAX)
    map?.error(undefined, `There are ${names.length} properties; at most ${PROPERTIES_MAX} are allowed.`);
  const properties = names.flatMap((name): [string, ConfigurationProperty][] => {
    if (!PROPERTY_NAME.test(name)) {
      map?.error(
        name,
        'The name of a property must be letters, digits, "_" and "-", at most 64, not a digit or "-" first.',
      );
    }
    const property = map?.map(name);
    return property === undefined ? [] : [[name, readProperty(name, property)]];
  });
  return Object.fromEntries(properties);
}

function readProperty(name: string, fields: YamlFields): ConfigurationProperty {
  const type = fields.choice('type', PROPERTY_TYPES, OTHER_TYPES);
  if (fields.raw('type') !== type) {
    // The type is unknown, so only keys that no type has are reported.
    fields.warnUnknown([...PROPERTY_KEYS, ...Object.values(PROPERTY_KEYS_OF).flat()]);
    return { type: 'string' };
  }
  fields.warnUnknown([...PROPERTY_KEYS, ...PROPERTY_KEYS_OF[type]], `a ${type} property`);
  if (name === CREDENTIALS_PROPERTY && type !== 'button') {
    const hint = 'Write "type: button", or choose another name.';
    fields.error('type', `"${name}" holds what OAuth grants, so it must be a button.`, hint);
  }
  const texts = optional({
    title: fields.optionalText('title'),
    description: fields.optionalText('description'),
  });
  switch (type) {
    case 'string':
      return { type, ...texts, ...readStringKeys(fields) };
    case 'number':
      return { type, ...texts, ...optional({ default: fields.optionalNumber('default') }) };
    case 'boolean':
      return { type, ...texts, ...optional({ default: fields.optionalBoolean('default') }) };
    case 'button':
      return { type, ...texts, ...readButtonKeys(fields) };
  }
}

const PATH_RULE = {
  pattern: ENDPOINT_PATH,
  wanted: ENDPOINT_PATH_WANTED,
  charsMax: ENDPOINT_PATH_CHARS_MAX,
};

function readStringKeys(fields: YamlFields): Omit<StringProperty, 'type'> {
  const choices = fields.has('enum') ? fields.texts('enum', { max: ENUM_MAX, unique: true }) : undefined;
  const written = fields.raw('enum');
  if (Array.isArray(written) && written.length === 0)
    fields.error('enum', 'A dropdown needs at least one choice.', 'List the choices, or remove "enum".');
  const multiple = fields.optionalBoolean('multiple') === true;
  if (multiple && !fields.has('enum'))
    fields.error('multiple', 'A list of choices needs the choices: "multiple" goes with "enum".');
  return optional({
    default: multiple ? readChosen(fields, choices) : readDefault(fields, choices),
    // JSON Schema does not allow an empty `enum`.
    enum: choices?.length === 0 ? undefined : choices,
    multiple: multiple ? (true as const) : undefined,
    completion_url: fields.optionalText('completion_url', PATH_RULE),
  });
}

const NO_CHOICE = 'must be one of the choices in "enum"';

/** Reads the default of a text, or of one choice. */
function readDefault(fields: YamlFields, choices: readonly string[] = []): string | undefined {
  // A value may be empty text; a name may not.
  const given = fields.optionalText('default', { mayBeEmpty: true });
  if (given !== undefined && choices.length > 0 && !choices.includes(given))
    fields.errorMeant('default', NO_CHOICE, given, choices);
  return given;
}

/** Reads the default of a list of choices. */
function readChosen(fields: YamlFields, choices: readonly string[] = []): readonly string[] | undefined {
  if (!fields.has('default')) return undefined;
  const given = fields.texts('default', { max: ENUM_MAX, unique: true });
  const raw = fields.raw('default');
  const written: readonly unknown[] = Array.isArray(raw) ? raw : [raw];
  // If the property is required, a new installation would be active with a value that no edit can
  // set.
  if (written.length === 0)
    fields.error('default', 'A default needs at least one choice.', 'List some, or remove "default".');
  for (const choice of given) {
    if (choices.length > 0 && !choices.includes(choice))
      fields.errorMeant(['default', written.indexOf(choice)], NO_CHOICE, choice, choices);
  }
  return given;
}

function readButtonKeys(fields: YamlFields): Omit<ButtonProperty, 'type'> {
  if (fields.has('default'))
    fields.error('default', 'A button has no value, so it can have no default.', 'Remove "default".');
  return {
    ...optional({ button_text: fields.optionalText('button_text') }),
    callback_url: fields.text('callback_url', PATH_RULE),
  };
}

function readRequired(
  fields: YamlFields,
  properties: Readonly<Record<string, ConfigurationProperty>>,
): readonly string[] {
  const required = fields.texts('required', { unique: true });
  required.forEach((name, index) => {
    const at = ['required', index];
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (property === undefined) {
      fields.errorMeant(at, 'must name one of the properties', name, Object.keys(properties));
    } else if (property.type === 'button' && name !== CREDENTIALS_PROPERTY) {
      // Nothing ever sets it, so the installation could never become active.
      const hint = `Only a button named ${CREDENTIALS_PROPERTY} gets a value. Remove the name from "required".`;
      fields.error(at, `The button "${name}" can never be set, so it cannot be required.`, hint);
    }
  });
  return required;
}

/** Leaves out members without a value. */
function optional<Members extends object>(
  members: Members,
): { [Key in keyof Members]?: NonNullable<Members[Key]> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [Key in keyof Members]?: NonNullable<Members[Key]>;
  };
}
