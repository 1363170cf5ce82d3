/**
 * How large the body of a route can be: what the largest value that its schema allows takes as JSON.
 *
 * The attack: a megabyte for a route that takes five short texts. It is read, parsed and looked at before it is refused. So
 * the limit of each route comes from its schema. A schema with members of any name has no largest value: its route says
 * `bodyLimit` itself, and the service does not start without it.
 */
import type { TSchema } from 'typebox';

/** Body of a route that takes none: many clients send `{}`. */
const NO_BODY_BYTES_MAX = 1024;
/** White space and line breaks of clients that indent what they send. */
const SPACE_BYTES_MAX = 4 * 1024;
/** Each letter of a name or a text: outside the first plane it is two escapes, `\ud83d\ude00`. */
const LETTER_BYTES_MAX = 12;
/** A number, as any client writes it. */
const NUMBER_BYTES_MAX = 32;

/**
 * @param body schema of the body; undefined where the route takes none
 * @returns undefined where the schema has no largest value
 */
export function bodyBytesMax(body: TSchema | undefined): number | undefined {
  if (body === undefined) return NO_BODY_BYTES_MAX;
  const bytes = jsonBytesMax(body);
  return Number.isFinite(bytes) ? bytes + SPACE_BYTES_MAX : undefined;
}

/** A schema as JSON Schema writes it. */
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
  if (keywords.const !== undefined) return textBytesMax(JSON.stringify(keywords.const).length);
  if (keywords.enum) return Math.max(...keywords.enum.map((one) => textBytesMax(JSON.stringify(one).length)));
  if (type === 'boolean' || type === 'null') return 'false'.length;
  if (type === 'integer' || type === 'number') return NUMBER_BYTES_MAX;
  if (type === 'string') return textBytesMax(maxLength ?? Number.POSITIVE_INFINITY);
  if (type === 'array' && items)
    return 2 + (maxItems ?? Number.POSITIVE_INFINITY) * (jsonBytesMax(items) + 1);
  if (type !== 'object' || additionalProperties !== false) return Number.POSITIVE_INFINITY;
  return Object.entries(properties ?? {}).reduce(
    (sum, [name, member]) => sum + textBytesMax(name.length) + jsonBytesMax(member) + 2,
    2,
  );
}

const textBytesMax = (letters: number): number => letters * LETTER_BYTES_MAX + 2;
