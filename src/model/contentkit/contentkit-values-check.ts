/**
 * Compiles the schemas of attribute values to checks; a failed check says what was expected.
 *
 * Supports the part of JSON Schema that `contentkit-values.ts` and `contentkit.ts` use; any other
 * keyword type throws when the service starts. Free data of the author (`props`, `returnValue`)
 * passes unchanged, to a bounded depth.
 */
import type { TSchema } from 'typebox';
import { type Findings, meant, type Place, quoted } from './contentkit-problem.ts';
import { PATTERN_WORDS, referred } from './contentkit-values.ts';

/** Checks a value, adding its problems to `findings`. @returns the normalised value */
export type Check = (value: unknown, at: Place, findings: Findings) => unknown;

/**
 * Maximum nesting of free data. Attack: deep data that overflows the stack of the recursive
 * `JSON.stringify`.
 */
export const DATA_DEPTH_MAX = 64;

export type JsonObject = Readonly<Record<string, unknown>>;
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The JSON Schema keywords that are supported. */
interface Rules {
  readonly type?: string;
  readonly anyOf?: readonly TSchema[];
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly items?: TSchema;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: TSchema | false;
}

export interface Definitions {
  /** The definition of a value; undefined for the name of an element. */
  value(name: string): TSchema | undefined;
  /** A check that the value is one of these elements. */
  element(names: readonly string[]): Check;
  /**
   * A check of a list of these elements, which may have nested lists and values that draw nothing.
   */
  elements(names: readonly string[]): Check;
}

/** Compiles a schema. @throws where it uses an unsupported type */
export function valueCheck(schema: TSchema, definitions: Definitions): Check {
  const name = referred(schema);
  if (name !== undefined) {
    const definition = definitions.value(name);
    return definition ? valueCheck(definition, definitions) : definitions.element([name]);
  }
  const rules = schema as Rules;
  if (rules.anyOf) return unionCheck(rules.anyOf, definitions);
  if (rules.enum) return enumCheck(rules.enum);
  switch (rules.type) {
    case undefined:
      return dataCheck;
    case 'string':
      return textCheck(rules);
    case 'number':
      return numberCheck(rules);
    case 'boolean':
      return (value, at, findings) =>
        typeof value === 'boolean' ? value : findings.add(at, 'must be true or false');
    case 'array':
      return listCheck(rules, definitions);
    case 'object':
      return objectCheck(rules, definitions);
    default:
      throw new Error(`ContentKit: no check of the type "${rules.type}".`);
  }
}

/** Describes in words what a schema expects. */
function words(schema: TSchema, definitions: Definitions): string {
  const name = referred(schema);
  if (name === 'press') return 'an action: an object with `action`';
  if (name === 'binding') return '{"$state": name}';
  if (name !== undefined) {
    const definition = definitions.value(name);
    return definition ? words(definition, definitions) : `<${name}>`;
  }
  const rules = schema as Rules;
  if (rules.anyOf) return alternatives(rules.anyOf.map((variant) => words(variant, definitions)));
  if (rules.enum) return `one of ${rules.enum.join(', ')}`;
  if (rules.pattern) return PATTERN_WORDS.get(rules.pattern) ?? 'text';
  return TYPE_WORDS.get(rules.type ?? '') ?? 'a value';
}

const TYPE_WORDS = new Map([
  ['string', 'text'],
  ['number', 'a number'],
  ['boolean', 'true or false'],
  ['array', 'a list'],
  ['object', 'an object'],
]);

/** `a, b or c` */
export const alternatives = (names: readonly string[]): string =>
  [names.slice(0, -1).join(', '), ...names.slice(-1)].filter((part) => part !== '').join(' or ');

/** Check of free data: only its depth is bounded. */
const dataCheck: Check = (value, at, findings) =>
  isDeeper(value, DATA_DEPTH_MAX)
    ? findings.add(at, `must not be nested deeper than ${DATA_DEPTH_MAX}`)
    : value;

/** Whether objects and lists are nested more than `depthMax` levels. */
export function isDeeper(value: unknown, depthMax: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (depthMax === 0) return true;
  for (const member of Array.isArray(value) ? value : Object.values(value))
    if (isDeeper(member, depthMax - 1)) return true;
  return false;
}

const enumCheck = (values: readonly string[]): Check => {
  const known = new Set<unknown>(values);
  return (value, at, findings) => {
    if (known.has(value)) return value;
    const hint = typeof value === 'string' ? meant(value, values) : undefined;
    return findings.add(at, `must be one of ${values.join(', ')}`, hint);
  };
};

function textCheck({ pattern, const: only, minLength = 0, maxLength }: Rules): Check {
  const form = pattern === undefined ? undefined : new RegExp(pattern, 'u');
  const expected = PATTERN_WORDS.get(pattern ?? '') ?? 'text';
  return (value, at, findings) => {
    if (typeof value !== 'string') return findings.add(at, `must be ${expected}`);
    if (only !== undefined && value !== only) return findings.add(at, `must be "${only}"`);
    if (value.length < minLength) return findings.add(at, 'must not be empty');
    if (maxLength !== undefined && value.length > maxLength) {
      // Counts code points, as JSON Schema does, not UTF-16 code units.
      const characters = [...value].length;
      if (characters > maxLength)
        return findings.add(at, `must have at most ${maxLength} characters, not ${characters}`);
    }
    return form === undefined || form.test(value) ? value : findings.add(at, `must be ${expected}`);
  };
}

