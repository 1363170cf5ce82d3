/**
 * The configuration schemas of a manifest: the settings of an installation
 * (`docs/contract/configuration.md#properties`).
 *
 * Manifests that were written for another service are published as they are: what can be read in
 * one way only is read so, what has no meaning here is left out, and a warning says which. Only
 * what leads out of the endpoint, or passes a bound, is an error. Read once at publish; all other
 * code relies on the resulting shape. Does not validate values (`configuration-check.ts` does).
 * Members are named as the YAML keys.
 */

import { nearest } from '../spelling-hint.ts';
import { ENDPOINT_PATH, ENDPOINT_PATH_CHARS_MAX, ENDPOINT_PATH_WANTED } from './endpoint-path.ts';
import {
  type Field,
  type JsonSchema,
  type Members,
  membersSchema,
  optional,
  readMembers,
  text,
} from './field.ts';
import { excerpt, type YamlFields } from './yaml-fields.ts';

/**
 * The one property whose value is encrypted at rest and shown only to the integration itself
 * (`docs/contract/configuration.md#credentials`).
 */
export const CREDENTIALS_PROPERTY = 'oauth_credentials';

/** `account` is the level of the organization. */
export const CONFIGURATION_LEVELS = ['account', 'site', 'space'] as const;

/**
 * Name of a property. It is a member of a JavaScript object and part of a URL, so it is a plain
 * word.
 */
export const PROPERTY_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/** Maximum properties of a configuration; a form has one field for each. */
export const PROPERTIES_MAX = 100;

const PROPERTY_TYPES = ['string', 'number', 'boolean', 'button'] as const;
type PropertyType = (typeof PROPERTY_TYPES)[number];
/** Names of these types in other languages. */
const OTHER_TYPES = new Map<string, PropertyType>([
  ['text', 'string'],
  ['str', 'string'],
  ['int', 'number'],
  ['integer', 'number'],
  ['float', 'number'],
  ['bool', 'boolean'],
]);

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
 * A button that opens a URL of the integration, usually to connect by OAuth. A user sets no value;
 * the code may store one under its name.
 */
