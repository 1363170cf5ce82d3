/**
 * The reference of one command or of all: as data, as text for `annex help`, and as the page
 * docs/commands.md. All of it comes from the declarations in `commands/`.
 */
import type { TSchema } from 'typebox';
import { type Command, type CommandGroup, type Example, isGroup, kebab } from './command.ts';
import { exitsOf, GLOBAL_OPTIONS } from './program.ts';

export interface Reference {
  /** With the words that select it: `annex token create`. */
  readonly command: string;
  readonly usage: string;
  readonly summary: string;
  readonly description: readonly string[];
  readonly arguments: readonly { readonly name: string; readonly help: string }[];
  readonly options: readonly { readonly flags: string; readonly help: string }[];
  readonly examples: readonly Example[];
  readonly exits: readonly { readonly code: number; readonly meaning: string }[];
  /** Schema of what `--json` prints. */
  readonly json: TSchema;
  readonly stream: string | null;
}

export function referencesOf(entries: readonly (Command | CommandGroup)[]): Reference[] {
  return entries.flatMap((entry) =>
    isGroup(entry)
      ? entry.commands.map((command) => referenceOf(`annex ${entry.name} ${command.name}`, command))
      : [referenceOf(`annex ${entry.name}`, entry)],
  );
}

function referenceOf(name: string, command: Command): Reference {
  const words = Object.entries(command.arguments).map(([key, { optional, variadic }]) => {
    const word = `${kebab(key)}${variadic ? '...' : ''}`;
    return optional ? `[${word}]` : `<${word}>`;
  });
  const options = Object.entries(command.options).filter(([, { hidden }]) => !hidden);
  const { stream } = command;
  return {
    command: name,
    usage: [name, ...words, ...(options.length > 0 ? ['[options]'] : [])].join(' '),
    summary: command.summary,
    description: command.description ?? [sentence(command.summary)],
    arguments: Object.entries(command.arguments).map(([, { help, choices }], at) => ({
      name: words[at] ?? '',
      help: withChoices(help, choices),
    })),
    options: options.map(([key, { short, value, help, choices, default: otherwise, required }]) => ({
      flags: `${short === undefined ? '' : `-${short}, `}--${kebab(key)}${value === undefined ? '' : ` <${value}>`}`,
      help: [
        withChoices(help, choices),
        ...(otherwise === undefined ? [] : [` (default: ${otherwise})`]),
        ...(required ? [' (required)'] : []),
      ].join(''),
    })),
    examples: command.examples,
    exits: exitsOf(command.exits).map(([code, meaning]) => ({ code: Number(code), meaning })),
    json: command.json,
    stream: stream === true ? 'always' : stream === undefined ? null : `--${kebab(stream)}`,
  };
}

const withChoices = (help: string, choices: readonly string[] | undefined): string =>
  choices === undefined ? help : `${help}: ${choices.join(', ')}`;

const sentence = (summary: string): string => `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`;

/** One command as a page of text, as `man` shows them. */
export function textOf(reference: Reference): string {
  const section = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : ['', title, ...lines.map((line) => (line === '' ? '' : `    ${line}`))];
  const named = (rows: readonly (readonly [string, string])[]) =>
    rows.flatMap(([name, help]) => [name, `    ${help}`]);
  const { description, examples, exits, json } = reference;
  return [
    'NAME',
    `    ${reference.command} - ${reference.summary}`,
    ...section('USAGE', [reference.usage]),
    ...section(
      'DESCRIPTION',
      description.flatMap((text, at) => (at === 0 ? [text] : ['', text])),
    ),
    ...section('ARGUMENTS', named(reference.arguments.map(({ name, help }) => [name, help]))),
    ...section('OPTIONS', named(reference.options.map(({ flags, help }) => [flags, help]))),
    ...section('OPTIONS OF EVERY COMMAND', named(GLOBAL_OPTIONS)),
    ...section(
      'EXAMPLES',
      examples.flatMap(({ line, does }) => [`# ${does}`, line]),
    ),
    ...section(
      'EXIT CODES',
      exits.map(({ code, meaning }) => `${code}  ${meaning}`),
    ),
    ...section(jsonTitle(reference), shapeOf(json).split('\n')),
  ].join('\n');
}

const jsonTitle = ({ stream }: Reference): string => {
  if (stream === null) return 'JSON';
  return stream === 'always' ? 'JSON, ONE VALUE A LINE' : `JSON, ONE VALUE A LINE WITH ${stream}`;
};

