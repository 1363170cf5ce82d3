/**
 * What a command line has around it: streams, variables, folder, terminal, signals. Tests give
 * others than those of the process.
 */
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const PACKAGE = fileURLToPath(new URL('../../package.json', import.meta.url));

export interface ProcessEnvironment {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder that relative paths are resolved against. */
  readonly cwd: string;
  /** Which of the three are terminals: only a terminal is asked and shows styles. */
  readonly isTerminal: { readonly stdin: boolean; readonly stdout: boolean; readonly stderr: boolean };
  /** Aborts with the name of the signal as its reason. */
  readonly signal: AbortSignal;
}

/** Those of this process. The first signal aborts, the second one ends the process immediately. */
export function processEnvironment(): ProcessEnvironment {
  const aborted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => aborted.abort(signal));
  return {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    cwd: folderOfUser(process.env),
    isTerminal: {
      stdin: process.stdin.isTTY === true,
      stdout: process.stdout.isTTY === true,
      stderr: process.stderr.isTTY === true,
    },
    signal: aborted.signal,
  };
}

/**
 * npm runs the scripts of this repository in its own folder; `INIT_CWD` is that of the user. A
 * script of another package means its own folder.
 */
const folderOfUser = (env: NodeJS.ProcessEnv): string =>
  (env['npm_package_json'] === PACKAGE && env['INIT_CWD']) || process.cwd();
