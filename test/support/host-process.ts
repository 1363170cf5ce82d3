/**
 * The host as `npm start` runs it, on a data folder that outlives it: to be killed in the middle of its work, and started again.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
/** What is kept of its last words. */
const WORDS_MAX = 20;

export interface HostOptions {
  readonly data: string;
  readonly flags?: readonly string[];
  /** Limits, as variables. */
  readonly env?: Readonly<Record<string, string>>;
  /** A program that runs it, and that program's arguments: one that notes its system calls, or profiles it. */
  readonly under?: readonly string[];
  /** Flags for Node. */
  readonly node?: readonly string[];
}

export class HostProcess {
  /** URLs of the control listener and of the public one. */
  readonly control: string;
  readonly open: string;
  readonly adminToken: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;

  private constructor(
    child: ChildProcess,
    exited: Promise<unknown>,
    said: { control: string; public: string },
    adminToken: string,
  ) {
    this.#child = child;
    this.#exited = exited;
    this.control = said.control;
    this.open = said.public;
    this.adminToken = adminToken;
  }

  /** Resolves once it listens. @throws its last words, where it ends before that */
  static async start({
    data,
    flags = [],
    env = {},
    under = [],
    node = [],
  }: HostOptions): Promise<HostProcess> {
    const place = ['--data', data, '--control-port', '0', '--public-port', '0', '--public-host', '127.0.0.1'];
    const [program = process.execPath, ...rest] = [
      ...under,
      process.execPath,
      ...node,
      MAIN,
      ...place,
      ...flags,
    ];
    const child = spawn(program, rest, {
      // What it leaves behind when it is killed goes with the folder that its data is in.
      env: { ...process.env, TMPDIR: dirname(data), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const exited = new Promise((resolve) => child.once('close', resolve));
    const said = await ready(child, exited);
    const adminToken = (await readFile(join(data, 'admin-token'), 'utf8')).trim();
    return new HostProcess(child, exited, said, adminToken);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** At once and without a word, as a crash does. Resolves once it is gone. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  /** In order. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    await this.#exited;
  }

  async api(method: string, path: string, body?: FormData | object): Promise<Record<string, unknown>> {
    const isForm = body instanceof FormData;
    const response = await fetch(`${this.control}/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.adminToken}`,
        ...(body && !isForm && { 'content-type': 'application/json' }),
      },
      ...(body && { body: isForm ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
    return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  }
}

function ready(child: ChildProcess, exited: Promise<unknown>): Promise<{ control: string; public: string }> {
  const words: string[] = [];
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      // Every line is read to the end: a full pipe would hold the host up.
      createInterface(stream).on('line', (line) => {
        words.push(line);
        if (words.length > WORDS_MAX) words.shift();
        if (line.includes('"annex is ready"')) resolve(JSON.parse(line));
      });
    }
    void exited.then(() => reject(new Error(`It ended before it was ready: ${words.join('\n')}`)));
  });
}
