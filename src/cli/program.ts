/**
 * Makes a commander program of the declarations in `commands/`: parsing, help, suggestions. It runs
 * the command that the words select, and decides nothing about what it prints.
 */
import { Argument, type CommanderError, Option, Command as Parser } from 'commander';
import { nearest } from '../model/spelling-hint.ts';
import {
  type Command,
  type CommandGroup,
  type Example,
  type ExitMeanings,
  isGroup,
  kebab,
  type OptionSpec,
} from './command.ts';
import { EXIT, UsageError } from './terminal/failure.ts';

/** Options of every command. `--json` and `--no-color` are read before the words are parsed. */
export interface GlobalOptions {
  readonly profile?: string;
}

export interface ProgramDeps {
  readonly entries: readonly (Command | CommandGroup)[];
  readonly version: string;
  run(command: Command, input: Readonly<Record<string, unknown>>, globals: GlobalOptions): Promise<void>;
  writeOut(text: string): void;
  writeError(text: string): void;
  /** Columns of the terminal, for the help. */
  readonly columns: number;
}

const SUMMARY = 'Run, write and operate integrations with Annex.';
const EXAMPLES: readonly Example[] = [
  { line: 'annex serve', does: 'start a service in this folder' },
  { line: 'annex new hello && annex publish hello', does: 'write an integration and publish it' },
  { line: 'annex doctor', does: 'find out what is wrong' },
];
/** Flags and help of the options of every command. */
export const GLOBAL_OPTIONS: readonly (readonly [flags: string, help: string])[] = [
  ['--json', 'print data as JSON: one value, or one a line for a stream'],
  ['--no-color', 'print no styles (as NO_COLOR=1 does)'],
  ['--profile <name>', 'use the service of this profile'],
];
export const EXIT_MEANINGS = {
  [EXIT.ok]: 'done',
  [EXIT.failed]: 'refused, problems found, or the service cannot be reached',
  [EXIT.usage]: 'the command line or a setting is wrong; nothing was done',
} as const;

export const exitsOf = (exits: ExitMeanings): readonly (readonly [string, string])[] =>
  Object.entries({ ...EXIT_MEANINGS, ...exits });

export function makeProgram(deps: ProgramDeps): Parser {
  const root = new Parser('annex')
    .description(SUMMARY)
    .version(deps.version, '-V, --version', 'print the version')
    .helpCommand(false)
    .addHelpText('after', helpTail(EXAMPLES));
  settle(root, deps);
  for (const [flags, help] of GLOBAL_OPTIONS) root.option(flags, help);
  for (const entry of deps.entries) {
    if (isGroup(entry)) root.addCommand(groupParser(root, entry, deps));
    else root.addCommand(commandParser(root, entry, deps));
  }
  return root;
}

function groupParser(root: Parser, group: CommandGroup, deps: ProgramDeps): Parser {
  const parser = new Parser(group.name)
    .summary(group.summary)
    .description(paragraphs(group))
    .helpCommand(false)
    .addHelpText('after', helpTail(group.examples));
  settle(parser, deps);
  for (const command of group.commands) parser.addCommand(commandParser(root, command, deps));
  return parser;
}

function commandParser(root: Parser, command: Command, deps: ProgramDeps): Parser {
  const parser = new Parser(command.name)
    .summary(command.summary)
    .description(paragraphs(command))
    .helpCommand(false)
    .allowExcessArguments(false)
    .addHelpText('after', helpTail(command.examples, command.exits));
  settle(parser, deps);
  const keys = Object.keys(command.arguments);
  for (const [key, spec] of Object.entries(command.arguments)) {
    const word = `${kebab(key)}${spec.variadic ? '...' : ''}`;
    const argument = new Argument(
      spec.optional ? `[${word}]` : `<${word}>`,
      withChoices(spec.help, spec.choices),
    );
    const parse = valueParser(`<${kebab(key)}>`, spec);
    const collect = (text: string, before: unknown) => [...((before as unknown[]) ?? []), parse(text)];
    parser.addArgument(argument.argParser(spec.variadic ? collect : parse));
  }
  for (const [key, spec] of Object.entries(command.options)) parser.addOption(optionOf(key, spec));
  parser.action(async (...given: unknown[]) => {
    const values = Object.fromEntries(keys.map((key, at) => [key, given[at] ?? emptyOf(command, key)]));
    const options = Object.fromEntries(
      Object.entries(command.options).map(([key, spec]) => [key, givenValue(parser.opts()[key], spec)]),
    );
    await deps.run(command, { ...values, ...options }, root.opts());
  });
  return parser;
}

