/**
 * Generates `annex-env.d.ts`, the types of a manifest for its author's code. The file fills in
 * `ManifestTypes` of the SDK (`sandbox/sdk/manifest-types.ts`), which types configurations, secrets
 * and component ids.
 *
 * Deterministic. Text of the manifest only appears inside of comments, which it cannot end, or in
 * quoted literals: an untrusted integration may be read and typed before it is trusted. Does no
 * file I/O.
 */

import { type Configuration, type ConfigurationProperty, CREDENTIALS_PROPERTY } from './configuration.ts';

import { MANIFEST_FILE, type Manifest } from './manifest.ts';
import { schemaType } from './schema-types.ts';

export const AUTHOR_TYPES_FILE = 'annex-env.d.ts';

/** Maximum characters of a title or a description in a comment. */
const COMMENT_CHARS_MAX = 500;
/** A union longer than this is written with one choice per line. */
const LINE_CHARS_MAX = 100;

const LEVELS = ['account', 'space', 'site'] as const;

/**
 * The full import type: inside of the module augmentation, names that the SDK re-exports have no
 * short form.
 */
const CREDENTIALS = `import('@annex/sdk').OAuthCredentials`;

/** The members of a manifest that types are generated from. */
export type TypedManifest = Pick<Manifest, 'name' | 'blocks' | 'configurations' | 'secrets' | 'calls'>;

/** An event type of the product, by its declaration. */
export interface TypedEvent {
  readonly type: string;
  readonly title: string;
  readonly description?: string | undefined;
  readonly schema: unknown;
  readonly scope?: { readonly name: string } | undefined;
}

/**
 * The text of the file.
 * @param events event types that the product has declared
 */
export function authorTypes(
  { name, blocks, configurations, secrets, calls }: TypedManifest,
  events: readonly TypedEvent[] = [],
): string {
  const components = [
    ...blocks.map(({ id }) => id),
    ...LEVELS.flatMap((level) => configurations[level]?.componentId ?? []),
  ];
  const members = [
    ...LEVELS.flatMap((level) => configurationMember(level, configurations[level])),
    `secrets: Readonly<Record<${union(Object.keys(secrets))}, string>>;`,
    `components: ${union(components)};`,
    ...(calls ? [`calls: ${union(calls.map((call) => call.name))};`] : []),
  ];
  return [
    ...comment([
      `The types of the manifest of "${name}".`,
      `Generated from ${MANIFEST_FILE}: what is changed here is lost.\nAfter a change of the manifest: annex types <this folder>`,
    ]),
    "declare module '@annex/sdk' {",
    ...indented(['interface ManifestTypes {', ...indented(members), '}']),
    ...(events.length === 0
      ? []
      : indented(['', 'interface RuntimeEvents {', ...indented(events.flatMap(eventMember)), '}'])),
    '}',
    '',
    '// A file with an export adds to the module; one without would stand in its place.',
    'export {};',
    '',
  ].join('\n');
}

function eventMember({ type, title, description, schema, scope }: TypedEvent): string[] {
  const event = `import('@annex/sdk').ProductEvent<${literal(type)}, ${schemaType(schema, literal)}>`;
  return [...comment([title, description, scope && `Scope: ${scope.name}`]), `${literal(type)}: ${event};`];
}

function configurationMember(level: string, declared: Configuration | undefined): string[] {
  if (declared?.componentId !== undefined) {
    return [
      ...comment([`Drawn by the component "${declared.componentId}", which decides what is in it.`]),
      `${level}: {`,
      ...indented([
        `readonly ${CREDENTIALS_PROPERTY}?: ${CREDENTIALS};`,
        'readonly [name: string]: unknown;',
      ]),
      '};',
    ];
  }
  const properties = Object.entries(declared?.properties ?? {}).flatMap(([name, property]) =>
    propertyMember(name, property, declared?.required.includes(name) === true),
  );
  return properties.length === 0 ? [`${level}: {};`] : [`${level}: {`, ...indented(properties), '};'];
}

function propertyMember(name: string, property: ConfigurationProperty, required: boolean): string[] {
  const type = propertyType(name, property);
  if (type === undefined) return [];
  const facts = [
    ...(required ? ['Required.'] : []),
    ...(property.default === undefined ? [] : [`Default: ${defaultText(property.default)}`]),
  ];
  return [
    ...comment([property.title, property.description, facts.join(' ')]),
    `readonly ${memberName(name)}${required ? '' : '?'}: ${type};`,
  ];
}

/** @returns undefined for a button that users give no value: only `oauth_credentials` has one */
function propertyType(name: string, property: ConfigurationProperty): string | undefined {
  switch (property.type) {
    case 'string':
      return property.enum === undefined || property.enum.length === 0
        ? 'string'
        : chosen(union(property.enum), property.multiple);
    case 'number':
    case 'boolean':
      return property.type;
    case 'button':
      return name === CREDENTIALS_PROPERTY ? CREDENTIALS : undefined;
  }
}

/** The type of one choice, or of a list of choices. */
const chosen = (choices: string, multiple = false): string =>
  multiple ? `readonly (${choices}${choices.includes('\n') ? '\n' : ''})[]` : choices;

const defaultText = (value: string | number | boolean | readonly string[]): string =>
  typeof value === 'object' ? `[${value.map(literal).join(', ')}]` : literal(value);

/** A union of literals; `never` where there are none. */
function union(texts: readonly string[]): string {
  const literals = [...new Set(texts)].map(literal);
  const line = literals.join(' | ');
  if (line.length > LINE_CHARS_MAX) return literals.map((each) => `\n  | ${each}`).join('');
  return line || 'never';
}

const memberName = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name));

/**
 * A value as a literal. JSON escapes quotes. Attack: invisible and bidirectional characters make
 * one name look like another ("Trojan Source"); they are written as escapes.
 */
const literal = (value: string | number | boolean): string =>
  JSON.stringify(value).replaceAll(
    /[\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );

/** A doc comment with a paragraph for each text; no lines where all texts are empty. */
function comment(texts: readonly (string | undefined)[]): string[] {
  const paragraphs = texts.map((text) => commentLines(text ?? '')).filter((lines) => lines.length > 0);
  const lines = paragraphs.flatMap((paragraph, index) => (index === 0 ? paragraph : ['', ...paragraph]));
  const [only] = lines;
  if (only === undefined) return [];
  if (lines.length === 1) return [`/** ${only} */`];
  return ['/**', ...lines.map((line) => ` * ${line}`.trimEnd()), ' */'];
}

/**
 * Text as lines of a comment.
 *
 * The text is untrusted. Attack: a title that ends the comment and continues as code of the
 * reader's project; `@ts-expect-error` or `@deprecated`, which compiler and editor obey; control
 * characters for a terminal; bidirectional characters that display another text.
 */
function commentLines(text: string): string[] {
  const clipped = text.length > COMMENT_CHARS_MAX ? `${text.slice(0, COMMENT_CHARS_MAX)}…` : text;
  return clipped
    .toWellFormed()
    .split(/\r\n|[\n\r\v\f\u0085\p{Zl}\p{Zp}]/u)
    .map((line) =>
      line
        .replaceAll('\t', ' ')
        .replaceAll(/[\p{Cc}\p{Bidi_Control}]/gu, '')
        .replaceAll('*/', '*\\/')
        .replaceAll(/(?<!\w)@/g, '\\@')
        .trim(),
    )
    .filter((line) => line !== '');
}

const indented = (lines: readonly string[]): string[] =>
  lines.flatMap((line) => line.split('\n')).map((line) => `  ${line}`.trimEnd());
