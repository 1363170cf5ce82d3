/**
 * `annex dev --json` as a process of its own, with the events that it prints. A test waits for
 * events and for answers of the endpoint, never for a time.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { DevEvent } from '../../../src/local/dev/dev-event.ts';

const PROGRAM = fileURLToPath(new URL('../../../src/local/annex.ts', import.meta.url));

type Named<Name extends DevEvent['event']> = Extract<DevEvent, { event: Name }>;

export class DevProcess {
  readonly #child: ChildProcess;
  readonly #events: DevEvent[] = [];
  readonly #stderr: string[] = [];
  /** Number of events that earlier waits have passed. */
  #passed = 0;
  #wake = Promise.withResolvers<void>();

  /** @param words after `annex dev` */
  constructor(folder: string, words: readonly string[] = []) {
    this.#child = spawn(
      process.execPath,
      [PROGRAM, 'dev', folder, '--json', '--port', '0', '--page-port', '0', ...words],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { HOME: '/nonexistent', PATH: process.env['PATH'] },
      },
    );
    createInterface({ input: this.#child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      this.#events.push(JSON.parse(line));
      this.#wakeUp();
    });
    this.#child.stderr?.on('data', (chunk: Buffer) => this.#stderr.push(String(chunk)));
    this.#child.once('exit', () => this.#wakeUp());
  }

  /** The next event of this name that fits. */
  async next<Name extends DevEvent['event']>(
    name: Name,
    fits: (event: Named<Name>) => boolean = () => true,
  ): Promise<Named<Name>> {
    for (;;) {
      const wake = this.#wake.promise;
      while (this.#passed < this.#events.length) {
        const event = this.#events[this.#passed] as DevEvent;
        this.#passed += 1;
        if (event.event === name && fits(event as Named<Name>)) return event as Named<Name>;
      }
      if (this.#child.exitCode !== null) throw new Error(`annex dev has ended: ${this.#stderr.join('')}`);
      await wake;
    }
  }

  /** All events so far. */
  get events(): readonly DevEvent[] {
    return this.#events;
  }

  /** Sends SIGINT. @returns the exit code */
  async stop(): Promise<number | null> {
    if (this.#child.exitCode !== null) return this.#child.exitCode;
    this.#child.kill('SIGINT');
    const [code] = (await once(this.#child, 'exit')) as [number | null];
    return code;
  }

  #wakeUp(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }
}
