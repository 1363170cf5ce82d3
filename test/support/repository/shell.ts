/**
 * One bash session for tests: blocks of script run in it one after the other and share its
 * variables, as the lines do that somebody pastes into a terminal. It ends at the first command
 * that fails.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';

export class Shell {
  readonly #bash: ChildProcessByStdio<Writable, Readable, Readable>;
  #output = '';
  #complaints = '';
  #heard: () => void = () => {};
  #ended = false;

  /**
   * @param folder where it works, and its home: no `.curlrc` and no proxy of the machine has a say.
   */
  constructor(folder: string) {
    const { PATH = '' } = process.env;
    this.#bash = spawn('bash', ['-e', '-o', 'pipefail'], {
      cwd: folder,
      env: { PATH, HOME: folder },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#bash.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      this.#output += chunk;
      this.#heard();
    });
    this.#bash.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      this.#complaints += chunk;
    });
    this.#bash.on('close', () => {
      this.#ended = true;
      this.#heard();
    });
    // A write to a shell that has just ended: `close` tells.
    this.#bash.stdin.on('error', () => {});
  }

  /**
   * @returns what the block has printed. @throws with what it complained of, where a command in it
   * failed
   */
  async run(script: string): Promise<string> {
    const mark = randomUUID();
    this.#output = '';
    // The block reads nothing: what comes after it on the shell's input are the next blocks.
    this.#bash.stdin.write(`{\n${script}\n} </dev/null\nprintf '\\n%s' ${mark}\n`);
    return new Promise((resolve, reject) => {
      this.#heard = () => {
        const end = this.#output.indexOf(mark);
        if (end !== -1) resolve(this.#output.slice(0, end).trim());
        else if (this.#ended) reject(new Error(`The shell ended. ${this.#output}${this.#complaints}`));
      };
      this.#heard();
    });
  }

  end(): void {
    this.#bash.kill('SIGKILL');
  }
}