/** All commands as the page docs/commands.md. */
export function pageOf(entries: readonly (Command | CommandGroup)[]): string {
  const options = GLOBAL_OPTIONS.map(([flags, help]) => `| \`${flags}\` | ${help} |`);
  const references = referencesOf(entries);
  const index = references.map(
    ({ command, summary }) => `| [\`${command}\`](#${command.replaceAll(' ', '-')}) | ${summary} |`,
  );
  return `${[INTRODUCTION, '| option | |', '|---|---|', ...options, '', '## All commands', '', '| command | |', '|---|---|', ...index, '', ...references.map(sectionOf)].join('\n').trimEnd()}\n`;
}

const INTRODUCTION = `# Commands

This page is generated from the program: \`npx vitest run test/unit/cli/reference.test.ts -u\` writes it. \`annex help <command>\`
prints the same in a terminal.

Each command is a client of the [API](api.md): curl can do the same. Data is on standard output, everything else on standard
error. Without a terminal nothing is asked. Exit codes are 0 (done), 1 (refused, problems found, or no service reached) and 2
(wrong use). A signal that breaks a command off ends it with 130 or 143; a stream ends with 0.

With \`--json\`, standard output is one JSON value, or one a line for a stream. A failure is
\`{"error": {"code", "message", "hint"?, "status"?, "problems"?}}\`.

A command finds its service by the first of these: \`--profile\`; \`ANNEX_URL\` and \`ANNEX_TOKEN\`; the profile that
\`ANNEX_PROFILE\` names, else the one in use; \`http://127.0.0.1:7700\` with the token in \`data/admin-token\` of the current folder
or of one above it, as \`annex serve\` writes it. A token is sent to its own service alone.
`;

function sectionOf({ command, usage, description, ...rest }: Reference): string {
  const rows = (title: string, list: readonly (readonly [string, string])[]) =>
    list.length === 0
      ? []
      : ['', `| ${title} | |`, '|---|---|', ...list.map(([name, help]) => `| \`${name}\` | ${cell(help)} |`)];
  const examples = rest.examples.flatMap(({ line, does }) => [`# ${does}`, line]);
  const exits = rest.exits.map(({ code, meaning }) => `${code} ${meaning}`).join('; ');
  return [
    `## ${command}`,
    '',
    ['```text', usage, '```'].join('\n'),
    '',
    description.join('\n\n'),
    ...rows(
      'argument',
      rest.arguments.map(({ name, help }) => [name, help]),
    ),
    ...rows(
      'option',
      rest.options.map(({ flags, help }) => [flags, help]),
    ),
    '',
    ['```text', ...examples, '```'].join('\n'),
    '',
    `Exit codes: ${exits}.`,
    '',
    `With \`--json\`${rest.stream === null ? '' : rest.stream === 'always' ? ', a line' : `, a line with \`${rest.stream}\``}:`,
    '',
    ['```text', shapeOf(rest.json), '```', ''].join('\n'),
  ].join('\n');
}

const cell = (help: string): string => help.replaceAll('|', '\\|');

/** The keywords of JSON Schema that the schemas of commands use. */
interface Shape {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Shape[];
  readonly allOf?: readonly Shape[];
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly patternProperties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  readonly description?: string;
}

/** A schema in the notation of TypeScript's types. */
export function shapeOf(schema: TSchema, indent = ''): string {
  const shape = schema as Shape;
  if (shape.const !== undefined) return JSON.stringify(shape.const);
  if (shape.allOf !== undefined) return shape.allOf.map((one) => shapeOf(one, indent)).join(' & ');
  if (shape.enum !== undefined) return shape.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (shape.anyOf !== undefined) return shape.anyOf.map((one) => shapeOf(one, indent)).join(' | ');
  if (shape.type === 'array') return arrayShape(shape.items ?? {}, indent);
  if (shape.properties !== undefined) return objectShape(shape, indent);
  const [pattern] = Object.values(shape.patternProperties ?? {});
  if (pattern !== undefined) return `Record<string, ${shapeOf(pattern, indent)}>`;
  return shape.type ?? 'unknown';
}

function arrayShape(items: Shape, indent: string): string {
  const shape = shapeOf(items as TSchema, indent);
  return items.anyOf !== undefined || items.enum !== undefined ? `(${shape})[]` : `${shape}[]`;
}

function objectShape({ properties = {}, required = [] }: Shape, indent: string): string {
  const inner = `${indent}  `;
  const members = Object.entries(properties).map(([name, member]) => {
    const mark = required.includes(name) ? '' : '?';
    const note = member.description === undefined ? '' : `  // ${member.description}`;
    return `${inner}${name}${mark}: ${shapeOf(member, inner)};${note}`;
  });
  return ['{', ...members, `${indent}}`].join('\n');
}
