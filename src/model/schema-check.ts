/**
 * Checks a value against a TypeBox schema. The schema bounds the work, not the value.
 *
 * Attack: a body of 520,000 wrong external ids. The validator itself stops at the first of them,
 * but its list of faults visits every item and every member: most of a second on the main thread
 * for a request that is refused. So a list that is too long is refused before its items are
 * checked, and other faults are listed from an excerpt: the declared members, and a few undeclared
 * ones.
 */
import type { TSchema } from 'typebox';
import Schema from 'typebox/schema';
import type { SchemaFault } from './schema-fault.ts';

/**
 * Maximum undeclared members in the excerpt. A list of faults holds eight at most, and the last one
 * names these members.
 */
const OTHERS_MAX = 6;

/** Checks a value. @returns its first faults; empty where it is valid */
export type SchemaCheck = (value: unknown) => readonly SchemaFault[];

type Validator = ReturnType<typeof Schema.Compile>;

/** The parts of a schema that bound how much of a value is visited. */
interface Outline {
  readonly itemsMax?: number;
  readonly items?: Outline;
  readonly properties: ReadonlyMap<string, Outline>;
  /**
   * Validates the values of undeclared members, where the schema restricts them
   * (`patternProperties`).
   */
  readonly others?: Validator;
}

/**
 * Makes a check, which is compiled when it checks its first value: a service has some two hundred
 * of them, a third of the CPU of its start, and uses few soon.
 *
 * @param schema has no unions of lists: each list has `maxItems` where it is declared
 */
export function schemaCheck(schema: TSchema): SchemaCheck {
  let compiled: { readonly validator: Validator; readonly outline: Outline } | undefined;
  return (value) => {
    compiled ??= { validator: Schema.Compile(schema), outline: outlineOf(schema) };
    const { validator, outline } = compiled;
    const tooLong = longList(outline, value, '');
    if (tooLong !== undefined) return [tooLong];
    return validator.Check(value) ? [] : validator.Errors(excerpt(outline, value))[1];
  };
}

/** The JSON Schema keywords that the outline reads. */
interface Keywords {
  readonly maxItems?: number;
  readonly items?: TSchema;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly patternProperties?: Readonly<Record<string, TSchema>>;
}

function outlineOf(schema: TSchema): Outline {
  const { maxItems, items, properties = {}, patternProperties } = schema as Keywords;
  const [others] = Object.values(patternProperties ?? {});
  return {
    ...(maxItems !== undefined && { itemsMax: maxItems }),
    ...(items && { items: outlineOf(items) }),
    properties: new Map(Object.entries(properties).map(([name, member]) => [name, outlineOf(member)])),
    ...(others && { others: Schema.Compile(others) }),
  };
}

/** The fault of the first list that has more items than `maxItems`. */
function longList(
  { itemsMax, items, properties }: Outline,
  value: unknown,
  path: string,
): SchemaFault | undefined {
  if (Array.isArray(value)) {
    if (itemsMax !== undefined && value.length > itemsMax) return tooManyItems(path, itemsMax);
    return items && firstOf(value, (item, index) => longList(items, item, `${path}/${index}`));
  }
  if (!isObject(value)) return undefined;
  return firstOf(properties, ([name, outline]) =>
    Object.hasOwn(value, name) ? longList(outline, value[name], `${path}/${name}`) : undefined,
  );
}

const tooManyItems = (instancePath: string, limit: number): SchemaFault => ({
  ...{ keyword: 'maxItems', instancePath, params: { limit } },
  message: `must not have more than ${limit} items`,
});

function firstOf<Item, Found>(
  items: Iterable<Item>,
  find: (item: Item, index: number) => Found | undefined,
): Found | undefined {
  let index = 0;
  for (const item of items) {
    const found = find(item, index);
    if (found !== undefined) return found;
    index += 1;
  }
  return undefined;
}

/**
 * The excerpt of a value from which faults are listed. It is invalid exactly where the whole value
 * is.
 */
function excerpt({ items, properties, others }: Outline, value: unknown): unknown {
  if (Array.isArray(value)) return items ? value.map((item) => excerpt(items, item)) : value;
  if (!isObject(value)) return value;
  const members: [string, unknown][] = [];
  let undeclared = 0;
  for (const name of Object.keys(value)) {
    const declared = properties.get(name);
    if (declared) members.push([name, excerpt(declared, value[name])]);
    else if (undeclared < OTHERS_MAX && !(others?.Check(value[name]) ?? false)) {
      undeclared += 1;
      members.push([name, value[name]]);
    }
  }
  // `fromEntries` defines members; assigning one named `__proto__` would set the prototype instead.
  return Object.fromEntries(members);
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