const emptyOf = (command: Command, key: string): unknown =>
  command.arguments[key]?.variadic ? [] : undefined;

const givenValue = (given: unknown, spec: OptionSpec): unknown =>
  given ?? (spec.value === undefined ? false : spec.repeatable ? [] : undefined);

function optionOf(key: string, spec: OptionSpec): Option {
  const letter = spec.short === undefined ? '' : `-${spec.short}, `;
  const value = spec.value === undefined ? '' : ` <${spec.value}>`;
  const option = new Option(`${letter}--${kebab(key)}${value}`, withChoices(spec.help, spec.choices));
  if (spec.value !== undefined) {
    const parse = valueParser(`--${kebab(key)}`, spec);
    const collect = (text: string, before: unknown) => [...((before as unknown[]) ?? []), parse(text)];
    option.argParser(spec.repeatable ? collect : parse);
  }
  if (spec.default !== undefined) option.default(spec.default);
  if (spec.required) option.makeOptionMandatory();
  if (spec.hidden) option.hideHelp();
  return option;
}

const withChoices = (help: string, choices: readonly string[] | undefined): string =>
  choices === undefined ? help : `${help} (${choices.join(', ')})`;

/**
 * Checks a value, and turns it into that of its type. The message of `parse` decides whether the
 * value is quoted: some are secrets.
 */
function valueParser(
  name: string,
  { choices, parse }: Pick<OptionSpec, 'choices' | 'parse'>,
): (text: string) => unknown {
  return (text) => {
    if (choices !== undefined && !choices.includes(text)) {
      const near = nearest(text, choices);
      const hint = near === undefined ? '' : ` Did you mean ${near}?`;
      throw new UsageError(`${name} must be one of ${choices.join(', ')}; it is "${text}".${hint}`);
    }
    try {
      return parse === undefined ? text : parse(text);
    } catch (cause) {
      if (cause instanceof UsageError) throw new UsageError(`${name}: ${cause.message}`, cause.details);
      throw cause;
    }
  };
}

const USAGES = new WeakMap<CommanderError, string>();

/** How the command is used whose words were wrong. */
export const usageOf = (error: CommanderError): string => USAGES.get(error) ?? 'annex --help';

function usageText(parser: Parser): string {
  const names: string[] = [];
  for (let at: Parser | null = parser; at !== null; at = at.parent) names.unshift(at.name());
  return `${names.join(' ')} ${parser.usage()}`;
}

/** Errors are thrown, and texts go where the caller says. */
function settle(parser: Parser, { writeOut, writeError, columns }: ProgramDeps): void {
  parser
    .exitOverride((error) => {
      USAGES.set(error, usageText(parser));
      throw error;
    })
    .configureOutput({
      writeOut,
      // The help, where a command is missing.
      writeErr: writeError,
      // The message is in the error that is thrown, and is printed once, where all errors are.
      outputError: () => undefined,
      getOutHelpWidth: () => columns,
      getErrHelpWidth: () => columns,
    })
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError(true);
}

const paragraphs = ({ summary, description }: Pick<Command, 'summary' | 'description'>): string =>
  (description ?? [`${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`]).join('\n\n');

/** Examples and exit codes, below the options. */
function helpTail(examples: readonly Example[], exits?: ExitMeanings): string {
  const shown = examples.flatMap(({ line, does }) => [`  # ${does}`, `  ${line}`]);
  const codes = exits && exitsOf(exits).map(([code, meaning]) => `  ${code}  ${meaning}`);
  return ['', 'Examples:', ...shown, ...(codes ? ['', 'Exit codes:', ...codes] : [])].join('\n');
}
