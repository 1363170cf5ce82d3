/**
 * Compiles the schemas of attribute values to checks; a failed check says what was expected.
 *
 * Supports the part of JSON Schema that `contentkit-values.ts` and `contentkit.ts` use; any other
 * keyword type throws when the service starts. Free data of the author (`props`, `returnValue`)
 * passes unchanged, to a bounded depth.
 */
import type { TSchema } from 'typebox';
import { type Findings, meant, quoted, type TreePosition } from './contentkit-problem.ts';
import { isDangerousUrl, PATTERN_WORDS, referred, URL_PATTERNS } from './contentkit-values.ts';
import { hasPiledMarks, MARKS_MAX } from './drawing-bounds.ts';

/**
 * Checks a value, adding its problems to `findings`.
 *
 * @returns the normalised value; undefined where it does not fit, or is left out
 */
export type Check = (value: unknown, at: TreePosition, findings: Findings) => unknown;

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
  readonly maxItems?: number;
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
   * A check of a list of these elements, and of text if `takesText`. It may have nested lists and
   * values that draw nothing.
   */
  elements(names: readonly string[], takesText: boolean): Check;
}

/**
 * The check of an optional value: one that does not fit is left out, with a warning. A bound that
 * is passed or a dangerous URL refuses the drawing here, too.
 */
export function optionalCheck(check: Check): Check {
  return (value, at, findings) => {
    const { mark } = findings;
    const checked = check(value, at, findings);
    if (findings.mark === mark) return checked;
    return findings.forgive(mark) ? undefined : checked;
  };
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
    ? findings.refuse(at, `must not be nested deeper than ${DATA_DEPTH_MAX}`)
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
  const expected = `must be one of ${values.join(', ')}`;
  return (value, at, findings) => {
    if (known.has(value)) return value;
    return findings.add(at, expected, () => (typeof value === 'string' ? meant(value, values) : undefined));
  };
};

function textCheck({ pattern, const: only, minLength = 0, maxLength }: Rules): Check {
  const form = pattern === undefined ? undefined : new RegExp(pattern, 'u');
  const isUrl = pattern !== undefined && URL_PATTERNS.has(pattern);
  const expected = PATTERN_WORDS.get(pattern ?? '') ?? 'text';
  return (given, at, findings) => {
    const value = typeof given === 'number' ? String(given) : given;
    if (typeof value !== 'string') return findings.add(at, `must be ${expected}`);
    if (only !== undefined && value !== only) return findings.add(at, `must be "${only}"`);
    if (value.length < minLength) return findings.add(at, 'must not be empty');
    if (maxLength !== undefined && value.length > maxLength) {
      // Counts code points, as JSON Schema does, not UTF-16 code units.
      const characters = [...value].length;
      if (characters > maxLength)
        return findings.refuse(at, `must have at most ${maxLength} characters, not ${characters}`);
    }
    if (hasPiledMarks(value))
      return findings.refuse(at, `must have at most ${MARKS_MAX} combining marks on one character`);
    if (form === undefined || form.test(value)) return value;
    if (isUrl && isDangerousUrl(value)) return findings.refuse(at, `must be ${expected}`);
    return findings.add(at, `must be ${expected}`);
  };
}

function numberCheck({ minimum, exclusiveMinimum }: Rules): Check {
  return (given, at, findings) => {
    const value = typeof given === 'string' && NUMBER.test(given) ? Number(given) : given;
    if (typeof value !== 'number') return findings.add(at, 'must be a number');
    if (minimum !== undefined && value < minimum)
      return findings.add(at, `must be ${minimum} or more, not ${value}`);
    if (exclusiveMinimum !== undefined && value <= exclusiveMinimum)
      return findings.add(at, `must be more than ${exclusiveMinimum}, not ${value}`);
    return value;
  };
}

/** A number as text, such as `aspectRatio="1.5"`. */
const NUMBER = /^\d{1,9}(?:\.\d{1,9})?$/;

/** The elements that a schema allows, and whether it allows text beside them. */
export interface AllowedElements {
  /** Empty where it is a schema of values. */
  readonly names: readonly string[];
  readonly takesText: boolean;
}

