/**
 * The size limit for the body of a route: the size of the largest JSON that its schema allows.
 *
 * Attack: a megabyte for a route that takes five short strings, which is read, parsed and validated
 * before it is refused. So the limit of each route comes from its schema. A schema with members of
 * any name has no largest value: its row sets `bodyBytesMax` itself, and the service does not start
 * without it.
 */
import type { TSchema } from 'typebox';

/** Limit of a route without a body: many clients send `{}`. */
const NO_BODY_BYTES_MAX = 1024;
/** Allowance for white space of clients that indent. */
const SPACE_BYTES_MAX = 4 * 1024;
/** Of a character of a string: outside the first plane it is two escapes, `\ud83d\ude00`. */
const LETTER_BYTES_MAX = 12;
/** Of a number, in any notation. */
const NUMBER_BYTES_MAX = 32;

/**
 * @param body schema of the body; undefined if the route takes none
 * @returns bytes; undefined if the schema has no largest value
 */
export function bodyBytesMax(body: TSchema | undefined): number | undefined {
  if (body === undefined) return NO_BODY_BYTES_MAX;
  const bytes = jsonBytesMax(body);
  return Number.isFinite(bytes) ? bytes + SPACE_BYTES_MAX : undefined;
}

/** The keywords of JSON Schema that are read here. */
interface Keywords {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly items?: TSchema;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly additionalProperties?: unknown;
}

function jsonBytesMax(schema: TSchema): number {
  const { type, maxLength, maxItems, items, properties, additionalProperties, ...keywords } =
    schema as Keywords;
  if (keywords.const !== undefined) return stringBytesMax(JSON.stringify(keywords.const).length);
  if (keywords.enum)
    return Math.max(...keywords.enum.map((one) => stringBytesMax(JSON.stringify(one).length)));
  if (type === 'boolean' || type === 'null') return 'false'.length;
  if (type === 'integer' || type === 'number') return NUMBER_BYTES_MAX;
  if (type === 'string') return stringBytesMax(maxLength ?? Number.POSITIVE_INFINITY);
  if (type === 'array' && items)
    return 2 + (maxItems ?? Number.POSITIVE_INFINITY) * (jsonBytesMax(items) + 1);
  if (type !== 'object' || additionalProperties !== false) return Number.POSITIVE_INFINITY;
  return Object.entries(properties ?? {}).reduce(
    (sum, [name, member]) => sum + stringBytesMax(name.length) + jsonBytesMax(member) + 2,
    2,
  );
}

const stringBytesMax = (characters: number): number => characters * LETTER_BYTES_MAX + 2;