function numberCheck({ minimum, exclusiveMinimum }: Rules): Check {
  return (value, at, findings) => {
    if (typeof value !== 'number') return findings.add(at, 'must be a number');
    if (minimum !== undefined && value < minimum)
      return findings.add(at, `must be ${minimum} or more, not ${value}`);
    if (exclusiveMinimum !== undefined && value <= exclusiveMinimum)
      return findings.add(at, `must be more than ${exclusiveMinimum}, not ${value}`);
    return value;
  };
}

/** The names of the elements that a schema allows; empty where it is a schema of values. */
export function elementNames(schema: TSchema, definitions: Pick<Definitions, 'value'>): readonly string[] {
  const variants = (schema as Rules).anyOf ?? [schema];
  const names = variants.map(referred).filter((name) => name !== undefined);
  const isElements = names.length === variants.length && names.every((name) => !definitions.value(name));
  return isElements ? names : [];
}

function listCheck({ items }: Rules, definitions: Definitions): Check {
  if (items === undefined) throw new Error('ContentKit: a list without items.');
  const names = elementNames(items, definitions);
  if (names.length > 0) return definitions.elements(names);
  const check = valueCheck(items, definitions);
  return (value, at, findings) =>
    Array.isArray(value)
      ? value.map((item, key) => (findings.full ? item : check(item, { parent: at, key }, findings)))
      : findings.add(at, 'must be a list');
}

function objectCheck({ properties = {}, required = [], ...rules }: Rules, definitions: Definitions): Check {
  const members = new Map(
    Object.entries(properties).map(([name, schema]) => [name, valueCheck(schema, definitions)]),
  );
  const others = rules.additionalProperties ? valueCheck(rules.additionalProperties, definitions) : undefined;
  const known = [...members.keys()];
  return (value, at, findings) => {
    if (!isObject(value)) return findings.add(at, 'must be an object');
    for (const name of required)
      if (!Object.hasOwn(value, name)) findings.add({ parent: at, key: name }, 'is required');
    const entries = Object.entries(value).map(([key, member]) => {
      if (findings.full) return [key, undefined];
      const place = { parent: at, key };
      const check = members.get(key) ?? others;
      if (check) return [key, check(member, place, findings)];
      return [key, findings.add(place, `is unknown; there are ${known.join(', ')}`, meant(key, known))];
    });
    // `fromEntries` defines members. Attack: assigning one named `__proto__` would set the
    // prototype.
    return Object.fromEntries(entries);
  };
}

/** One variant of a union, and whether a value is intended as this variant. */
interface Variant {
  readonly check: Check;
  isMeant(value: unknown): boolean;
}

/** Selects the intended variant, so that problems are those of this variant and not of all. */
function unionCheck(schemas: readonly TSchema[], definitions: Definitions): Check {
  const elements = elementNames({ anyOf: schemas } as TSchema, definitions);
  if (elements.length > 0) return definitions.element(elements);
  const variants = schemas.map((schema) => variantOf(schema, definitions));
  const actions = schemas.map(actionOf).filter((name) => name !== undefined);
  const expected = `must be ${
    actions.length > 0
      ? 'an action: an object with `action`'
      : words({ anyOf: schemas } as TSchema, definitions)
  }`;
  return (value, at, findings) => {
    const action = actions.length > 0 && isObject(value) ? value['action'] : undefined;
    if (typeof action === 'string' && action.startsWith('@') && !actions.includes(action)) {
      const fault = `"${quoted(action)}" is not an action of the platform; there are ${actions.join(', ')}`;
      return findings.add(at, `is wrong: ${fault}`, meant(action, actions));
    }
    const variant = variants.find(({ isMeant }) => isMeant(value));
    return variant === undefined ? findings.add(at, expected) : variant.check(value, at, findings);
  };
}

/** The name of the action, where the schema fixes it. */
const actionOf = (schema: TSchema): string | undefined =>
  ((schema as Rules).properties?.['action'] as Rules | undefined)?.const;

function variantOf(schema: TSchema, definitions: Definitions): Variant {
  const name = referred(schema);
  const definition = name === undefined ? schema : definitions.value(name);
  const check = valueCheck(schema, definitions);
  if (definition === undefined)
    return { check, isMeant: (value) => isObject(value) && value['type'] === name };
  if (name === 'binding') return { check, isMeant: (value) => isObject(value) && '$state' in value };
  const { type, anyOf, enum: values } = definition as Rules;
  if (anyOf) {
    const inner = anyOf.map((variant) => variantOf(variant, definitions));
    return { check, isMeant: (value) => inner.some(({ isMeant }) => isMeant(value)) };
  }
  if (type === 'array') return { check, isMeant: Array.isArray };
  const action = actionOf(definition);
  if (action !== undefined)
    return { check, isMeant: (value) => isObject(value) && value['action'] === action };
  if (type === 'object') return { check, isMeant: isObject };
  return { check, isMeant: (value) => typeof value === (values ? 'string' : type) };
}
