/**
 * Checks a value against a TypeBox schema, with work that the schema bounds and not the value.
 *
 * The attack: a body of 520,000 wrong external ids. The validator itself stops at the first of them, but its list of faults
 * visits every item and every member: most of a second on the thread that serves everybody, for a request that is refused. So
 * a list that is too long is a fault before any of its items is looked at, and the other faults are those of an excerpt: what
 * the schema declares, and a few of the members that it does not.
 */
import type { TSchema } from 'typebox';
import Schema from 'typebox/schema';
import type { SchemaFault } from './schema-fault.ts';

/** Members without a property of their own that a list of faults looks at. It holds eight at most, and the last one names them. */
const OTHERS_MAX = 6;

/** Finds what is wrong with a value: the first faults; none where the value is valid. */
export type SchemaCheck = (value: unknown) => readonly SchemaFault[];

type Validator = ReturnType<typeof Schema.Compile>;

/** What of a schema decides how much of a value is looked at. */
interface Outline {
  readonly itemsMax?: number;
  readonly items?: Outline;
  readonly properties: ReadonlyMap<string, Outline>;
  /** Checks what members without a property of their own hold, where the schema says what that is. */
  readonly others?: Validator;
}

/** @param schema without unions of lists: each list has `maxItems` where it is declared */
export function schemaCheck(schema: TSchema): SchemaCheck {
  const validator = Schema.Compile(schema);
  const outline = outlineOf(schema);
  return (value) => {
    const tooLong = longList(outline, value, '');
    if (tooLong !== undefined) return [tooLong];
    return validator.Check(value) ? [] : validator.Errors(excerpt(outline, value))[1];
  };
}

/** A schema as JSON Schema writes it. */
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

/** The first list with more items than it may have. */
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

/** What of a value its faults are listed from. It is invalid where the whole is. */
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
