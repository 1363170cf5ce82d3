/**
 * Validates a configuration (`docs/contract/configuration.md#validity`): builds a JSON Schema from
 * the manifest's declaration for a level, compiles it with ajv, and words the errors, one per
 * property.
 *
 * Names and choices come from an untrusted manifest and end up in code that ajv generates. Nothing
 * here relies on their form: ajv escapes each as a string literal. A problem does not repeat a
 * value, because the value may be a password in the wrong field. The one exception is a plain word
 * in a list of choices, where a password is unlikely (`docs/contract/webhooks.md#selection`).
 */
import { Ajv, type ErrorObject } from 'ajv';
import { CREDENTIALS_PROPERTY, type StringProperty } from './manifest/configuration.ts';
import type { Configuration } from './manifest/manifest.ts';
import { nearest } from './spelling-hint.ts';

/** Maximum problems listed for one configuration. */
const PROBLEMS_MAX = 50;
/** Maximum choices listed in one problem. */
const CHOICES_SHOWN = 20;
/** Maximum characters of a name or a choice in a problem. */
const CHARS_SHOWN = 100;
/** An entry of a list of choices that a problem may repeat: a word of the form of an event type. */
const PLAIN_WORD = /^[a-z][a-z0-9]{0,31}(?:[_.:-][a-z0-9]{1,32}){0,7}$/;
/** Maximum nesting of a value. Later readers of the value are recursive, so depth is stack. */
const DEPTH_MAX = 32;

/** One thing wrong with a configuration. */
export interface ConfigurationProblem {
  readonly property: string;
  /** What is expected, a full sentence. */
  readonly message: string;
  /** Names a property that is set and may be a misspelling of this one. */
  readonly hint?: string;
}

/** Checks a whole configuration. @returns its problems; empty where it is valid */
export type ConfigurationChecker = (
  configuration: Readonly<Record<string, unknown>>,
) => readonly ConfigurationProblem[];

/** A JSON Schema in the form that ajv reads. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/**
 * The JSON Schema of a level's whole configuration.
 *
 * Properties that are not declared may have any value: code keeps its own data among the settings.
 * `oauth_credentials` is always an object, because it is stored apart.
 */
export function configurationSchema(declared: Configuration | undefined): JsonSchema {
  const { componentId, properties = {}, required: names = [] } = declared ?? {};
  const isDrawn = componentId !== undefined;
  const required = new Set(isDrawn ? [] : names);
  const schemas = Object.entries(isDrawn ? {} : properties).map(
    ([name, property]) => [name, propertySchema(name, property, required.has(name))] as const,
  );
  return {
    type: 'object',
    // `fromEntries` defines members; assigning one named `__proto__` would set the prototype
    // instead.
    properties: Object.fromEntries([[CREDENTIALS_PROPERTY, { type: 'object' }], ...schemas]),
    required: [...required],
  };
}

type Property = Configuration['properties'][string];

/** A button has whatever value the code stores under its name. */
function propertySchema(name: string, property: Property, required: boolean): JsonSchema {
  if (name === CREDENTIALS_PROPERTY) return { type: 'object' };
  if (property.type === 'button') return {};
  const choices = property.type === 'string' ? property.enum : undefined;
  if (!Array.isArray(choices) || choices.length === 0) return { type: property.type };
  const choice = { type: property.type, enum: [...new Set(choices)] };
  if (!isList(property)) return choice;
  return { type: 'array', items: choice, uniqueItems: true, minItems: required ? 1 : 0 };
}

/** Whether its value is a list of choices. */
const isList = (property: Property | undefined): property is StringProperty & { multiple: true } =>
  property?.type === 'string' && property.multiple === true;

/**
 * Compiles the check of a level's configuration. Takes milliseconds for a hundred properties, so
 * frequent callers cache the checker.
 */
export function configurationChecker(declared: Configuration | undefined): ConfigurationChecker {
  const schema = configurationSchema(declared);
  // An ajv instance keeps every schema it compiles, so each checker has its own instance.
  // `ownProperties`: otherwise a required property named `toString` counts as set in every object.
  // `validateSchema`: the schema is built in this file and needs no validation.
  const ajv = new Ajv({
    strict: true,
    allErrors: true,
    ownProperties: true,
    meta: false,
    validateSchema: false,
    logger: false,
    messages: false,
    // Attack: a hundred properties of sixty choices each. Unrolled and optimised code for them
    // blocks the event loop for 250 ms with each published version; loops take a few milliseconds.
    loopEnum: 1,
    loopRequired: 1,
    code: { optimize: false },
  });
  const validate = ajv.compile(schema);
  return (whole) => {
    const configuration = excerpt(whole, declared);
    if (validate(configuration)) return [];
    const problems = new Map<string, ConfigurationProblem>();
    for (const error of validate.errors ?? []) {
      const property = propertyOf(error);
      // One problem per property: a value of the wrong type is not also reported as not being a
      // choice.
      if (!problems.has(property))
        problems.set(property, {
          property,
          ...problemOf(error, property, declared?.properties ?? {}, whole),
        });
      if (problems.size === PROBLEMS_MAX) break;
    }
    return [...problems.values()];
  };
}

/**
 * The part of a configuration that decides its validity: its declared properties.
 *
 * Attack: 64 KiB of choices in one list, each of which is one ajv error. A list with more entries
 * than choices is invalid within its first entries: one of them is not offered or is repeated.
 */