export interface ButtonProperty extends PropertyTexts {
  readonly type: 'button';
  readonly button_text?: string;
  /** Path below the endpoint that the button opens; a button without one opens nothing. */
  readonly callback_url?: string;
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

const endpointPath = (description: string) =>
  text(description, {
    pattern: ENDPOINT_PATH,
    wanted: ENDPOINT_PATH_WANTED,
    charsMax: ENDPOINT_PATH_CHARS_MAX,
  });

/** A key that is read together with others. */
const listed = (schema: JsonSchema) => optional<never>({ schema, read: () => undefined });

/** The keys of a type of property. */
const keysOf = <Type extends PropertyType, Own extends Members>(type: Type, own: Own) => ({
  type: listed({ const: type }),
  title: optional(text('The name of the setting.')),
  description: optional(text('What the setting is for.')),
  ...own,
});

const choicesSchema = (description: string) => ({
  ...{ type: 'array', description, minItems: 1, maxItems: ENUM_MAX },
  items: text('A choice.').schema,
});

const KEYS = {
  string: keysOf('string', {
    default: listed({ type: 'string', description: 'One of `enum`, where there is one.' }),
    enum: listed(choicesSchema('Choices of a dropdown.')),
    multiple: listed({ const: false, description: 'One value; `true` for a list of choices.' }),
    completion_url: optional(endpointPath('Path below the endpoint that supplies the choices.')),
  }),
  number: keysOf('number', { default: optional({ schema: { type: 'number' }, read: readNumber }) }),
  boolean: keysOf('boolean', { default: optional({ schema: { type: 'boolean' }, read: readBoolean }) }),
  button: keysOf('button', {
    button_text: optional(text('Label of the button.')),
    callback_url: optional(endpointPath('Path below the endpoint that the button opens.')),
    default: optional<never>({
      schema: false,
      read: (fields, key) => fields.warning(key, 'A button has no default: it is ignored.'),
    }),
  }),
};

/** @returns undefined for a property of an unknown type: its value is not checked */
function readProperty(name: string, fields: YamlFields): ConfigurationProperty | undefined {
  const type = readType(name, fields);
  switch (type) {
    case 'string':
      return { type, ...readMembers(KEYS.string, fields, 'a string property'), ...readChoiceKeys(fields) };
    case 'number':
      return { type, ...readMembers(KEYS.number, fields, 'a number property') };
    case 'boolean':
      return { type, ...readMembers(KEYS.boolean, fields, 'a boolean property') };
    case 'button': {
      const hint = 'Name the path of the integration that the button opens, such as /oauth.';
      if (!fields.has('callback_url'))
        fields.warning(undefined, 'A button without "callback_url" opens nothing.', hint);
      return { type, ...readMembers(KEYS.button, fields, 'a button property') };
    }
    case undefined:
      // Only keys that no type has are reported.
      fields.warnUnknown(Object.values(KEYS).flatMap((members) => Object.keys(members)));
      return undefined;
  }
}

/** The type that is written, or the one that must be meant; undefined where none is. */
function readType(name: string, fields: YamlFields): PropertyType | undefined {
  const written = fields.raw('type');
  const known = PROPERTY_TYPES.find((type) => type === written);
  if (name === CREDENTIALS_PROPERTY && known !== 'button') {
    const message = `"${name}" holds what OAuth grants, so it is read as a button.`;
    fields.warning('type', message, 'Write "type: button", or choose another name.');
    return 'button';
  }
  if (known !== undefined) return known;
  if (written === undefined) {
    const meant = typeWithout(fields);
    fields.warning('type', `The property "${name}" has no type and is read as a ${meant}.`);
    return meant;
  }
  const word = typeof written === 'string' ? written.toLowerCase() : '';
  const near = nearest(word, PROPERTY_TYPES);
  const meant = OTHER_TYPES.get(word) ?? PROPERTY_TYPES.find((type) => type === near);
  const types = `The types are ${PROPERTY_TYPES.join(', ')}.`;
  if (meant === undefined) {
    const message = `${fields.nameOf('type')} is not a known type, so values of "${name}" are not checked.`;
    fields.warning('type', message, types);
  } else {
    const message = `${fields.nameOf('type')} "${excerpt(word)}" is read as "${meant}".`;
    fields.warning('type', message, `Write "type: ${meant}". ${types}`);
  }
  return meant;
}

/** The type of a property that names none. */
function typeWithout(fields: YamlFields): PropertyType {
  if (fields.has('callback_url')) return 'button';
  const value = fields.raw('default');
  if (typeof value === 'number') return 'number';
  return typeof value === 'boolean' ? 'boolean' : 'string';
}

function readChoiceKeys(fields: YamlFields): Pick<StringProperty, 'default' | 'enum' | 'multiple'> {
  const choices = fields.has('enum') ? readChoices(fields) : undefined;
  const multiple = fields.boolean('multiple') === true;
  if (multiple && !fields.has('enum'))
    fields.error('multiple', 'A list of choices needs the choices: "multiple" goes with "enum".');
  const value = multiple ? readChosen(fields, choices) : readDefault(fields, choices);
  return {
    ...(value !== undefined && { default: value }),
    // JSON Schema does not allow an empty `enum`.
    ...(choices !== undefined && choices.length > 0 && { enum: choices }),
    ...(multiple && { multiple }),
  };
}

/** Reads the choices of a dropdown; numbers and `true` are read as text. */
function readChoices(fields: YamlFields): readonly string[] {
  const written = fields.list('enum', ENUM_MAX);
  if (Array.isArray(fields.raw('enum')) && written.length === 0)
    fields.warning('enum', '"enum" has no choices and is ignored.', 'List the choices, or remove "enum".');
  const choices = new Set<string>();
  for (const [index, value] of written.entries()) {
    const at = ['enum', index];
    const choice = fields.textAt(at, choiceOf(fields, at, value), { mayBeEmpty: true });
    if (choice === undefined) continue;
    const name = fields.nameOf(at);
    if (choices.has(choice)) fields.warning(at, `${name} repeats "${excerpt(choice)}" and is ignored.`);
    else if (choice.trim() === '') fields.warning(at, `${name} is an empty choice.`);
    choices.add(choice);
  }
  return [...choices];
}

/** The text of one choice; values that are no scalars stay what they are. */
function choiceOf(fields: YamlFields, at: readonly (string | number)[], value: unknown): unknown {
  if (value === null) return '';
  if (typeof value !== 'number' && typeof value !== 'boolean') return value;
  const text = fields.written(at, value);
  fields.warning(at, `${fields.nameOf(at)} is read as the text "${excerpt(text)}".`, 'Put it in quotes.');
  return text;
}

/** Reads the default of a text, or of one choice. */
function readDefault(fields: YamlFields, choices: readonly string[] = []): string | undefined {
  const raw = fields.raw('default');
  // A value may be empty text; a name may not.
  const given =
    typeof raw === 'string' ? fields.text('default', { mayBeEmpty: true }) : readOther(fields, 'text');
  if (given === undefined || choices.length === 0 || choices.includes(given)) return given;
  const message = `${fields.nameOf('default')} is none of the choices in "enum" and is ignored.`;
  fields.warningMeant('default', message, given, choices);
  return undefined;
}

function readNumber(fields: YamlFields): number | undefined {
  const raw = fields.raw('default');
  if (typeof raw === 'number') return raw;
  const isNumber = (text: string) => text.trim() !== '' && Number.isFinite(Number(text));
  const text = readOther(fields, 'a number', isNumber);
  return text === undefined ? undefined : Number(text);
}

function readBoolean(fields: YamlFields): boolean | undefined {
  const raw = fields.raw('default');
  if (typeof raw === 'boolean') return raw;
  const text = readOther(fields, 'true or false', (word) => word === 'true' || word === 'false');
  return text === undefined ? undefined : text === 'true';
}

/** The text of a default of another type, with a warning that says how it is read. */
function readOther(
  fields: YamlFields,
  wanted: string,
  fits: (text: string) => boolean = () => true,
): string | undefined {
  const raw = fields.raw('default');
  if (raw === undefined) return undefined;
  const text = typeof raw === 'object' ? undefined : fields.written('default', raw);
  const read = text !== undefined && fits(text) ? text : undefined;
  const rest = read === undefined ? 'is ignored' : `is read as "${excerpt(read)}"`;
  fields.warning('default', `${fields.nameOf('default')} must be ${wanted}; it ${rest}.`);
  return read;
}

const NO_CHOICE = 'must be one of the choices in "enum"';

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

const propertySchema = (
  members: Members,
  description: string,
  required: readonly string[] = [],
): JsonSchema => ({
  ...membersSchema(members, description),
  required: ['type', ...required],
});

const LIST_OF_CHOICES = propertySchema(
  {
    ...KEYS.string,
    default: listed({ ...choicesSchema('Some of `enum`.'), items: text('One of `enum`.').schema }),
    enum: listed(choicesSchema('Choices, of which several may be chosen.')),
    multiple: listed({ const: true, description: 'The value is a list of choices.' }),
  },
  'A list of choices, each once.',
  ['enum', 'multiple'],
);

/** For a union of schemas an editor would list the faults of each; so conditions select one. */
const when = (properties: JsonSchema, schema: JsonSchema, other?: JsonSchema): JsonSchema => ({
  if: { required: Object.keys(properties), properties },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema, and no promise.
  then: schema,
  ...(other && { else: other }),
});

const PROPERTY_SCHEMAS: Readonly<Record<PropertyType, JsonSchema>> = {
  string: when(
    { multiple: { const: true } },
    LIST_OF_CHOICES,
    propertySchema(KEYS.string, 'Text, or a choice in a dropdown.'),
  ),
  number: propertySchema(KEYS.number, 'A number.'),
  boolean: propertySchema(KEYS.boolean, 'On or off.'),
  button: propertySchema(
    KEYS.button,
    'Opens a page of the integration, usually to connect an account by OAuth; `oauth_credentials` holds the granted credentials.',
    ['callback_url'],
  ),
};

const PROPERTY_SCHEMA: JsonSchema = {
  type: 'object',
  description: 'A setting.',
  required: ['type'],
  properties: { type: { enum: PROPERTY_TYPES, description: PROPERTY_TYPES.join(', ') } },
  allOf: Object.entries(PROPERTY_SCHEMAS).map(([type, schema]) => when({ type: { const: type } }, schema)),
};

/** The keys of a configuration; each is either settings, or a component that draws them. */
const SETTINGS = {
  properties: listed({
    type: 'object',
    description: 'Name → setting.',
    propertyNames: { type: 'string', pattern: PROPERTY_NAME.source },
    additionalProperties: PROPERTY_SCHEMA,
    maxProperties: PROPERTIES_MAX,
  }),
  required: listed({
    type: 'array',
    description: 'Properties that must be set.',
    items: text('Name of a property.').schema,
  }),
};
const COMPONENT = { componentId: text('`componentId` of the component.') };

const CONFIGURATION: Field<Configuration> = {
  schema: {
    anyOf: [
      { ...membersSchema(SETTINGS, 'Settings that a form asks for.'), required: ['properties'] },
      membersSchema(COMPONENT, 'Settings that a component draws itself.'),
    ],
  },
  read(fields, key) {
    const own = fields.map(key);
    return own && readConfiguration(own);
  },
};

/** The levels of `configurations` of a manifest. */
export const CONFIGURATIONS = Object.fromEntries(
  CONFIGURATION_LEVELS.map((level) => [level, optional(CONFIGURATION)]),
) as Record<(typeof CONFIGURATION_LEVELS)[number], ReturnType<typeof optional<Configuration>>>;

function readConfiguration(fields: YamlFields): Configuration {
  fields.warnUnknown(Object.keys({ ...SETTINGS, ...COMPONENT }));
  const componentId = fields.text('componentId');
  if (componentId !== undefined) {
    for (const key of ['properties', 'required'].filter((other) => fields.has(other)))
      fields.warning(key, `"${key}" is ignored: the component "${excerpt(componentId)}" draws the settings.`);
    return { properties: {}, required: [], componentId };
  }
  const map = fields.map('properties');
  if (map === undefined && !fields.has('componentId'))
    fields.warning(undefined, 'A configuration without "properties" and "componentId" has no settings.');
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
    const fields = map?.map(name);
    const property = fields && readProperty(name, fields);
    return property === undefined ? [] : [[name, property]];
  });
  return Object.fromEntries(properties);
}

/** Reads which properties must be set. A name without a property is left out with a warning. */
function readRequired(
  fields: YamlFields,
  properties: Readonly<Record<string, ConfigurationProperty>>,
): readonly string[] {
  const required: string[] = [];
  for (const [index, name] of fields.texts('required', { unique: true }).entries()) {
    if (Object.hasOwn(properties, name)) required.push(name);
    else {
      const message = `${fields.nameOf(['required', index])} names no property that is declared: "${excerpt(name)}" is ignored.`;
      fields.warningMeant(['required', index], message, name, Object.keys(properties));
    }
  }
  return required;
}
