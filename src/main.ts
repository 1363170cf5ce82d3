/**
 * `npm start`, and the program of each worker: serves with the settings of its flags and variables,
 * and ends the process when the service has stopped. `annex serve` does the same in the command
 * line.
 */
import cluster from 'node:cluster';
import { useBundledLibraries } from './libraries.ts';

await useBundledLibraries();
const { ConfigError, configHelp } = await import('./host/config.ts');
const { serve } = await import('./host/serve.ts');
const { serviceLog, standardOutput } = await import('./host/service-log.ts');
const { plainText } = await import('./model/plain-text.ts');

const EXIT_USAGE = 2;

async function main(flags: readonly string[]): Promise<void> {
  if (flags.includes('--help') || flags.includes('-h')) {
    standardOutput.write(`${configHelp()}\n`);
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
    log: serviceLog(process.stdout.isTTY && !cluster.isWorker),
    signal: stopping.signal,
    announce: (text) => standardOutput.write(text),
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

// Of a message to nobody, as with a terminal that has gone.
process.stderr.on('error', () => undefined);
main(process.argv.slice(2)).catch(fail);
