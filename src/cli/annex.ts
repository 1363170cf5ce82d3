/**
 * The command line `annex` as a process: runs the words that it was started with, waits until its
 * output is written, and exits.
 */
import { inspect } from 'node:util';
import { plainText } from '../model/plain-text.ts';
import { processEnvironment } from './process-environment.ts';
import { runAnnex } from './run-annex.ts';
import { EXIT } from './terminal/exit-code.ts';

// Attack: the message of an error that no command expects holds escape sequences; Node would print
// it as it is.
process.on('uncaughtException', (cause) => {
  process.stderr.write(`${plainText(inspect(cause))}\n`, () => process.exit(EXIT.failed));
});

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
