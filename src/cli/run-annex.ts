/**
 * Runs one command line of `annex` and returns its exit code: what `annex.ts` does in a process of
 * its own, and tests in theirs. It never ends the process.
 */
import { constants } from 'node:os';
import { CommanderError } from 'commander';
import { type Annex, AnnexError } from '../../packages/client/src/index.ts';
import { nearest } from '../model/spelling-hint.ts';
import { VERSION } from '../version.ts';
import type { Command, CommandContext, CommandGroup, ProcessEnvironment } from './command.ts';
import { ServiceAccess } from './profile/connection.ts';
import { type GlobalOptions, makeProgram, usageOf } from './program.ts';
import { explain } from './terminal/explain.ts';
import { EXIT, Failure, UsageError } from './terminal/failure.ts';
import { Output, paint } from './terminal/output.ts';

const COLUMNS = 100;
/** Added to the signal number for the exit code, as shells do. */
const SIGNAL_EXIT = 128;

/** @param argv the words after `annex` */
export async function runAnnex(
  argv: readonly string[],
  environment: ProcessEnvironment,
  commands: readonly (Command | CommandGroup)[],
): Promise<number> {
  const run = new Run(argv, environment, commands);
  return run.exitCode();
}

class Run {
  readonly #argv: readonly string[];
  readonly #environment: ProcessEnvironment;
  readonly #commands: readonly (Command | CommandGroup)[];
  readonly #output: Output;
  readonly #brokenPipe = new AbortController();
  #code: number = EXIT.ok;
  #isStream = false;
  #access: ServiceAccess | undefined;

  constructor(
    argv: readonly string[],
    environment: ProcessEnvironment,
    commands: readonly (Command | CommandGroup)[],
  ) {
    this.#argv = argv;
    this.#environment = environment;
    this.#commands = commands;
    const { stdout, stderr } = environment;
    // The words are looked at before they are parsed: a mistake in them is printed as they say.
    this.#output = new Output({
      stdout,
      stderr,
      isTerminal: environment.isTerminal,
      json: optionWords(argv).includes('--json'),
      colours: colours(environment, argv),
      brokenPipe: () => this.#brokenPipe.abort('broken pipe'),
    });
  }

  async exitCode(): Promise<number> {
    try {
      await this.#parse();
    } catch (cause) {
      this.#code = this.#failed(cause);
    }
    this.#output.end();
    if (this.#brokenPipe.signal.aborted) return EXIT.ok;
    const { signal } = this.#environment;
    return signal.aborted ? this.#interrupted(signal.reason) : this.#code;
  }

  async #parse(): Promise<void> {
    const { stdout } = this.#environment;
    const program = makeProgram({
      entries: this.#commands,
      version: VERSION,
      columns: Math.min((stdout as Partial<NodeJS.WriteStream>).columns ?? COLUMNS, COLUMNS),
      writeOut: (text) => this.#output.line(text.replace(/\n$/, '')),
      writeError: (text) => this.#output.talk(text.replace(/\n$/, '')),
      run: (command, input, globals) => this.#runCommand(command, input, globals),
    });
    await program.parseAsync([...this.#argv], { from: 'user' });
  }

  async #runCommand(
    command: Command,
    input: Readonly<Record<string, unknown>>,
    globals: GlobalOptions,
  ): Promise<void> {
    this.#isStream = typeof command.stream === 'string' ? input[command.stream] === true : !!command.stream;
    const context = this.#context(globals);
    try {
      this.#code = (await command.run(context, input)) ?? EXIT.ok;
    } catch (cause) {
      const { integration, installation = integration } = input;
      if (typeof installation !== 'string' || !(cause instanceof AnnexError)) throw cause;
      const [name = ''] = installation.split('@');
      throw await withNearestIntegration(await context.client(), name, cause);
    }
  }

  #context({ profile }: GlobalOptions): CommandContext {
    const { env, cwd, stdin, isTerminal, signal } = this.#environment;
    const talk = (text: string) => this.#output.talk(text);
    const access = new ServiceAccess({ env, cwd, profile, version: VERSION, talk });
    this.#access = access;
    return {
      output: this.#output,
      ...{ env, cwd, stdin, isTerminal },
      signal: AbortSignal.any([signal, this.#brokenPipe.signal]),
      profile,
      connection: () => access.connection(),
      client: () => access.client(),
      clientOf: (url, token, tokenFrom) => access.clientOf(url, token, tokenFrom),
      explain: (cause) => explain(cause, access.asked),
      versions: () => access.versions,
    };
  }

  /** A signal is how a stream ends, and breaks everything else off. */
  #interrupted(reason: unknown): number {
    if (this.#isStream) return this.#code;
    const number = constants.signals[reason as NodeJS.Signals] ?? constants.signals.SIGINT;
    return SIGNAL_EXIT + number;
  }

  #failed(cause: unknown): number {
    // What fails after the end was asked for is a consequence of it.
    if (this.#brokenPipe.signal.aborted || this.#environment.signal.aborted) return EXIT.ok;
    if (cause instanceof CommanderError) {
      if (cause.exitCode === 0) return EXIT.ok;
      // Without a command the parser has printed the help on standard error.
      return this.#report(usageFailure(cause), cause.code === 'commander.help');
    }
    return this.#report(explain(cause, this.#access?.asked));
  }

  #report(failure: Failure, isShown = false): number {
    const { code, hint, status, problems } = failure.details;
    if (this.#output.isJson && !this.#output.hasValue) {
      const error = { code: code ?? 'FAILED', message: failure.message, hint, status, problems };
      void this.#output.item({ error }, () => undefined);
    }
    if (isShown) return failure.exit;
    this.#output.talk(paint('red', 'error: '), failure.message);
    for (const { property, message } of (problems ?? []) as readonly {
      property?: string;
      message?: string;
    }[])
      if (property !== undefined) this.#output.talk(paint('yellow', `${property}: `), message ?? '');
    if (hint !== undefined) this.#output.talk(hint);
    return failure.exit;
  }
}

