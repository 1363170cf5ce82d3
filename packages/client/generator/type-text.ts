/**
 * JSON Schema → TypeScript. A schema with a `title` becomes an exported interface of that name; any
 * other one is written where it stands, unless its place gives it a name.
 *
 * Members are read-only, and an optional member may be `undefined`, so that objects can be passed
 * on under `exactOptionalPropertyTypes`. What a type cannot say, such as bounds, is left to the
 * service.
 */
import { doc } from './doc.ts';
import type { Rules } from './openapi.ts';

/** Generic type of pages, which the client declares itself. */
const PAGE = 'Page';

const RECORD = 'Readonly<Record<string, unknown>>';

export class TypeText {
  /** Name → declaration. */
  readonly #declared = new Map<string, string>();

  /** All declarations, by name. */
  declarations(): readonly string[] {
    return [...this.#declared].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, text]) => text);
  }

  /** The names that are declared. */
  names(): readonly string[] {
    return [...this.#declared.keys()].toSorted();
  }

  /** The type of a schema. */
  of(rules: Rules): string {
    if (rules.title === undefined) return this.#plain(rules);
    const name = pascalCase(rules.title);
    this.#declare(name, rules);
    return name;
  }

  /** The type of a schema at a place that gives it a name, unless it has one or needs none. */
  named(name: string, rules: Rules): string {
    const isNamed = rules.title !== undefined || pageItem(rules) !== undefined;
    if (isNamed || rules.type !== 'object' || Object.keys(rules.properties ?? {}).length === 0)
      return this.of(rules);
    this.#declare(name, rules);
    return name;
  }

  #declare(name: string, rules: Rules): void {
    const body =
      rules.properties === undefined || pageItem(rules)
        ? `export type ${name} = ${this.#plain(rules)};\n`
        : `export interface ${name} ${this.#members(rules)}\n`;
    const text = `${doc(rules.description)}${body}`;
    const other = this.#declared.get(name);
    if (other !== undefined && other !== text)
      throw new Error(`Two schemas have the title ${name}:\n${other}\n${text}`);
    this.#declared.set(name, text);
  }

  #plain(rules: Rules): string {
    if (rules.anyOf) return [...new Set(rules.anyOf.map((each) => this.of(each)))].join(' | ');
    if (rules.const !== undefined) return literal(rules.const);
    if (rules.enum) return rules.enum.map(literal).join(' | ');
    switch (rules.type) {
      case 'array':
        return `readonly (${this.of(rules.items ?? {})})[]`;
      case 'object':
        return this.#object(rules);
      case 'integer':
      case 'number':
        return 'number';
      case 'string':
        return rules.format === 'binary' ? 'Blob' : 'string';
      case 'boolean':
      case 'null':
        return rules.type;
      default:
        return 'unknown';
    }
  }

  #object(rules: Rules): string {
    const { properties = {}, additionalProperties } = rules;
    const item = pageItem(rules);
    if (item) {
      const { items: _items, count: _count, next: _next, ...more } = properties;
      const page = `${PAGE}<${this.of(item)}>`;
      return Object.keys(more).length === 0
        ? page
        : `${page} & ${this.#members({ ...rules, properties: more })}`;
    }
    if (Object.keys(properties).length > 0) return this.#members(rules);
    if (typeof additionalProperties !== 'object')
      return additionalProperties === false ? 'Readonly<Record<never, never>>' : RECORD;
    return `Readonly<Record<string, ${this.of(additionalProperties)}>>`;
  }

  #members({ properties = {}, required = [], additionalProperties }: Rules): string {
    const members = Object.entries(properties).map(([name, member]) => {
      const key = /^\w+$/.test(name) ? name : `'${name}'`;
      const type = this.of(member);
      return `${doc(member.description)}readonly ${key}${required.includes(name) ? `: ${type}` : `?: ${type} | undefined`};\n`;
    });
    const others = additionalProperties === true ? 'readonly [member: string]: unknown;\n' : '';
    return `{\n${members.join('')}${others}}`;
  }
}

/** The items of a page of a list; undefined if the schema is none. */
export function pageItem({ title, properties = {} }: Rules): Rules | undefined {
  return title === undefined && properties['next'] !== undefined ? properties['items']?.items : undefined;
}

/** `space_view` → `SpaceView`, `Space view` likewise. */
export const pascalCase = (text: string): string =>
  text.replace(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, letter: string) => letter.toUpperCase());

const literal = (value: unknown): string =>
  typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : String(value);
