/**
 * Starts `supervised-program.ts` as a process, and reads its log. The process ends with its test.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { ProgramOptions } from './supervised-program.ts';

const PROGRAM = fileURLToPath(new URL('./supervised-program.ts', import.meta.url));

/** An entry of the supervisor's log. */
type Entry = Readonly<Record<string, unknown>>;

export interface Answered {
  readonly index: number;
  readonly pid: number;
}

export class Supervised {
  readonly #child: ChildProcess;
  readonly #entries: Entry[] = [];
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | string | null>;
  readonly complaints: Promise<string>;

  constructor(options: ProgramOptions) {
    const child = spawn(process.execPath, [PROGRAM, JSON.stringify(options)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    this.ended = new Promise((resolve) => child.once('close', (code, signal) => resolve(code ?? signal)));
    this.complaints = text(child.stderr);
    createInterface(child.stdout).on('line', (line) => this.#entries.push(JSON.parse(line) as Entry));
    onTestFinished(async () => {
      // Its workers end with it.
      child.kill('SIGKILL');
      await this.ended;
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** The entries with this text, so far. */
  logged(message: string): readonly Entry[] {
    return this.#entries.filter(({ msg }) => msg === message);
  }

  /** The URL that the workers share; undefined until the first one serves. */
  get url(): string | undefined {
    return this.logged('ready')[0]?.['control'] as string | undefined;
  }

  async get(path = '/'): Promise<Answered> {
    return (await fetch(`${this.url}${path}`)).json() as Promise<Answered>;
  }

  /** Value of a metric in a scrape. */
  async metric(name: string): Promise<number> {
    const scraped = await (await fetch(`${this.url}/metrics`)).text();
    return Number(new RegExp(`^${RegExp.escape(name)} (.*)$`, 'm').exec(scraped)?.[1]);
  }
}
