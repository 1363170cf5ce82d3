/**
 * The receivers of `docs/receivers/`, run as documented: one file, copied into an empty folder,
 * with its secret and its port in the environment, which prints its URL.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ProgramName } from '../programs.ts';

export const RECEIVERS = fileURLToPath(new URL('../../../docs/receivers/', import.meta.url));

export interface Example {
  readonly language: string;
  readonly file: string;
  /** What runs it, beside Node. */
  readonly program?: ProgramName;
  /** Prepares the folder, in which only the file is. @returns the command line, run in it */
  readonly prepare: (folder: string) => readonly [string, ...string[]];
  /** Whether it deduplicates events: PHP has no memory between requests. */
  readonly remembers: boolean;
}

/** Go runs programs that it has compiled. */
function buildWithGo(folder: string): readonly [string, ...string[]] {
  const env = { ...process.env, GOPROXY: 'off', GOTOOLCHAIN: 'local' };
  execFileSync('go', ['build', '-o', 'receiver', 'receiver.go'], { cwd: folder, env });
  return [join(folder, 'receiver')];
}

export const EXAMPLES: readonly Example[] = [
  {
    language: 'Node',
    file: 'receiver.mjs',
    prepare: () => [process.execPath, 'receiver.mjs'],
    remembers: true,
  },
  {
    language: 'Python',
    file: 'receiver.py',
    program: 'python3',
    prepare: () => ['python3', 'receiver.py'],
    remembers: true,
  },
  {
    language: 'Go',
    file: 'receiver.go',
    program: 'go',
    prepare: buildWithGo,
    remembers: true,
  },
  {
    language: 'PHP',
    file: 'receiver.php',
    program: 'php',
    prepare: () => ['php', '-S', '127.0.0.1:0', 'receiver.php'],
    remembers: false,
  },
  {
    language: 'Ruby',
    file: 'receiver.rb',
    program: 'ruby',
    prepare: () => ['ruby', 'receiver.rb'],
    remembers: true,
  },
];

/** The one that verifies Standard Webhooks. */
export const STANDARD_EXAMPLE: Example = {
  language: 'Node',
  file: 'receiver-standard.mjs',
  prepare: () => [process.execPath, 'receiver-standard.mjs'],
  remembers: true,
};

/** A running receiver. */
export class RunningReceiver {
  readonly #process: ChildProcess;
  readonly #folder: string;
  readonly #ended: Promise<number | null>;
  #output = '';
  #onOutput = () => {};

  /** @param env variables besides a path and a free port */
  constructor(example: Example, env: Record<string, string>) {
    this.#folder = mkdtempSync(join(tmpdir(), 'annex-receiver-'));
    cpSync(join(RECEIVERS, example.file), join(this.#folder, example.file));
    const [command, ...args] = example.prepare(this.#folder);
    this.#process = spawn(command, args, {
      cwd: this.#folder,
      env: { PATH: process.env['PATH'], HOME: this.#folder, LANG: 'C.UTF-8', PORT: '0', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.#process.stdout, this.#process.stderr])
      stream?.setEncoding('utf8').on('data', (chunk: string) => {
        this.#output += chunk;
        this.#onOutput();
      });
    this.#process.once('error', (cause) => (this.#output += cause.message));
    this.#ended = new Promise((resolve) => this.#process.once('close', resolve));
  }

  /** The URL where it listens. @throws an error with its output if it ends instead */
  async url(): Promise<string> {
    const printed = () => /http:\/\/127\.0\.0\.1:[1-9]\d*/.exec(this.#output)?.[0];
    const listening = new Promise<void>((resolve) => {
      this.#onOutput = () => printed() !== undefined && resolve();
      this.#onOutput();
    });
    await Promise.race([listening, this.#ended]);
    const url = printed();
    if (url === undefined) throw new Error(`It does not listen. ${this.#output}`);
    return url;
  }

  /** How often it has printed that it handled an event. */
  handled(eventId: string): number {
    return this.#output.split('\n').filter((line) => line.endsWith(` ${eventId}`)).length;
  }

  /** Its exit code and its output, once it has ended. */
  async end(): Promise<{ code: number | null; output: string }> {
    return { code: await this.#ended, output: this.#output };
  }

  async stop(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#ended;
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
