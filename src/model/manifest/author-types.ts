/**
 * The types that a manifest gives to its author's code, as the text of `annex-env.d.ts`: it fills in `ManifestTypes` of the
 * SDK (`sandbox/sdk/manifest-types.ts`), from which configurations, secrets and component ids get their types.
 *
 * The same manifest always makes the same text. Whatever the manifest says ends up in a comment, where it cannot end it, or
 * in a quoted literal: a stranger's integration may be read, and typed, before it is trusted. Knows no files.
 */

import { CREDENTIALS_PROPERTY } from '../installation.ts';
import type { Configuration, ConfigurationProperty } from './configuration.ts';
import { MANIFEST_FILE, type Manifest } from './manifest.ts';

export const AUTHOR_TYPES_FILE = 'annex-env.d.ts';

/** Characters of a title or a description that are repeated in a comment. */
const COMMENT_CHARS_MAX = 500;
/** A union that makes a longer line is written one choice a line. */
const LINE_CHARS_MAX = 100;

const LEVELS = ['account', 'space', 'site'] as const;

/** By its full name: what the SDK hands on from its other files has no short one in here. */
const CREDENTIALS = `import('@annex/sdk').OAuthCredentials`;

/** What of a manifest its types are made of. */
export type TypedManifest = Pick<Manifest, 'name' | 'blocks' | 'configurations' | 'secrets'>;

/** The text of the file. */
export function authorTypes({ name, blocks, configurations, secrets }: TypedManifest): string {
  const components = [
    ...blocks.map(({ id }) => id),
    ...LEVELS.flatMap((level) => configurations[level]?.componentId ?? []),
  ];
  const members = [
    ...LEVELS.flatMap((level) => configurationMember(level, configurations[level])),
    `secrets: Readonly<Record<${union(Object.keys(secrets))}, string>>;`,
    `components: ${union(components)};`,
  ];
  return [
    ...comment([
      `The types of the manifest of "${name}".`,
      `Generated from ${MANIFEST_FILE}: what is changed here is lost.\nAfter a change of the manifest, in the folder of Annex: npm run types -- <this folder>`,
    ]),
    "declare module '@annex/sdk' {",
    ...indented(['interface ManifestTypes {', ...indented(members), '}']),
    '}',
    '',
    '// A file with an export adds to the module; one without would stand in its place.',
    'export {};',
    '',
  ].join('\n');
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

/** @returns undefined for a button without a value: only `oauth_credentials` ever gets one */
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

/** One of a union, or a list of some. */
const chosen = (choices: string, multiple = false): string =>
  multiple ? `readonly (${choices}${choices.includes('\n') ? '\n' : ''})[]` : choices;

const defaultText = (value: string | number | boolean | readonly string[]): string =>
  typeof value === 'object' ? `[${value.map(literal).join(', ')}]` : literal(value);

/** A union of literals; `never` of none. */
function union(texts: readonly string[]): string {
  const literals = [...new Set(texts)].map(literal);
  const line = literals.join(' | ');
  if (line.length > LINE_CHARS_MAX) return literals.map((each) => `\n  | ${each}`).join('');
  return line || 'never';
}

const memberName = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name));

/**
 * A value as a literal. JSON escapes what would end it; characters that are not seen, or that turn the direction of what
 * follows, are spelt out, because a reader must not take one name for another ("Trojan Source").
 */
const literal = (value: string | number | boolean): string =>
  JSON.stringify(value).replaceAll(
    /[\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );

/** A doc comment, a paragraph for each text; no lines at all where there is none. */
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
 * The text is a stranger's. A title that ends the comment would go on as code of the reader's project; one of `@ts-expect-error`
 * or `@deprecated` would speak to the compiler and the editor; control characters would speak to a terminal, and those of
 * direction would show another text than there is.
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