function excerpt(
  whole: Readonly<Record<string, unknown>>,
  declared: Configuration | undefined,
): Readonly<Record<string, unknown>> {
  const members: [string, unknown][] = [];
  for (const name of new Set([CREDENTIALS_PROPERTY, ...Object.keys(declared?.properties ?? {})])) {
    if (!Object.hasOwn(whole, name)) continue;
    const property = ownMember(declared?.properties, name);
    const value = whole[name];
    const isLong = isList(property) && Array.isArray(value) && value.length > (property.enum ?? []).length;
    members.push([name, isLong ? value.slice(0, (property.enum ?? []).length + 1) : value]);
  }
  // `fromEntries` defines members; assigning one named `__proto__` would set the prototype instead.
  return Object.fromEntries(members);
}

/** A property that the manifest declares. Members of `Object.prototype` do not count. */
const ownMember = (properties: Configuration['properties'] = {}, name: string): Property | undefined =>
  Object.hasOwn(properties, name) ? properties[name] : undefined;

function problemOf(
  error: ErrorObject,
  property: string,
  declared: Configuration['properties'],
  whole: Readonly<Record<string, unknown>>,
): Omit<ConfigurationProblem, 'property'> {
  const { keyword, params } = error;
  const name = quoted(property);
  if (keyword === 'required')
    return { message: `${name} must be set.`, ...misspelt(property, declared, whole) };
  const member = ownMember(declared, property);
  if (isList(member)) return { message: listProblem(error, name, member.enum ?? [], whole[property]) };
  if (keyword === 'enum') return { message: `${name} must be ${choices(params['allowedValues'])}.` };
  const type = String(params['type']);
  const allowed = member?.type === 'string' ? member.enum : undefined;
  const wanted = allowed === undefined ? (WANTED[type] ?? type) : choices(allowed);
  return { message: `${name} must be ${wanted}.` };
}

/** The hint for a property that is not set: an undeclared name that may be a misspelling of it. */
function misspelt(
  property: string,
  declared: Configuration['properties'],
  whole: Readonly<Record<string, unknown>>,
): Pick<ConfigurationProblem, 'hint'> {
  const names = Object.keys(whole).values();
  const near = nearest(
    property,
    names.filter((name) => ownMember(declared, name) === undefined),
  );
  return near === undefined ? {} : { hint: `There is ${quoted(near)}: did you mean ${quoted(property)}?` };
}

/** Words an error in a list of choices. */
function listProblem(
  { keyword, params, instancePath }: ErrorObject,
  name: string,
  offered: readonly string[],
  value: unknown,
): string {
  const choose = `choose from ${listed(offered)}.`;
  if (!Array.isArray(value)) return `${name} must be a list: ${choose}`;
  if (keyword === 'minItems') return `${name} must have at least one choice: ${choose}`;
  const at = keyword === 'uniqueItems' ? Number(params['j']) : Number(instancePath.split('/').at(-1));
  const entry: unknown = value[at];
  const what = typeof entry === 'string' && PLAIN_WORD.test(entry) ? quoted(entry) : `entry ${at + 1}`;
  if (keyword === 'uniqueItems') return `${name} must have each choice once; ${what} is there again.`;
  return `${name} does not offer ${what}: ${choose}`;
}

const WANTED: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
};

function choices(allowed: unknown): string {
  const all = Array.isArray(allowed) ? allowed : [];
  return all.length === 1 ? listed(all) : `one of ${listed(all)}`;
}

function listed(all: readonly unknown[]): string {
  const shown = all.slice(0, CHOICES_SHOWN).map((choice) => quoted(String(choice)));
  const more = all.length > shown.length ? ` and ${all.length - shown.length} more` : '';
  return `${shown.join(', ')}${more}`;
}

const quoted = (text: string): string =>
  text.length > CHARS_SHOWN ? `"${text.slice(0, CHARS_SHOWN)}…"` : `"${text}"`;

/** The property of an error: the first name of its path, also for an error deeper in the value. */
function propertyOf({ keyword, params, instancePath }: ErrorObject): string {
  if (keyword === 'required') return String(params['missingProperty']);
  const [, first = ''] = instancePath.split('/');
  // RFC 6901: in a pointer, "/" and "~" of a name are written as "~1" and "~0".
  return first.replaceAll('~1', '/').replaceAll('~0', '~');
}

/**
 * Finds why a patch cannot be stored, independent of the manifest.
 * @returns a sentence, or
 * undefined where it can be stored
 *
 * @param patch parsed JSON, untrusted
 */
export function configurationFault(patch: Readonly<Record<string, unknown>>): string | undefined {
  for (const [name, value] of Object.entries(patch)) {
    const at = `configuration: ${quoted(name)}`;
    // Attack: prototype pollution. A copy of the configuration by assignment would set a prototype.
    if (name === '__proto__') return 'configuration: A property cannot be named "__proto__".';
    const fault = name.includes('\0') ? NUL : valueFault(value);
    if (fault !== undefined) return `${at} ${fault}`;
  }
  return undefined;
}

const NUL = 'must not hold U+0000.';
const TOO_LARGE = 'must not hold a number beyond 1.8e308.';
const TOO_DEEP = `must not be nested deeper than ${DEPTH_MAX} levels.`;

/** Iterates level by level. Attack: 64 KiB of `[` would be 65,536 recursive calls. */
function valueFault(value: unknown): string | undefined {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    const next: unknown[] = [];
    for (const one of level) {
      // PostgreSQL cannot store U+0000, neither in text nor in JSON.
      if (typeof one === 'string' && one.includes('\0')) return NUL;
      // `JSON.parse` reads `1e999` as infinity, which would be stored as `null`.
      if (typeof one === 'number' && !Number.isFinite(one)) return TOO_LARGE;
      if (typeof one !== 'object' || one === null) continue;
      if (depth === DEPTH_MAX) return TOO_DEEP;
      for (const [name, member] of Object.entries(one)) {
        if (name.includes('\0')) return NUL;
        next.push(member);
      }
    }
    level = next;
  }
  return undefined;
}
