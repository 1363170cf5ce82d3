/**
 * The catalogue of ContentKit as TypeScript: the text of `sandbox/sdk/contentkit-elements.ts`, by
 * which JSX is type-checked.
 *
 * The SDK does not import the host, so its types are generated; a test compares the file with this
 * text. JSX has one type for all elements, so the host validates which element stands where.
 */
import type { TSchema } from 'typebox';
import {
  type ChildrenRule,
  DEFINITIONS,
  ELEMENTS,
  type ElementKind,
} from '../../../src/model/contentkit/contentkit.ts';
import { referred, VALUES } from '../../../src/model/contentkit/contentkit-values.ts';
import { allowedElements } from '../../../src/model/contentkit/contentkit-values-check.ts';
import { docComment } from './doc-comment.ts';

const HEAD = `/**
 * The elements of ContentKit and their attributes (docs/contract/components.md#elements), from the
 * catalogue in \`src/model/contentkit/contentkit.ts\`. Types only.
 *
 * Generated: \`npx vitest run test/unit/sdk/contentkit-elements.test.ts -u\`.
 */
import type { Dynamic, Element, ElementChildren, TextChildren } from './contentkit.ts';
`;

/** Width of a line of code. */
const COLUMNS = 110;

/** Name of a definition → the type that authors import. A binding is always a part of `Dynamic`. */
const TYPE_NAMES: Readonly<Record<string, string>> = {
  icon: 'Icon',
  press: 'Press',
  confirm: 'Confirm',
  control: 'Control',
  option: 'SelectOption',
};

/** The text of the file, formatted like the rest of the source. */
export function contentKitTypes(): string {
  const values = Object.entries(VALUES).filter(([name]) => name in TYPE_NAMES);
  const elements = Object.entries(ELEMENTS).map(([name, kind]) => elementText(name, kind));
  return [
    HEAD,
    ...values.map(([name, schema]) => definitionText(TYPE_NAMES[name] ?? name, schema)),
    `/** Tag → attributes. The host leaves out what is unknown, and answers 422 for what does not fit. */\nexport interface Elements {\n${elements.join('')}}\n`,
  ].join('\n');
}

interface Shape {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly required?: readonly string[];
  readonly maxLength?: number;
}

function definitionText(name: string, schema: TSchema): string {
  const { description = '', properties } = schema as Shape;
  const doc = docComment(description, '');
  if (properties) return `${doc}export interface ${name} {\n${membersText(schema, '  ')}}\n`;
  return `${doc}export type ${name} =\n${variants(schema, '  ')};\n`;
}

/** The members of a union, one on each line. */
const variants = (schema: TSchema, indent: string): string =>
  parts(schema)
    .map((part) => `${indent}| ${typeText(part, `${indent}  `)}`)
    .join('\n');

function elementText(name: string, { description, children }: ElementKind): string {
  const members = membersText(DEFINITIONS[name] ?? {}, '    ', ['type', 'children']);
  const own = `${members}${childrenText(children)}`;
  const doc = docComment(description, '  ');
  return own === '' ? `${doc}  ${name}: Record<never, never>;\n` : `${doc}  ${name}: {\n${own}  };\n`;
}

function childrenText(children: ChildrenRule | undefined): string {
  if (children === undefined) return '';
  const type = children.text ? 'TextChildren' : 'ElementChildren';
  return `    readonly children${children.required ? '' : '?'}: ${type};\n`;
}

function membersText(schema: TSchema, indent: string, without: readonly string[] = []): string {
  const { properties = {}, required = [] } = schema as Shape;
  return Object.entries(properties)
    .filter(([name]) => !without.includes(name))
    .map(([name, member]) => {
      const key = /^\w+$/.test(name) && !name.startsWith('$') ? name : `'${name}'`;
      const start = `${indent}readonly ${key}${required.includes(name) ? '' : '?'}:`;
      const type = typeText(member, indent);
      const line = `${start} ${type};`;
      const isWide = parts(member).length > 1 && (type.includes('\n') || line.length > COLUMNS);
      const text = isWide ? `${start}\n${variants(member, `${indent}  `)};` : line;
      return `${docText(member, indent)}${text}\n`;
    })
    .join('');
}

function docText(schema: TSchema, indent: string): string {
  const { description, maxLength } = schema as Shape;
  const bound = maxLength === undefined ? [] : [`At most ${maxLength} characters.`];
  const words = [...(description ? [description] : []), ...bound].join(' ');
  return docComment(words, indent);
}

interface Rules {
  readonly type?: string;
  readonly anyOf?: readonly TSchema[];
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly items?: TSchema;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly additionalProperties?: TSchema | false;
}

/** The members of a union: its schemas, or its words as schemas. */
function parts(schema: TSchema): readonly TSchema[] {
  const { anyOf, enum: words } = schema as Rules;
  return anyOf ?? (words ?? []).map((word) => ({ type: 'string', const: word }));
}

function typeText(schema: TSchema, indent: string): string {
  const name = referred(schema);
  if (name === 'binding') return '{ readonly $state: string }';
  if (name !== undefined) return TYPE_NAMES[name] ?? 'Element';
  const rules = schema as Rules;
  if (rules.const !== undefined) return `'${rules.const}'`;
  if (rules.anyOf) return unionText(rules.anyOf, indent);
  if (rules.enum) return rules.enum.map((word) => `'${word}'`).join(' | ');
  if (rules.type === 'array') return listText(rules.items ?? {}, indent);
  return rules.type === 'object' ? objectText(schema, rules, indent) : (rules.type ?? 'unknown');
}

function unionText(schemas: readonly TSchema[], indent: string): string {
  const others = schemas.filter((schema) => referred(schema) !== 'binding');
  const types = new Set(others.map((schema) => typeText(schema, indent)));
  // A list of texts and elements may also be one of them.
  const text = types.has('TextChildren') ? 'TextChildren' : [...types].join(' | ');
  return others.length === schemas.length ? text : `Dynamic<${text}>`;
}

/** The host flattens nested lists of elements, and takes one element as a list of one. */
function listText(items: TSchema, indent: string): string {
  const { names, takesText } = allowedElements(items, { value: (name) => VALUES[name] });
  if (names.length > 0) return takesText ? 'TextChildren' : 'ElementChildren';
  const item = typeText(items, indent);
  return item.includes(' | ') ? `readonly (${item})[]` : `readonly ${item}[]`;
}

function objectText(
  schema: TSchema,
  { properties = {}, additionalProperties }: Rules,
  indent: string,
): string {
  const others = additionalProperties && typeText(additionalProperties, indent);
  if (Object.keys(properties).length === 0) return `Readonly<Record<string, ${others || 'unknown'}>>`;
  const inner = `${indent}  `;
  const open = others ? `${inner}readonly [parameter: string]: ${others};\n` : '';
  return `{\n${membersText(schema, inner)}${open}${indent}}`;
}
