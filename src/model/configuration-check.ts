/**
 * What makes a configuration valid (`docs/contract/configuration.md#validity`): a JSON Schema made
 * of what the manifest declares for a level, compiled by ajv, and its findings in words, by
 * property.
 *
 * Names and choices come out of a stranger's manifest and end up in code that ajv generates, so
 * nothing here relies on what they look like: each is a string to ajv, which writes it as one.
 * Values are not repeated in a finding, because a value may be a password that was put into the
 * wrong field; the one exception is a plain word in a list of choices, which nobody takes for such
 * a field (`docs/contract/webhooks.md#selection`).
 */
import { Ajv, type ErrorObject } from 'ajv';
import { CREDENTIALS_PROPERTY } from './installation.ts';
import type { StringProperty } from './manifest/configuration.ts';
import type { Configuration } from './manifest/manifest.ts';
import { nearest } from './nearest.ts';

/** Findings about one configuration that are listed: enough to fix it, whatever garbage it is. */
const PROBLEMS_MAX = 50;
/** Choices that a finding spells out. */
const CHOICES_SHOWN = 20;
/** Letters of a name or a choice that a finding spells out. */
const CHARS_SHOWN = 100;
/** What a finding repeats of a list of choices: a word as event types are. */
const PLAIN_WORD = /^[a-z][a-z0-9]{0,31}(?:[_.:-][a-z0-9]{1,32}){0,7}$/;
/** Levels that values may be nested: whoever walks them later does so by calling itself. */
const DEPTH_MAX = 32;

/** One thing wrong with a configuration. */
export interface ConfigurationProblem {
  readonly property: string;
  /** What is expected, a full sentence. */
  readonly message: string;
  /** The property that was most likely meant. */
  readonly hint?: string;
}

/** Everything wrong with a whole configuration; empty where it is valid. */
export type ConfigurationChecker = (
  configuration: Readonly<Record<string, unknown>>,
) => readonly ConfigurationProblem[];

/** As ajv takes it. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/**
 * The JSON Schema of a level's whole configuration.
 *
 * A component that draws the settings itself decides what is in them: any object does. A level that
 * nothing is declared for takes no property at all. `oauth_credentials` is an object wherever it
 * is.
 */
export function configurationSchema(declared: Configuration | undefined): JsonSchema {
  if (declared?.componentId !== undefined)
    return { type: 'object', properties: { [CREDENTIALS_PROPERTY]: { type: 'object' } } };
  const required = new Set(declared?.required);
  const properties = Object.entries(declared?.properties ?? {}).map(
    ([name, property]) => [name, propertySchema(name, property, required.has(name))] as const,
  );
  return {
    type: 'object',
    // `fromEntries` defines members; assigning one named `__proto__` would set the prototype
    // instead.
    properties: Object.fromEntries(properties),
    required: [...required],
    additionalProperties: false,
  };
}

type Property = Configuration['properties'][string];

/**
 * @returns false where no value is valid: a button starts something, and what comes of it has its
 * own property.
 */
