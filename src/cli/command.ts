/**
 * What a command of `annex` is: a declaration, from which come the parser, `--help`, completions,
 * the reference page and the tests. A command's file in `commands/` exports one of these, and
 * `src/local/commands.ts` lists it. Nothing here parses or prints.
 */

import type { Readable, Writable } from 'node:stream';
import type { TSchema } from 'typebox';
import type { Annex } from '../../packages/client/src/index.ts';
import type { Connection } from './profile/connection.ts';
import type { ExitCode, Failure } from './terminal/failure.ts';
import type { Output } from './terminal/output.ts';

/** `--forward-to <url>` for the key `forwardTo`; a switch if it has no `value`. */
export interface OptionSpec {
  /** Name of the value in the help, as `file`; absent: a switch. */
  readonly value?: string;
  /** One letter. */
  readonly short?: string;
  readonly help: string;
  /** The only values; another one is refused with the nearest of them. */
  readonly choices?: readonly string[];
  /** May be given several times; its value is an array, empty by default. */
  readonly repeatable?: true;
  readonly required?: true;
  /** @throws UsageError with a sentence about the value */
  readonly parse?: (text: string) => unknown;
  /** Already parsed. */
  readonly default?: string | number;
  /** Not in the help: it exists for its message. */
  readonly hidden?: true;
}

/** A word of the command line that is no option, for the key's name in kebab case. */
interface ArgumentSpec {
  readonly help: string;
  readonly optional?: true;
  /** The last one may take all words that are left; its value is an array. */
  readonly variadic?: true;
  readonly choices?: readonly string[];
  /** @throws UsageError with a sentence about the value */
  readonly parse?: (text: string) => unknown;
}

type OptionSpecs = Readonly<Record<string, OptionSpec>>;
type ArgumentSpecs = Readonly<Record<string, ArgumentSpec>>;

type Parsed<S> = S extends { parse: (text: string) => infer T }
  ? T
  : S extends { choices: readonly (infer C)[] }
    ? C
    : string;
type OptionValue<S> = S extends { value: string }
  ? S extends { repeatable: true }
    ? readonly Parsed<S>[]
    : S extends { required: true } | { default: string | number }
      ? Parsed<S>
      : Parsed<S> | undefined
  : boolean;
type ArgumentValue<S> = S extends { variadic: true }
  ? readonly Parsed<S>[]
  : S extends { optional: true }
    ? Parsed<S> | undefined
    : Parsed<S>;

/** Values of all arguments and options, by their keys. */
type Input<A, O> = { readonly [K in keyof A]: ArgumentValue<A[K]> } & {
  readonly [K in keyof O]: OptionValue<O[K]>;
};

/** A command line to copy, without a prompt, and what it does. */
export interface Example {
  readonly line: string;
  readonly does: string;
}

/**
 * One row of the table of exits in the help; the default says 0, 1 and 2 in general words.
 */
export type ExitMeanings = Readonly<Partial<Record<ExitCode, string>>>;

interface CommandSpec<A extends ArgumentSpecs, O extends OptionSpecs> {
  /** The word that selects it. */
  readonly name: string;
  /** One line for the list of commands: a verb first, no full stop. */
  readonly summary: string;
  /** Paragraphs for its own help. */
  readonly description?: readonly string[];
  /** In their order. */
  readonly arguments?: A;
  readonly options?: O;
  /** At least one. */
  readonly examples: readonly [Example, ...Example[]];
  readonly exits?: ExitMeanings;
  /** Schema of the value that `--json` prints; of each line where it prints a stream. */
  readonly json: TSchema;
  /**
   * With `--json` it prints one value a line, as they come: always, or with the switch of this
   * name. A signal is its ordinary end, with the exit code 0.
   */
  readonly stream?: true | Extract<keyof O, string>;
  /**
   * Prints through `context.output`. A value other than 0 says that the command did its work and
   * found problems, as a check does. @throws Failure where it could not do its work
   */
  readonly run: (context: CommandContext, input: Input<A, O>) => Promise<ExitCode | undefined>;
}

/** A command whose types of input are erased: the parser gives what its declaration says. */
export interface Command {
  readonly name: string;
  readonly summary: string;
  readonly description?: readonly string[];
  readonly arguments: ArgumentSpecs;
  readonly options: OptionSpecs;
  readonly examples: readonly [Example, ...Example[]];
  readonly exits: ExitMeanings;
  readonly json: TSchema;
  readonly stream?: true | string;
  readonly run: (
    context: CommandContext,
    input: Readonly<Record<string, unknown>>,
  ) => Promise<ExitCode | undefined>;
}

/** Commands below one word, as `annex token create`. */
export interface CommandGroup {
  readonly name: string;
  readonly summary: string;
  readonly description?: readonly string[];
  readonly examples: readonly [Example, ...Example[]];
  readonly commands: readonly Command[];
}

export function defineCommand<const A extends ArgumentSpecs = {}, const O extends OptionSpecs = {}>(
  spec: CommandSpec<A, O>,
): Command {
  return {
    ...spec,
    arguments: spec.arguments ?? {},
    options: spec.options ?? {},
    exits: spec.exits ?? {},
    run: spec.run as Command['run'],
  };
}

export const isGroup = (entry: Command | CommandGroup): entry is CommandGroup => 'commands' in entry;

/** `forwardTo` → `forward-to`. */
export const kebab = (key: string): string =>
  key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** What a command line has around it. Tests give others than those of the process. */
export interface ProcessEnvironment {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder that relative paths are resolved against. */
  readonly cwd: string;
  /** Which of the three are terminals: only a terminal is asked and shows styles. */
  readonly isTerminal: { readonly stdin: boolean; readonly stdout: boolean; readonly stderr: boolean };
  /** Aborts with the name of the signal as its reason. */
  readonly signal: AbortSignal;
}

/**
 * What a command gets to work with. Its signal aborts also when the reader of standard output has
 * gone.
 */
export interface CommandContext extends Omit<ProcessEnvironment, 'stdout' | 'stderr'> {
  readonly output: Output;
  /** The value of `--profile`. */
  readonly profile: string | undefined;
  /**
   * URL and token of the service: of the variables, the profile, or the service of this folder.
   *
   * @throws Failure where there is none
   */
  connection(): Promise<Connection>;
  /**
   * The API of that service. What it throws is explained where all failures are: let it pass.
   *
   * @throws Failure where there is no token
   */
  client(): Promise<Annex>;
  /** The API of another service, or with another token, which is from `tokenFrom`. */
  readonly clientOf: (url: string, token: string | undefined, tokenFrom: string) => Annex;
  /** What the service's answer means, for commands that report a failure as data. */
  readonly explain: (cause: unknown) => Failure;
  /** Versions of this program and of the service that answered; undefined if it tells none. */
  readonly versions: () => readonly [string, string | undefined];
}
