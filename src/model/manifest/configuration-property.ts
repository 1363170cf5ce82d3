/**
 * Reads one property of a configuration (`docs/contract/configuration.md#properties`).
 *
 * Manifests that were written for another service are published as they are: what can be read in
 * one way only is read so, what has no meaning here is left out, and a warning says which. Only
 * what leads out of the endpoint, or passes a bound, is an error.
 */

import { nearest } from '../spelling-hint.ts';
import { ENDPOINT_PATH, ENDPOINT_PATH_CHARS_MAX, ENDPOINT_PATH_WANTED } from './endpoint-path.ts';
import { excerpt, type YamlFields } from './yaml-fields.ts';

/**
 * The one property whose value is encrypted at rest and shown only to the integration itself
 * (`docs/contract/configuration.md#credentials`).
 */
export const CREDENTIALS_PROPERTY = 'oauth_credentials';

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

/**
 * Keys of all properties. A button's `default` is listed so that its warning says why it is
 * ignored.
 */
const PROPERTY_KEYS = ['type', 'title', 'description'];
const PROPERTY_KEYS_OF = {
  string: ['default', 'enum', 'multiple', 'completion_url'],
  number: ['default'],
  boolean: ['default'],
  button: ['button_text', 'callback_url', 'default'],
} as const satisfies Record<PropertyType, readonly string[]>;

/** @returns undefined for a property of an unknown type: its value is not checked */
export function readProperty(name: string, fields: YamlFields): ConfigurationProperty | undefined {
  const type = readType(name, fields);
  if (type === undefined) {
    // Only keys that no type has are reported.
    fields.warnUnknown([...PROPERTY_KEYS, ...Object.values(PROPERTY_KEYS_OF).flat()]);
    return undefined;
  }
  fields.warnUnknown([...PROPERTY_KEYS, ...PROPERTY_KEYS_OF[type]], `a ${type} property`);
  const texts = optional({
    title: fields.optionalText('title'),
    description: fields.optionalText('description'),
  });
  switch (type) {
    case 'string':
      return { type, ...texts, ...readStringKeys(fields) };
    case 'number':
      return { type, ...texts, ...optional({ default: readNumber(fields) }) };
    case 'boolean':
      return { type, ...texts, ...optional({ default: readBoolean(fields) }) };
    case 'button':
      return { type, ...texts, ...readButtonKeys(fields) };
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

const PATH_RULE = {
  pattern: ENDPOINT_PATH,
  wanted: ENDPOINT_PATH_WANTED,
  charsMax: ENDPOINT_PATH_CHARS_MAX,
};

function readStringKeys(fields: YamlFields): Omit<StringProperty, 'type'> {
  const choices = fields.has('enum') ? readChoices(fields) : undefined;
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

/** Reads the choices of a dropdown; numbers and `true` are read as text. */
function readChoices(fields: YamlFields): readonly string[] {
  const written = fields.list('enum', { max: ENUM_MAX });
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
    typeof raw === 'string'
      ? fields.optionalText('default', { mayBeEmpty: true })
      : readOther(fields, 'text');
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

function readButtonKeys(fields: YamlFields): Omit<ButtonProperty, 'type'> {
  if (fields.has('default')) fields.warning('default', 'A button has no default: it is ignored.');
  if (!fields.has('callback_url')) {
    const hint = 'Name the path of the integration that the button opens, such as /oauth.';
    fields.warning(undefined, 'A button without "callback_url" opens nothing.', hint);
  }
  return optional({
    button_text: fields.optionalText('button_text'),
    callback_url: fields.optionalText('callback_url', PATH_RULE),
  });
}

/** Leaves out members without a value. */
function optional<Members extends object>(
  members: Members,
): { [Key in keyof Members]?: NonNullable<Members[Key]> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [Key in keyof Members]?: NonNullable<Members[Key]>;
  };
}