export function allowedElements(schema: TSchema, definitions: Pick<Definitions, 'value'>): AllowedElements {
  const all = (schema as Rules).anyOf ?? [schema];
  const variants = all.filter((variant) => (variant as Rules).type !== 'string');
  const names = variants.map(referred).filter((name) => name !== undefined);
  const isElements = names.length === variants.length && names.every((name) => !definitions.value(name));
  return { names: isElements ? names : [], takesText: variants.length < all.length };
}

function listCheck({ items, maxItems = Number.POSITIVE_INFINITY }: Rules, definitions: Definitions): Check {
  if (items === undefined) throw new Error('ContentKit: a list without items.');
  const { names, takesText } = allowedElements(items, definitions);
  if (names.length > 0) return definitions.elements(names, takesText);
  const check = valueCheck(items, definitions);
  return (value, at, findings) => {
    if (!Array.isArray(value)) return findings.add(at, 'must be a list');
    if (value.length > maxItems)
      return findings.refuse(at, `must have at most ${maxItems} entries, not ${value.length}`);
    const checked: unknown[] = [];
    for (const [key, item] of value.entries()) {
      if (findings.full) break;
      // The result of `condition && {…}`.
      if (item !== null && item !== false) checked.push(check(item, { parent: at, key }, findings));
    }
    return checked;
  };
}

function objectCheck({ properties = {}, required = [], ...rules }: Rules, definitions: Definitions): Check {
  const members = new Map(
    Object.entries(properties).map(([name, schema]) => {
      const check = valueCheck(schema, definitions);
      return [name, required.includes(name) ? check : optionalCheck(check)];
    }),
  );
  const others = rules.additionalProperties
    ? optionalCheck(valueCheck(rules.additionalProperties, definitions))
    : undefined;
  const known = [...members.keys()];
  const unknown = `is unknown; there are ${known.join(', ')}`;
  return (value, at, findings) => {
    if (!isObject(value)) return findings.add(at, 'must be an object');
    for (const name of required)
      if (!Object.hasOwn(value, name) || value[name] === null)
        findings.add({ parent: at, key: name }, 'is required');
    const entries: [key: string, member: unknown][] = [];
    for (const [key, member] of Object.entries(value)) {
      if (findings.full) break;
      const own = members.get(key);
      // A member that is null is not there, except in data of the author.
      if (own !== undefined && member === null) continue;
      const place = { parent: at, key };
      const check = own ?? others;
      if (check === undefined) {
        findings.drop(place, unknown, () => meant(key, known));
        continue;
      }
      const checked = check(member, place, findings);
      if (checked !== undefined) entries.push([key, checked]);
    }
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
  const { names, takesText } = allowedElements({ anyOf: schemas } as TSchema, definitions);
  if (names.length > 0 && !takesText) return definitions.element(names);
  // What is named goes first: any object is taken for one that has no name.
  const variants = schemas
    .toSorted((one, other) => Number(referred(other) !== undefined) - Number(referred(one) !== undefined))
    .map((schema) => variantOf(schema, definitions));
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
      return findings.add(at, `is wrong: ${fault}`, () => meant(action, actions));
    }
    const variant = variants.find(({ isMeant }) => isMeant(value));
    if (variant !== undefined) return variant.check(value, at, findings);
    const asText = typeof value === 'number' ? String(value) : undefined;
    const textVariant = asText && variants.find(({ isMeant }) => isMeant(asText));
    return textVariant ? textVariant.check(asText, at, findings) : findings.add(at, expected);
  };
}

/** The name of the action, where the schema fixes it. */
const actionOf = (schema: TSchema): string | undefined =>
  ((schema as Rules).properties?.['action'] as Rules | undefined)?.const;

/** Choices of a source are passed on, with a warning: most products have none. */
const sourceVariant = (check: Check): Variant => ({
  isMeant: (value) => isObject(value) && 'source' in value,
  check: (value, at, findings) => {
    findings.drop(at, 'names a source of choices; without a product that has it, the list is empty');
    return check(value, at, findings);
  },
});

function variantOf(schema: TSchema, definitions: Definitions): Variant {
  const name = referred(schema);
  const definition = name === undefined ? schema : definitions.value(name);
  const check = valueCheck(schema, definitions);
  if (definition === undefined)
    return { check, isMeant: (value) => isObject(value) && value['type'] === name };
  if (name === 'binding') return { check, isMeant: (value) => isObject(value) && '$state' in value };
  if (name === 'choiceSource') return sourceVariant(check);
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