function propertySchema(name: string, property: Property, required: boolean): JsonSchema | false {
  if (name === CREDENTIALS_PROPERTY) return { type: 'object' };
  if (property.type === 'button') return false;
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
 * Compiles the check of a level's configuration. Costs milliseconds for a hundred properties:
 * whoever checks often keeps it.
 */
export function configurationChecker(declared: Configuration | undefined): ConfigurationChecker {
  const schema = configurationSchema(declared);
  const known = Object.keys(declared?.properties ?? {});
  // An instance keeps every schema it was ever given, so each checker has its own. `ownProperties`:
  // without it a required property named `toString` would count as set in every object.
  // `validateSchema`: the schema is this file's own.
  const ajv = new Ajv({
    strict: true,
    allErrors: true,
    ownProperties: true,
    meta: false,
    validateSchema: false,
    logger: false,
    messages: false,
    // The attack: a hundred properties of sixty choices each, unrolled and optimised, hold
    // everybody up for a quarter of a second with each version that is published. Loops take a few
    // milliseconds.
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
      // One finding a property: of a wrong type it need not be said that it is none of the choices,
      // too.
      if (!problems.has(property))
        problems.set(property, problemOf(error, property, declared, known, configuration[property]));
      if (problems.size === PROBLEMS_MAX) break;
    }
    return [...problems.values()];
  };
}

/**
 * What of a configuration decides whether it is valid: all that is declared, and no more of the
 * rest than is listed.
 *
 * The attack: 64 KiB of properties that nothing declares, or of choices in one list, each of which
 * would be a finding. A list with more entries than there are choices is invalid by its first ones:
 * one is not offered, or is there twice.
 */
function excerpt(
  whole: Readonly<Record<string, unknown>>,
  declared: Configuration | undefined,
): Readonly<Record<string, unknown>> {
  if (declared?.componentId !== undefined) return whole;
  const members: [string, unknown][] = [];
  let unknown = 0;
  for (const name of Object.keys(whole)) {
    const property = ownMember(declared?.properties, name);
    const isKnown = property !== undefined || name === CREDENTIALS_PROPERTY;
    if (!isKnown) unknown += 1;
    if (!isKnown && unknown > PROBLEMS_MAX) continue;
    const value = whole[name];
    const isLong = isList(property) && Array.isArray(value) && value.length > (property.enum ?? []).length;
    members.push([name, isLong ? value.slice(0, (property.enum ?? []).length + 1) : value]);
  }
  // `fromEntries` defines members; assigning one named `__proto__` would set the prototype instead.
  return Object.fromEntries(members);
}

/** A property that a manifest declares; what every object has from its prototype is none. */
const ownMember = (properties: Configuration['properties'] = {}, name: string): Property | undefined =>
  Object.hasOwn(properties, name) ? properties[name] : undefined;

function problemOf(
  error: ErrorObject,
  property: string,
  declared: Configuration | undefined,
  known: readonly string[],
  value: unknown,
): ConfigurationProblem {
  const { keyword, params } = error;
  const name = quoted(property);
  if (keyword === 'required') return { property, message: `${name} must be set.` };
  if (keyword === 'additionalProperties') {
    const message = `The configuration has no property ${name}: null removes it.`;
    const meant = nearest(property, known);
    return meant === undefined
      ? { property, message }
      : { property, message, hint: `Did you mean "${meant}"?` };
  }
  const member = declared?.properties[property];
  if (isList(member)) return { property, message: listProblem(error, name, member.enum ?? [], value) };
  if (keyword === 'false schema') return { property, message: `${name} is a button and has no value.` };
  if (keyword === 'enum')
    return { property, message: `${name} must be ${choices(params['allowedValues'])}.` };
  const type = String(params['type']);
  const allowed = member?.type === 'string' ? member.enum : undefined;
  const wanted = allowed === undefined ? (WANTED[type] ?? type) : choices(allowed);
  return { property, message: `${name} must be ${wanted}.` };
}

/** What is wrong with a list of choices. */
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

/** The property that an error is about: the first name of the path, whatever is wrong below it. */
function propertyOf({ keyword, params, instancePath }: ErrorObject): string {
  if (keyword === 'required') return String(params['missingProperty']);
  if (keyword === 'additionalProperties') return String(params['additionalProperty']);
  const [, first = ''] = instancePath.split('/');
  // RFC 6901: in a pointer, "/" and "~" of a name are written as "~1" and "~0".
  return first.replaceAll('~1', '/').replaceAll('~0', '~');
}

/**
 * What keeps a patch from being stored at all, whatever the manifest says: a sentence, or undefined
 * where nothing does.
 *
 * @param patch parsed JSON of a stranger's
 */
export function configurationFault(patch: Readonly<Record<string, unknown>>): string | undefined {
  for (const [name, value] of Object.entries(patch)) {
    const at = `configuration: ${quoted(name)}`;
    // A prototype in disguise: every copy of the configuration made by assigning would lose it, or
    // obey it.
    if (name === '__proto__') return 'configuration: A property cannot be named "__proto__".';
    const fault = name.includes('\0') ? NUL : valueFault(value);
    if (fault !== undefined) return `${at} ${fault}`;
  }
  return undefined;
}

const NUL = 'must not hold U+0000.';
const TOO_LARGE = 'must not hold a number beyond 1.8e308.';
const TOO_DEEP = `must not be nested deeper than ${DEPTH_MAX} levels.`;

/** Level by level, not by calling itself: 64 KiB of `[` are 65,536 calls. */
function valueFault(value: unknown): string | undefined {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    const next: unknown[] = [];
    for (const one of level) {
      // PostgreSQL holds no U+0000, neither in text nor in JSON.
      if (typeof one === 'string' && one.includes('\0')) return NUL;
      // `1e999` is JSON; what it is read as is not, and would be stored as `null`, which nobody has
      // said.
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
