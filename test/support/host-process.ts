/**
 * The host as `npm start` runs it, on a data folder that survives it: tests kill it and start it
 * again.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
/** Last lines of output that are kept for an error. */
const LINES_MAX = 20;

export interface HostOptions {
  readonly data: string;
  readonly flags?: readonly string[];
  /** Limits, as environment variables. */
  readonly env?: Readonly<Record<string, string>>;
  /** A program that runs it, with its arguments: a tracer of system calls, or a profiler. */
  readonly under?: readonly string[];
  /** Flags for Node. */
  readonly node?: readonly string[];
  /** Receives every line of its output. */
  onLine?(line: string): void;
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
    urls: { control: string; public: string },
    adminToken: string,
  ) {
    this.#child = child;
    this.#exited = exited;
    this.control = urls.control;
    this.open = urls.public;
    this.adminToken = adminToken;
  }

  /** Resolves when it listens. @throws an error with its last lines where it ends before that */
  static async start({
    data,
    flags = [],
    env = {},
    under = [],
    node = [],
    onLine = () => {},
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
      // Temporary files of a killed process are removed with the folder of its data.
      env: { ...process.env, TMPDIR: dirname(data), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.once('error', (cause) => onLine(cause.message));
    const exited = new Promise((resolve) => child.once('close', resolve));
    const urls = await ready(child, exited, onLine);
    const adminToken = (await readFile(join(data, 'admin-token'), 'utf8')).trim();
    return new HostProcess(child, exited, urls, adminToken);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Kills it like a crash. Resolves when the process has ended. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  /** Stops it in an orderly way. */
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

function ready(
  child: ChildProcess,
  exited: Promise<unknown>,
  onLine: (line: string) => void,
): Promise<{ control: string; public: string }> {
  const lines: string[] = [];
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      // Every line is read to the end: a full pipe would block the host.
      createInterface(stream).on('line', (line) => {
        onLine(line);
        lines.push(line);
        if (lines.length > LINES_MAX) lines.shift();
        if (line.includes('"annex is ready"')) resolve(JSON.parse(line));
      });
    }
    void exited.then(() => reject(new Error(`The host ended before it was ready: ${lines.join('\n')}`)));
  });
}
