/**
 * One bash session for tests: blocks of script run in it one after the other and share its
 * variables, like lines that are pasted into a terminal. It ends at the first command that fails.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';

export class Shell {
  readonly #bash: ChildProcessByStdio<Writable, Readable, Readable>;
  #output = '';
  #complaints = '';
  #changed: () => void = () => {};
  #ended = false;

  /**
   * @param folder working and home folder, so that no `.curlrc` or proxy of the machine applies
   * @param variables more variables of the session
   */
  constructor(folder: string, variables: Readonly<Record<string, string>> = {}) {
    const { PATH = '' } = process.env;
    this.#bash = spawn('bash', ['-e', '-o', 'pipefail'], {
      cwd: folder,
      env: { PATH, HOME: folder, ...variables },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#bash.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      this.#output += chunk;
      this.#changed();
    });
    this.#bash.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      this.#complaints += chunk;
    });
    this.#bash.on('close', () => {
      this.#ended = true;
      this.#changed();
    });
    // A write to a shell that has just ended fails; `close` reports it.
    this.#bash.stdin.on('error', () => {});
  }

  /** @returns the output of the block @throws with the errors printed, if a command fails */
  async run(script: string): Promise<string> {
    const mark = randomUUID();
    this.#output = '';
    // The block gets no input: the shell's own input has the next blocks.
    this.#bash.stdin.write(`{\n${script}\n} </dev/null\nprintf '\\n%s' ${mark}\n`);
    return new Promise((resolve, reject) => {
      this.#changed = () => {
        const end = this.#output.indexOf(mark);
        if (end !== -1) resolve(this.#output.slice(0, end).trim());
        else if (this.#ended) reject(new Error(`The shell ended. ${this.#output}${this.#complaints}`));
      };
      this.#changed();
    });
  }

  end(): void {
    this.#bash.kill('SIGKILL');
  }
}
