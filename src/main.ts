/**
 * `npm start`: reads the settings, starts the service, logs its URLs, and shuts it down on a
 * signal.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { ConfigError, configHelp, readConfig } from './config.ts';
import { loggableError } from './errors.ts';
import { startService } from './service.ts';

const EXIT_USAGE = 2;
const ADMIN_TOKEN_FILE = 'admin-token';

async function main(flags: readonly string[]): Promise<void> {
  if (flags.includes('--help') || flags.includes('-h')) {
    process.stdout.write(`${configHelp()}\n`);
    return;
  }
  const config = readConfig(flags, process.env);
  const log = pino({ name: 'annex', serializers: { err: loggableError } });
  const service = await startService(config, log);
  if (service.firstAdminToken !== undefined) writeAdminToken(config.dataFolder, service.firstAdminToken);
  log.info(
    { control: service.controlUrl, public: service.publicUrl, data: config.dataFolder },
    'annex is ready',
  );
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      log.info({ signal }, 'stopping');
      // The handlers are registered once: a second signal ends the process immediately.
      service.stop().then(
        () => {
          log.info('stopped');
          process.exit(0);
        },
        (cause) => fail(cause),
      );
    });
  }
}

/**
 * Prints the admin token once, and writes it to a file that only its owner can read. The database
 * stores only its hash.
 */
function writeAdminToken(folder: string, token: string): void {
  const file = join(folder, ADMIN_TOKEN_FILE);
  writeFileSync(file, `${token}\n`, { mode: 0o600 });
  process.stdout.write(`Admin token, shown once and written to ${file}:\n\n  ${token}\n\n`);
}

function fail(cause: unknown): void {
  if (cause instanceof ConfigError) {
    for (const problem of cause.problems) process.stderr.write(`${problem}\n`);
    process.exit(EXIT_USAGE);
  }
  process.stderr.write(`Annex failed: ${cause instanceof Error ? cause.message : String(cause)}\n`);
  process.exit(1);
}

main(process.argv.slice(2)).catch(fail);