/** A mistake in the words. The parser's message begins with its own mark. */
function usageFailure(error: CommanderError): Failure {
  const { code, message } = error;
  if (code === 'commander.help')
    return new UsageError('A command is missing.', { hint: '`annex --help` lists the commands.' });
  const usage = usageOf(error);
  // A word too many may be the value of a secret, so it is not printed.
  if (code === 'commander.excessArguments')
    return new UsageError('Too many arguments.', { hint: `Usage: ${usage}` });
  const [text = '', near] = message.replace('error: ', '').split('\n(Did you mean ');
  const sentence = `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?!]$/.test(text) ? '' : '.'}`;
  return new UsageError(near === undefined ? sentence : `${sentence} Did you mean ${near.slice(0, -1)}`, {
    hint:
      code === 'commander.missingArgument' ? `Usage: ${usage}` : 'Add --help to see what the command takes.',
  });
}

/** The words before a lone `--`. */
const optionWords = (argv: readonly string[]): readonly string[] => {
  const end = argv.indexOf('--');
  return end === -1 ? argv : argv.slice(0, end);
};

/** https://no-color.org: any value but the empty one. */
function colours({ env, isTerminal }: ProcessEnvironment, argv: readonly string[]) {
  const isOff =
    optionWords(argv).includes('--no-color') || (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb';
  return { stdout: isTerminal.stdout && !isOff, stderr: isTerminal.stderr && !isOff };
}

/** Names that a wrong one is compared with. */
const COMPARED_MAX = 1_000;

/** @returns the error itself where it is of another kind */
async function withNearestIntegration(client: Annex, wrong: string, error: unknown): Promise<unknown> {
  if (!(error instanceof AnnexError) || error.code !== 'INTEGRATION_UNKNOWN') return error;
  const names: string[] = [];
  for await (const { name } of client.integrations.all()) if (names.push(name) >= COMPARED_MAX) break;
  const near = nearest(wrong, names);
  const { code, status, message } = error;
  const hint =
    near === undefined ? '`annex integrations list` shows those that it sees.' : `Did you mean ${near}?`;
  return new Failure(message, { code, status, hint, cause: error });
}
