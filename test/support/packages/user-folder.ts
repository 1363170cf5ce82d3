/**
 * The folder of a user who has installed the npm packages: runs `npx annex …` there, as a process,
 * on a chosen version of Node.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { npm, userVariables } from './nodes.ts';

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A service that `npx annex serve` started. */
export interface Served {
  readonly control: string;
  readonly open: string;
  readonly adminToken: string;
  /** Sends the signal. @returns the exit code, and the last line, once all its output is read */
  stop(signal: NodeJS.Signals): Promise<{ code: number | null; last: string }>;
}

export class UserFolder {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Installs packages in a new, empty folder. @param packages paths of archives, or names */
  static async install(path: string, packages: readonly string[], nodeFolder?: string): Promise<UserFolder> {
    await mkdir(path, { recursive: true });
    await writeFile(join(path, 'package.json'), '{"private":true,"type":"module"}');
    await npm(['install', ...packages], path, nodeFolder);
    return new UserFolder(path);
  }

  /** Runs a program to its end. @throws an Error where there is no such program */
  async run(words: readonly string[], nodeFolder: string, more: Record<string, string> = {}): Promise<Ran> {
    const child = this.start(words, nodeFolder, more);
    const [code, stdout, stderr] = await Promise.all([exitOf(child), text(child.stdout), text(child.stderr)]);
    return { code, stdout, stderr };
  }

  start([program = '', ...words]: readonly string[], nodeFolder: string, more: Record<string, string> = {}) {
    const env = { ...userVariables(nodeFolder), ...more };
    return spawn(program, words, { cwd: this.path, env, stdio: ['ignore', 'pipe', 'pipe'] });
  }

  /**
   * `annex serve`, on free ports.
   *
   * @param name of its data folder
   * @param program `npx annex`, or the bin that it runs
   * @param more flags and variables
   * @throws an Error with its output where it ends before it serves
   */
  async serve(
    name: string,
    nodeFolder: string,
    program = ['npx', 'annex'],
    { flags = [], env = {} }: { flags?: readonly string[]; env?: Record<string, string> } = {},
  ): Promise<Served> {
    const data = join(this.path, name);
    const words = [...program, 'serve', '--data', data, '--cells', '1'];
    const ports = ['--control-port', '0', '--public-port', '0', '--public-host', '127.0.0.1'];
    const child = this.start([...words, ...ports, ...flags], nodeFolder, env);
    const exited = exitOf(child);
    const lines: string[] = [];
    const urls = await ready(child, exited, lines);
    const adminToken = (await readFile(join(data, 'admin-token'), 'utf8')).trim();
    return {
      control: urls.control,
      open: urls.public,
      adminToken,
      async stop(signal) {
        child.kill(signal);
        const code = await exited;
        return { code, last: lines.at(-1) ?? '' };
      },
    };
  }
}

/** The exit code. Rejects where the program did not start; unheard, that would end the tests. */
const exitOf = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve, reject) => child.once('close', resolve).once('error', reject));

function ready(
  child: ChildProcess,
  exited: Promise<unknown>,
  lines: string[],
): Promise<{ readonly control: string; readonly public: string }> {
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      // Every line is read to the end: a full pipe would block the service.
      createInterface(stream).on('line', (line) => {
        lines.push(line);
        if (line.includes('"annex is ready"')) resolve(JSON.parse(line));
      });
    }
    void exited.then(
      () => reject(new Error(`The service ended before it was ready: ${lines.join('\n')}`)),
      reject,
    );
  });
}
