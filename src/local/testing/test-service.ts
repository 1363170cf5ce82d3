/**
 * The process that `@annex/testing` starts: the service of the tests, on standard input and output.
 * Not a command of the command line: a test waits for its start, which would load all of those.
 */
import { earlyProcesses } from './early-processes.ts';

const ended = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ended.abort(signal));
try {
  const early = await earlyProcesses();
  const { serveTests } = await import('./test-bed.ts');
  await serveTests({ from: process.stdin, to: process.stdout, signal: ended.signal }, early);
  process.exit(0);
} catch (cause) {
  // The test shows it.
  process.stderr.write(`${cause instanceof Error ? cause.message : cause}\n`, () => process.exit(1));
}
