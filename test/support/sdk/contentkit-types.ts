/**
 * The catalogue of ContentKit as TypeScript: the texts of `sandbox/sdk/contentkit-*.ts`, by which
 * JSX is type-checked.
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
import { attributeExample, elementExample, VALUE_EXAMPLES } from './contentkit-examples.ts';
import { docComment } from './doc-comment.ts';

const SOURCE = `,
 * from the catalogue in \`src/model/contentkit/contentkit.ts\`. Types only.
 *
 * Generated: \`npx vitest run test/unit/sdk/contentkit-elements.test.ts -u\`.
 */
`;

/** File → what its elements are, its interface, and its tags. */
const GROUPS = {
  'contentkit-structure.ts': {
    what: 'that hold others',
    name: 'StructureElements',
    tags: [
      'block',
      'modal',
      'configuration',
      'stepper',
      'step',
      'vstack',
      'hstack',
      'box',
      'divider',
      'card',
    ],
  },
  'contentkit-content.ts': {
    what: 'that show something',
    name: 'ContentElements',
    tags: ['text', 'link', 'hint', 'markdown', 'image', 'codeblock', 'webframe'],
  },
  'contentkit-form.ts': {
    what: 'that users press or fill in',
    name: 'FormElements',
    tags: ['button', 'input', 'textinput', 'select', 'switch', 'radio', 'checkbox'],
  },
} as const;

/** So many elements are named; of more it is said that there are some. */
const LISTED_MAX = 3;
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

/** File → its text, formatted like the rest of the source. */
export function contentKitTypes(): ReadonlyMap<string, string> {
  const grouped: readonly string[] = Object.values(GROUPS).flatMap(({ tags }) => tags);
  const forgotten = Object.keys(ELEMENTS).filter((tag) => !grouped.includes(tag));
  if (forgotten.length > 0) throw new Error(`No file has <${forgotten.join('>, <')}> (contentkit-types.ts).`);
  const groups = Object.entries(GROUPS).map(([file, group]) => [file, groupText(group)] as const);
  return new Map([['contentkit-values.ts', valuesText()], ...groups, ['contentkit-elements.ts', allText()]]);
}

function valuesText(): string {
  const values = Object.entries(VALUES).filter(([name]) => name in TYPE_NAMES);
  return [
    `/**\n * The values of ContentKit attributes (docs/contract/components.md#values)${SOURCE}import type { Dynamic } from './contentkit.ts';\n`,
    ...values.map(([name, schema]) => definitionText(name, schema)),
  ].join('\n');
}

function groupText({ what, name, tags }: (typeof GROUPS)[keyof typeof GROUPS]): string {
  const elements = tags.map((tag) => elementText(tag, ELEMENTS[tag] as ElementKind)).join('');
  const used = (names: readonly string[]) =>
    names.filter((type) => new RegExp(`\\b${type}\\b`).test(elements)).join(', ');
  return [
    `/**\n * Elements of ContentKit ${what} (docs/contract/components.md#elements)${SOURCE}import type { ${used(['Dynamic', 'Element', 'ElementChildren', 'TextChildren'])} } from './contentkit.ts';`,
    `import type { ${used(Object.values(TYPE_NAMES).sort())} } from './contentkit-values.ts';\n`,
    `/** Tag → attributes. */\nexport interface ${name} {\n${elements}}\n`,
  ].join('\n');
}

function allText(): string {
  const imports = Object.entries(GROUPS)
    .sort()
    .map(([file, { name }]) => `import type { ${name} } from './${file}';\n`);
  const names = Object.values(GROUPS).map(({ name }) => name);
  return `/**\n * All elements of ContentKit and their attributes (docs/contract/components.md#elements)${SOURCE}${imports.join('')}
/** Tag → attributes. The host leaves out what is unknown, and answers 422 for what does not fit. */
export interface Elements extends ${names.join(', ')} {}
`;
}

interface Shape {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly required?: readonly string[];
  readonly maxLength?: number;
}

function definitionText(definition: string, schema: TSchema): string {
  const { description = '', properties } = schema as Shape;
  const name = TYPE_NAMES[definition] ?? definition;
  const doc = docComment(description, '', VALUE_EXAMPLES[definition]);
  if (properties) return `${doc}export interface ${name} {\n${membersText(schema, '  ')}}\n`;
  return `${doc}export type ${name} =\n${variants(schema, '  ')};\n`;
}

/** The members of a union, one on each line. */
const variants = (schema: TSchema, indent: string): string =>
  parts(schema)
    .map((part) => `${indent}| ${typeText(part, `${indent}  `)}`)
    .join('\n');

function elementText(name: string, { description, children }: ElementKind): string {
  const members = membersText(DEFINITIONS[name] ?? {}, '    ', { without: ['type', 'children'], tag: name });
  const own = `${members}${childrenText(children)}`;
  const doc = docComment(description, '  ', elementExample(name));
  return own === '' ? `${doc}  ${name}: Record<never, never>;\n` : `${doc}  ${name}: {\n${own}  };\n`;
}

function childrenText(children: ChildrenRule | undefined): string {
  if (children === undefined) return '';
  const type = children.text ? 'TextChildren' : 'ElementChildren';
  return `${docComment(childrenWords(children), '    ')}    readonly children${children.required ? '' : '?'}: ${type};\n`;
}

/** What may stand between the tags, in words. */
export function childrenWords({ elements, text, alone }: ChildrenRule): string {
  const names = elements.filter((name) => name !== alone);
  const listed = names.length > LISTED_MAX ? 'elements' : names.map((name) => `\`<${name}>\``).join(', ');
  const only = alone === undefined ? '' : `, or one \`<${alone}>\` alone`;
  return `Between the tags: ${text ? 'text and ' : ''}${listed}${only}.`;
}

