/**
 * The command line `annex` as a process: runs the words that it was started with, waits until its
 * output is written, and exits.
 */
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import type { ProcessEnvironment } from '../cli/command.ts';
import { runAnnex } from '../cli/run-annex.ts';
import { EXIT } from '../cli/terminal/failure.ts';
import { plainText } from '../model/plain-text.ts';
import { COMMANDS } from './commands.ts';

const PACKAGE = fileURLToPath(new URL('../../package.json', import.meta.url));

// Attack: the message of an error that no command expects holds escape sequences; Node would print
// it as it is.
process.on('uncaughtException', (cause) => {
  process.stderr.write(`${plainText(inspect(cause))}\n`, () => process.exit(EXIT.failed));
});

const code = await runAnnex(process.argv.slice(2), processEnvironment(), COMMANDS);
await Promise.all([process.stdout, process.stderr].map(written));
process.exit(code);

/** A pipe takes what is written to it later, and `process.exit` does not wait for it. */
function written(stream: NodeJS.WriteStream): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (stream.destroyed || stream.writableLength === 0) resolve();
  else stream.write('', () => resolve());
  return promise;
}

/** What this process has. The first signal aborts, the second one ends the process immediately. */
function processEnvironment(): ProcessEnvironment {
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
function folderOfUser(env: NodeJS.ProcessEnv): string {
  return (env['npm_package_json'] === PACKAGE && env['INIT_CWD']) || process.cwd();
}
