/**
 * `npm start`: reads the settings, starts the service, logs its URLs, and shuts it down on a
 * signal. With several workers it starts a supervisor, whose workers run this file again.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pino, { type Logger } from 'pino';
import { type Config, ConfigError, configHelp, readConfig } from './config.ts';
import { BUNDLER_USERS, CELL_USERS } from './confinement/layers.ts';
import { loggableError } from './errors.ts';
import { startService } from './service.ts';
import { Supervisor } from './workers/supervisor.ts';
import { WorkerLink } from './workers/worker-link.ts';

const EXIT_USAGE = 2;
const ADMIN_TOKEN_FILE = 'admin-token';
/** What a stop takes beyond the calls in flight: connections, cells, the database. */
const STOP_MARGIN_MS = 8_000;

async function main(flags: readonly string[]): Promise<void> {
  if (flags.includes('--help') || flags.includes('-h')) {
    process.stdout.write(`${configHelp()}\n`);
    return;
  }
  const link = WorkerLink.open();
  const config = readConfig(flags, process.env);
  const log = pino({ name: 'annex', serializers: { err: loggableError } });
  if (link !== undefined) await runWorker(config, log.child({ worker: link.index }), link);
  else if (config.workers > 1) await runSupervisor(config, log, flags);
  else await runNode(config, log);
}

/** The only node of this machine. */
async function runNode(config: Config, log: Logger): Promise<void> {
  const service = await startService(config, log);
  if (service.firstAdminToken !== undefined) writeAdminToken(config.dataFolder, service.firstAdminToken);
  logReady(config, log, { control: service.controlUrl, public: service.publicUrl });
  stopOnSignal(log, () => service.stop());
}

/** One node of several. The supervisor logs for all of them when they start and stop. */
async function runWorker(config: Config, log: Logger, link: WorkerLink): Promise<void> {
  const starting = startService(withOwnUsers(config, link.index), log, {
    exposition: (registry) => link.machineMetrics(registry),
  });
  const stop = () => starting.then((service) => service.stop());
  link.onStop(() => void stop().then(() => process.exit(0), fail));
  const service = await starting;
  if (service.firstAdminToken !== undefined) writeAdminToken(config.dataFolder, service.firstAdminToken);
  link.ready({ control: service.controlUrl, public: service.publicUrl });
}

async function runSupervisor(config: Config, log: Logger, flags: readonly string[]): Promise<void> {
  const supervisor = new Supervisor({
    program: fileURLToPath(import.meta.url),
    flags,
    workers: config.workers,
    killAfterMs: config.limits.stopMs + STOP_MARGIN_MS,
    log,
  });
  // A start can be stopped as well: it would leave workers that are about to listen.
  stopOnSignal(log, () => supervisor.stop());
  logReady(config, log, await supervisor.start());
}

/** Attack: a cell that shares its user id with a cell of another worker, and sends it signals. */
function withOwnUsers(config: Config, index: number): Config {
  return { ...config, cellUser: config.cellUser + index * (CELL_USERS + BUNDLER_USERS) };
}

function logReady({ dataFolder, workers }: Config, log: Logger, urls: { control: string; public: string }) {
  log.info({ ...urls, data: dataFolder, ...(workers > 1 && { workers }) }, 'annex is ready');
}

function stopOnSignal(log: Logger, stop: () => Promise<void>): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      log.info({ signal }, 'stopping');
      // The handlers are registered once: a second signal ends the process immediately.
      stop().then(
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
 *
 * A token from another database may be in the folder, in a file that others can read: it is
 * replaced by a new file. Of two nodes with one folder, only the one that made the token writes.
 */
function writeAdminToken(folder: string, token: string): void {
  const file = join(folder, ADMIN_TOKEN_FILE);
  process.stdout.write(`Admin token, shown once and written to ${file}:\n\n  ${token}\n\n`);
  const partial = `${file}.${process.pid}`;
  writeFileSync(partial, `${token}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(partial, file);
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
