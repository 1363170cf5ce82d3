/**
 * Serves until a signal: reads the settings, starts the service, logs its URLs, and shuts it down.
 * With several workers it starts a supervisor, whose workers run `main.ts`.
 *
 * `npm start` and `annex serve` call it. It never ends the process.
 */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { programPath } from '../own-files.ts';
import { type Config, readConfig } from './config.ts';
import { BUNDLER_USERS, CELL_USERS } from './confinement/layers.ts';
import { TOKEN_FILE } from './database/used-folder.ts';
import { type Service, startService } from './service.ts';
import type { ListenerUrls } from './workers/messages.ts';
import { Supervisor } from './workers/supervisor.ts';
import { WorkerLink } from './workers/worker-link.ts';

/** The program of a worker. */
const WORKER = programPath('../main', import.meta.url);
/** What a stop takes beyond the calls in flight: connections, cells, the database. */
const STOP_MARGIN_MS = 8_000;

export interface ServeDeps {
  readonly flags: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly log: Logger;
  /** Aborts with the name of the signal that stops the service. */
  readonly signal: AbortSignal;
  /** Receives the text about the first admin token, which is shown once. */
  announce(text: string): void;
  /** Called when the service answers. */
  ready?(config: Config, urls: ListenerUrls): void | Promise<void>;
}

/**
 * @returns when everything is stopped
 * @throws ConfigError, or what kept the service from starting or stopping
 */
export async function serve(deps: ServeDeps): Promise<void> {
  const link = WorkerLink.open();
  const config = readConfig(deps.flags, deps.env);
  if (link !== undefined) await runWorker(config, link, deps);
  else if (config.workers > 1) await runSupervisor(config, deps);
  else await runNode(config, deps);
}

/** The only node of this machine. */
async function runNode(config: Config, deps: ServeDeps): Promise<void> {
  const starting = startService(config, deps.log, { keepAdminToken: keeper(config) });
  const aborted = abortOf(deps.signal);
  const service = await Promise.race([starting, aborted]);
  // A signal during the start does not wait for it: nothing was acknowledged yet.
  if (service === undefined) return void starting.then((late) => late.stop()).catch(() => undefined);
  announceAdminToken(config, service, deps);
  logReady(config, { control: service.controlUrl, public: service.publicUrl }, deps);
  await stoppedBySignal(deps, () => service.stop());
}

/** One node of several. The supervisor logs for all of them when they start and stop. */
async function runWorker(config: Config, link: WorkerLink, deps: ServeDeps): Promise<void> {
  const log = deps.log.child({ worker: link.index });
  const starting = startService(withOwnUsers(config, link.index), log, {
    exposition: (registry) => link.machineMetrics(registry),
    keepAdminToken: keeper(config),
  });
  const stopped = Promise.withResolvers<void>();
  link.onStop(() => {
    starting.then((service) => service.stop()).then(stopped.resolve, stopped.reject);
  });
  const service = await starting;
  announceAdminToken(config, service, deps);
  link.ready({ control: service.controlUrl, public: service.publicUrl });
  await stopped.promise;
}

async function runSupervisor(config: Config, deps: ServeDeps): Promise<void> {
  const supervisor = new Supervisor({
    program: WORKER,
    flags: deps.flags,
    workers: config.workers,
    killAfterMs: config.limits.stopMs + STOP_MARGIN_MS,
    log: deps.log,
  });
  // A start can be stopped as well: it would leave workers that are about to listen.
  const stopped = stoppedBySignal(deps, () => supervisor.stop());
  const serving = supervisor.start().then((urls) => {
    logReady(config, urls, deps);
    return stopped;
  });
  await Promise.race([serving, stopped]);
}

/** Attack: a cell that shares its user id with a cell of another worker, and sends it signals. */
function withOwnUsers(config: Config, index: number): Config {
  return { ...config, cellUser: config.cellUser + index * (CELL_USERS + BUNDLER_USERS) };
}

function logReady(config: Config, urls: ListenerUrls, { log, ready }: ServeDeps): void {
  const { dataFolder, workers } = config;
  log.info({ ...urls, data: dataFolder, ...(workers > 1 && { workers }) }, 'annex is ready');
  void ready?.(config, urls);
}

async function stoppedBySignal({ signal, log }: ServeDeps, stop: () => Promise<void>): Promise<void> {
  await abortOf(signal);
  log.info({ signal: signal.reason }, 'stopping');
  await stop();
  log.info('stopped');
}

function abortOf(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  else signal.addEventListener('abort', () => resolve(), { once: true });
  return promise;
}

/** Says the first admin token once. The database has only its hash. */
function announceAdminToken(
  { dataFolder }: Config,
  { firstAdminToken }: Service,
  { announce }: ServeDeps,
): void {
  if (firstAdminToken === undefined) return;
  const file = join(dataFolder, TOKEN_FILE);
  announce(`Admin token, shown once and written to ${file}:\n\n  ${firstAdminToken}\n\n`);
}

/**
 * Writes the first admin token to a file that only its owner can read. It is on disk when the
 * function returns: a kill or a power cut after the commit must not leave a service that nothing
 * can administer.
 *
 * A token from another database may be in the folder, in a file that others can read, and so may
 * the partial file of a start that was killed: both are replaced by a new file. Of two nodes with
 * one folder, only the one that makes the token writes.
 */
const keeper =
  ({ dataFolder }: Config) =>
  (token: string): void => {
    const file = join(dataFolder, TOKEN_FILE);
    const partial = `${file}.${process.pid}`;
    rmSync(partial, { force: true });
    writeFileSync(partial, `${token}\n`, { mode: 0o600, flag: 'wx', flush: true });
    renameSync(partial, file);
    const folder = openSync(dataFolder, 'r');
    fsyncSync(folder);
    closeSync(folder);
  };
