/**
 * Runs a command line of `annex` in this process, with streams, variables and a folder of its own,
 * and without a terminal unless the test says so.
 */
import { Readable, Writable } from 'node:stream';
import { runAnnex } from '../../../src/cli/run-annex.ts';
import { COMMANDS } from '../../../src/local/commands.ts';

export interface Invocation {
  /** The words after `annex`. */
  readonly words: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** What standard input holds; empty by default. */
  readonly stdin?: string | Buffer;
  /** Sends SIGINT as soon as standard output contains this, to end a stream. */
  readonly stopWhen?: RegExp;
  /** Receives what standard output holds, at each write. */
  readonly onOutput?: (text: string) => void;
  /** Whether all three streams are terminals. */
  readonly isTerminal?: boolean;
  readonly signal?: AbortSignal;
}

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** The one value on standard output. */
  json<T = Record<string, unknown>>(): T;
  /** The values on standard output, one a line. */
  lines<T = Record<string, unknown>>(): T[];
}

class Sink extends Writable {
  readonly #chunks: Buffer[] = [];
  readonly #written: (text: string) => void;

  constructor(written: (text: string) => void = () => undefined) {
    super({ decodeStrings: true });
    this.#written = written;
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString('utf8');
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#chunks.push(chunk);
    this.#written(this.text);
    done();
  }
}

export async function annex(invocation: Invocation): Promise<Ran> {
  const interrupt = new AbortController();
  const stdout = new Sink((text) => {
    invocation.onOutput?.(text);
    if (invocation.stopWhen?.test(text)) interrupt.abort('SIGINT');
  });
  const stderr = new Sink();
  const isTerminal = invocation.isTerminal ?? false;
  const code = await runAnnex(
    invocation.words,
    {
      stdin: Readable.from(invocation.stdin === undefined ? [] : [Buffer.from(invocation.stdin)]),
      stdout,
      stderr,
      env: invocation.env ?? {},
      cwd: invocation.cwd ?? process.cwd(),
      isTerminal: { stdin: isTerminal, stdout: isTerminal, stderr: isTerminal },
      signal: AbortSignal.any([interrupt.signal, ...(invocation.signal ? [invocation.signal] : [])]),
    },
    COMMANDS,
  );
  return {
    code,
    stdout: stdout.text,
    stderr: stderr.text,
    json: () => JSON.parse(stdout.text),
    lines: () =>
      stdout.text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line)),
  };
}
