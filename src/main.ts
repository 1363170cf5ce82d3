/**
 * `npm start`, and the program of each worker: serves with the settings of its flags and variables,
 * and ends the process when the service has stopped. `annex serve` does the same in the command
 * line.
 */
import cluster from 'node:cluster';
import pino from 'pino';
import { ConfigError, configHelp } from './config.ts';
import { plainText } from './model/plain-text.ts';
import { LOG_SETTINGS, serve } from './serve.ts';

const EXIT_USAGE = 2;

async function main(flags: readonly string[]): Promise<void> {
  if (flags.includes('--help') || flags.includes('-h')) {
    process.stdout.write(`${configHelp()}\n`);
    return;
  }
  const stopping = new AbortController();
  // The handlers are registered once: a second signal ends the process immediately. A worker has
  // its own.
  for (const signal of cluster.isWorker ? [] : (['SIGTERM', 'SIGINT'] as const))
    process.once(signal, () => stopping.abort(signal));
  await serve({
    flags,
    env: process.env,
    log: pino(LOG_SETTINGS),
    signal: stopping.signal,
    announce: (text) => void process.stdout.write(text),
  });
  process.exit(0);
}

function fail(cause: unknown): void {
  if (cause instanceof ConfigError) {
    for (const problem of cause.problems) process.stderr.write(`${plainText(problem)}\n`);
    process.exit(EXIT_USAGE);
  }
  const reason = plainText(cause instanceof Error ? cause.message : String(cause));
  process.stderr.write(`Annex failed: ${reason}\n`);
  process.exit(1);
}

main(process.argv.slice(2)).catch(fail);
