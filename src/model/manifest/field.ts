/**
 * Declares the members of a manifest. One row a member says what the reader accepts, what editors
 * are told by JSON Schema (draft 2020-12), and the type of the result.
 *
 * The reader is authoritative: it alone checks rules that span members or depend on the deployment.
 * It warns of unknown keys; the schema refuses them, so that editors mark them.
 */
import type { TextRule, YamlFields } from './yaml-fields.ts';

/** `false` allows no value. */
export type JsonSchema = Readonly<Record<string, unknown>> | false;

/** A member that is required, unless `absent` says what follows where it is left out. */
export interface Field<Value> {
  readonly schema: JsonSchema;
  /**
   * Reads a value that is there and records its problems.
   * @returns undefined where none of it can be used
   */
  readonly read: (fields: YamlFields, key: string) => Value | undefined;
  /** The value where the member is absent or invalid: one pass lists every problem. */
  readonly empty?: Value;
  readonly absent?: 'left out' | 'empty';
}

type Optional<Value> = Field<Value> & { readonly absent: 'left out' };

export type Members = Readonly<Record<string, Field<unknown>>>;

type ValueOf<Member> = Member extends Field<infer Value> ? Value : never;
type OptionalKey<Map extends Members> = {
  [Key in keyof Map]: Map[Key] extends { readonly absent: 'left out' } ? Key : never;
}[keyof Map];

/** The result of reading members. */
export type ReadOf<Map extends Members> = {
  readonly [Key in keyof Map as Exclude<Key, OptionalKey<Map>>]: ValueOf<Map[Key]>;
} & { readonly [Key in keyof Map as Extract<Key, OptionalKey<Map>>]?: ValueOf<Map[Key]> };

/**
 * Reads the members of a map.
 * @param of the kind of map in warnings, such as "a button property"
 */
export function readMembers<Map extends Members>(members: Map, fields: YamlFields, of?: string): ReadOf<Map> {
  fields.warnUnknown(Object.keys(members), of);
  const found: Record<string, unknown> = {};
  for (const [key, field] of Object.entries(members)) {
    const isThere = fields.has(key);
    if (!isThere && field.absent === undefined) fields.refuseAbsent(key, Array.isArray(field.empty));
    const value = (isThere ? field.read(fields, key) : undefined) ?? field.empty;
    if (value !== undefined) found[key] = value;
  }
  return found as ReadOf<Map>;
}

/** The schema of a map. */
export const membersSchema = (members: Members, description: string): JsonSchema => ({
  type: 'object',
  description,
  required: Object.keys(members).filter((key) => members[key]?.absent === undefined),
  properties: Object.fromEntries(Object.entries(members).map(([key, { schema }]) => [key, schema])),
  additionalProperties: false,
});

/** A member that may be absent, and is then absent in the result. */
export const optional = <Value>({ schema, read }: Field<Value>): Optional<Value> => ({
  ...{ schema, read },
  absent: 'left out',
});

/** A member that may be absent, and then has its empty value, or the given one. */
export const byDefault = <Value>(field: Field<Value>, empty?: Value): Field<Value> => ({
  ...field,
  ...(empty !== undefined && { empty, schema: { ...field.schema, default: empty } }),
  absent: 'empty',
});

/** A member with a check of its own, of a value that has been read. */
export const checked = <Value>(
  field: Field<Value>,
  check: (value: Value, fields: YamlFields, key: string) => Value | undefined,
): Field<Value> => ({
  ...field,
  read(fields, key) {
    const value = field.read(fields, key);
    return value === undefined ? undefined : (check(value, fields, key) ?? value);
  },
});

/** Rule of a text in a manifest. */
interface FieldRule extends TextRule {
  /** The pattern for editors, where it is stricter: they mark what the reader warns of. */
  readonly patternInEditors?: RegExp;
}

/** A text that is not blank. */
export const text = (description: string, rule: FieldRule = {}): Field<string> => ({
  schema: {
    type: 'string',
    description,
    ...(!rule.mayBeEmpty && { pattern: (rule.patternInEditors ?? rule.pattern)?.source ?? '\\S' }),
    ...(rule.charsMax !== undefined && { maxLength: rule.charsMax }),
  },
  read: (fields, key) => fields.text(key, rule),
  empty: '',
});

/** Word → its meaning for editors, or undefined where it says everything. */
type Meanings<Word extends string> = Readonly<Record<Word, string | undefined>>;

const wordsOf = <Word extends string>(meanings: Meanings<Word>) => Object.keys(meanings) as Word[];

const wordSchemas = (meanings: Meanings<string>, deprecated = false): JsonSchema[] =>
  Object.entries(meanings).map(([word, description]) => ({
    const: word,
    ...(description !== undefined && { description }),
    ...(deprecated && { deprecated }),
  }));

/** One of a few words. */
export const choice = <Word extends string>(meanings: Meanings<Word>, description: string): Field<Word> => ({
  schema: { anyOf: wordSchemas(meanings), description },
  read: (fields, key) => fields.choice(key, wordsOf(meanings)),
});

/**
 * A list of known words, without duplicates. A word that is neither known nor the misspelling of a
 * known one is left out with a warning.
 *
 * @param aliases former word → word
 */
export const words = <Word extends string>(
  meanings: Meanings<Word>,
  description: string,
  aliases: ReadonlyMap<string, Word> = new Map(),
): Field<readonly Word[]> => {
  const former = [...aliases].map(([old, word]) => [old, `Write ${word}.`] as const);
  const items = { anyOf: [...wordSchemas(meanings), ...wordSchemas(Object.fromEntries(former), true)] };
  return {
    schema: { type: 'array', description, items },
    read: (fields, key) => fields.words(key, wordsOf(meanings), aliases),
    empty: [],
  };
};

/** A list of texts. `unique` leaves duplicates out with a warning. */
export const texts = (
  item: string,
  {
    max,
    unique = false,
    description,
    ...rule
  }: FieldRule & { max: number; unique?: boolean; description: string },
): Field<readonly string[]> => ({
  schema: { type: 'array', description, items: text(item, rule).schema, maxItems: max },
  read: (fields, key) => fields.texts(key, { ...rule, max, unique }),
  empty: [],
});

/** A map of members. */
export const map = <Map extends Members>(members: Map, description: string): Field<ReadOf<Map>> => ({
  schema: membersSchema(members, description),
  read(fields, key) {
    const own = fields.map(key);
    return own && readMembers(members, own);
  },
});

/** A list of maps. */
export const maps = <Map extends Members>(
  members: Map,
  { item, description, max }: { item: string; description: string; max?: number },
): Field<readonly ReadOf<Map>[]> => ({
  schema: {
    type: 'array',
    description,
    items: membersSchema(members, item),
    ...(max !== undefined && { maxItems: max }),
  },
  read: (fields, key) => fields.maps(key, max).map((own) => readMembers(members, own)),
  empty: [],
});
