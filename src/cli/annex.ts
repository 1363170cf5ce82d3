/**
 * The command line `annex` as a process: runs the words that it was started with, waits until its
 * output is written, and exits.
 */

import { processEnvironment } from './process-environment.ts';
import { runAnnex } from './run-annex.ts';

const code = await runAnnex(process.argv.slice(2), processEnvironment());
await Promise.all([process.stdout, process.stderr].map(written));
process.exit(code);

/** A pipe takes what is written to it later, and `process.exit` does not wait for it. */
function written(stream: NodeJS.WriteStream): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (stream.destroyed || stream.writableLength === 0) resolve();
  else stream.write('', () => resolve());
  return promise;
}