/** One attribute of an element, for the reference page. */
export interface Attribute {
  readonly name: string;
  readonly isRequired: boolean;
  /** On one line. */
  readonly type: string;
  readonly description: string;
  readonly example: string;
}

export function attributesOf(tag: string): readonly Attribute[] {
  const { properties = {}, required = [] } = (DEFINITIONS[tag] ?? {}) as Shape;
  const attributes = Object.entries(properties).filter(([name]) => name !== 'type' && name !== 'children');
  return attributes.map(([name, schema]) => ({
    name,
    isRequired: required.includes(name),
    type: typeText(schema, '')
      .replaceAll(/\/\*\*.*?\*\/|readonly /gs, '')
      .replaceAll(/\s+/g, ' '),
    description: words(schema),
    example: attributeExample(tag, name),
  }));
}

interface MembersOf {
  readonly without?: readonly string[];
  /** The members are attributes of this element, and each has an example. */
  readonly tag?: string;
}

function membersText(schema: TSchema, indent: string, { without = [], tag }: MembersOf = {}): string {
  const { properties = {}, required = [] } = schema as Shape;
  return Object.entries(properties)
    .filter(([name]) => !without.includes(name))
    .map(([name, member]) => {
      const key = /^\w+$/.test(name) && !name.startsWith('$') ? name : `'${name}'`;
      const start = `${indent}readonly ${key}${required.includes(name) ? '' : '?'}:`;
      const type = typeText(member, indent);
      // `attribute={condition ? value : undefined}`: JSON leaves it out.
      const isOmitted = tag !== undefined && !required.includes(name);
      const line = `${start} ${type}${isOmitted ? ' | undefined' : ''};`;
      const isWide = parts(member).length > 1 && (type.includes('\n') || line.length > COLUMNS);
      const inside = `${indent}  `;
      const last = isOmitted ? `\n${inside}| undefined` : '';
      const text = isWide ? `${start}\n${variants(member, inside)}${last};` : line;
      const example = tag === undefined ? undefined : attributeExample(tag, name);
      return `${docText(member, indent, example)}${text}\n`;
    })
    .join('');
}

function docText(schema: TSchema, indent: string, example?: string): string {
  return docComment(words(schema), indent, example);
}

/** What a value is, and its bound. */
function words(schema: TSchema): string {
  const { description = '', maxLength } = schema as Shape;
  const own = description || String((VALUES[referred(schema) ?? ''] as Shape | undefined)?.description ?? '');
  const bound = maxLength === undefined ? [] : [`At most ${maxLength} characters.`];
  return [...(own ? [own] : []), ...bound].join(' ');
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
