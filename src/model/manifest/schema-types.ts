/**
 * TypeScript types of JSON Schema, for the data of events in `annex-env.d.ts`.
 *
 * A type may be wider than its schema, never narrower: what TypeScript cannot say, such as the
 * length of a text, is left out. Names and values of the schema are quoted by the caller's
 * `literal`; nothing else of it is in the result.
 */

type Schema = Readonly<Record<string, unknown>>;

/** Nesting of types, references included: a schema may contain itself. */
const DEPTH_MAX = 6;
const WORDS = new Map([
  ['string', 'string'],
  ['number', 'number'],
  ['integer', 'number'],
  ['boolean', 'boolean'],
  ['null', 'null'],
]);

/** Writes a value as a literal of TypeScript. */
export type Literal = (value: string | number | boolean) => string;

/** The type of the values that a schema allows. */
export function schemaType(schema: unknown, literal: Literal): string {
  const root = isSchema(schema) ? schema : {};
  return new TypeWriter(root, literal).type(root, 0);
}

class TypeWriter {
  readonly #root: Schema;
  readonly #literal: Literal;

  constructor(root: Schema, literal: Literal) {
    this.#root = root;
    this.#literal = literal;
  }

  type(schema: unknown, depth: number): string {
    if (!isSchema(schema) || depth > DEPTH_MAX) return schema === false ? 'never' : 'unknown';
    const parts = [
      this.#plain(schema, depth),
      ...(['anyOf', 'oneOf'] as const).map((key) => this.#union(schema[key], depth)),
      ...listOf(schema['allOf']).map((one) => this.type(one, depth + 1)),
      typeof schema['$ref'] === 'string' ? this.type(this.#resolved(schema['$ref']), depth + 1) : 'unknown',
    ];
    const known = [...new Set(parts)].filter((part) => part !== 'unknown');
    return known.length === 0
      ? 'unknown'
      : known.map((part) => (known.length > 1 ? `(${part})` : part)).join(' & ');
  }

  #union(schemas: unknown, depth: number): string {
    const types = new Set(listOf(schemas).map((one) => this.type(one, depth + 1)));
    return types.size === 0 || types.has('unknown') ? 'unknown' : [...types].map(grouped).join(' | ');
  }

  /** What `const`, `enum` and `type` say. */
  #plain(schema: Schema, depth: number): string {
    const values = Object.hasOwn(schema, 'const') ? [schema['const']] : listOf(schema['enum']);
    if (values.length > 0) {
      const all = values.map((value) =>
        value === null ? 'null' : isPlain(value) ? this.#literal(value) : 'unknown',
      );
      return all.includes('unknown') ? 'unknown' : [...new Set(all)].join(' | ');
    }
    const isObject = schema['type'] === undefined && isSchema(schema['properties']);
    const types = isObject ? ['object'] : [schema['type']].flat();
    const all = types.map((type) => this.#typed(String(type), schema, depth));
    return all.includes('unknown') ? 'unknown' : all.map(grouped).join(' | ');
  }

  #typed(type: string, schema: Schema, depth: number): string {
    if (type === 'array') return `readonly ${grouped(this.type(schema['items'] ?? true, depth + 1))}[]`;
    return type === 'object' ? this.#object(schema, depth) : (WORDS.get(type) ?? 'unknown');
  }

  #object(schema: Schema, depth: number): string {
    const properties = isSchema(schema['properties']) ? Object.entries(schema['properties']) : [];
    const required = listOf(schema['required']);
    const members = properties.map(
      ([name, one]) =>
        `readonly ${this.#literal(name)}${required.includes(name) ? '' : '?'}: ${this.type(one, depth + 1)}`,
    );
    const others = schema['additionalProperties'];
    if (properties.length === 0)
      return `Readonly<Record<string, ${others === undefined ? 'unknown' : this.type(others, depth + 1)}>>`;
    return `{ ${members.join('; ')} }`;
  }

  /** A definition of the schema, or the schema itself. */
  #resolved(reference: string): unknown {
    if (reference === '#') return this.#root;
    const [, group = '', name = ''] = reference.split('/');
    const definitions = this.#root[group];
    return isSchema(definitions) && Object.hasOwn(definitions, name) ? definitions[name] : undefined;
  }
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const isPlain = (value: unknown): value is string | number | boolean =>
  ['string', 'number', 'boolean'].includes(typeof value);
const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
/** A type that can stand before `[]`, and beside `|` and `&`. */
const grouped = (type: string): string =>
  /[|&]/.test(type) || type.startsWith('readonly ') ? `(${type})` : type;
