/**
 * The reference of one command or of all, as data and as text: `annex help`, and the pages of
 * docs/commands/. All of it comes from the declarations of the commands.
 */
import Type, { type TSchema } from 'typebox';
import { nearest } from '../../model/spelling-hint.ts';
import { type Command, type CommandGroup, defineCommand, type Example, isGroup, kebab } from '../command.ts';
import { exitsOf, GLOBAL_OPTIONS } from '../program.ts';
import { UsageError } from '../terminal/failure.ts';
import { paint } from '../terminal/output.ts';

const ROW = Type.Object({ command: Type.String(), summary: Type.String() });

/** @param entries all commands; read when the help is asked for, as this command is one of them */
export const helpOf = (entries: () => readonly (Command | CommandGroup)[]): Command =>
  defineCommand({
    name: 'help',
    summary: 'explain a command in full',
    description: [
      'Explains a command in full: its arguments, options, examples, exit codes and the shape of its JSON. Without a command, lists all.',
    ],
    arguments: { command: { help: 'the words of a command', optional: true, variadic: true } },
    examples: [
      { line: 'annex help', does: 'list all commands' },
      { line: 'annex help token create', does: 'explain one' },
    ],
    json: Type.Object({
      commands: Type.Array(Type.Intersect([ROW, Type.Object({ usage: Type.String() })]), {
        description: 'With everything that the page says.',
      }),
    }),
    async run({ output }, { command }) {
      const found = chosen(referencesOf(entries()), command.join(' '));
      output.result({ commands: found }, () => {
        const [only, ...others] = found;
        if (only !== undefined && others.length === 0) output.line(textOf(only));
        else
          output.table(
            ['COMMAND', 'DOES'],
            found.map((reference) => [paint('bold', reference.command), reference.summary]),
          );
      });
    },
  });

/** One command, those of a group, or all. @throws UsageError */
function chosen(all: readonly Reference[], words: string): readonly Reference[] {
  const prefix = `annex${words === '' ? '' : ` ${words}`}`;
  const found = all.filter(({ command }) => command === prefix || command.startsWith(`${prefix} `));
  if (found.length > 0) return found;
  const near = nearest(
    words,
    all.map(({ command }) => command.slice('annex '.length)),
  );
  throw new UsageError(
    `There is no command "${words}".${near === undefined ? '' : ` Did you mean ${near}?`}`,
    { hint: '`annex help` lists all.' },
  );
}

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
function textOf(reference: Reference): string {
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
